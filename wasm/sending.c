/* From plain ZMTP to the wire: which parts are tried, which are sampled, what goes plain. */
#include "bytes.h"
#include "dictionary.h"
#include "format.h"
#include "memo.h"
#include "trainer.h"
#include "transcoder.h"

zl_transcoder *zl_sending_open(zl_dictionary *dictionary, uint32_t min_bytes, int32_t effort,
                               uint32_t arenas, zl_trainer *trainer, uint32_t greeted) {
  zl_transcoder *t = zl_transcoder_open(SENDING, greeted);
  if (t) {
    t->sender.dictionary = dictionary;
    t->sender.dictionary_due = dictionary && !greeted;
    t->sender.min_bytes = min_bytes;
    t->sender.effort = effort;
    t->sender.arenas = arenas != 0;
    t->sender.trainer = trainer;
  }
  return t;
}

void zl_sending_effort(zl_transcoder *t, int32_t effort) {
  t->sender.effort = effort;
}

void zl_sending_arenas(zl_transcoder *t, uint32_t arenas) {
  t->sender.arenas = arenas != 0;
  t->sender.apart = 0;
}

/* -- Parts that do not compress ----------------------------------------------- */

/* Number of consecutive parts of similar size that did not get shorter before the next ones are
 * sampled first, and number of sampled parts before one is tried without a sample. Of parts that
 * are larger than ZL_PART_MAX none is, because that takes too long. */
#define VAIN_MAX 4u
#define SAMPLED_MAX 64u
/* For shorter parts a sample takes as long as a trial. */
#define SAMPLED_MIN_BYTES 4096u
/* The share of a part that is sampled at its beginning, and again in its middle. */
#define SAMPLE_SHARE 16u
#define SAMPLE_MAX 2048u

static uint8_t *vain_of(zl_transcoder *t, uint64_t body) {
  return &t->sender.vain[body > UINT32_MAX ? 32 : 32 - __builtin_clz((uint32_t)body | 1)];
}

void zl_note_trial(zl_transcoder *t, uint64_t body, int shrank) {
  uint8_t *vain = vain_of(t, body);
  if (shrank)
    *vain = 0;
  else if (++*vain > VAIN_MAX + SAMPLED_MAX)
    *vain = VAIN_MAX;
}

/* Returns whether a part is the one of many that is tried although the others did not get shorter.
 */
static int is_tried_again(zl_transcoder *t, uint64_t body) {
  return body <= ZL_PART_MAX && *vain_of(t, body) == VAIN_MAX + SAMPLED_MAX;
}

/* Returns the size of each of the two pieces of a sample; 0 if the part is to be tried. */
static uint32_t sample_bytes(zl_transcoder *t, uint64_t body) {
  if (body < SAMPLED_MIN_BYTES || *vain_of(t, body) < VAIN_MAX || is_tried_again(t, body)) return 0;
  return body / SAMPLE_SHARE < SAMPLE_MAX ? (uint32_t)(body / SAMPLE_SHARE) : SAMPLE_MAX;
}

/* -- Parts -------------------------------------------------------------------- */

/* Writes the frame header for a body that is already in the output, ZMTP_LONG_HEAD bytes further
 * on. */
static void put_head(span *s, uint8_t more, uint32_t body) {
  uint32_t head = zmtp_frame_write(s->out, more, body);
  if (head < ZMTP_LONG_HEAD) memmove(s->out + head, s->out + ZMTP_LONG_HEAD, body);
  s->out += head + body;
}

static int32_t send_dictionary(zl_transcoder *t, span *s) {
  const zl_dictionary *dictionary = t->sender.dictionary;
  const uint32_t body = ZL_DICTIONARY_AT + dictionary->length;
  if (room_left(s) < ZMTP_LONG_HEAD + body) return needs_room(s, ZMTP_LONG_HEAD + body);
  s->out += zmtp_frame_write(s->out, 0, body);
  zl_write_u32le(s->out, ZL_SENTINEL_DICTIONARY);
  memcpy(s->out + ZL_DICTIONARY_AT, dictionary->bytes, dictionary->length);
  s->out += body;
  t->traffic.wire_bytes += body;
  t->sender.dictionary_due = 0;
  return STEP_DONE;
}

