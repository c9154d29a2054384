#include "arena.h"

#include <string.h>

#include "bytes.h"
#include "envelope.h"
#include "format.h"
#include "zmtp.h"

#define COMPRESSED_AT 4
#define INNER_SIZE_AT 8
#define COUNT_AT 12

#define FREE_PARTS 1024
#define PARTS_PER_BYTE 16

zl_arena *zl_arena_slot(void) {
  static zl_arena slot;
  return &slot;
}

/* -- Sending ----------------------------------------------------------------- */

static int fits(const zl_arena *arena, uint64_t bytes, uint64_t parts) {
  return bytes <= ZL_ARENA_MESSAGE_MAX && arena->bytes + bytes <= ZL_ARENA_MAX &&
         arena->parts + parts <= ZL_ARENA_PARTS_MAX && arena->messages < ZL_ARENA_MESSAGES_MAX;
}

uint32_t zl_arena_join(zl_arena *arena, uint32_t bytes, uint32_t parts) {
  if (!fits(arena, bytes, parts)) return 0;
  arena->bytes += bytes;
  arena->parts += parts;
  arena->messages++;
  return 1;
}

zl_arena zl_arena_gather(const uint8_t *frames, uint64_t length) {
  zl_arena whole = {0};
  uint64_t bytes = 0; /* of the frames of the current message so far */
  uint32_t plain_bytes = 0;
  uint32_t parts = 0;
  for (;;) {
    zmtp_frame frame;
    const uint64_t at = whole.bytes + bytes;
    const uint64_t left = length - at;
    if (zmtp_frame_read(frames + at, left, &frame) != 0 || frame.flags & ZMTP_COMMAND) return whole;
    if (frame.body_bytes > left - frame.head_bytes) return whole;
    bytes += frame.head_bytes + frame.body_bytes;
    parts++;
    if (!fits(&whole, bytes, parts)) return whole;
    plain_bytes += (uint32_t)frame.body_bytes;
    if (frame.flags & ZMTP_MORE) continue;
    zl_arena_join(&whole, (uint32_t)bytes, parts);
    whole.plain_bytes += plain_bytes;
    bytes = plain_bytes = parts = 0;
  }
}

/* Returns the length of an arena's block, or 0 if the arena is stored. A thorough effort takes
 * longer the less there is to find, and small parts on their own would not be compressed at all. So
 * a light one first tests whether there is more to find than the zeros in frame headers. */
static uint32_t encode_body(zl_dictionary *dictionary, const uint8_t *frames, uint32_t length,
                            uint8_t *body, uint32_t min_bytes, int32_t effort) {
  if (length < min_bytes) return 0;
  const uint32_t worthwhile = length - length / 16;
  if (zl_is_thorough(effort) &&
      zl_body_encode(dictionary, frames, length, body, worthwhile, ZL_TRIAL_EFFORT) == 0)
    return 0;
  return zl_body_encode(dictionary, frames, length, body, length - 1, effort);
}

/* Returns the number of parts that a body of this length pays for. Each costs a receiver time and
 * memory, however small it is, and LZ4 makes thousands out of a few bytes (RFC.md section A.1). */
static uint64_t parts_paid(uint32_t body_bytes) {
  return FREE_PARTS + PARTS_PER_BYTE * (uint64_t)body_bytes;
}

uint32_t zl_arena_encode(zl_dictionary *dictionary, const uint8_t *frames, uint32_t length,
                         uint32_t messages, uint32_t parts, uint8_t *target, uint32_t min_bytes,
                         int32_t effort) {
  uint8_t *body = target + ZL_ARENA_HEAD_BYTES;
  uint32_t block = encode_body(dictionary, frames, length, body, min_bytes, effort);
  if (parts > parts_paid(block)) block = 0;
  if (block == 0) memcpy(body, frames, length);
  zl_write_u32le(target, ZL_SENTINEL_ARENA);
  zl_write_u32le(target + COMPRESSED_AT, block > 0);
  zl_write_u32le(target + INNER_SIZE_AT, length);
  zl_write_u32le(target + COUNT_AT, messages);
  return ZL_ARENA_HEAD_BYTES + (block > 0 ? block : length);
}

/* -- Receiving --------------------------------------------------------------- */

static int32_t unpack(const zl_receiver *receiver, const uint8_t *wire, uint32_t wire_bytes,
                      uint8_t *target, zl_part *part) {
  const uint8_t *body = wire + ZL_ARENA_HEAD_BYTES;
  const uint32_t body_bytes = wire_bytes - ZL_ARENA_HEAD_BYTES;
  const uint32_t inner = zl_read_u32le(wire + INNER_SIZE_AT);
  const uint32_t count = zl_read_u32le(wire + COUNT_AT);
  const uint32_t compressed = zl_read_u32le(wire + COMPRESSED_AT); /* three zero bytes follow */
  part->plain_bytes = inner;
  if (compressed > 1) return ZL_E_ARENA;
  if (inner == 0 || inner > ZL_ARENA_MAX) return ZL_E_ARENA;
  if (count == 0 || count > ZL_ARENA_MESSAGES_MAX) return ZL_E_ARENA;
  if (compressed) return zl_body_decode(receiver->dictionary, body, body_bytes, target, inner);
  if (body_bytes != inner) return ZL_E_ARENA;
  memcpy(target, body, inner);
  return 0;
}

int32_t zl_arena_read(zl_receiver *receiver, const uint8_t *wire, uint32_t wire_bytes,
                      uint8_t *target, zl_arena *arena) {
  zl_part *part = zl_part_slot();
  *arena = (zl_arena){0};
  int32_t status = unpack(receiver, wire, wire_bytes, target, part);
  if (status < 0) return status;
  const uint32_t inner = zl_read_u32le(wire + INNER_SIZE_AT);

  const uint64_t paid = parts_paid(wire_bytes - ZL_ARENA_HEAD_BYTES);
  const uint32_t max = paid < ZL_ARENA_PARTS_MAX ? (uint32_t)paid : ZL_ARENA_PARTS_MAX;
  uint64_t budget_left = receiver->budget;
  uint8_t more = 0;
  while (arena->bytes < inner) {
    zmtp_frame frame;
    const uint32_t left = inner - arena->bytes;
    if (zmtp_frame_read(target + arena->bytes, left, &frame) != 0) return ZL_E_ARENA;
    if (frame.flags & ZMTP_COMMAND || frame.body_bytes > left - frame.head_bytes) return ZL_E_ARENA;
    if (++arena->parts > max) return ZL_E_ARENA;
    part->plain_bytes = frame.body_bytes;
    part->budget_left = budget_left;
    if (frame.body_bytes > budget_left) return ZL_E_BUDGET_EXCEEDED;
    budget_left -= frame.body_bytes;
    arena->bytes += frame.head_bytes + (uint32_t)frame.body_bytes;
    arena->plain_bytes += (uint32_t)frame.body_bytes;
    more = frame.flags & ZMTP_MORE;
    if (more) continue;
    arena->messages++;
    budget_left = receiver->budget;
  }
  return more || arena->messages != zl_read_u32le(wire + COUNT_AT) ? ZL_E_ARENA : 0;
}
