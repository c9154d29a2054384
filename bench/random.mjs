/**
 * A small random generator that only uses 32-bit integers, so that other languages
 * can reproduce it exactly (as test/vectors/plaintexts.py does).
 */

/**
 * @typedef {object} Random
 * @property {() => number} next  0 .. 2^32 - 1
 * @property {(count: number) => number} below  0 .. count - 1
 * @property {(low: number, high: number) => number} between  low .. high, both included
 * @property {<T>(choices: readonly T[]) => T} pick
 * @property {(digits: number) => string} hex
 * @property {() => string} uuid  version 4
 * @property {(size: number) => Uint8Array} bytes
 */

/**
 * Hashes a name with FNV-1a, so that similar names give unrelated streams.
 * @param {string} name ASCII
 */
function seedOf(name) {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return hash >>> 0 || 1 // xorshift never leaves 0
}

/** @param {string} name @returns {Random} */
export function createRandom(name) {
  let state = seedOf(name)

  // Marsaglia's xorshift32.
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state
  }
  const below = (/** @type {number} */ count) => next() % count
  const hex = (/** @type {number} */ digits) => {
    let text = ""
    while (text.length < digits) text += next().toString(16).padStart(8, "0")
    return text.slice(0, digits)
  }
  return {
    next,
    below,
    between: (low, high) => low + below(high - low + 1),
    pick: (choices) => choices[below(choices.length)],
    hex,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-${"89ab"[below(4)]}${hex(3)}-${hex(12)}`,
    bytes: (size) => {
      const bytes = new Uint8Array(size)
      for (let i = 0; i < size; i++) bytes[i] = next() >>> 24
      return bytes
    },
  }
}
