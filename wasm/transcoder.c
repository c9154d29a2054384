#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "bytes.h"
#include "dictionary.h"
#include "envelope.h"
#include "memo.h"
#include "trainer.h"
#include "zmtp.h"

enum { RECEIVING, SENDING };

enum {
  GREETING, /* passing bytes on as they arrive: each side waits for parts of the other's greeting */
  FRAME,    /* before a frame header */
  BODY,     /* passing on the rest of a body */
  LARGE,    /* the caller has the body */
};

struct zl_transcoder {
  zl_traffic traffic; /* first: JavaScript reads it */
  uint8_t direction;
  uint8_t state;
  uint8_t inside; /* a multipart message: its first part has been read */
  uint8_t greeting_count;
  uint8_t greeting[ZMTP_GREETING_CHECKED];
  uint32_t part_index;
  uint32_t parts_max; /* of a message */
  uint64_t body_left; /* in BODY */
  zl_large large;     /* in LARGE */
  zl_receiver receiver;
  struct {
    zl_dictionary *dictionary;
    uint32_t min_bytes;
    int32_t effort;
    uint8_t dictionary_due;
    uint8_t arenas;
    uint32_t apart;     /* messages to send without looking for an arena again */
    uint8_t sampled;    /* whether the current part was sampled, or needs no sample */
    uint8_t vain[33];   /* consecutive parts that did not get shorter, by the bits of their sizes */
    uint32_t passed_by; /* messages sent while another transcoder was sampled */
    zl_trainer *trainer; /* until its dictionary is taken over, or there is to be none */
  } sender;
};

/* The input and output left in one call. */
typedef struct {
  const uint8_t *in;
  const uint8_t *in_end;
  uint8_t *out;
  uint8_t *out_end;
  uint32_t need;
} span;

/* A status inside a call: go on with the next step. */
#define STEP_DONE 16

/* Longer pieces of a body are left to the caller, who has them already. */
#define COPIED_BODY_MAX 4096u

static zl_transcoder *open_transcoder(uint8_t direction) {
  zl_transcoder *t = calloc(1, sizeof *t);
  if (t) t->direction = direction;
  return t;
}

