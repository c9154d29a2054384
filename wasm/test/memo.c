/* Parts that several senders encode: the same bytes as without the memo. */
#include "../memo.h"
#include "parts.h"
#include "samples.h"
#include "test.h"

/* A part that is larger than the others, in builds with small blocks too. */
#define LARGE (ZL_PART_MAX < 60000 ? ZL_PART_MAX : 60000)

/* Only their addresses matter. */
static const char senders[64];

static void check_part(const char *sender, zl_dictionary *dictionary, bytes plain, int32_t effort) {
  bytes expected = bytes_new(plain.length + ZL_SENTINEL_BYTES);
  bytes target = bytes_new(plain.length + ZL_SENTINEL_BYTES);
  const uint32_t length = (uint32_t)plain.length;
  expected.length = zl_part_encode(dictionary, plain.at, length, expected.at, effort);
  target.length = zl_memo_encode(sender, dictionary, plain.at, length, target.at, effort);
  CHECK(bytes_equal(target, expected));
  free(expected.at);
  free(target.at);
}

static bytes sample(size_t kind, size_t length, uint32_t number) {
  bytes plain = bytes_new(length);
  samples[kind].fill(plain.at, length);
  if (length >= sizeof number) memcpy(plain.at, &number, sizeof number);
  return plain;
}

/* The same plaintext, encoded with another dictionary, in the place of an earlier part. */
static void test_overwritten(const void *of) {
  (void)of;
  const uint32_t ring =
      2 * (ZL_PART_MAX + ZL_SENTINEL_BYTES); /* RING_BYTES of memo.c, still empty */
  bytes plain = sample(0, 600, 1);
  uint8_t *encoded = malloc(plain.length + ZL_SENTINEL_BYTES);
  zl_dictionary *one = zl_dictionary_open(plain.at, 100);
  zl_dictionary *other = zl_dictionary_open(plain.at + 300, 200);
  for (int sender = 0; sender < 2; sender++)
    check_part(&senders[sender], one, plain, 1);
  uint32_t left = ring - (uint32_t)plain.length -
                  zl_part_encode(one, plain.at, (uint32_t)plain.length, encoded, 1);
  for (uint32_t state = 5; left > 0;) {
    bytes filler = bytes_new(left < ZL_PART_MAX ? left : ZL_PART_MAX);
    for (size_t i = 0; i < filler.length; i++)
      filler.at[i] = (uint8_t)sample_random(&state);
    for (int sender = 0; sender < 2; sender++)
      check_part(&senders[sender], NULL, filler, 1);
    left -= (uint32_t)filler.length;
    free(filler.at);
  }
  for (int sender = 0; sender < 2; sender++)
    check_part(&senders[sender], other, plain, 1);
  check_part(&senders[2], one, plain, 1);
  zl_dictionary_close(one);
  zl_dictionary_close(other);
  free(encoded);
  free(plain.at);
}

static void test_all_senders(const void *of) {
  (void)of;
  static const size_t sizes[] = {0, 1, 7, 8, 9, 31, 32, 33, 511, 16384, 60000, ZL_PART_MAX};
  for (size_t kind = 0; kind < SAMPLES; kind++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      if (sizes[i] > ZL_PART_MAX) continue;
      bytes plain = sample(kind, sizes[i], 7);
      for (int sender = 0; sender < 5; sender++)
        check_part(&senders[sender], NULL, plain, 1);
      free(plain.at);
    }
}

/* More parts than the memo holds, with senders in any order, lagging by any number of parts. */
static void test_many_parts(const void *of) {
  (void)of;
  uint32_t state = 99;
  for (uint32_t i = 0; i < 4000; i++) {
    const uint32_t number = i - sample_random(&state) % (i < 300 ? i + 1 : 300);
    const uint32_t size = number * 2654435761u % (number % 40 ? 3000 : LARGE);
    bytes plain = sample(number % SAMPLES, size, number);
    check_part(&senders[sample_random(&state) % sizeof senders], NULL, plain, 1);
    free(plain.at);
  }
}

/* Parts that look the same at a glance. */
static void test_one_byte_differs(const void *of) {
  (void)of;
  bytes plain = sample(0, 1000, 0);
  for (size_t i = 0; i < plain.length; i++) {
    check_part(&senders[i % 7], NULL, plain, 1);
    check_part(&senders[(i + 1) % 7], NULL, plain, 1);
    plain.at[i] ^= 1;
    check_part(&senders[(i + 2) % 7], NULL, plain, 1);
  }
  free(plain.at);
}

static void test_who_may_share(const void *of) {
  (void)of;
  bytes plain = sample(0, 2000, 0);
  zl_dictionary *one = zl_dictionary_open(plain.at, 100);
  zl_dictionary *other = zl_dictionary_open(plain.at + 500, 1000);
  for (int round = 0; round < 3; round++)
    for (int sender = 0; sender < 3; sender++) {
      check_part(&senders[sender], NULL, plain, 1);
      check_part(&senders[sender], one, plain, 1);
      check_part(&senders[sender], other, plain, 1);
      check_part(&senders[sender], other, plain, 50);
      check_part(&senders[sender], other, plain, -9);
    }
  zl_dictionary_close(one);
  zl_dictionary_close(other);

  /* Each is likely to be where the last one was. */
  for (uint32_t start = 0; start < 500; start++) {
    zl_dictionary *next = zl_dictionary_open(plain.at + start, 1000);
    for (int sender = 0; sender < 3; sender++)
      check_part(&senders[sender], next, plain, 1);
    zl_dictionary_close(next);
  }
  free(plain.at);
}

int main(void) {
  RUN("what was overwritten is not taken for what it was", test_overwritten);
  RUN("all senders of a part write the same", test_all_senders);
  RUN("parts come and go", test_many_parts);
  RUN("one byte makes another part", test_one_byte_differs);
  RUN("dictionaries and levels do not mix", test_who_may_share);
  return test_result();
}
