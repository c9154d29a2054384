/* LZ4HC: its gain, and that it and LZ4 do not affect each other's state. */
#include "parts.h"
#include "samples.h"
#include "test.h"

static const int32_t levels[] = {-3, -6, -9, -12};

#define LEVELS (sizeof levels / sizeof *levels)

static bytes block_of(zl_dictionary *dictionary, bytes plain, uint32_t room, int32_t effort) {
  bytes block = bytes_new(room);
  block.length =
      zl_block_encode(dictionary, plain.at, (uint32_t)plain.length, block.at, room, effort);
  return block;
}

static void check_block(zl_dictionary *dictionary, bytes block, bytes plain) {
  bytes target = bytes_new(plain.length);
  CHECK_EQUAL(zl_block_decode(dictionary, block.at, (uint32_t)block.length, target.at,
                              (uint32_t)target.length),
              0);
  CHECK(bytes_equal(target, plain));
  free(target.at);
}

static void test_never_longer(const void *of) {
  zl_dictionary *dictionary = (zl_dictionary *)of;
  static const size_t sizes[] = {100, 1000, 4096, 5000, 70000, 200000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    bytes plain = bytes_new(sizes[i]);
    fill_text(plain.at, plain.length);
    const uint32_t room = zl_block_bound((uint32_t)plain.length);
    bytes fast = block_of(dictionary, plain, room, 1);
    for (size_t level = 0; level < LEVELS; level++) {
      bytes block = block_of(dictionary, plain, room, levels[level]);
      CHECK(block.length > 0 && block.length <= fast.length);
      check_block(dictionary, block, plain);
      free(block.at);
    }
    free(fast.at);
    free(plain.at);
  }
}

/* All kinds of blocks in turn, sometimes with too little room. */
static void test_turns(const void *of) {
  zl_dictionary *dictionary = (zl_dictionary *)of;
  static const int32_t efforts[] = {-12, 1, -3, -9, 100, -4};
  uint32_t state = 42;
  for (int i = 0; i < 600; i++) {
    bytes plain = bytes_new(sample_random(&state) % (i % 50 == 0 ? 150000 : 5000));
    samples[sample_random(&state) % SAMPLES].fill(plain.at, plain.length);
    if (plain.length) plain.at[sample_random(&state) % plain.length] ^= 1;
    zl_dictionary *which = i % 2 ? dictionary : NULL;
    const uint32_t bound = zl_block_bound((uint32_t)plain.length);
    const int32_t effort = efforts[sample_random(&state) % (sizeof efforts / sizeof *efforts)];
    const uint32_t room = i % 3 ? bound : 1 + (uint32_t)plain.length / 4;
    bytes block = block_of(which, plain, room, effort);
    CHECK(block.length <= room);
    if (room == bound) CHECK(block.length > 0);
    if (block.length > 0) check_block(which, block, plain);
    free(block.at);
    free(plain.at);
  }
}

/* A closed dictionary leaves nothing in the state that used it. */
static void test_dictionaries_come_and_go(const void *of) {
  (void)of;
  bytes plain = bytes_new(3000);
  fill_text(plain.at, plain.length);
  const uint32_t room = zl_block_bound((uint32_t)plain.length);
  for (uint32_t length = 1; length < 3000; length += 37) {
    zl_dictionary *dictionary = zl_dictionary_open(plain.at, length);
    bytes with = block_of(dictionary, plain, room, -9);
    check_block(dictionary, with, plain);
    zl_dictionary_close(dictionary);
    bytes without = block_of(NULL, plain, room, -9);
    check_block(NULL, without, plain);
    CHECK(without.length + 3 >= with.length);
    free(with.at);
    free(without.at);
  }
  free(plain.at);
}

int main(void) {
  bytes history = bytes_new(2048);
  fill_text(history.at, history.length);
  zl_dictionary *dictionary = zl_dictionary_open(history.at, (uint32_t)history.length);
  RUN("no level makes text longer", test_never_longer);
  RUN_CASE("no level makes text longer, with a dictionary", test_never_longer, dictionary);
  RUN_CASE("levels and accelerations take turns", test_turns, dictionary);
  RUN("dictionaries come and go", test_dictionaries_come_and_go);
  zl_dictionary_close(dictionary);
  free(history.at);
  return test_result();
}
