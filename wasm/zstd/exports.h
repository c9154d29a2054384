/* The exports that only the module of zstd+tcp has. */
#ifndef ZL_EXPORTS_H
#define ZL_EXPORTS_H

#include "../zeromq_lz4.h"

/* Efforts are Zstandard's levels, ZSTD_LEVEL_MIN..ZSTD_LEVEL_MAX without 0. */

/* Returns libzstd's version as major * 10000 + minor * 100 + release. */
ZL_EXPORT uint32_t zl_zstd_version(void);

/* A part of more than ZL_PART_MAX bytes, which is encoded or decoded in slices. */
typedef struct zl_stream zl_stream;

/* Opens a stream that encodes a part of `low`, `high` bytes. Returns 0 if memory runs out. */
ZL_EXPORT zl_stream *zl_stream_encoder(zl_dictionary *dictionary, uint32_t low, uint32_t high,
                                       int32_t effort);
/* Opens a stream that decodes a part, whose head was accepted. Returns 0 if memory runs out. */
ZL_EXPORT zl_stream *zl_stream_decoder(const zl_dictionary *dictionary);
/* `stream` may be 0. */
ZL_EXPORT void zl_stream_close(zl_stream *stream);

/* Encodes or decodes as much as possible of the `length` bytes at `input` to the `room` bytes at
 * `output`. With `last`, no more input follows. Returns 1 if there is more to do, with input or
 * room; 0 after the end; or an error. Of `progress`, `need` is not set. */
ZL_EXPORT int32_t zl_stream_step(zl_stream *stream, const uint8_t *input, uint32_t length,
                                 uint8_t *output, uint32_t room, uint32_t last,
                                 zl_progress *progress);

#endif
