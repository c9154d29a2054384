import { readFile } from "node:fs/promises"
import { Codec } from "zeromq-lz4/codec"
import { roundTrip } from "./round-trip.cjs"

const url = new URL(import.meta.resolve("zeromq-lz4/codec.wasm"))
roundTrip(await Codec.create({ wasm: url }))
roundTrip(await Codec.create({ wasm: await readFile(url) }))
console.log("round trip")
