/* A cache of recently encoded parts, for connections that are sent the same parts next. */
#ifndef ZL_MEMO_H
#define ZL_MEMO_H

#include "zeromq_lz4.h"

/* Encodes like zl_part_encode, with a cache that senders share. A publisher behind a bridge sends
 * the same message over many connections, and those that have shipped the same dictionary can share
 * the work (RFC.md section 6.1). `sender` identifies the caller. A part that only one sender
 * encodes costs little time and no memory. `plain` is at most ZL_PART_MAX. */
uint32_t zl_memo_encode(const void *sender, zl_dictionary *dictionary, const uint8_t *source,
                        uint32_t plain, uint8_t *target, int32_t effort);

#endif
