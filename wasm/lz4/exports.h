/* The exports that only the module of lz4+tcp has. */
#ifndef ZL_EXPORTS_H
#define ZL_EXPORTS_H

#include "../zeromq_lz4.h"

/* Efforts are LZ4's acceleration, 1..65537, or the negative of an LZ4HC level, -3..-12. If there is
 * not enough memory for LZ4HC, the effort is 1. */

/* Returns liblz4's version as major * 10000 + minor * 100 + release. */
ZL_EXPORT uint32_t zl_lz4_version(void);

/* Moves to the next block of an LZ4B or LZ4M part, and sets part->block_bytes and
 * part->block_plain. For LZ4M, `length` holds the 4 bytes of the block length if the part has that
 * many left; for LZ4B it is not read. Returns 1, or 0 after the last block. */
ZL_EXPORT int32_t zl_receive_block(zl_part *part, const uint8_t *length);

/* Decodes one block of `block_bytes` at `source` to the `plain` bytes at `target`. Both sizes are
 * within LZ4's own limits; `source` is untrusted. */
ZL_EXPORT int32_t zl_block_decode(const zl_dictionary *dictionary, const uint8_t *source,
                                  uint32_t block_bytes, uint8_t *target, uint32_t plain);

/* Returns the maximum size of a block of `plain` bytes (LZ4_compressBound). */
ZL_EXPORT uint32_t zl_block_bound(uint32_t plain);

/* Compresses `plain` bytes (at most ZL_BLOCK_MAX) into one block of at most `room` bytes. Returns
 * the block's length, or 0 if it does not fit. */
uint32_t zl_block_encode(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                         uint8_t *target, uint32_t room, int32_t effort);

/* Writes the first ZL_HEAD_BYTES of an LZ4M part. */
ZL_EXPORT void zl_multi_head(uint8_t *target, uint32_t plain_low, uint32_t plain_high);

/* Writes one block of an LZ4M part, after its length, to `target`, which has room for 4 +
 * zl_block_bound(plain) bytes. Returns the bytes written. `effort` must not be ZL_NO_EFFORT. */
ZL_EXPORT uint32_t zl_multi_block(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                                  uint8_t *target, int32_t effort);

#endif
