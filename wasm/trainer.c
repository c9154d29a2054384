#include "trainer.h"

#include <stdlib.h>
#include <string.h>

/* Maximum size of all samples together, and their maximum number. */
#define SAMPLES_MAX_BYTES (1u << 20)
#define SAMPLES_MAX 8192u
/* Smaller samples are ignored. */
#define SAMPLE_MIN 8u

zl_trainer *zl_trainer_open(uint32_t capacity, uint32_t trigger, uint32_t min_bytes) {
  if (capacity == 0 || capacity > ZL_DICTIONARY_MAX) return NULL;
  zl_trainer *t = calloc(1, sizeof *t);
  if (t) *t = (zl_trainer){.capacity = capacity, .trigger = trigger, .min_bytes = min_bytes};
  return t;
}

static void drop_samples(zl_trainer *t) {
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
  zl_dictionary_close(t->dictionary);
  free(t);
}

uint32_t zl_trainer_wants(const zl_trainer *t) {
  return 2 * t->capacity;
}

static int make_room(zl_trainer *t, uint32_t used, uint32_t length) {
  if (!t->ends) t->ends = malloc(SAMPLES_MAX * sizeof *t->ends);
  if (!t->ends) return 0;
  if (used + length <= t->room) return 1;
  uint32_t room = 2 * (used + length);
  uint8_t *bytes = realloc(t->bytes, room);
  if (!bytes) return 0;
  t->bytes = bytes;
  t->room = room;
  return 1;
}

void zl_trainer_sample(zl_trainer *t, const uint8_t *part, uint32_t length) {
  if (length > zl_trainer_wants(t)) length = zl_trainer_wants(t);
  const uint32_t used = t->count > 0 ? t->ends[t->count - 1] : 0;
  if (length < SAMPLE_MIN || t->count == SAMPLES_MAX || used + length > SAMPLES_MAX_BYTES) return;
  if (!make_room(t, used, length)) return;
  memcpy(t->bytes + used, part, length);
  t->ends[t->count++] = used + length;
}

int zl_trainer_message(zl_trainer *t) {
  return ++t->messages >= t->trigger;
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
    zl_training_close(t->training);
    t->training = NULL;
  }
  drop_samples(t);
  t->done = 1;
  return t->dictionary;
}
