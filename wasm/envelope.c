#include "envelope.h"

#include <stdlib.h>

#include "arena.h"
#include "bytes.h"
#include "format.h"

/* -- Receiving --------------------------------------------------------------- */

zl_part *zl_part_slot(void) {
  static zl_part slot;
  return &slot;
}

zl_receiver *zl_receiver_open(uint32_t budget_low, uint32_t budget_high, uint32_t revision) {
  zl_receiver *receiver = malloc(sizeof *receiver);
  if (receiver) {
    uint64_t budget = zl_join_u64(budget_low, budget_high);
    *receiver = (zl_receiver){
        .budget = budget, .budget_left = budget, .part_limit = UINT64_MAX, .revision = revision};
  }
  return receiver;
}

void zl_receiver_close(zl_receiver *receiver) {
  zl_dictionary_close(receiver->dictionary);
  free(receiver);
}

const zl_dictionary *zl_receiver_dictionary(const zl_receiver *receiver) {
  return receiver->dictionary;
}

int32_t zl_receive_dictionary(zl_receiver *receiver, const uint8_t *bytes, uint32_t length) {
  zl_dictionary *dictionary = zl_dictionary_open(bytes, length);
  if (!dictionary) return ZL_E_NO_MEMORY;
  int32_t status = zl_dictionary_check(dictionary);
  if (status < 0)
    zl_dictionary_close(dictionary);
  else
    receiver->dictionary = dictionary;
  return status;
}

static int32_t check_dictionary(const zl_receiver *receiver, uint64_t length, uint32_t place) {
  if (place != (ZL_FIRST | ZL_LAST)) return ZL_E_DICTIONARY_MULTIPART;
  if (receiver->dictionary) return ZL_E_DICTIONARY_REPEATED;
  return length >= 1 && length <= ZL_DICTIONARY_MAX ? ZL_DICTIONARY : ZL_E_DICTIONARY_SIZE;
}

static int32_t check_arena(uint64_t wire_bytes, uint32_t place) {
  if (place != (ZL_FIRST | ZL_LAST)) return ZL_E_ARENA;
  if (wire_bytes < ZL_ARENA_HEAD_BYTES || wire_bytes > ZL_ARENA_PART_MAX) return ZL_E_ARENA;
  return ZL_ARENA;
}

/* Subtracts a part's plaintext from the budget of its message. Returns 0 if it exceeds that. */
static int spend(zl_receiver *receiver, uint64_t plain_bytes) {
  if (receiver->budget == UINT64_MAX) return 1;
  if (plain_bytes > receiver->budget_left) return 0;
  receiver->budget_left -= plain_bytes;
  return 1;
}

int32_t zl_envelope_fits(const zl_receiver *receiver, uint64_t wire_bytes, uint32_t place,
                         zl_part *part) {
  if (wire_bytes < ZL_SENTINEL_BYTES) return 0;
  /* Dictionaries and arenas are alone in their messages, and do not count against the budget. */
  if (place == (ZL_FIRST | ZL_LAST) && wire_bytes <= ZL_ARENA_PART_MAX) return 0;
  const uint64_t left = place & ZL_FIRST ? receiver->budget : receiver->budget_left;
  if (wire_bytes <= zl_format_longest(left < receiver->part_limit ? left : receiver->part_limit))
    return 0;
  *part = (zl_part){.plain_bytes = wire_bytes - ZL_SENTINEL_BYTES, .budget_left = left};
  return wire_bytes > zl_format_longest(left) ? ZL_E_BUDGET_EXCEEDED : ZL_E_PART_LIMIT;
}

int32_t zl_envelope_read(zl_receiver *receiver, const uint8_t *head, uint64_t wire_bytes,
                         uint32_t place, zl_part *part) {
  if (place & ZL_FIRST) receiver->budget_left = receiver->budget;
  *part = (zl_part){.budget_left = receiver->budget_left};
  if (wire_bytes < ZL_SENTINEL_BYTES) return ZL_E_PART_TOO_SHORT;

  uint64_t body = wire_bytes - ZL_SENTINEL_BYTES;
  switch (zl_read_u32le(head)) {
  case ZL_SENTINEL_PLAIN:
    part->kind = ZL_PLAIN;
    part->plain_bytes = body;
    if (!spend(receiver, body)) return ZL_E_BUDGET_EXCEEDED;
    return body > receiver->part_limit ? ZL_E_PART_LIMIT : ZL_PLAIN;
  case ZL_SENTINEL_DICTIONARY:
    part->kind = ZL_DICTIONARY;
    return check_dictionary(receiver, wire_bytes - ZL_DICTIONARY_AT, place);
  case ZL_SENTINEL_ARENA:
    if (receiver->revision < 2) return ZL_E_UNKNOWN_SENTINEL;
    part->kind = ZL_ARENA;
    return check_arena(wire_bytes, place);
  }

  int32_t status = zl_format_read(receiver, head, wire_bytes, part);
  if (status < 0) return status;
  if (!spend(receiver, part->plain_bytes)) return ZL_E_BUDGET_EXCEEDED;
  /* This bounds the bytes to collect before the part can be decoded. */
  status = zl_format_check(wire_bytes, part);
  if (status < 0) return status;
  /* Last, because it is no rule that the peer broke. */
  return part->plain_bytes > receiver->part_limit ? ZL_E_PART_LIMIT : (int32_t)part->kind;
}

int32_t zl_receive_head(zl_receiver *receiver, const uint8_t *head, uint32_t wire_low,
                        uint32_t wire_high, uint32_t place, zl_part *part) {
  return zl_envelope_read(receiver, head, zl_join_u64(wire_low, wire_high), place, part);
}
