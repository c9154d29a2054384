/* Parts that were encoded a moment ago, for connections that are sent the same next. */
#ifndef ZL_MEMO_H
#define ZL_MEMO_H

#include "zeromq_lz4.h"

/* A cache of zl_part_encode's results that senders share. A publisher behind
 * a bridge sends the same message over many connections, and those that have shipped the
 * same dictionary may share the work (RFC.md section 6.1). `sender` says who asks; what
 * only one asks for costs a glance and no memory. `plain` is at most ZL_PART_MAX. */
uint32_t zl_memo_encode(const void *sender, zl_dictionary *dictionary, const uint8_t *source,
                        uint32_t plain, uint8_t *target, int32_t effort);

#endif
