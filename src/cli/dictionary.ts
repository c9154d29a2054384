import { checkCodecOptions } from "../codec/options.js"
import { DICTIONARY_MAX_BYTES } from "../codec/wire.js"
import { InputError, orInputError } from "./errors.js"
import { readFileStart } from "./input.js"

/** Reads the dictionary in a file that an option names. */
export function readDictionary(file: string): Uint8Array {
  const dictionary = readFileStart(file, DICTIONARY_MAX_BYTES + 1)
  if (dictionary.length > DICTIONARY_MAX_BYTES)
    throw new InputError(
      `${file}: dictionary must be 1 to ${DICTIONARY_MAX_BYTES} bytes long; it is longer`,
    )
  orInputError(
    () => checkCodecOptions({ dictionary }),
    (error) => new InputError(`${file}: ${(error as Error).message}`),
  )
  return dictionary
}
