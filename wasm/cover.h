/* Finds the common content of samples: the segments whose substrings occur in most of them, by the
 * COVER algorithm (RFC.md section 6.4). */
#ifndef ZL_COVER_H
#define ZL_COVER_H

#include <stdint.h>

/* Maximum size of one sample. */
#define ZL_SAMPLE_MAX 16384u

/* Samples, one after the other. */
typedef struct {
  const uint8_t *bytes;
  const uint32_t *ends; /* the end of each */
  uint32_t count;
} zl_samples;

/* The training of a dictionary from samples, which can be done in steps. */
typedef struct zl_training zl_training;

/* Opens the training of a dictionary of at most `capacity` bytes, up to ZL_DICTIONARY_MAX. The
 * samples must not change until it is closed. Returns 0 if there is nothing to train with, or
 * memory runs out. */
zl_training *zl_training_open(const zl_samples *samples, uint32_t capacity);
/* Does at most about a quarter of the work. Returns whether there is more to do. */
int zl_training_step(zl_training *training);
/* Returns the dictionary and its length once all work is done: 0 if a dictionary would gain
 * nothing. */
const uint8_t *zl_training_result(const zl_training *training, uint32_t *length);
/* `training` may be 0. */
void zl_training_close(zl_training *training);

#endif
