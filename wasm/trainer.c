#include "trainer.h"

#include <stdlib.h>
#include <string.h>

/* Maximum size of the samples of a trainer together, and their maximum number. */
#define SAMPLES_MAX_BYTES (1u << 20)
#define SAMPLES_MAX 8192u
/* Smaller samples are ignored. */
#define SAMPLE_MIN 8u

/* Trainers that have samples. Each has up to SAMPLES_MAX_BYTES of them, so their number bounds the
 * memory; the others wait. */
#define COLLECTING_MAX 64u
static zl_trainer *collecting[COLLECTING_MAX];
/* Number of parts that were offered to all trainers. Once so many were offered since a trainer took
 * its last one, it is idle and gives its samples up for another. */
#define IDLE_AFTER 65536u
static uint32_t offered;

/* Number of open trainers that have a dictionary. An index for searching it takes 16 KiB. */
#define TRAINED_MAX 1024u
static uint32_t trained;

zl_trainer *zl_trainer_open(uint32_t capacity, uint32_t trigger, uint32_t min_bytes,
                            uint32_t deferred) {
  if (capacity == 0 || capacity > ZL_DICTIONARY_MAX) return NULL;
  zl_trainer *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  t->capacity = capacity;
  t->trigger = trigger;
  t->min_bytes = min_bytes;
  t->deferred = (uint8_t)deferred;
  return t;
}

static void drop_samples(zl_trainer *t) {
  if (t->place) *t->place = NULL;
  t->place = NULL;
  free(t->bytes);
  free(t->ends);
  t->bytes = NULL;
  t->ends = NULL;
  t->room = t->count = 0;
}

void zl_trainer_close(zl_trainer *t) {
  if (!t) return;
  zl_training_close(t->training);
  drop_samples(t);
  if (t->dictionary) trained--;
  zl_dictionary_close(t->dictionary);
  free(t);
}

/* Takes a place among the trainers that have samples. Returns whether there is one. */
static int take_place(zl_trainer *t) {
  if (trained + COLLECTING_MAX > TRAINED_MAX) return 0;
  zl_trainer **place = &collecting[0];
  for (uint32_t i = 0; i < COLLECTING_MAX && *place; i++)
    if (!collecting[i] || offered - collecting[i]->latest > offered - (*place)->latest)
      place = &collecting[i];
  zl_trainer *idle = *place;
  if (idle) {
    /* One that is ready will soon have trained. */
    if (zl_trainer_ready(idle) || offered - idle->latest < IDLE_AFTER) return 0;
    idle->messages = 0;
    drop_samples(idle);
  }
  *place = t;
  t->place = place;
  return 1;
}

uint32_t zl_trainer_ready(const zl_trainer *t) {
  return t->messages >= t->trigger && !t->done;
}

uint32_t zl_trainer_wants(zl_trainer *t) {
  offered++;
  if (t->messages >= t->trigger || (!t->place && !take_place(t))) return 0;
  t->latest = offered;
  return 2 * t->capacity;
}

static int make_room(zl_trainer *t, uint32_t used, uint32_t length) {
  if (!t->ends) t->ends = malloc(SAMPLES_MAX * sizeof *t->ends);
  if (!t->ends) return 0;
  if (used + length <= t->room) return 1;
  uint32_t room = 2 * (used + length);
  if (room > SAMPLES_MAX_BYTES) room = SAMPLES_MAX_BYTES;
  uint8_t *bytes = realloc(t->bytes, room);
  if (!bytes) return 0;
  t->bytes = bytes;
  t->room = room;
  return 1;
}

void zl_trainer_sample(zl_trainer *t, const uint8_t *part, uint32_t length) {
  const uint32_t wanted = zl_trainer_wants(t);
  if (length > wanted) length = wanted;
  const uint32_t used = t->count > 0 ? t->ends[t->count - 1] : 0;
  if (length < SAMPLE_MIN || t->count == SAMPLES_MAX || used + length > SAMPLES_MAX_BYTES) return;
  if (!make_room(t, used, length)) return;
  memcpy(t->bytes + used, part, length);
  t->ends[t->count++] = used + length;
}

int zl_trainer_message(zl_trainer *t) {
  return t->place && ++t->messages == t->trigger;
}

uint32_t zl_trainer_step(zl_trainer *t) {
  if (!t->training) {
    zl_samples samples = {.bytes = t->bytes, .ends = t->ends, .count = t->count};
    t->training = zl_training_open(&samples, t->capacity);
    return t->training != NULL;
  }
  return (uint32_t)zl_training_step(t->training);
}

zl_dictionary *zl_trainer_train(zl_trainer *t) {
  while (zl_trainer_step(t))
    ;
  return zl_trainer_finish(t);
}

zl_dictionary *zl_trainer_finish(zl_trainer *t) {
  if (t->training) {
    uint32_t length;
    const uint8_t *made = zl_training_result(t->training, &length);
    t->dictionary = zl_dictionary_open(made, length);
    if (t->dictionary) trained++;
    zl_training_close(t->training);
    t->training = NULL;
  }
  drop_samples(t);
  t->done = 1;
  return t->dictionary;
}
