/* One Zstandard frame, in either direction. */
#ifndef ZL_FRAME_H
#define ZL_FRAME_H

#include "prepared.h"

/* Returns the error for a result of libzstd's decoder, or 0 if it is none. */
int32_t zl_decoder_error(size_t result);

/* Compresses `plain` bytes into a frame of at most `room` bytes. Returns its length, or 0 if it
 * does not fit, or memory runs out. */
uint32_t zl_frame_encode(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                         uint8_t *target, uint32_t room, int32_t effort);
/* Decodes the frame that `bytes` bytes at `source` are to the `plain` bytes at `target`. */
int32_t zl_frame_decode(const zl_dictionary *dictionary, const uint8_t *source, uint32_t bytes,
                        uint8_t *target, uint32_t plain);

#endif
