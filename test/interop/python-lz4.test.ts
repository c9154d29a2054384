import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { Codec } from "zeromq-lz4/codec"

import { temporaryDirectory } from "../support/packed.js"
import { vectorDictionary } from "../support/plaintexts.js"
import { smallBlockSize, smallBlocks } from "../support/small-blocks.js"
import { manifest, plainOf } from "../support/vectors.js"
import { formOf } from "../support/wire.js"
import { python } from "./python.js"
import { decodeInPython } from "./python-lz4.js"

const GIB = 2 ** 30
const VECTORS = fileURLToPath(new URL("../vectors/", import.meta.url))

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

test("the committed vectors are what Python's lz4 makes", () => {
  using directory = temporaryDirectory()
  const { status, stderr } = spawnSync(python(), [join(VECTORS, "generate.py"), directory.path], {
    encoding: "utf8",
  })
  expect(status, stderr).toBe(0)
  for (const file of ["vectors.json", "vectors.bin"]) {
    const [made, committed] = [directory.path, VECTORS].map((path) =>
      readFileSync(join(path, file)),
    )
    expect(made!.equals(committed!), file).toBe(true)
  }
})
