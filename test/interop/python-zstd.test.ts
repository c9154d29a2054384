/** Parts of zstd+tcp, compared with Python's zstandard, which is Zstandard itself. */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { Codec, trainDictionary } from "zeromq-lz4/codec"
import { payload } from "../../bench/payloads.mjs"
import { sha256 } from "../support/hash.js"
import { concat } from "../support/wire.js"
import { python } from "./python.js"

const ZSTD_PARTS = fileURLToPath(new URL("zstd_parts.py", import.meta.url))
const MIB = 2 ** 20

/** Runs zstd_parts.py with arrays, each preceded by its length. */
function run(args: readonly string[], arrays: readonly Uint8Array[]): Buffer {
  const withLengths = arrays.flatMap((array) => {
    const length = new Uint8Array(4)
    new DataView(length.buffer).setUint32(0, array.length, true)
    return [length, array]
  })
  const { status, stdout, stderr } = spawnSync(python(), [ZSTD_PARTS, ...args], {
    input: concat(...withLengths),
    maxBuffer: 1 << 28,
  })
  if (status !== 0) throw new Error(`zstd_parts.py ended with ${status}: ${stderr}`)
  return stdout
}

/** Returns the arrays that zstd_parts.py has written. */
function arraysOf(output: Buffer): Uint8Array[] {
  const arrays: Uint8Array[] = []
  for (let at = 0; at < output.length; ) {
    const end = at + 4 + output.readUInt32LE(at)
    arrays.push(new Uint8Array(output.subarray(at + 4, end)))
    at = end
  }
  return arrays
}

const samples = Array.from({ length: 400 }, (_, i) => payload("json", 200, i + 1))
const dictionary = await trainDictionary(samples, { format: "zstd" })
const sizes = [0, 1, 64, 200, 511, 512, 1000, 5000, 65_536, 131_072, 131_073, MIB, MIB + 1, 5 * MIB]
const plaintexts = sizes.flatMap((size) =>
  (["json", "lorem", "random"] as const).map((kind) => payload(kind, size)),
)

test.each(
  [-7, -5, -1, 1, 3, 5, 9].flatMap((level) =>
    [false, true].map((hasDictionary) => ({ level, hasDictionary })),
  ),
)("zstandard reads what a codec sends at level $level, dictionary: $hasDictionary", (options) => {
  using codec = Codec.createSync({
    format: "zstd",
    level: options.level as 1,
    minCompressSize: 0,
    ...(options.hasDictionary && { dictionary }),
  })
  const parts = plaintexts.flatMap((plain) => codec.encode([plain])).flat()
  const decoded = String(run(["decode"], parts))
    .trimEnd()
    .split("\n")
  const results = decoded.map((line) => JSON.parse(line) as { form: string; sha256: string })
  expect(results.map(({ sha256 }) => sha256)).toEqual(plaintexts.map(sha256))
  expect(new Set(results.map(({ form }) => form))).toEqual(new Set(["plain", "FRAME"]))
})

test.each(
  [-7, -3, 1, 3, 9, 12, 19].flatMap((level) =>
    [false, true].map((hasDictionary) => ({ level, hasDictionary })),
  ),
)("a codec reads what zstandard writes at level $level, dictionary: $hasDictionary", (options) => {
  const { level, hasDictionary } = options
  const given = hasDictionary ? [dictionary, ...plaintexts] : plaintexts
  const parts = arraysOf(run(["encode", String(level), level > 3 ? "True" : "False"], given))
  expect(parts).toHaveLength(given.length)
  using codec = Codec.createSync({ format: "zstd" })
  const received = parts.flatMap((part) => codec.decode([part])).flat()
  expect(received.map(sha256)).toEqual(plaintexts.map(sha256))
})

test("zstandard reads the dictionaries that training makes", () => {
  using codec = Codec.createSync({ format: "zstd", dictionary })
  const parts = samples.flatMap((sample) => codec.encode([sample])).flat()
  const decoded = String(run(["decode"], parts))
    .trimEnd()
    .split("\n")
  expect(decoded).toHaveLength(samples.length)
  const bytes = parts.slice(1).reduce((sum, { length }) => sum + length, 0)
  // Otherwise a dictionary of nothing would do.
  expect(bytes).toBeLessThan(samples.length * 120)
})
