#include "memo.h"

#include <stdlib.h>
#include <string.h>

#include "dictionary.h"

/* As many parts as links may lag behind one another. */
#define SLOTS 256u
/* Room for one part of any size, and many of the usual ones. */
#define RING_BYTES (2 * (ZL_PART_MAX + ZL_SENTINEL_BYTES))
#define WORDS_GLANCED_AT 8u

/* One part. The signature only finds it: the bytes decide. */
typedef struct {
  uint64_t signature;
  const void *first; /* the sender that came first with it */
  uint64_t at;       /* in the ring: plaintext, then what became of it */
  uint32_t plain;
  uint32_t wire; /* 0 when it goes plain */
  uint32_t dictionary;
  int32_t effort;
  uint8_t kept;
} remembered;

static remembered slots[SLOTS];

/* The latest RING_BYTES of what is kept. Most processes never publish: no memory before. */
static uint8_t *ring;
static uint64_t ring_end;

/* Parts that are kept the first time they are seen, because others lately were asked for again. */
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

/* Of the length and a few words, evenly spread. */
static uint64_t sign(const uint8_t *source, uint32_t plain) {
  uint64_t hash = mix(0, plain);
  if (plain < sizeof(uint64_t)) return hash;
  const uint32_t last = plain - sizeof(uint64_t);
  for (uint32_t i = 0; i < WORDS_GLANCED_AT; i++)
    hash = mix(hash, read_word(source + (uint64_t)last * i / (WORDS_GLANCED_AT - 1)));
  return hash;
}

/* memcmp for equality, in steps of 32 bytes: the C library's takes one. */
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

/* Takes a run of bytes of the ring, at the cost of the oldest. */
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

uint32_t zl_memo_encode(const void *sender, zl_dictionary *dictionary, const uint8_t *source,
                        uint32_t plain, uint8_t *target, int32_t effort) {
  const uint32_t id = dictionary ? dictionary->id : 0;
  const uint64_t signature = sign(source, plain);
  remembered *part = &slots[signature % SLOTS];
  const int again = part->first && part->signature == signature && part->plain == plain &&
                    part->dictionary == id && part->effort == effort;

  if (again && part->kept && part->first != sender && ring_end - part->at <= RING_BYTES) {
    const uint8_t *place = ring + part->at % RING_BYTES;
    if (same(place, source, plain)) {
      memcpy(target, place + plain, part->wire);
      credit = SLOTS;
      return part->wire;
    }
  }

  const uint32_t wire = zl_part_encode(dictionary, source, plain, target, effort);
  if (again && part->first == sender) return wire;
  *part = (remembered){.signature = signature,
                       .first = sender,
                       .plain = plain,
                       .wire = wire,
                       .dictionary = id,
                       .effort = effort};
  if (again || credit > 0) {
    if (!again) credit--;
    keep(part, source, target);
  }
  return wire;
}
