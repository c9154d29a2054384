#include "cover.h"

#include <stdlib.h>
#include <string.h>

#include "format.h"

/* Length in bytes of the substrings that are counted by a hash. */
#define UNIT 6u
#define HASH_LOG 15u
#define HASHES (1u << HASH_LOG)

/* Lengths of segments that are tried; the smallest result wins. */
static const uint32_t segment_lengths[] = {128, 384};
#define LENGTHS (sizeof segment_lengths / sizeof *segment_lengths)

typedef struct {
  uint32_t at;
  uint32_t length;
  uint32_t score;
} segment;

struct zl_training {
  zl_samples samples;
  uint32_t capacity;
  uint32_t found[HASHES];  /* number of samples that contain a hash; 0 if only one does */
  uint32_t worth[HASHES];  /* the same, or 0 once a chosen segment contains the hash */
  uint16_t inside[HASHES]; /* number of times that a hash is in the window */
  segment segments[ZL_DICTIONARY_MAX / UNIT];
  uint8_t made[ZL_DICTIONARY_MAX];
  uint8_t best[ZL_DICTIONARY_MAX];
  uint8_t wire[ZL_SAMPLE_MAX + ZL_SENTINEL_BYTES];
  uint32_t steps;       /* steps done */
  uint32_t made_length; /* of `made` */
  uint32_t best_length; /* of `best`, the dictionary with which the samples are smallest */
  uint64_t without;     /* wire bytes of the samples without a dictionary */
  uint64_t smallest;    /* wire bytes of the samples with `best` */
};

static uint32_t hash_at(const uint8_t *bytes) {
  uint64_t unit = 0;
  memcpy(&unit, bytes, UNIT);
  return (uint32_t)(unit * 0x9E3779B97F4A7C15u >> (64 - HASH_LOG));
}

static void count_units(zl_training *t) {
  uint32_t *last = t->worth; /* by hash: the last sample that was counted for it, from 1 */
  memset(t->found, 0, sizeof t->found);
  memset(last, 0, sizeof t->worth);
  uint32_t at = 0;
  for (uint32_t i = 0; i < t->samples.count; i++) {
    for (; at + UNIT <= t->samples.ends[i]; at++) {
      uint32_t hash = hash_at(t->samples.bytes + at);
      if (last[hash] == i + 1) continue;
      last[hash] = i + 1;
      t->found[hash]++;
    }
    at = t->samples.ends[i];
  }
  for (uint32_t i = 0; i < HASHES; i++)
    if (t->found[i] == 1) t->found[i] = 0;
}

/* Returns the best segment of `length` bytes among the `count` units from `begin` on. */
static segment best_segment(zl_training *t, uint32_t begin, uint32_t count, uint32_t length) {
  const uint32_t units = length - UNIT + 1;
  segment best = {0};
  uint32_t score = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t entering = hash_at(t->samples.bytes + begin + i);
    if (t->inside[entering]++ == 0) score += t->worth[entering];
    if (i >= units) {
      uint32_t leaving = hash_at(t->samples.bytes + begin + i - units);
      if (--t->inside[leaving] == 0) score -= t->worth[leaving];
    }
    if (score > best.score) {
      uint32_t first = i < units ? 0 : i - units + 1;
      best = (segment){begin + first, i - first + UNIT, score};
    }
  }
  for (uint32_t i = count > units ? count - units : 0; i < count; i++)
    t->inside[hash_at(t->samples.bytes + begin + i)] = 0;
  return best;
}

/* Trims worthless bytes at both ends of a segment, and uses up the worth of the rest. */
static segment take(zl_training *t, segment s) {
  while (s.length >= UNIT && t->worth[hash_at(t->samples.bytes + s.at)] == 0) {
    s.at++;
    s.length--;
  }
  while (s.length >= UNIT && t->worth[hash_at(t->samples.bytes + s.at + s.length - UNIT)] == 0)
    s.length--;
  for (uint32_t i = 0; i + UNIT <= s.length; i++)
    t->worth[hash_at(t->samples.bytes + s.at + i)] = 0;
  return s;
}

