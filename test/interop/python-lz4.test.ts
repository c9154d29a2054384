import { expect, test } from "vitest"
import { Codec } from "zeromq-lz4/codec"

import { vectorDictionary } from "../support/plaintexts.js"
import { smallBlockSize, smallBlocks } from "../support/small-blocks.js"
import { manifest, plainOf } from "../support/vectors.js"
import { formOf } from "../support/wire.js"
import { decodeInPython } from "./python-lz4.js"

const GIB = 2 ** 30
/** Everything that `codec` puts on the wire for all plaintexts of the vectors. */
const sendAll = (codec: Codec): Uint8Array[] =>
  manifest.plaintexts.flatMap((vector) => codec.encode([plainOf(vector)])).flat()

const expected = manifest.plaintexts.map(({ size, sha256 }) => ({ size, sha256 }))

test.each([
  { build: "the usual build", dictionary: false, small: false },
  { build: "the usual build", dictionary: true, small: false },
  { build: "small blocks", dictionary: false, small: true },
  { build: "small blocks", dictionary: true, small: true },
])("Python's lz4 decodes what $build wrote, dictionary: $dictionary", ({ dictionary, small }) => {
  using codec = Codec.createSync({
    ...(small && { wasm: smallBlocks }),
    ...(dictionary && { dictionary: vectorDictionary() }),
  })
  const parts = sendAll(codec)
  const decoded = decodeInPython(parts, small ? smallBlockSize : GIB)

  expect(decoded.map(({ size, sha256 }) => ({ size, sha256 }))).toEqual(expected)
  // Otherwise sending everything plain would pass.
  const forms = new Set(parts.map(formOf))
  expect(forms.has("LZ4B")).toBe(true)
  expect(forms.has("LZ4M")).toBe(small)
  expect(forms.has("LZ4D")).toBe(dictionary)
})
