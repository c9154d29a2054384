/* What the two directions of a transcoder share: its state, and the steps of a call. */
#ifndef ZL_TRANSCODER_H
#define ZL_TRANSCODER_H

#include <string.h>

#include "arena.h"
#include "envelope.h"
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
  uint8_t keeps;      /* compressed parts as they came, see zl_receiving_keep */
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

/* Opens a transcoder that expects a greeting, unless `greeted`. */
zl_transcoder *zl_transcoder_open(uint8_t direction, uint32_t greeted);

/* Steps with a part, at whose frame header the input is. `place` is as in zl_receive_head. */
int32_t zl_receive_part(zl_transcoder *t, span *s, const zmtp_frame *frame, uint32_t place);
int32_t zl_send_part(zl_transcoder *t, span *s, const zmtp_frame *frame, uint32_t place);

/* Records a sent part that was tried or sampled, and whether it got shorter. */
void zl_note_trial(zl_transcoder *t, uint64_t body, int shrank);

/* Counts a part whose header has been handled, and moves past it. */
void zl_count_part(zl_transcoder *t, uint32_t place, uint64_t plain, uint64_t wire);
void zl_count_arena(zl_transcoder *t, const zl_arena *arena, uint64_t wire);

/* Leaves a part to the caller, and skips its frame header. */
int32_t zl_leave_large(zl_transcoder *t, span *s, const zmtp_frame *frame, uint32_t place);

static inline uint64_t input_left(const span *s) {
  return (uint64_t)(s->in_end - s->in);
}
static inline uint64_t room_left(const span *s) {
  return (uint64_t)(s->out_end - s->out);
}

static inline int32_t needs_input(span *s, uint64_t bytes) {
  s->need = (uint32_t)bytes;
  return ZL_NEEDS_INPUT;
}

static inline int32_t needs_room(span *s, uint64_t bytes) {
  s->need = (uint32_t)bytes;
  return ZL_NEEDS_ROOM;
}

static inline void pass_on(span *s, uint64_t bytes) {
  memcpy(s->out, s->in, bytes);
  s->in += bytes;
  s->out += bytes;
}

/* Passes the rest of a body on unchanged. */
static inline int32_t pass_body(zl_transcoder *t, uint64_t bytes) {
  t->body_left = bytes;
  t->state = BODY;
  return STEP_DONE;
}

#endif
