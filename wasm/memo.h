/* Parts that were encoded a moment ago, for links that are sent the same next. */
#ifndef ZL_MEMO_H
#define ZL_MEMO_H

#include "zeromq_lz4.h"

/* What zl_part_encode writes and returns, remembered between senders: libzmq hands a
 * publisher's message to each subscriber's link, and those that have shipped the same
 * dictionary may share the work (RFC.md section 6.1). `sender` says who asks; what only
 * one asks for costs a glance and no memory. `plain` is at most ZL_PART_MAX. */
uint32_t zl_memo_encode(const void *sender, zl_dictionary *dictionary, const uint8_t *source,
                        uint32_t plain, uint8_t *target, int32_t effort);

#endif
