import assert from "node:assert"
import { decodeCapture } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"
import { roundTrip } from "./round-trip.cjs"

roundTrip(await Codec.create())
roundTrip(Codec.createSync())

// A greeting of ZMTP 3.1, and a message of one part that is sent plain.
const greeting = new Uint8Array(64)
greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1, 0x4e, 0x55, 0x4c, 0x4c])
const { connections } = decodeCapture(Uint8Array.of(...greeting, 0, 6, 0, 0, 0, 0, 0x68, 0x69))
assert.strictEqual(new TextDecoder().decode(connections[0].messages[0].parts[0].plain), "hi")
console.log("round trip")
