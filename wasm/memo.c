#include "memo.h"

#include <stdlib.h>
#include <string.h>

#include "dictionary.h"

/* As many parts as connections may lag behind one another: one read holds some hundreds. A
 * signature selects a set, in which a new part replaces the oldest. */
#define SETS 256u
#define WAYS 4u
/* Room for one part of any size, and many of usual size. */
#define RING_BYTES (2 * (ZL_PART_MAX + ZL_SENTINEL_BYTES))
#define WORDS_GLANCED_AT 8u

/* One part. The signature only finds it; the bytes are compared. */
typedef struct {
  uint64_t signature;
  const void *first; /* the sender that encoded it first */
  uint64_t at;       /* its position in the ring: plaintext, then the part on the wire */
  uint32_t plain;
  uint32_t wire; /* length on the wire; 0 if it is sent plain */
  uint32_t dictionary;
  int32_t effort;
  uint8_t kept;
} remembered;

static remembered sets[SETS][WAYS];
static uint8_t arrivals[SETS];

/* The latest RING_BYTES of the cached parts. Allocated on first use, because most processes never
 * publish. */
static uint8_t *ring;
static uint64_t ring_end;

/* Number of parts that are cached when first encoded, after a cached part was used. */
#define CREDIT 256u
static uint32_t credit;

static uint64_t read_word(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

/* Computes a signature of the length and a few evenly spread words. */
static uint64_t sign(const uint8_t *source, uint32_t plain) {
  uint64_t hash = mix(0, plain);
  if (plain < sizeof(uint64_t)) return hash;
  const uint32_t last = plain - sizeof(uint64_t);
  for (uint32_t i = 0; i < WORDS_GLANCED_AT; i++)
    hash = mix(hash, read_word(source + (uint64_t)last * i / (WORDS_GLANCED_AT - 1)));
  return hash;
}

/* Compares in steps of 32 bytes, because memcmp of the C library compares byte by byte. */
static int same(const uint8_t *a, const uint8_t *b, uint32_t length) {
  uint32_t i = 0;
  for (; i + 32 <= length; i += 32) {
    uint64_t difference = (read_word(a + i) ^ read_word(b + i)) |
                          (read_word(a + i + 8) ^ read_word(b + i + 8)) |
                          (read_word(a + i + 16) ^ read_word(b + i + 16)) |
                          (read_word(a + i + 24) ^ read_word(b + i + 24));
    if (difference) return 0;
  }
  return memcmp(a + i, b + i, length - i) == 0;
}

/* Allocates bytes of the ring, and overwrites the oldest. */
static uint64_t take(uint32_t bytes) {
  uint64_t at = ring_end;
  if (at % RING_BYTES + bytes > RING_BYTES) at += RING_BYTES - at % RING_BYTES;
  ring_end = at + bytes;
  return at;
}

static void keep(remembered *part, const uint8_t *source, const uint8_t *wire) {
  if (!ring) ring = malloc(RING_BYTES);
  if (!ring) return;
  part->at = take(part->plain + part->wire);
  uint8_t *place = ring + part->at % RING_BYTES;
  memcpy(place, source, part->plain);
  memcpy(place + part->plain, wire, part->wire);
  part->kept = 1;
}

static int is_like(const remembered *a, const remembered *b) {
  return a->first && a->signature == b->signature && a->plain == b->plain &&
         a->dictionary == b->dictionary && a->effort == b->effort;
}

/* Returns the entry of an equal part, or NULL. */
static remembered *find(remembered *set, const remembered *part) {
  for (uint32_t i = 0; i < WAYS; i++)
    if (is_like(&set[i], part)) return &set[i];
  return NULL;
}

uint32_t zl_memo_encode(const void *sender, zl_dictionary *dictionary, const uint8_t *source,
                        uint32_t plain, uint8_t *target, int32_t effort) {
  remembered part = {.signature = sign(source, plain),
                     .first = sender,
                     .plain = plain,
                     .dictionary = dictionary ? dictionary->id : 0,
                     .effort = effort};
  const uint32_t set = part.signature % SETS;
  remembered *known = find(sets[set], &part);

  if (known && known->kept && known->first != sender && ring_end - known->at <= RING_BYTES) {
    const uint8_t *place = ring + known->at % RING_BYTES;
    if (same(place, source, plain)) {
      memcpy(target, place + plain, known->wire);
      credit = CREDIT;
      return known->wire;
    }
  }

  part.wire = zl_part_encode(dictionary, source, plain, target, effort);
  if (known && known->first == sender) return part.wire;
  if (known || credit > 0) keep(&part, source, target);
  if (!known && credit > 0) credit--;
  *(known ? known : &sets[set][arrivals[set]++ % WAYS]) = part;
  return part.wire;
}
