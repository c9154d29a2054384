#include "transcoder.h"

#include <stdlib.h>

#include "bytes.h"
#include "trainer.h"

/* Longer pieces of a body are left to the caller, who has them already. */
#define COPIED_BODY_MAX 4096u

uint32_t zl_block_max(void) {
  return ZL_BLOCK_MAX;
}

uint32_t zl_part_max(void) {
  return ZL_PART_MAX;
}

zl_transcoder *zl_transcoder_open(uint8_t direction, uint32_t greeted) {
  zl_transcoder *t = calloc(1, sizeof *t);
  if (t) {
    t->direction = direction;
    t->state = greeted ? FRAME : GREETING;
  }
  return t;
}

void zl_transcoder_close(zl_transcoder *t) {
  zl_dictionary_close(t->receiver.dictionary);
  zl_dictionary_close(t->sender.dictionary);
  if (t->sender.trainer && t->sender.trainer->sampling == t) t->sender.trainer->sampling = NULL;
  free(t);
}

zl_progress *zl_progress_slot(void) {
  static zl_progress slot;
  return &slot;
}

const zl_dictionary *zl_transcoder_dictionary(const zl_transcoder *t) {
  if (t->direction == RECEIVING) return t->receiver.dictionary;
  return t->sender.dictionary_due ? NULL : t->sender.dictionary;
}

zl_receiver *zl_transcoder_receiver(zl_transcoder *t) {
  return &t->receiver;
}
const uint8_t *zl_greeting_seen(const zl_transcoder *t) {
  return t->greeting;
}
uint32_t zl_greeting_count(const zl_transcoder *t) {
  return t->greeting_count < ZMTP_GREETING_CHECKED ? t->greeting_count : ZMTP_GREETING_CHECKED;
}
uint32_t zl_part_index(const zl_transcoder *t) {
  return t->part_index;
}
uint32_t zl_inside_message(const zl_transcoder *t) {
  return t->inside || t->state == BODY || t->state == LARGE;
}
const zl_large *zl_large_part(const zl_transcoder *t) {
  return &t->large;
}

void zl_count_part(zl_transcoder *t, uint32_t place, uint64_t plain, uint64_t wire) {
  if (place & ZL_LAST && t->sender.apart > 0) t->sender.apart--;
  t->traffic.plain_bytes += plain;
  t->traffic.wire_bytes += wire;
  t->inside = !(place & ZL_LAST);
  t->part_index = t->inside ? t->part_index + 1 : 0;
  t->sender.sampled = 0;
  if (place & ZL_LAST) t->traffic.messages++;
}

void zl_count_arena(zl_transcoder *t, const zl_arena *arena, uint64_t wire) {
  t->traffic.messages += arena->messages;
  t->traffic.plain_bytes += arena->plain_bytes;
  t->traffic.wire_bytes += wire;
  t->traffic.arenas++;
}

int32_t zl_leave_large(zl_transcoder *t, span *s, const zmtp_frame *frame, uint32_t place) {
  t->large = (zl_large){.body_bytes = frame->body_bytes, .place = place, .index = t->part_index};
  t->state = LARGE;
  s->in += frame->head_bytes;
  return ZL_LARGE_PART;
}

static int32_t greeting_step(zl_transcoder *t, span *s) {
  if (s->in == s->in_end) return needs_input(s, 1);
  if (room_left(s) < ZMTP_GREETING_BYTES) return needs_room(s, ZMTP_GREETING_BYTES);
  while (t->greeting_count < ZMTP_GREETING_BYTES && s->in < s->in_end) {
    if (t->greeting_count < ZMTP_GREETING_CHECKED) {
      t->greeting[t->greeting_count] = *s->in;
      if (!zmtp_greeting_accepts(t->greeting, t->greeting_count + 1u)) return ZL_E_GREETING;
    }
    t->greeting_count++;
    pass_on(s, 1);
  }
  if (t->greeting_count == ZMTP_GREETING_BYTES) t->state = FRAME;
  return STEP_DONE;
}

uint32_t zl_body_left(const zl_transcoder *t) {
  if (t->state != BODY) return 0;
  return t->body_left < UINT32_MAX ? (uint32_t)t->body_left : UINT32_MAX;
}

void zl_body_taken(zl_transcoder *t, uint32_t bytes) {
  t->body_left -= bytes;
  if (t->body_left == 0) t->state = FRAME;
}

static int32_t body_step(zl_transcoder *t, span *s) {
  uint64_t bytes = t->body_left;
  if (bytes > input_left(s)) bytes = input_left(s);
  if (bytes > COPIED_BODY_MAX) {
    s->need = (uint32_t)bytes;
    return ZL_BODY;
  }
  if (bytes > room_left(s)) bytes = room_left(s);
  pass_on(s, bytes);
  zl_body_taken(t, (uint32_t)bytes);
  if (t->state == FRAME) return STEP_DONE;
  return s->in == s->in_end ? needs_input(s, 1) : needs_room(s, 1);
}

uint32_t zl_large_done(zl_transcoder *t, uint8_t *target, uint32_t low, uint32_t high) {
  uint64_t other = zl_join_u64(low, high);
  uint32_t place = t->large.place;
  if (t->direction == RECEIVING)
    zl_count_part(t, place, other, t->large.body_bytes);
  else {
    zl_note_trial(t, t->large.body_bytes, other < t->large.body_bytes + ZL_SENTINEL_BYTES);
    zl_count_part(t, place, t->large.body_bytes, other);
  }
  t->state = FRAME;
  return zmtp_frame_write(target, place & ZL_LAST ? 0 : ZMTP_MORE, other);
}

static int32_t frame_step(zl_transcoder *t, span *s) {
  zmtp_frame frame;
  int32_t missing = zmtp_frame_read(s->in, input_left(s), &frame);
  if (missing != 0) return missing < 0 ? missing : needs_input(s, (uint64_t)missing);
  if (frame.flags & ZMTP_COMMAND) {
    if (room_left(s) < frame.head_bytes) return needs_room(s, frame.head_bytes);
    pass_on(s, frame.head_bytes);
    return pass_body(t, frame.body_bytes);
  }
  uint32_t place = (t->inside ? 0u : ZL_FIRST) | (frame.flags & ZMTP_MORE ? 0u : ZL_LAST);
  return t->direction == RECEIVING ? zl_receive_part(t, s, &frame, place)
                                   : zl_send_part(t, s, &frame, place);
}

int32_t zl_transcode(zl_transcoder *t, const uint8_t *input, uint32_t length, uint8_t *output,
                     uint32_t room, zl_progress *progress) {
  span s = {.in = input, .in_end = input + length, .out = output, .out_end = output + room};
  int32_t status;
  do {
    switch (t->state) {
    case GREETING:
      status = greeting_step(t, &s);
      break;
    case BODY:
      status = body_step(t, &s);
      break;
    case FRAME:
      status = frame_step(t, &s);
      break;
    default:
      status = ZL_LARGE_PART;
    }
  } while (status == STEP_DONE);
  *progress = (zl_progress){
      .consumed = (uint32_t)(s.in - input),
      .produced = (uint32_t)(s.out - output),
      .need = s.need,
  };
  return status;
}
