/* From the wire to plain ZMTP. */
#include "bytes.h"
#include "format.h"
#include "transcoder.h"

zl_transcoder *zl_receiving_open(uint32_t budget_low, uint32_t budget_high, uint32_t revision,
                                 uint32_t greeted) {
  zl_transcoder *t = zl_transcoder_open(RECEIVING, greeted);
  if (t) {
    t->receiver.budget = zl_join_u64(budget_low, budget_high);
    t->receiver.part_limit = UINT64_MAX;
    t->parts_max = UINT32_MAX;
    t->receiver.revision = revision;
  }
  return t;
}

void zl_receiving_limit(zl_transcoder *t, uint32_t low, uint32_t high, uint32_t parts) {
  t->receiver.part_limit = zl_join_u64(low, high);
  t->parts_max = parts;
}

void zl_receiving_keep(zl_transcoder *t, uint32_t keeps) {
  t->keeps = keeps != 0;
}

/* An arena holds plain ZMTP: frames without envelopes. */
static int32_t receive_arena(zl_transcoder *t, span *s, const zmtp_frame *frame) {
  const uint8_t *wire = s->in + frame->head_bytes;
  if (input_left(s) - frame->head_bytes < frame->body_bytes)
    return needs_input(s, frame->head_bytes + frame->body_bytes);
  if (room_left(s) < ZL_ARENA_MAX) return needs_room(s, ZL_ARENA_MAX);
  zl_arena arena;
  int32_t status = zl_arena_read(&t->receiver, wire, (uint32_t)frame->body_bytes, s->out, &arena);
  if (status < 0) return status;
  s->in += frame->head_bytes + frame->body_bytes;
  s->out += arena.bytes;
  zl_count_arena(t, &arena, frame->body_bytes);
  return STEP_DONE;
}

static int keeps_part(const zl_transcoder *t, uint64_t plain) {
  return t->keeps && !t->receiver.dictionary && plain >= ZL_KEPT_MIN;
}

static int32_t try_part(zl_transcoder *t, span *s, const zmtp_frame *frame, uint32_t place) {
  const uint8_t *wire = s->in + frame->head_bytes;
  const uint64_t have = input_left(s) - frame->head_bytes;
  const uint64_t body = frame->body_bytes;
  const uint64_t whole = frame->head_bytes + body;
  const uint8_t more = frame->flags & ZMTP_MORE;

  if (t->part_index >= t->parts_max) return ZL_E_PARTS;
  zl_part *part = zl_part_slot();
  int32_t kind = zl_envelope_fits(&t->receiver, body, place, part);
  if (kind < 0) return kind;
  /* A plain part is recognised by its sentinel alone. */
  if (have < ZL_SENTINEL_BYTES && body >= ZL_SENTINEL_BYTES)
    return needs_input(s, frame->head_bytes + ZL_SENTINEL_BYTES);
  if (body >= ZL_SENTINEL_BYTES) {
    const uint32_t head = zl_format_head(wire, body);
    if (have < head) return needs_input(s, frame->head_bytes + head);
  }

  kind = zl_envelope_read(&t->receiver, wire, body, place, part);
  if (kind < 0) return kind;

  if (kind == ZL_PLAIN) {
    if (room_left(s) < ZMTP_LONG_HEAD) return needs_room(s, ZMTP_LONG_HEAD);
    s->in += frame->head_bytes + ZL_SENTINEL_BYTES;
    s->out += zmtp_frame_write(s->out, more, part->plain_bytes);
    zl_count_part(t, place, part->plain_bytes, body);
    return pass_body(t, part->plain_bytes);
  }

  if (kind == ZL_ARENA) return receive_arena(t, s, frame);

  if (kind == ZL_DICTIONARY) {
    if (have < body) return needs_input(s, whole);
    int32_t status = zl_receive_dictionary(&t->receiver, wire + ZL_DICTIONARY_AT,
                                           (uint32_t)body - ZL_DICTIONARY_AT);
    if (status < 0) return status;
    s->in += whole;
    t->traffic.wire_bytes += body;
    return STEP_DONE;
  }

  const uint64_t plain = part->plain_bytes;
  if (plain > ZL_PART_MAX) return zl_leave_large(t, s, frame, place);
  if (have < body) return needs_input(s, whole);
  const uint64_t longest = plain > body ? plain : body;
  if (room_left(s) < ZMTP_LONG_HEAD + longest) return needs_room(s, ZMTP_LONG_HEAD + longest);
  uint32_t head = zmtp_frame_write(s->out, more, plain);
  int32_t status = zl_part_decode(&t->receiver, wire, (uint32_t)body, part, s->out + head);
  if (status < 0) return status;
  if (keeps_part(t, plain)) {
    head = zmtp_frame_write(s->out, more | ZMTP_KEPT, body);
    memcpy(s->out + head, wire, body);
    s->out += head + body;
  } else {
    s->out += head + plain;
  }
  s->in += whole;
  zl_count_part(t, place, plain, body);
  return STEP_DONE;
}

int32_t zl_receive_part(zl_transcoder *t, span *s, const zmtp_frame *frame, uint32_t place) {
  const uint64_t budget_left = t->receiver.budget_left;
  const int32_t status = try_part(t, s, frame, place);
  /* The head will be read again: here, or by the caller if the part is large. */
  if (status != STEP_DONE) t->receiver.budget_left = budget_left;
  return status;
}
