/* The numbers of lz4+tcp (RFC.md sections 4 and 5). */
#ifndef ZL_WIRE_H
#define ZL_WIRE_H

/* Sentinels, as the little-endian words of their four bytes. */
enum {
  ZL_SENTINEL_LZ4B = 0x42345A4C,
  ZL_SENTINEL_LZ4M = 0x4D345A4C,
  ZL_SENTINEL_LZ4D = 0x44345A4C,
  ZL_SENTINEL_LZ4A = 0x41345A4C,
};
#define ZL_SENTINEL_DICTIONARY ZL_SENTINEL_LZ4D
#define ZL_SENTINEL_ARENA ZL_SENTINEL_LZ4A

/* Maximum plaintext of one LZ4 block: 1 GiB. Test builds lower it. */
#ifndef ZL_BLOCK_MAX
#define ZL_BLOCK_MAX 0x40000000u
#endif
/* Maximum plaintext of a part for which memory is kept. A wasm memory never shrinks, so larger
 * parts use temporary instances. */
#define ZL_PART_MAX (ZL_BLOCK_MAX < 0x100000u ? ZL_BLOCK_MAX : 0x100000u)

/* Size of an LZ4B or LZ4M part before its first block. */
#define ZL_HEAD_BYTES 12u
/* Size of the length before each block of an LZ4M part. */
#define ZL_BLOCK_LENGTH_BYTES 4u
/* Where the dictionary begins in the part that sends it. */
#define ZL_DICTIONARY_AT 4u

/* The effort that gives up soon on what does not compress, and whether one takes long for it:
 * LZ4HC. */
#define ZL_TRIAL_EFFORT 1
#define zl_is_thorough(effort) ((effort) < 0)

#endif
