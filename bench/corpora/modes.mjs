/** How bench/corpora.mjs sends events. */

/**
 * @typedef {object} Mode
 * @property {string} name
 * @property {"tcp://" | "lz4+tcp://"} scheme
 * @property {(dictionaries: Dictionaries) => object} options  of connect()
 */

/** Trained beforehand, by capacity in KiB. @typedef {{ 2: Uint8Array, 8: Uint8Array }} Dictionaries */

export const PLAIN = "tcp://"
export const NO_DICTIONARY = "no dictionary"
export const DICTIONARY = "dictionary of 2 KiB"
export const AUTO_DICTIONARY = "autoDictionary"
export const ARENAS = "arenas"

const LEVELS = [3, 9, 12]

/** @param {string} name @param {Mode["options"]} options @returns {Mode} */
const ours = (name, options) => ({ name, scheme: "lz4+tcp://", options })

/** @type {readonly Mode[]} */
export const modes = [
  { name: PLAIN, scheme: "tcp://", options: () => ({}) },
  ours(NO_DICTIONARY, () => ({})),
  ours(DICTIONARY, (dictionaries) => ({ dictionary: dictionaries[2] })),
  ours("dictionary of 8 KiB", (dictionaries) => ({ dictionary: dictionaries[8] })),
  ours(AUTO_DICTIONARY, () => ({ autoDictionary: true })),
  ours(ARENAS, () => ({ arenas: true })),
  ours("arenas, dictionary of 2 KiB", (dictionaries) => ({
    arenas: true,
    dictionary: dictionaries[2],
  })),
  ...LEVELS.flatMap((level) => [
    ours(`level ${level}`, () => ({ level })),
    ours(`level ${level}, dictionary of 2 KiB`, (dictionaries) => ({
      level,
      dictionary: dictionaries[2],
    })),
  ]),
]
