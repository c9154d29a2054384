/** The ways in which bench/corpora.mjs sends events. */
import { ends, ours, oursInZstd, PYOMQ, TCP } from "../peers/ends.mjs"

/** @typedef {import("../peers/peers.mjs").End} End */

/** Dictionaries trained in advance, by capacity in KiB. @typedef {{ 2: Uint8Array, 8: Uint8Array }} Dictionaries */

export const NO_DICTIONARY = "no dictionary"
export const DICTIONARY = "dictionary of 2 KiB"
export const LARGE_DICTIONARY = "dictionary of 8 KiB"
export const AUTO_DICTIONARY = "autoDictionary"
export const ZSTD_AUTO_DICTIONARY = "zstd+tcp://, autoDictionary"
export const ARENAS = "arenas"

const LEVELS = [3, 9, 12]

/** Level 0: the default would send plain over a network as fast as this one. @param {object} [lz4] */
const compressing = (lz4) => ours({ level: 0, ...lz4 })

/** Returns the ways to send over a link, with the same options at both ends. @param {Dictionaries} dictionaries @returns {Record<string, End>} */
export function modes(dictionaries) {
  const [small, large] = [dictionaries[2], dictionaries[8]]
  /** @param {object} lz4 @param {Uint8Array} dictionary @returns {End} */
  const given = (lz4, dictionary) => ({ ...compressing(lz4), dictionary })
  return {
    "tcp://": ends[TCP],
    [NO_DICTIONARY]: compressing(),
    [DICTIONARY]: given({}, small),
    [LARGE_DICTIONARY]: given({}, large),
    [AUTO_DICTIONARY]: compressing({ autoDictionary: true }),
    [ZSTD_AUTO_DICTIONARY]: oursInZstd({ level: 1, autoDictionary: true }),
    [ARENAS]: compressing({ arenas: true }),
    "arenas, dictionary of 2 KiB": given({ arenas: true }, small),
    ...Object.fromEntries(
      LEVELS.flatMap((level) => [
        [`level ${level}`, compressing({ level })],
        [`level ${level}, dictionary of 2 KiB`, given({ level }, small)],
      ]),
    ),
    pyomq: ends[PYOMQ],
    "pyomq, dictionary of 2 KiB": { ...ends[PYOMQ], dictionary: small },
    "pyomq, trains a dictionary": { ...ends[PYOMQ], options: { compression_auto_train: 1 } },
  }
}

const ZSTD_LEVELS = [-3, 1, 3, 22]

/** Returns the modes of Zstandard, for comparison with the codec. @param {Dictionaries} dictionaries @returns {Record<string, { level: number, dictionary?: Uint8Array }>} */
export const zstdModes = (dictionaries) =>
  Object.fromEntries(
    ZSTD_LEVELS.flatMap((level) => [
      [`zstd ${level}`, { level }],
      [`zstd ${level}, dictionary of 2 KiB`, { level, dictionary: dictionaries[2] }],
    ]),
  )
