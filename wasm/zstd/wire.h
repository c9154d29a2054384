/* The numbers of zstd+tcp (RFC.md section 13). */
#ifndef ZL_WIRE_H
#define ZL_WIRE_H

/* Sentinels, as the little-endian words of their four bytes: the magic numbers of Zstandard's
 * frames and dictionaries, and "ZSTA". */
enum {
  ZL_SENTINEL_FRAME = 0xFD2FB528,
  ZL_SENTINEL_ZDICT = 0xEC30A437,
  ZL_SENTINEL_ZSTA = 0x4154535A,
};
#define ZL_SENTINEL_DICTIONARY ZL_SENTINEL_ZDICT
#define ZL_SENTINEL_ARENA ZL_SENTINEL_ZSTA

/* Larger parts are compressed, whatever the threshold. There are no blocks that could be too large.
 */
#define ZL_BLOCK_MAX 0x7FFFFFFFu
/* Maximum plaintext of a part that is encoded or decoded at once; larger ones are streams. Test
 * builds lower it. */
#ifndef ZL_PART_MAX
#define ZL_PART_MAX 0x100000u
#endif

/* Maximum size of a frame's header. */
#define ZL_HEAD_BYTES 18u
/* Where the dictionary begins in the part that sends it: its sentinel is the dictionary's own. */
#define ZL_DICTIONARY_AT 0u
/* Maximum window, unless the content is larger. RFC 8878 asks decoders for as much. */
#define ZL_WINDOW_MAX 0x800000u

/* The effort with which parts are tried that may not compress. Faster levels do not find what only
 * entropy coding saves. */
#define ZL_TRIAL_EFFORT 1
/* Whether an effort takes long for what does not compress. */
#define zl_is_thorough(effort) ((effort) > 4)

#endif
