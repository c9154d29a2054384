import { closeSync, openSync, readSync } from "node:fs"
import { checkCodecOptions } from "../codec/options.js"
import { DICTIONARY_MAX_BYTES } from "../codec/wire.js"
import { fileError, InputError } from "./errors.js"

/** Reads the dictionary in a file that an option names. */
export function readDictionary(file: string): Uint8Array {
  let dictionary: Buffer
  try {
    dictionary = readStartSync(file, DICTIONARY_MAX_BYTES + 1)
  } catch (error) {
    throw fileError(file, error)
  }
  if (dictionary.length > DICTIONARY_MAX_BYTES)
    throw new InputError(
      `${file}: dictionary must be 1 to ${DICTIONARY_MAX_BYTES} bytes long; it is longer`,
    )
  try {
    checkCodecOptions({ dictionary })
  } catch (error) {
    throw new InputError(`${file}: ${(error as Error).message}`)
  }
  return dictionary
}

/** Reads at most `maxBytes`, because a file such as a device may have no end. */
function readStartSync(file: string, maxBytes: number): Buffer {
  const bytes = Buffer.alloc(maxBytes)
  const descriptor = openSync(file, "r")
  try {
    let length = 0
    for (;;) {
      const read = readSync(descriptor, bytes, length, maxBytes - length, null)
      length += read
      if (read === 0 || length === maxBytes) return bytes.subarray(0, length)
    }
  } finally {
    closeSync(descriptor)
  }
}
