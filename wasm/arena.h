/* Arenas: several whole messages in one part (RFC.md appendix A). */
#ifndef ZL_ARENA_H
#define ZL_ARENA_H

#include "zeromq_lz4.h"

/* Maximum size of an arena part. */
#define ZL_ARENA_PART_MAX (ZL_ARENA_HEAD_BYTES + ZL_ARENA_MAX)

/* Counts the whole messages at the start of a stream of `length` bytes that may share an arena, and
 * the total length of their frames. */
zl_arena zl_arena_gather(const uint8_t *frames, uint64_t length);

#endif
