import { readFileSync } from "node:fs"
import { checkCodecOptions } from "../codec/options.js"
import { fileError, InputError } from "./errors.js"

/** Reads the dictionary in a file that an option names. */
export function readDictionary(file: string): Uint8Array {
  let dictionary: Buffer
  try {
    dictionary = readFileSync(file)
  } catch (error) {
    throw fileError(file, error)
  }
  try {
    checkCodecOptions({ dictionary })
  } catch (error) {
    throw new InputError(`${file}: ${(error as Error).message}`)
  }
  return dictionary
}
