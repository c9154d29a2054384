/**
 * The numbers of the wire format (RFC.md section 4, appendix A) and of the module's interface. The
 * C code has the same; test/unit/codec/wire.test.ts compares them.
 */

/** Sentinels, as the little-endian words of their four bytes. */
export const SENTINEL: {
  readonly [form in "PLAIN" | "LZ4B" | "LZ4M" | "LZ4D" | "LZ4A"]: number
} = {
  PLAIN: 0,
  LZ4B: 0x42345a4c,
  LZ4M: 0x4d345a4c,
  LZ4D: 0x44345a4c,
  LZ4A: 0x41345a4c,
}

/** Size of the sentinel, which tells the form of a part. */
export const SENTINEL_BYTES = 4
/** Size of the sentinel and the plaintext's size, with which LZ4B and LZ4M begin. */
export const HEAD_BYTES = 12
/** Size of the length before each LZ4M block. */
export const BLOCK_LENGTH_BYTES = 4
/** Maximum plaintext of one block, in bytes. */
export const BLOCK_MAX_BYTES: number = 2 ** 30
/** Maximum number of plaintext bytes for each byte of a block. */
export const EXPANSION_MAX = 255

export const DICTIONARY_MAX_BYTES = 8192

export const ARENA_HEAD_BYTES = 16
/** Maximum size of all frames of an arena, in bytes. */
export const ARENA_MAX_BYTES = 65536
export const ARENA_PART_MAX_BYTES: number = ARENA_HEAD_BYTES + ARENA_MAX_BYTES

/** The form of a part, as the module reports it. */
export const PLAIN = 1
export const LZ4B = 2
export const LZ4M = 3
export const LZ4D = 4
export const LZ4A = 5

/** The position of a part in its message. A single part is both first and last. */
export const FIRST = 1
export const LAST = 2
export const ALONE: number = FIRST | LAST

/** Splits a 64-bit number into the two halves that the module takes. */
export function uint64(value: number): [low: number, high: number] {
  return [value >>> 0, Math.floor(value / 2 ** 32)]
}

/** Writes a sentinel to the start of a part. */
export function writeSentinel(part: Uint8Array, sentinel: number): void {
  for (let byte = 0; byte < SENTINEL_BYTES; byte++) part[byte] = (sentinel >>> (8 * byte)) & 0xff
}
