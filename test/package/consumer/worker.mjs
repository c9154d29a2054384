// Run by workerd, which does not compile bytes: it gets the module.
import { decodeCapture } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"
import wasm from "./zeromq-lz4.wasm"

function expectSame(actual, expected, what) {
  if (actual.length !== expected.length || !actual.every((byte, i) => byte === expected[i]))
    throw new Error(`${what} is not the same`)
}

function roundTrip(codec) {
  const plain = new TextEncoder().encode("what a worker sends ".repeat(5000))
  const wire = codec.encodePart(plain)
  if (wire.length > plain.length / 10) throw new Error("it did not shrink")
  expectSame(codec.decodePart(wire), plain, "the part")
}

export default {
  async test() {
    roundTrip(await Codec.create({ wasm }))
    roundTrip(Codec.createSync({ wasm }))
    const refused = await Codec.create().catch(({ code }) => code)
    if (refused !== "ERR_LZ4_WASM") throw new Error(`without a module: ${refused}`)

    const greeting = new Uint8Array(64)
    greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1, 0x4e, 0x55, 0x4c, 0x4c])
    const file = Uint8Array.of(...greeting, 0, 6, 0, 0, 0, 0, 0x68, 0x69)
    const { connections } = decodeCapture(file, { wasm })
    expectSame(connections[0].messages[0].parts[0].plain, [0x68, 0x69], "the capture's message")
  },
}
