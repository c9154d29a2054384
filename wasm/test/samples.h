/* Plaintexts that compress well, badly and not at all; the same in every run. */
#ifndef ZL_SAMPLES_H
#define ZL_SAMPLES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef void fill_function(uint8_t *target, size_t length);

static inline uint32_t sample_random(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static inline void fill_noise(uint8_t *target, size_t length) {
  uint32_t state = 2463534242u;
  for (size_t i = 0; i < length; i++)
    target[i] = (uint8_t)(sample_random(&state) >> 24);
}

static inline void fill_zeros(uint8_t *target, size_t length) {
  if (length) memset(target, 0, length);
}

static inline void fill_text(uint8_t *target, size_t length) {
  static const char words[][12] = {"message ", "part ", "socket ", "peer ", "frame ", "link ",
                                   "budget ",  "of ",   "the ",    "and ",  "to ",    "queue "};
  uint32_t state = 88675123u;
  for (size_t at = 0; at < length;) {
    const char *word = words[sample_random(&state) % (sizeof words / sizeof *words)];
    for (; *word && at < length; word++)
      target[at++] = (uint8_t)*word;
  }
}

static const struct {
  const char *name;
  fill_function *fill;
} samples[] = {{"text", fill_text}, {"noise", fill_noise}, {"zeros", fill_zeros}};

#define SAMPLES (sizeof samples / sizeof *samples)

#endif
