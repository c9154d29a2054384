import { checkCodecOptions } from "../codec/options.js"
import { DICTIONARY_MAX_BYTES } from "../codec/wire.js"
import { fileError, InputError } from "./errors.js"
import { readStartSync } from "./input.js"

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
