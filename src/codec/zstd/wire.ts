/** The numbers of zstd+tcp (RFC.md). The C code has the same, and a test compares them. */

/** Sentinels, as the little-endian words of their four bytes. */
export const SENTINEL: { readonly [form in "FRAME" | "ZDICT" | "ZSTA"]: number } = {
  FRAME: 0xfd2fb528,
  ZDICT: 0xec30a437,
  ZSTA: 0x4154535a,
}

/** Maximum size of a frame's header. */
export const HEAD_BYTES = 18