/* Sends an arena, or leaves its messages to be sent separately if it would be no shorter. */
static int32_t send_arena(zl_transcoder *t, span *s, const zl_arena *arena) {
  const uint32_t room = ZMTP_LONG_HEAD + ZL_ARENA_HEAD_BYTES + arena->bytes;
  if (room_left(s) < room) return needs_room(s, room);
  uint32_t wire =
      zl_arena_encode(t->sender.dictionary, s->in, arena->bytes, arena->messages, arena->parts,
                      s->out + ZMTP_LONG_HEAD, t->sender.min_bytes, t->sender.effort);
  /* Plain parts take a sentinel each. */
  if (ZMTP_LONG_HEAD + wire >= arena->bytes + ZL_SENTINEL_BYTES * arena->parts) {
    t->sender.apart = arena->messages;
    return STEP_DONE;
  }
  put_head(s, 0, wire);
  s->in += arena->bytes;
  zl_count_arena(t, arena, wire);
  return STEP_DONE;
}

/* Adopts a trained dictionary at the start of a message. */
static void adopt_trained(zl_transcoder *t) {
  zl_trainer *trainer = t->sender.trainer;
  if (!trainer->done) return;
  t->sender.trainer = NULL;
  if (!trainer->dictionary) return;
  t->sender.dictionary = zl_dictionary_share(trainer->dictionary);
  t->sender.dictionary_due = 1;
  t->sender.min_bytes = trainer->min_bytes;
}

/* Returns whether this transcoder's messages are sampled. Sampling starts with its next message if
 * no other transcoder is sampled, or if it has waited long enough for another one, which may be
 * idle. */
static int is_sampled(zl_transcoder *t, uint32_t place) {
  zl_trainer *trainer = t->sender.trainer;
  if (trainer->sampling == t) return 1;
  if (!(place & ZL_FIRST)) return 0;
  if (trainer->sampling && t->sender.passed_by++ < trainer->trigger) return 0;
  t->sender.passed_by = 0;
  trainer->sampling = t;
  return 1;
}

/* Samples a part once enough of its bytes are available. */
static int32_t sample_part(zl_transcoder *t, span *s, const zmtp_frame *frame, uint32_t place) {
  zl_trainer *trainer = t->sender.trainer;
  if (t->sender.sampled) return STEP_DONE;
  if (!is_sampled(t, place)) {
    t->sender.sampled = 1;
    return STEP_DONE;
  }
  uint64_t wanted = zl_trainer_wants(trainer);
  if (wanted > frame->body_bytes) wanted = frame->body_bytes;
  if (input_left(s) < frame->head_bytes + wanted) return needs_input(s, frame->head_bytes + wanted);
  zl_trainer_sample(trainer, s->in + frame->head_bytes, (uint32_t)wanted);
  if (place & ZL_LAST && zl_trainer_message(trainer) && !trainer->deferred)
    zl_trainer_train(trainer);
  t->sender.sampled = 1;
  return STEP_DONE;
}

static int32_t send_plain(zl_transcoder *t, span *s, const zmtp_frame *frame, uint32_t place) {
  const uint64_t body = frame->body_bytes;
  if (room_left(s) < ZMTP_LONG_HEAD + ZL_SENTINEL_BYTES)
    return needs_room(s, ZMTP_LONG_HEAD + ZL_SENTINEL_BYTES);
  s->in += frame->head_bytes;
  s->out += zmtp_frame_write(s->out, frame->flags & ZMTP_MORE, body + ZL_SENTINEL_BYTES);
  zl_write_u32le(s->out, ZL_SENTINEL_PLAIN);
  s->out += ZL_SENTINEL_BYTES;
  zl_count_part(t, place, body, body + ZL_SENTINEL_BYTES);
  return pass_body(t, body);
}

/* Returns the dictionary for the next part. There is none until it has been shipped, which does not
 * happen within a message that began with no effort. */
static zl_dictionary *shipped_dictionary(const zl_transcoder *t) {
  return t->sender.dictionary_due ? NULL : t->sender.dictionary;
}

uint32_t zl_sending_plan(zl_transcoder *t, uint32_t low, uint32_t high) {
  const uint64_t body = zl_join_u64(low, high);
  if (t->sender.effort == ZL_NO_EFFORT) return ZL_GOES_PLAIN;
  if (t->sender.trainer || t->sender.dictionary_due) return ZL_IS_TRIED;
  if (body < t->sender.min_bytes) return ZL_GOES_PLAIN;
  const uint32_t bytes = sample_bytes(t, body);
  return bytes > 0 ? bytes : ZL_IS_TRIED;
}

