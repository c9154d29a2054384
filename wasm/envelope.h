/* The envelope around the plaintext of a part (RFC.md sections 4 and 5). */
#ifndef ZL_ENVELOPE_H
#define ZL_ENVELOPE_H

#include "zeromq_lz4.h"

/* The sentinel of plain parts, as the little-endian word of its four bytes. */
#define ZL_SENTINEL_PLAIN 0

struct zl_receiver {
  zl_dictionary *dictionary;
  uint64_t budget;
  uint64_t budget_left; /* for the rest of the current message */
  uint64_t part_limit;  /* plaintext of one part, at most */
  uint32_t revision;
};

/* Returns 0 if a part of `wire_bytes` can be within the limits in some form. If not, returns
 * ZL_E_BUDGET_EXCEEDED or ZL_E_PART_LIMIT, and sets the sizes in `part` for the error. */
int32_t zl_envelope_fits(const zl_receiver *receiver, uint64_t wire_bytes, uint32_t place,
                         zl_part *part);

/* Like zl_receive_head, but with the part's length as a single number. */
int32_t zl_envelope_read(zl_receiver *receiver, const uint8_t *head, uint64_t wire_bytes,
                         uint32_t place, zl_part *part);

#endif