zl_transcoder *zl_receiving_open(uint32_t budget_low, uint32_t budget_high, uint32_t revision,
                                 uint32_t greeted) {
  zl_transcoder *t = open_transcoder(RECEIVING);
  if (t) {
    t->state = greeted ? FRAME : GREETING;
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

zl_transcoder *zl_sending_open(zl_dictionary *dictionary, uint32_t min_bytes, int32_t effort,
                               uint32_t arenas, zl_trainer *trainer, uint32_t greeted) {
  zl_transcoder *t = open_transcoder(SENDING);
  if (t) {
    t->state = greeted ? FRAME : GREETING;
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

static uint64_t input_left(const span *s) {
  return (uint64_t)(s->in_end - s->in);
}
static uint64_t room_left(const span *s) {
  return (uint64_t)(s->out_end - s->out);
}

static int32_t needs_input(span *s, uint64_t bytes) {
  s->need = (uint32_t)bytes;
  return ZL_NEEDS_INPUT;
}

static int32_t needs_room(span *s, uint64_t bytes) {
  s->need = (uint32_t)bytes;
  return ZL_NEEDS_ROOM;
}

static void pass_on(span *s, uint64_t bytes) {
  memcpy(s->out, s->in, bytes);
  s->in += bytes;
  s->out += bytes;
}

/* Counts a part whose header has been handled, and moves past it. */
static void count_part(zl_transcoder *t, uint32_t place, uint64_t plain, uint64_t wire) {
  if (place & ZL_LAST && t->sender.apart > 0) t->sender.apart--;
  t->traffic.plain_bytes += plain;
  t->traffic.wire_bytes += wire;
  t->inside = !(place & ZL_LAST);
  t->part_index = t->inside ? t->part_index + 1 : 0;
  t->sender.sampled = 0;
  if (place & ZL_LAST) t->traffic.messages++;
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

/* Passes the rest of a body on unchanged. */
static int32_t pass_body(zl_transcoder *t, uint64_t bytes) {
  t->body_left = bytes;
  t->state = BODY;
  return STEP_DONE;
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

/* Records a part that was tried or sampled, and whether it got shorter. */
static void note_trial(zl_transcoder *t, uint64_t body, int shrank) {
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

/* Leaves a part to the caller, and skips its frame header. */
static int32_t leave_large(zl_transcoder *t, span *s, const zmtp_frame *frame, uint32_t place) {
  t->large = (zl_large){.body_bytes = frame->body_bytes, .place = place, .index = t->part_index};
  t->state = LARGE;
  s->in += frame->head_bytes;
  return ZL_LARGE_PART;
}

uint32_t zl_large_done(zl_transcoder *t, uint8_t *target, uint32_t low, uint32_t high) {
  uint64_t other = zl_join_u64(low, high);
  uint32_t place = t->large.place;
  if (t->direction == RECEIVING)
    count_part(t, place, other, t->large.body_bytes);
  else {
    note_trial(t, t->large.body_bytes, other < t->large.body_bytes + ZL_SENTINEL_BYTES);
    count_part(t, place, t->large.body_bytes, other);
  }
  t->state = FRAME;
  return zmtp_frame_write(target, place & ZL_LAST ? 0 : ZMTP_MORE, other);
}

/* -- From the wire ----------------------------------------------------------- */

static int32_t decode_blocks(const zl_receiver *receiver, const uint8_t *wire, zl_part *part,
                             uint8_t *target) {
  const uint8_t *at = wire + ZL_HEAD_BYTES;
  for (;;) {
    int32_t more = zl_receive_block(part, at);
    if (more <= 0) return more;
    if (part->kind == ZL_LZ4M) at += 4;
    int32_t status =
        zl_block_decode(receiver->dictionary, at, part->block_bytes, target, part->block_plain);
    if (status < 0) return status;
    at += part->block_bytes;
    target += part->block_plain;
  }
}

static void count_arena(zl_transcoder *t, const zl_arena *arena, uint64_t wire) {
  t->traffic.messages += arena->messages;
  t->traffic.plain_bytes += arena->plain_bytes;
  t->traffic.wire_bytes += wire;
  t->traffic.arenas++;
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
  count_arena(t, &arena, frame->body_bytes);
  return STEP_DONE;
}

static int32_t receive_part(zl_transcoder *t, span *s, const zmtp_frame *frame, uint32_t place) {
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
  if (have < ZL_HEAD_BYTES && body >= ZL_HEAD_BYTES && zl_envelope_sized(wire))
    return needs_input(s, frame->head_bytes + ZL_HEAD_BYTES);

  const uint64_t budget_left = t->receiver.budget_left;
  kind = zl_envelope_read(&t->receiver, wire, body, place, part);
  if (kind < 0) return kind;

  if (kind == ZL_PLAIN) {
    if (room_left(s) < ZMTP_LONG_HEAD) {
      t->receiver.budget_left = budget_left;
      return needs_room(s, ZMTP_LONG_HEAD);
    }
    s->in += frame->head_bytes + ZL_SENTINEL_BYTES;
    s->out += zmtp_frame_write(s->out, more, part->plain_bytes);
    count_part(t, place, part->plain_bytes, body);
    return pass_body(t, part->plain_bytes);
  }

  if (kind == ZL_LZ4A) return receive_arena(t, s, frame);

  if (kind == ZL_LZ4D) {
    if (have < body) return needs_input(s, whole);
    int32_t status = zl_receive_dictionary(&t->receiver, wire + ZL_SENTINEL_BYTES,
                                           (uint32_t)body - ZL_SENTINEL_BYTES);
    if (status < 0) return status;
    s->in += whole;
    t->traffic.wire_bytes += body;
    return STEP_DONE;
  }

  const uint64_t plain = part->plain_bytes;
  if (plain > ZL_PART_MAX) {
    t->receiver.budget_left = budget_left; /* the caller reads the head again */
    return leave_large(t, s, frame, place);
  }
  if (have < body || room_left(s) < ZMTP_LONG_HEAD + plain) {
    t->receiver.budget_left = budget_left; /* this will be read again */
    return have < body ? needs_input(s, whole) : needs_room(s, ZMTP_LONG_HEAD + plain);
  }
  uint32_t head = zmtp_frame_write(s->out, more, plain);
  int32_t status = decode_blocks(&t->receiver, wire, part, s->out + head);
  if (status < 0) {
    t->receiver.budget_left = budget_left; /* this may be read again */
    return status;
  }
  s->in += whole;
  s->out += head + plain;
  count_part(t, place, plain, body);
  return STEP_DONE;
}

/* -- To the wire ------------------------------------------------------------- */

/* Writes the frame header for a body that is already in the output, ZMTP_LONG_HEAD bytes further
 * on. */
static void put_head(span *s, uint8_t more, uint32_t body) {
  uint32_t head = zmtp_frame_write(s->out, more, body);
  if (head < ZMTP_LONG_HEAD) memmove(s->out + head, s->out + ZMTP_LONG_HEAD, body);
  s->out += head + body;
}

static int32_t send_dictionary(zl_transcoder *t, span *s) {
  const zl_dictionary *dictionary = t->sender.dictionary;
  const uint32_t body = ZL_SENTINEL_BYTES + dictionary->length;
  if (room_left(s) < ZMTP_LONG_HEAD + body) return needs_room(s, ZMTP_LONG_HEAD + body);
  s->out += zmtp_frame_write(s->out, 0, body);
  zl_write_u32le(s->out, ZL_SENTINEL_LZ4D);
  memcpy(s->out + ZL_SENTINEL_BYTES, dictionary->bytes, dictionary->length);
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
  count_arena(t, arena, wire);
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
  count_part(t, place, body, body + ZL_SENTINEL_BYTES);
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
  return zl_block_encode(shipped_dictionary(t), sample, length, block, length - 1, 1) > 0;
}

uint32_t zl_sending_plain(zl_transcoder *t, uint8_t *target, uint32_t more, uint32_t low,
                          uint32_t high) {
  const uint64_t body = zl_join_u64(low, high);
  const int is_sampled = t->sender.effort != ZL_NO_EFFORT && body >= t->sender.min_bytes;
  if (is_sampled) note_trial(t, body, 0);
  count_part(t, (t->inside ? 0u : ZL_FIRST) | (more ? 0u : ZL_LAST), body,
             body + ZL_SENTINEL_BYTES);
  uint32_t head = zmtp_frame_write(target, more ? ZMTP_MORE : 0, body + ZL_SENTINEL_BYTES);
  zl_write_u32le(target + head, ZL_SENTINEL_PLAIN);
  return head + ZL_SENTINEL_BYTES;
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

static int32_t send_part(zl_transcoder *t, span *s, const zmtp_frame *frame, uint32_t place) {
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
  if (body > ZL_PART_MAX) return leave_large(t, s, frame, place);
  if (input_left(s) < whole) return needs_input(s, whole);
  if (room_left(s) < ZMTP_LONG_HEAD + ZL_SENTINEL_BYTES + body)
    return needs_room(s, ZMTP_LONG_HEAD + ZL_SENTINEL_BYTES + body);
  if (!looks_compressible(t, s->in + frame->head_bytes, (uint32_t)body)) {
    note_trial(t, body, 0);
    return send_plain(t, s, frame, place);
  }
  /* LZ4HC would take as long for it as all the samples. */
  const int32_t effort = t->sender.effort < 0 && is_tried_again(t, body) ? 1 : t->sender.effort;
  uint32_t wire = zl_memo_encode(t, shipped_dictionary(t), s->in + frame->head_bytes,
                                 (uint32_t)body, s->out + ZMTP_LONG_HEAD, effort);
  note_trial(t, body, wire > 0);
  if (wire == 0) return send_plain(t, s, frame, place);
  put_head(s, frame->flags & ZMTP_MORE, wire);
  s->in += whole;
  count_part(t, place, body, wire);
  return STEP_DONE;
}

/* -- Both -------------------------------------------------------------------- */

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
  return t->direction == RECEIVING ? receive_part(t, s, &frame, place)
                                   : send_part(t, s, &frame, place);
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