uint32_t zl_sending_shrinks(const zl_transcoder *t, const uint8_t *sample, uint32_t length) {
  static uint8_t block[2 * SAMPLE_MAX];
  return zl_body_encode(shipped_dictionary(t), sample, length, block, length - 1, ZL_TRIAL_EFFORT) >
         0;
}

uint32_t zl_sending_plain(zl_transcoder *t, uint8_t *target, uint32_t more, uint32_t low,
                          uint32_t high) {
  const uint64_t body = zl_join_u64(low, high);
  const int is_sampled = t->sender.effort != ZL_NO_EFFORT && body >= t->sender.min_bytes;
  if (is_sampled) zl_note_trial(t, body, 0);
  zl_count_part(t, (t->inside ? 0u : ZL_FIRST) | (more ? 0u : ZL_LAST), body,
                body + ZL_SENTINEL_BYTES);
  uint32_t head = zmtp_frame_write(target, more ? ZMTP_MORE : 0, body + ZL_SENTINEL_BYTES);
  zl_write_u32le(target + head, ZL_SENTINEL_PLAIN);
  return head + ZL_SENTINEL_BYTES;
}

void zl_sending_kept(zl_transcoder *t, uint32_t more, uint32_t low, uint32_t high,
                     uint32_t wire_low, uint32_t wire_high) {
  zl_count_part(t, (t->inside ? 0u : ZL_FIRST) | (more ? 0u : ZL_LAST), zl_join_u64(low, high),
                zl_join_u64(wire_low, wire_high));
}

/* Returns whether a sample suggests that a part is compressible. */
static int looks_compressible(zl_transcoder *t, const uint8_t *part, uint32_t length) {
  const uint32_t bytes = sample_bytes(t, length);
  if (bytes == 0) return 1;
  static uint8_t sample[2 * SAMPLE_MAX];
  memcpy(sample, part, bytes);
  memcpy(sample + bytes, part + length / 2, bytes);
  return (int)zl_sending_shrinks(t, sample, 2 * bytes);
}

int32_t zl_send_part(zl_transcoder *t, span *s, const zmtp_frame *frame, uint32_t place) {
  const uint64_t body = frame->body_bytes;
  const uint64_t whole = frame->head_bytes + body;
  if (t->sender.effort == ZL_NO_EFFORT) return send_plain(t, s, frame, place);
  /* Not for a message that had already begun, and is read again because there was no room. */
  if (t->sender.trainer && place & ZL_FIRST && !t->sender.sampled) adopt_trained(t);
  if (t->sender.trainer && (t->sender.sampled || zl_trainer_wants(t->sender.trainer) > 0)) {
    int32_t status = sample_part(t, s, frame, place);
    if (status != STEP_DONE) return status;
  } else if (place & ZL_FIRST) {
    if (t->sender.dictionary_due) return send_dictionary(t, s);
    if (t->sender.arenas && t->sender.apart == 0) {
      zl_arena arena = zl_arena_gather(s->in, input_left(s));
      if (arena.messages > 1) return send_arena(t, s, &arena);
    }
  }

  if (body < t->sender.min_bytes) return send_plain(t, s, frame, place);
  if (body > ZL_PART_MAX) return zl_leave_large(t, s, frame, place);
  if (input_left(s) < whole) return needs_input(s, whole);
  if (room_left(s) < ZMTP_LONG_HEAD + ZL_SENTINEL_BYTES + body)
    return needs_room(s, ZMTP_LONG_HEAD + ZL_SENTINEL_BYTES + body);
  if (!looks_compressible(t, s->in + frame->head_bytes, (uint32_t)body)) {
    zl_note_trial(t, body, 0);
    return send_plain(t, s, frame, place);
  }
  /* A thorough effort would take as long for it as all the samples. */
  const int32_t effort = zl_is_thorough(t->sender.effort) && is_tried_again(t, body)
                             ? ZL_TRIAL_EFFORT
                             : t->sender.effort;
  uint32_t wire = zl_memo_encode(t, shipped_dictionary(t), s->in + frame->head_bytes,
                                 (uint32_t)body, s->out + ZMTP_LONG_HEAD, effort);
  zl_note_trial(t, body, wire > 0);
  if (wire == 0) return send_plain(t, s, frame, place);
  put_head(s, frame->flags & ZMTP_MORE, wire);
  s->in += whole;
  zl_count_part(t, place, body, wire);
  return STEP_DONE;
}
