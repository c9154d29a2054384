#include "envelope.h"

#include <stdlib.h>

#include "arena.h"
#include "bytes.h"

/* A byte of a block produces at most 255 bytes of plaintext. */
#define EXPANSION_MAX 255u

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
  receiver->dictionary = zl_dictionary_open(bytes, length);
  return receiver->dictionary ? 0 : ZL_E_NO_MEMORY;
}

static int32_t check_dictionary(const zl_receiver *receiver, uint64_t length, uint32_t place) {
  if (place != (ZL_FIRST | ZL_LAST)) return ZL_E_DICTIONARY_MULTIPART;
  if (receiver->dictionary) return ZL_E_DICTIONARY_REPEATED;
  return length >= 1 && length <= ZL_DICTIONARY_MAX ? ZL_LZ4D : ZL_E_DICTIONARY_SIZE;
}

static int32_t check_arena(uint64_t wire_bytes, uint32_t place) {
  if (place != (ZL_FIRST | ZL_LAST)) return ZL_E_ARENA;
  if (wire_bytes < ZL_ARENA_HEAD_BYTES || wire_bytes > ZL_ARENA_PART_MAX) return ZL_E_ARENA;
  return ZL_LZ4A;
}

/* Subtracts a part's plaintext from the budget of its message. Returns 0 if it exceeds that. */
static int spend(zl_receiver *receiver, uint64_t plain_bytes) {
  if (receiver->budget == UINT64_MAX) return 1;
  if (plain_bytes > receiver->budget_left) return 0;
  receiver->budget_left -= plain_bytes;
  return 1;
}

int zl_envelope_plausible(uint64_t plain, uint64_t wire) {
  /* Without a multiplication, because the declared size may be anything up to 2^64 - 1. */
  uint64_t needed = plain / EXPANSION_MAX + (plain % EXPANSION_MAX != 0);
  return needed <= wire;
}

/* Returns the maximum number of bytes after the head of an LZ4M part of `plain` bytes. */
static uint64_t multi_bound(uint64_t plain) {
  uint64_t blocks = plain / ZL_BLOCK_MAX + (plain % ZL_BLOCK_MAX != 0);
  uint64_t bound = plain / EXPANSION_MAX + blocks * (16 + ZL_BLOCK_LENGTH_BYTES);
  return plain > UINT64_MAX - bound ? UINT64_MAX : plain + bound;
}

/* Returns the maximum size of a part of up to `plain` bytes in any form that has plaintext. */
static uint64_t longest_part(uint64_t plain) {
  uint64_t blocks = multi_bound(plain);
  /* LZ4M of no plaintext has no block, but LZ4B has one. */
  if (blocks < zl_block_bound(0)) blocks = zl_block_bound(0);
  return blocks > UINT64_MAX - ZL_HEAD_BYTES ? UINT64_MAX : blocks + ZL_HEAD_BYTES;
}

int32_t zl_envelope_fits(const zl_receiver *receiver, uint64_t wire_bytes, uint32_t place,
                         zl_part *part) {
  if (wire_bytes < ZL_SENTINEL_BYTES) return 0;
  /* Dictionaries and arenas are alone in their messages, and do not count against the budget. */
  if (place == (ZL_FIRST | ZL_LAST) && wire_bytes <= ZL_ARENA_PART_MAX) return 0;
  const uint64_t left = place & ZL_FIRST ? receiver->budget : receiver->budget_left;
  if (wire_bytes <= longest_part(left < receiver->part_limit ? left : receiver->part_limit))
    return 0;
  *part = (zl_part){.plain_bytes = wire_bytes - ZL_SENTINEL_BYTES, .budget_left = left};
  return wire_bytes > longest_part(left) ? ZL_E_BUDGET_EXCEEDED : ZL_E_PART_LIMIT;
}

