import { frameHeadLength } from "../codec/frames.js"
import { lz4 } from "../codec/lz4/format.js"
import { checkCodecOptions } from "../codec/options.js"
import { DICTIONARY_MAX_BYTES, SENTINEL_BYTES } from "../codec/wire.js"
import { InputError, orInputError } from "./errors.js"
import { readFileStart } from "./input.js"

/** The default of `minCompressSize` with a dictionary, in bytes. */
export const MIN_COMPRESS_BYTES_WITH_DICTIONARY: number = lz4.minCompressBytes[1]

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

/** Approximate size of the training data. More samples are thinned out evenly. */
const TRAINED_BYTES = 1 << 20

/** Chooses messages evenly, up to the size that training uses. */
export function thinOut(messages: readonly (readonly Uint8Array[])[]): Uint8Array[] {
  const bytes = messages.flat().reduce((sum, { length }) => sum + length, 0)
  const step = Math.max(1, bytes / TRAINED_BYTES)
  const chosen = Math.ceil(messages.length / step)
  return Array.from(
    { length: chosen },
    (_, i) => messages[Math.floor(i * step)] as Uint8Array[],
  ).flat()
}

/** Returns the size of a dictionary on the wire, frame head included. Each connection sends it first. */
export const shippedBytes = ({ length }: Uint8Array): number =>
  frameHeadLength(SENTINEL_BYTES + length) + SENTINEL_BYTES + length
