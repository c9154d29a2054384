/* What samples have in common: the segments whose substrings are found in the most
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

/* Writes a dictionary of at most `capacity` bytes, of which ZL_DICTIONARY_MAX is the
 * most, to `target` and returns its length: 0 when it would gain nothing, or when
 * memory is out. */
uint32_t zl_cover(const zl_samples *samples, uint32_t capacity, uint8_t *target);

#endif
