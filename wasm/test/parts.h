/* Sending and receiving whole parts as a caller has to. Every buffer that the
 * module sees is exactly as large as zeromq_lz4.h says it has to be, so that
 * AddressSanitizer notices the first byte too far. */
#ifndef ZL_PARTS_H
#define ZL_PARTS_H

#include <stdlib.h>
#include <string.h>

#include "../bytes.h"
#include "../lz4/exports.h"

#define ALONE (ZL_FIRST | ZL_LAST)

/* Memory of its own; free `at`. */
typedef struct {
  uint8_t *at;
  size_t length;
} bytes;

static inline bytes bytes_new(size_t length) {
  bytes b = {malloc(length), length};
  if (!b.at) abort();
  return b;
}

static inline bytes bytes_copy(const uint8_t *from, size_t length) {
  bytes copy = bytes_new(length);
  if (length) memcpy(copy.at, from, length);
  return copy;
}

static inline int bytes_equal(bytes a, bytes b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

/* -- Receiving --------------------------------------------------------------- */

static inline int32_t receive_head(zl_receiver *receiver, bytes wire, uint32_t place,
                                   zl_part *part) {
  bytes head = bytes_copy(wire.at, wire.length < ZL_HEAD_BYTES ? wire.length : ZL_HEAD_BYTES);
  int32_t kind = zl_receive_head(receiver, head.at, (uint32_t)wire.length,
                                 (uint32_t)((uint64_t)wire.length >> 32), place, part);
  free(head.at);
  return kind;
}

/* Decodes the blocks that follow an accepted head into `plain`, which grows with
 * every block. */
static inline int32_t receive_blocks(const zl_receiver *receiver, zl_part *part, bytes wire,
                                     bytes *plain) {
  const zl_dictionary *dictionary = zl_receiver_dictionary(receiver);
  const uint8_t *at = wire.at + ZL_HEAD_BYTES;
  const uint8_t *end = wire.at + wire.length;
  for (;;) {
    bytes length = bytes_copy(at, part->kind == ZL_LZ4M && end - at >= 4 ? 4 : 0);
    int32_t more = zl_receive_block(part, length.at);
    at += length.length;
    free(length.at);
    if (more <= 0) return more;

    bytes source = bytes_copy(at, part->block_bytes);
    bytes target = bytes_new(part->block_plain);
    int32_t status =
        zl_block_decode(dictionary, source.at, part->block_bytes, target.at, part->block_plain);
    at += source.length;
    if (status == 0) {
      plain->at = realloc(plain->at, plain->length + target.length + 1);
      if (!plain->at) abort();
      if (target.length) memcpy(plain->at + plain->length, target.at, target.length);
      plain->length += target.length;
    }
    free(source.at);
    free(target.at);
    if (status < 0) return status;
  }
}

/* Unpacks an arena whose head was accepted: `frames` becomes those in it. */
static inline int32_t receive_arena(zl_receiver *receiver, bytes wire, bytes *frames) {
  bytes target = bytes_new(ZL_ARENA_MAX);
  zl_arena arena;
  int32_t status = zl_arena_read(receiver, wire.at, (uint32_t)wire.length, target.at, &arena);
  if (status == 0) {
    free(frames->at);
    *frames = bytes_copy(target.at, arena.bytes);
  }
  free(target.at);
  return status;
}

/* Receives one part. Returns its kind or an error; `plain` is the caller's: for an
 * arena the frames in it. */
static inline int32_t receive_part(zl_receiver *receiver, bytes wire, uint32_t place,
                                   bytes *plain) {
  zl_part part;
  *plain = bytes_new(0);
  int32_t kind = receive_head(receiver, wire, place, &part);
  if (kind < 0) return kind;
  int32_t status = 0;
  if (kind == ZL_LZ4B || kind == ZL_LZ4M) {
    status = receive_blocks(receiver, &part, wire, plain);
  } else if (kind == ZL_ARENA) {
    status = receive_arena(receiver, wire, plain);
  } else {
    bytes body = bytes_copy(wire.at + ZL_SENTINEL_BYTES, wire.length - ZL_SENTINEL_BYTES);
    if (kind == ZL_DICTIONARY) {
      status = zl_receive_dictionary(receiver, body.at, (uint32_t)body.length);
      free(body.at);
    } else {
      free(plain->at);
      *plain = body;
    }
  }
  return status < 0 ? status : kind;
}

/* -- Sending ----------------------------------------------------------------- */

static inline bytes part_with(const char *sentinel, const uint8_t *body, size_t length) {
  bytes part = bytes_new(ZL_SENTINEL_BYTES + length);
  memcpy(part.at, sentinel, ZL_SENTINEL_BYTES);
  if (length) memcpy(part.at + ZL_SENTINEL_BYTES, body, length);
  return part;
}

static inline bytes plain_part(bytes plain) {
  return part_with("\0\0\0\0", plain.at, plain.length);
}

static inline bytes dictionary_part(bytes dictionary) {
  return part_with("LZ4D", dictionary.at, dictionary.length);
}

/* An LZ4B or LZ4M part with anything after its head. */
static inline bytes sized_part(const char *sentinel, uint64_t plain, const uint8_t *rest,
                               size_t length) {
  bytes body = bytes_new(8 + length);
  zl_write_u64le(body.at, plain);
  if (length) memcpy(body.at + 8, rest, length);
  bytes part = part_with(sentinel, body.at, body.length);
  free(body.at);
  return part;
}

/* LZ4B, or plain when that is not shorter. */
static inline bytes send_part(zl_dictionary *dictionary, bytes plain, int32_t effort) {
  bytes source = bytes_copy(plain.at, plain.length);
  bytes target = bytes_new(plain.length + ZL_SENTINEL_BYTES);
  uint32_t length =
      zl_part_encode(dictionary, source.at, (uint32_t)source.length, target.at, effort);
  bytes part = length ? bytes_copy(target.at, length) : plain_part(plain);
  free(source.at);
  free(target.at);
  return part;
}

/* LZ4M, whatever the size. */
static inline bytes send_multi(zl_dictionary *dictionary, bytes plain, int32_t effort) {
  bytes part = bytes_new(ZL_HEAD_BYTES);
  zl_multi_head(part.at, (uint32_t)plain.length, (uint32_t)((uint64_t)plain.length >> 32));
  for (size_t at = 0; at < plain.length;) {
    size_t left = plain.length - at;
    bytes source = bytes_copy(plain.at + at, left < ZL_BLOCK_MAX ? left : ZL_BLOCK_MAX);
    bytes target = bytes_new(4 + zl_block_bound((uint32_t)source.length));
    uint32_t length =
        zl_multi_block(dictionary, source.at, (uint32_t)source.length, target.at, effort);
    part.at = realloc(part.at, part.length + length);
    if (!part.at) abort();
    memcpy(part.at + part.length, target.at, length);
    part.length += length;
    at += source.length;
    free(source.at);
    free(target.at);
  }
  return part;
}

#endif
