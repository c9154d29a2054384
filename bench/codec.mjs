/** Compares the codec with native liblz4 and other packages. See `--help`. */

import { implementations, NATIVE, OURS, versions } from "./codec/implementations.mjs"
import { buildNative, compilerVersion, nativeCodec } from "./codec/native.mjs"
import { microsecondsPerCall } from "./codec/timing.mjs"
import { sizeName } from "./lib/format.mjs"
import { benchmark, Skipped } from "./lib/harness.mjs"
import { scratch } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { payload, sampleDictionary } from "./payloads.mjs"

const options = readOptions(
  "codec",
  `Encodes and decodes Lorem ipsum and JSON log lines of 64 B to 1 MiB, with and without a dictionary
of 2 KiB, and compares the codec with native liblz4 (gcc) and other packages; without a dictionary also
Zstandard at level 1 with node:zlib's, which Node has from 22.15 on. About four minutes.`,
  9,
)
const milliseconds = options.quick ? 15 : 60

const SIZES = [64, 256, 1024, 16 * 1024, 128 * 1024, 1024 * 1024]
const DICTIONARY_BYTES = 2048

/** @typedef {{ payload: "lorem" | "json", size: number, dictionary: number }} Subject */
/** @typedef {"encode" | "decode"} Operation */
/** @typedef {import("./codec/implementations.mjs").Implementation} Implementation */

/**
 * Creates enough payloads to defeat branch prediction, but few enough to stay in the cache.
 * @param {Subject} subject
 */
function payloadsOf({ payload: kind, size }) {
  const count = Math.min(256, Math.max(4, 2 ** 20 / size))
  return Array.from({ length: count }, (_, seed) => payload(kind, size, seed))
}

/** @param {Uint8Array[]} actual @param {Uint8Array[]} expected @param {string} what */
function checkSame(actual, expected, what) {
  const same = (/** @type {Uint8Array} */ bytes, /** @type {number} */ i) =>
    Buffer.compare(bytes, expected[i]) === 0
  if (actual.length !== expected.length || !actual.every(same))
    throw new Error(`${what} does not return the original bytes`)
}

/**
 * Returns a function that measures an implementation in microseconds per call.
 * @param {string} name @param {Uint8Array[]} plains @param {Uint8Array | undefined} dictionary
 * @returns {(operation: Operation, milliseconds: number) => number}
 */
function measureOf(name, plains, dictionary) {
  if (name === NATIVE) {
    const native = nativeCodec(scratch(), plains, dictionary)
    const ours = /** @type {Implementation} */ (implementations[OURS](dictionary))
    checkSame(native.parts().map(ours.decode), plains, `${NATIVE} to ${OURS}`)
    return native.microseconds
  }
  const codec = implementations[name](dictionary)
  if (!codec) throw new Skipped("it has no dictionaries, or this Node no Zstandard")
  // Copied, because the next call may overwrite the returned array.
  const wires = plains.map((plain) => codec.encode(plain).slice())
  checkSame(
    wires.map((wire) => codec.decode(wire).slice()),
    plains,
    name,
  )
  return (operation, time) =>
    operation === "encode"
      ? microsecondsPerCall(codec.encode, plains, time)
      : microsecondsPerCall(codec.decode, wires, time)
}

/** @param {Subject} subject @param {Operation} operation @returns {import("./lib/harness.mjs").Cell} */
function cellOf(subject, operation) {
  const { payload, size, dictionary: dictionaryBytes } = subject
  return {
    name: `${operation} ${payload} ${sizeName(size)} dict=${dictionaryBytes ? "on" : "off"}`,
    parameters: { operation, ...subject, milliseconds },
    contestants: [NATIVE, ...Object.keys(implementations)],
    prepare(name) {
      const dictionary = dictionaryBytes ? sampleDictionary(payload, dictionaryBytes) : undefined
      const measure = measureOf(name, payloadsOf(subject), dictionary)
      measure(operation, milliseconds / 2) // warm up
      return { run: () => [{ unit: "us/call", value: measure(operation, milliseconds) }] }
    },
  }
}

const kinds = /** @type {const} */ (["lorem", "json"])
const operations = /** @type {const} */ (["encode", "decode"])
const cells = operations.flatMap((operation) =>
  kinds.flatMap((payload) =>
    SIZES.flatMap((size) =>
      [0, DICTIONARY_BYTES].map((dictionary) => cellOf({ payload, size, dictionary }, operation)),
    ),
  ),
)

buildNative()
await benchmark({
  bench: "codec",
  cells,
  options,
  versions: { ...versions(), gcc: compilerVersion() },
})
