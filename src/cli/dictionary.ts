import type { DictionarySource } from "../capture/events.js"
import { checkCodecOptions } from "../codec/options.js"
import { DICTIONARY_MAX_BYTES } from "../codec/wire.js"
import { fileError, InputError, UsageError } from "./errors.js"
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

const SCOPE = /^([1-9]\d*|(?:[1-9]\d*:)?(?:client|server))=(.+)$/s

/**
 * Returns a function that chooses the dictionary of a connection's side.
 *
 * @param common the dictionary for all that `scoped` does not name.
 * @param scoped values of the option `--dictionary-for`.
 */
export function dictionaryChoice(
  common: Uint8Array | undefined,
  scoped: readonly string[] = [],
): DictionarySource {
  const dictionaries = new Map<string, Uint8Array>()
  for (const value of scoped) {
    const [, scope, file] = SCOPE.exec(value) ?? []
    if (scope === undefined || file === undefined)
      throw new UsageError(
        `--dictionary-for is SCOPE=FILE, with the SCOPE 3, 3:client, 3:server, client or server, for example; got ${JSON.stringify(value)}`,
      )
    if (dictionaries.has(scope))
      throw new UsageError(`--dictionary-for names a file for ${scope} twice`)
    dictionaries.set(scope, readDictionary(file))
  }
  // The narrowest scope counts.
  return ({ id }, from) =>
    dictionaries.get(`${id}:${from}`) ??
    dictionaries.get(String(id)) ??
    dictionaries.get(from) ??
    common
}
