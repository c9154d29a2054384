/* Parts of one block, LZ4B, and of several, LZ4M (RFC.md section 4). */
#include "../bytes.h"
#include "../format.h"
#include "exports.h"

/* A byte of a block produces at most 255 bytes of plaintext. */
#define EXPANSION_MAX 255u

/* Returns whether `wire` bytes of blocks can hold `plain` bytes. */
static int is_plausible(uint64_t plain, uint64_t wire) {
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

uint64_t zl_format_longest(uint64_t plain) {
  uint64_t blocks = multi_bound(plain);
  /* LZ4M of no plaintext has no block, but LZ4B has one. */
  if (blocks < zl_block_bound(0)) blocks = zl_block_bound(0);
  return blocks > UINT64_MAX - ZL_HEAD_BYTES ? UINT64_MAX : blocks + ZL_HEAD_BYTES;
}

/* -- Receiving --------------------------------------------------------------- */

static uint32_t kind_of(const uint8_t *sentinel) {
  uint32_t word = zl_read_u32le(sentinel);
  return word == ZL_SENTINEL_LZ4B ? ZL_LZ4B : word == ZL_SENTINEL_LZ4M ? ZL_LZ4M : 0;
}

uint32_t zl_format_head(const uint8_t *head, uint64_t wire_bytes) {
  return kind_of(head) && wire_bytes >= ZL_HEAD_BYTES ? ZL_HEAD_BYTES : ZL_SENTINEL_BYTES;
}

int32_t zl_format_read(const zl_receiver *receiver, const uint8_t *head, uint64_t wire_bytes,
                       zl_part *part) {
  (void)receiver;
  part->kind = kind_of(head);
  if (!part->kind) return ZL_E_UNKNOWN_SENTINEL;
  if (wire_bytes < ZL_HEAD_BYTES) return ZL_E_TRUNCATED;
  part->plain_bytes = part->plain_left = zl_read_u64le(head + ZL_SENTINEL_BYTES);
  part->wire_left = wire_bytes - ZL_HEAD_BYTES;
  if (part->kind == ZL_LZ4B && part->plain_bytes > ZL_BLOCK_MAX) return ZL_E_BLOCK_TOO_LARGE;
  return 0;
}

int32_t zl_format_check(uint64_t wire_bytes, const zl_part *part) {
  (void)wire_bytes;
  if (!is_plausible(part->plain_bytes, part->wire_left)) return ZL_E_IMPLAUSIBLE_SIZE;
  if (part->kind == ZL_LZ4M)
    return part->wire_left > multi_bound(part->plain_bytes) ? ZL_E_TRAILING_BYTES : 0;
  if (part->wire_left == 0) return ZL_E_TRUNCATED; /* even no plaintext is a block of one byte */
  return part->wire_left > zl_block_bound((uint32_t)part->plain_bytes) ? ZL_E_CORRUPT_BLOCK : 0;
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
    if (!is_plausible(share, block)) return ZL_E_IMPLAUSIBLE_SIZE;
    if (block > zl_block_bound((uint32_t)share)) return ZL_E_CORRUPT_BLOCK;
    part->wire_left -= block;
  }
  part->plain_left -= share;
  part->block_bytes = (uint32_t)block;
  part->block_plain = (uint32_t)share;
  return 1;
}

int32_t zl_part_decode(const zl_receiver *receiver, const uint8_t *wire, uint32_t wire_bytes,
                       zl_part *part, uint8_t *target) {
  (void)wire_bytes; /* part->wire_left counts them */
  const uint8_t *at = wire + ZL_HEAD_BYTES;
  if (part->kind == ZL_LZ4B)
    return zl_block_decode(receiver->dictionary, at, (uint32_t)part->wire_left, target,
                           (uint32_t)part->plain_bytes);
  for (;;) {
    int32_t more = zl_receive_block(part, at);
    if (more <= 0) return more;
    at += ZL_BLOCK_LENGTH_BYTES;
    int32_t status =
        zl_block_decode(receiver->dictionary, at, part->block_bytes, target, part->block_plain);
    if (status < 0) return status;
    at += part->block_bytes;
    target += part->block_plain;
  }
}

int32_t zl_body_decode(const zl_dictionary *dictionary, const uint8_t *source, uint32_t bytes,
                       uint8_t *target, uint32_t plain) {
  if (!is_plausible(plain, bytes)) return ZL_E_IMPLAUSIBLE_SIZE;
  return zl_block_decode(dictionary, source, bytes, target, plain);
}

int32_t zl_dictionary_check(const zl_dictionary *dictionary) {
  (void)dictionary; /* any bytes are one */
  return 0;
}

uint32_t zl_format_finish(const zl_samples *samples, uint8_t *bytes, uint32_t length,
                          uint32_t capacity) {
  (void)samples;
  (void)bytes;
  (void)capacity;
  return length;
}

/* -- Sending ----------------------------------------------------------------- */

uint32_t zl_body_encode(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                        uint8_t *target, uint32_t room, int32_t effort) {
  return zl_block_encode(dictionary, source, plain, target, room, effort);
}

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
