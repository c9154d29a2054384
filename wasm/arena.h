/* Arenas: runs of whole messages in one part (RFC.md appendix A). */
#ifndef ZL_ARENA_H
#define ZL_ARENA_H

#include "zeromq_lz4.h"

/* The most bytes of an arena part. */
#define ZL_ARENA_PART_MAX (ZL_ARENA_HEAD_BYTES + ZL_ARENA_MAX)

/* Counts the whole messages that `length` bytes of a stream begin with and that
 * may share an arena, and how long their frames are together. */
zl_arena zl_arena_gather(const uint8_t *frames, uint64_t length);

#endif