static uint32_t select_segments(zl_training *t, uint32_t length) {
  const uint32_t units = t->samples.ends[t->samples.count - 1] - UNIT + 1;
  uint32_t epochs = t->capacity / length;
  if (epochs == 0) epochs = 1;
  if (epochs > units) epochs = units;
  const uint32_t size = units / epochs;
  uint32_t chosen = 0;
  uint32_t room = t->capacity;
  uint32_t idle = 0;
  memcpy(t->worth, t->found, sizeof t->worth);
  for (uint32_t epoch = 0; room >= UNIT && idle < epochs; epoch = (epoch + 1) % epochs) {
    segment s = best_segment(t, epoch * size, size, length);
    if (s.score == 0) {
      idle++;
      continue;
    }
    idle = 0;
    s = take(t, s);
    if (s.length > room) s.length = room;
    room -= s.length;
    t->segments[chosen++] = s;
  }
  return chosen;
}

static int by_score(const void *a, const void *b) {
  const segment *one = a;
  const segment *other = b;
  if (one->score != other->score) return one->score > other->score ? 1 : -1;
  return one->at > other->at ? 1 : -1; /* the same with every qsort */
}

/* Writes the most useful segments last, where they stay in reach longest. */
static uint32_t write_segments(zl_training *t, uint32_t chosen, uint8_t *target) {
  uint32_t length = 0;
  qsort(t->segments, chosen, sizeof *t->segments, by_score);
  for (uint32_t i = 0; i < chosen; i++) {
    memcpy(target + length, t->samples.bytes + t->segments[i].at, t->segments[i].length);
    length += t->segments[i].length;
  }
  return length;
}

/* Returns the wire bytes of all samples with a dictionary, or 0 for none. */
static uint64_t cost(zl_training *t, zl_dictionary *dictionary) {
  uint64_t sum = 0;
  uint32_t at = 0;
  for (uint32_t i = 0; i < t->samples.count; i++) {
    const uint32_t plain = t->samples.ends[i] - at;
    const uint32_t wire =
        zl_part_encode(dictionary, t->samples.bytes + at, plain, t->wire, ZL_TRIAL_EFFORT);
    sum += wire > 0 ? wire : plain + ZL_SENTINEL_BYTES;
    at = t->samples.ends[i];
  }
  return sum;
}

/* Keeps the latest dictionary if it is better than all before. */
static void judge(zl_training *t) {
  zl_dictionary *dictionary = zl_dictionary_open(t->made, t->made_length);
  if (!dictionary) return;
  uint64_t sum = cost(t, dictionary);
  zl_dictionary_close(dictionary);
  /* The gain must exceed the dictionary's own size, because its bytes come from these samples. */
  if (sum + t->made_length >= t->without || sum >= t->smallest) return;
  t->smallest = sum;
  t->best_length = t->made_length;
  memcpy(t->best, t->made, t->made_length);
}

zl_training *zl_training_open(const zl_samples *samples, uint32_t capacity) {
  if (samples->count == 0 || samples->ends[samples->count - 1] < UNIT) return NULL;
  zl_training *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  t->samples = *samples;
  t->capacity = capacity;
  return t;
}

int zl_training_step(zl_training *t) {
  const uint32_t step = t->steps++;
  if (step == 0) {
    count_units(t);
  } else if (step == 1) {
    t->without = t->smallest = cost(t, NULL);
  } else if (step % 2 == 0) {
    uint32_t chosen = select_segments(t, segment_lengths[step / 2 - 1]);
    const uint32_t length = write_segments(t, chosen, t->made);
    t->made_length = zl_format_finish(&t->samples, t->made, length, t->capacity);
  } else {
    judge(t);
  }
  return t->steps < 2 + 2 * LENGTHS;
}

const uint8_t *zl_training_result(const zl_training *t, uint32_t *length) {
  *length = t->best_length;
  return t->best;
}

void zl_training_close(zl_training *t) {
  free(t);
}
