const assert = require("node:assert")

/** Encodes and decodes 100 KB, which has to shrink on the way. */
exports.roundTrip = (codec) => {
  const plain = new TextEncoder().encode("what a consumer of the package sends ".repeat(2703))
  const wire = codec.encodePart(plain)
  assert(wire.length < plain.length / 10)
  assert.deepStrictEqual(codec.decodePart(wire), plain)
}
