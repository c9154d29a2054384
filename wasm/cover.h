/* The common content of samples: the segments whose substrings are found in the most
 * of them, after the COVER algorithm (RFC.md section 6.4). */
#ifndef ZL_COVER_H
#define ZL_COVER_H

#include <stdint.h>

/* The most bytes of one sample. */
#define ZL_SAMPLE_MAX 16384u

/* Samples, one behind the other. */
typedef struct {
  const uint8_t *bytes;
  const uint32_t *ends; /* where each ends */
  uint32_t count;
} zl_samples;

/* The work of making a dictionary of them, which can be done bit by bit. */
typedef struct zl_training zl_training;

/* For a dictionary of at most `capacity` bytes, of which ZL_DICTIONARY_MAX is the
 * most. The samples stay as they are until it is closed. Returns 0 when there is
 * nothing to train with, or memory is out. */
zl_training *zl_training_open(const zl_samples *samples, uint32_t capacity);
/* Does some of the work, at most about a quarter of it; whether there is more. */
int zl_training_step(zl_training *training);
/* The dictionary that the work, which is all done, has led to, and its length: 0 when
 * one would gain nothing. */
const uint8_t *zl_training_result(const zl_training *training, uint32_t *length);
/* 0 is allowed. */
void zl_training_close(zl_training *training);

#endif
