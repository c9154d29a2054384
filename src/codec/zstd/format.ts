import * as carried from "zstd-wasm"
import { fromBase64 } from "../../base/base64.js"
import { outOfRange, wasmError, wrongValue } from "../errors.js"
import type { Format } from "../instance.js"
import { integer } from "../integer.js"
import { openDictionary } from "../large.js"
import { loadInstanceSync } from "../module.js"
import { NO_EFFORT } from "../no-effort.js"
import type { Rule } from "../refused-part.js"
import { decodeLarge, encodeLarge } from "./large.js"
import { HEAD_BYTES } from "./wire.js"

const LEVEL_MIN = -7
const LEVEL_MAX = 9
/** More bytes are saved at level 1 than at all lower ones, and higher ones save little more. */
const LEVEL = 1

const NOT_A_DICTIONARY =
  'must be in the format of Zstandard: trainDictionary(samples, { format: "zstd" }) and zeromq-lz4 train --format zstd make one'

/** Rules by the statuses of the module; see zeromq_lz4.h. */
const RULES: { readonly [status: number]: Rule } = {
  [-4]: [
    "BLOCK_TOO_LARGE",
    (o) => `declares ${o.plainBytes} bytes, and a window that is larger than these and 8 MiB`,
  ],
  [-7]: ["CORRUPT_BLOCK", (o) => `is a frame of ${o.plainBytes} bytes that does not decode`],
  [-8]: ["SIZE_MISMATCH", (o) => `declares ${o.plainBytes} bytes; its frame has another size`],
  [-9]: ["TRAILING_BYTES", (o) => `has bytes after its frame of ${o.plainBytes} bytes`],
  [-19]: ["CORRUPT_BLOCK", () => "is a frame that does not state the size of its content"],
  [-20]: ["CORRUPT_BLOCK", () => "needs a dictionary that was not sent"],
  [-21]: ["CORRUPT_BLOCK", () => "is a dictionary that does not decode"],
}

let wasm: Uint8Array | undefined

/** Zstandard (RFC.md). An effort is a level. */
export const zstd: Format = {
  name: "zstd",
  scheme: "zstd+tcp",
  ownExport: "zl_zstd_version",
  get wasm() {
    wasm ??= decode()
    return wasm
  },
  headBytes: HEAD_BYTES,
  dictionaryAt: 0,
  minCompressBytes: [512, 64],

  efforts: { all: [NO_EFFORT, -5, -1, 1, 3], usual: 3, thorough: 4 },

  levelOf: (effort) => (effort === NO_EFFORT ? "none" : effort),

  readEffort(level, acceleration) {
    if (acceleration !== undefined)
      throw wrongValue("acceleration is LZ4's; zstd has the levels -7 to -1 for that")
    const checked = integer("level", level, LEVEL, LEVEL_MIN, LEVEL_MAX)
    if (checked === 0)
      throw outOfRange(`level must be ${LEVEL_MIN} to -1, or 1 to ${LEVEL_MAX}; got 0`)
    return checked
  },

  dictionaryPart: (dictionary) => new Uint8Array(dictionary),

  refusesDictionary(dictionary) {
    const instance = loadInstanceSync(zstd)
    const { zl_dictionary_check, zl_dictionary_close } = instance.exports
    const opened = openDictionary(instance, dictionary)
    const status = zl_dictionary_check(opened)
    zl_dictionary_close(opened)
    return status < 0 ? NOT_A_DICTIONARY : undefined
  },

  ruleOf: (status) => RULES[status],
  decodeLarge,
  encodeLarge,
}

/** Returns the module. CommonJS reads its file only now. */
function decode(): Uint8Array {
  let base64: string
  try {
    base64 = carried.default
  } catch (cause) {
    throw wasmError(
      "a file of zeromq-lz4 is gone: it was installed anew or removed meanwhile",
      cause,
    )
  }
  return fromBase64(base64)
}
