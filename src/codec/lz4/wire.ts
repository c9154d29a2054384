/** The numbers of lz4+tcp (RFC.md section 4). The C code has the same, and a test compares them. */

/** Sentinels, as the little-endian words of their four bytes. */
export const SENTINEL: {
  readonly [form in "LZ4B" | "LZ4M" | "LZ4D" | "LZ4A"]: number
} = {
  LZ4B: 0x42345a4c,
  LZ4M: 0x4d345a4c,
  LZ4D: 0x44345a4c,
  LZ4A: 0x41345a4c,
}

/** Size of the sentinel and the plaintext's size, with which LZ4B and LZ4M begin. */
export const HEAD_BYTES = 12
/** Size of the length before each LZ4M block. */
export const BLOCK_LENGTH_BYTES = 4
/** Maximum plaintext of one block, in bytes. */
export const BLOCK_MAX_BYTES: number = 2 ** 30
/** Maximum number of plaintext bytes for each byte of a block. */
export const EXPANSION_MAX = 255

/** The form of a part, as the module reports it. */
export const LZ4B = 2
export const LZ4M = 3