int zl_envelope_sized(const uint8_t *sentinel) {
  uint32_t word = zl_read_u32le(sentinel);
  return word == ZL_SENTINEL_LZ4B || word == ZL_SENTINEL_LZ4M;
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
  case ZL_SENTINEL_LZ4D:
    part->kind = ZL_LZ4D;
    return check_dictionary(receiver, body, place);
  case ZL_SENTINEL_LZ4B:
    part->kind = ZL_LZ4B;
    break;
  case ZL_SENTINEL_LZ4M:
    part->kind = ZL_LZ4M;
    break;
  case ZL_SENTINEL_LZ4A:
    if (receiver->revision < 2) return ZL_E_UNKNOWN_SENTINEL;
    part->kind = ZL_LZ4A;
    return check_arena(wire_bytes, place);
  default:
    return ZL_E_UNKNOWN_SENTINEL;
  }

  if (wire_bytes < ZL_HEAD_BYTES) return ZL_E_TRUNCATED;
  part->plain_bytes = part->plain_left = zl_read_u64le(head + ZL_SENTINEL_BYTES);
  part->wire_left = wire_bytes - ZL_HEAD_BYTES;
  if (part->kind == ZL_LZ4B && part->plain_bytes > ZL_BLOCK_MAX) return ZL_E_BLOCK_TOO_LARGE;
  if (!spend(receiver, part->plain_bytes)) return ZL_E_BUDGET_EXCEEDED;
  if (!zl_envelope_plausible(part->plain_bytes, part->wire_left)) return ZL_E_IMPLAUSIBLE_SIZE;
  /* This bounds the bytes to collect before a block can be checked. */
  if (part->kind == ZL_LZ4M) {
    if (part->wire_left > multi_bound(part->plain_bytes)) return ZL_E_TRAILING_BYTES;
  } else {
    if (part->wire_left == 0) return ZL_E_TRUNCATED; /* even no plaintext is a block of one byte */
    if (part->wire_left > zl_block_bound((uint32_t)part->plain_bytes)) return ZL_E_CORRUPT_BLOCK;
  }
  /* Last, because it is no rule that the peer broke. */
  return part->plain_bytes > receiver->part_limit ? ZL_E_PART_LIMIT : (int32_t)part->kind;
}

int32_t zl_receive_head(zl_receiver *receiver, const uint8_t *head, uint32_t wire_low,
                        uint32_t wire_high, uint32_t place, zl_part *part) {
  return zl_envelope_read(receiver, head, zl_join_u64(wire_low, wire_high), place, part);
}

int32_t zl_receive_block(zl_part *part, const uint8_t *length) {
  uint64_t share = part->plain_left < ZL_BLOCK_MAX ? part->plain_left : ZL_BLOCK_MAX;
  uint64_t block = part->wire_left;
  if (part->kind == ZL_LZ4B) {
    if (block == 0) return 0;
    part->wire_left = 0;
  } else {
    if (share == 0) return part->wire_left == 0 ? 0 : ZL_E_TRAILING_BYTES;
    if (part->wire_left < ZL_BLOCK_LENGTH_BYTES) return ZL_E_TRUNCATED;
    part->wire_left -= ZL_BLOCK_LENGTH_BYTES;
    block = zl_read_u32le(length);
    if (block == 0 || block > part->wire_left) return ZL_E_TRUNCATED;
    if (!zl_envelope_plausible(share, block)) return ZL_E_IMPLAUSIBLE_SIZE;
    if (block > zl_block_bound((uint32_t)share)) return ZL_E_CORRUPT_BLOCK;
    part->wire_left -= block;
  }
  part->plain_left -= share;
  part->block_bytes = (uint32_t)block;
  part->block_plain = (uint32_t)share;
  return 1;
}

/* -- Sending ----------------------------------------------------------------- */

uint32_t zl_part_encode(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                        uint8_t *target, int32_t effort) {
  const uint32_t plain_part = plain + ZL_SENTINEL_BYTES;
  if (plain_part <= ZL_HEAD_BYTES + 1) return 0;
  uint32_t block = zl_block_encode(dictionary, source, plain, target + ZL_HEAD_BYTES,
                                   plain_part - ZL_HEAD_BYTES - 1, effort);
  if (block == 0) return 0;
  zl_write_u32le(target, ZL_SENTINEL_LZ4B);
  zl_write_u64le(target + ZL_SENTINEL_BYTES, plain);
  return ZL_HEAD_BYTES + block;
}

void zl_multi_head(uint8_t *target, uint32_t plain_low, uint32_t plain_high) {
  zl_write_u32le(target, ZL_SENTINEL_LZ4M);
  zl_write_u64le(target + ZL_SENTINEL_BYTES, zl_join_u64(plain_low, plain_high));
}

uint32_t zl_multi_block(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                        uint8_t *target, int32_t effort) {
  uint32_t block = zl_block_encode(dictionary, source, plain, target + ZL_BLOCK_LENGTH_BYTES,
                                   zl_block_bound(plain), effort);
  zl_write_u32le(target, block);
  return ZL_BLOCK_LENGTH_BYTES + block;
}
