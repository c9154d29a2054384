/** Builds and runs bench/codec/lz4-bench.c: the same liblz4 source, compiled by gcc -O3. */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import * as paths from "../../scripts/lib/paths.mjs"

const sources = [join(paths.root, "bench/codec/lz4-bench.c"), join(paths.liblz4, "lz4.c")]
const program = join(paths.build, "lz4-bench")

export function buildNative() {
  const stale = (/** @type {string} */ file) => statSync(file).mtimeMs > statSync(program).mtimeMs
  if (existsSync(program) && !sources.some(stale)) return
  mkdirSync(paths.build, { recursive: true })
  execFileSync("gcc", ["-O3", "-I", paths.liblz4, "-o", program, ...sources], { stdio: "inherit" })
}

/** Returns the first line of `gcc --version`. */
export const compilerVersion = () =>
  execFileSync("gcc", ["--version"], { encoding: "utf8" }).split("\n", 1)[0]

/**
 * Runs the native program for one cell of the benchmark.
 * @param {string} directory  for input and output files
 * @param {Uint8Array[]} payloads all of one size
 * @param {Uint8Array | undefined} dictionary
 */
export function nativeCodec(directory, payloads, dictionary) {
  const payloadFile = join(directory, "payloads")
  const dictionaryFile = dictionary ? join(directory, "dictionary") : "-"
  writeFileSync(payloadFile, Buffer.concat(payloads))
  if (dictionary) writeFileSync(dictionaryFile, dictionary)
  // The thresholds of src/codec, so that both compress the same payloads.
  const minCompress = dictionary ? 128 : 512
  const size = payloads[0].length

  /** @param {string} mode @param {number} milliseconds */
  const run = (mode, milliseconds) =>
    execFileSync(
      program,
      [mode, payloadFile, size, dictionaryFile, minCompress, milliseconds].map(String),
      { maxBuffer: 2 ** 28 },
    )

  return {
    /** @returns {Uint8Array[]} */
    parts() {
      const all = run("write", 0)
      const parts = []
      for (let at = 0; at < all.length; ) {
        const end = at + 4 + all.readUInt32LE(at)
        parts.push(all.subarray(at + 4, end))
        at = end
      }
      return parts
    },
    /** @param {"encode" | "decode"} operation @param {number} milliseconds */
    microseconds: (operation, milliseconds) => Number(run(operation, milliseconds)),
  }
}
