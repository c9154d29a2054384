/**
 * The numbers of the wire format (RFC.md section 4, appendix A), and those that the module is
 * spoken to with. The C has the same; test/unit/wire.test.ts compares them.
 */

/** Sentinels, as the little-endian words that their four bytes make. */
export const SENTINEL: {
  readonly [form in "PLAIN" | "LZ4B" | "LZ4M" | "LZ4D" | "LZ4A"]: number
} = {
  PLAIN: 0,
  LZ4B: 0x42345a4c,
  LZ4M: 0x4d345a4c,
  LZ4D: 0x44345a4c,
  LZ4A: 0x41345a4c,
}

/** The sentinels, which tell the form of a part. */
export const SENTINEL_BYTES = 4
/** That, and the size of the plaintext, which LZ4B and LZ4M have. */
export const HEAD_BYTES = 12
/** Bytes of the length in front of each LZ4M block. */
export const BLOCK_LENGTH_BYTES = 4
/** Plaintext of one block, at most. */
export const BLOCK_MAX_BYTES: number = 2 ** 30
/** A byte of a block makes at most so many bytes of plaintext. */
export const EXPANSION_MAX = 255

export const DICTIONARY_MAX_BYTES = 8192

export const ARENA_HEAD_BYTES = 16
/** All frames of an arena, in bytes, at most. */
export const ARENA_MAX_BYTES = 65536
export const ARENA_PART_MAX_BYTES: number = ARENA_HEAD_BYTES + ARENA_MAX_BYTES

/** The form of a part, as the module says it. */
export const PLAIN = 1
export const LZ4B = 2
export const LZ4M = 3
export const LZ4D = 4
export const LZ4A = 5

/** The position of a part in its message: a single one is first and last. */
export const FIRST = 1
export const LAST = 2
export const ALONE: number = FIRST | LAST

/** Writes a sentinel to the beginning of a part. */
export function writeSentinel(part: Uint8Array, sentinel: number): void {
  for (let byte = 0; byte < SENTINEL_BYTES; byte++) part[byte] = (sentinel >>> (8 * byte)) & 0xff
}
