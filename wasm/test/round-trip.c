/* Encoded parts decode to the same bytes, within the bounds documented in the header. */
#include "../zeromq_lz4.h"
#include "parts.h"
#include "samples.h"
#include "test.h"

#define NO_BUDGET UINT32_MAX

/* Every size where a short part may go wrong, and those around liblz4's own limits:
 * 4 KiB (another way to use a dictionary) and 64 KiB (another hash table). */
static size_t next_size(size_t size) {
  static const size_t large[] = {4095,  4096,  4097,  8191,  8192,  8193,  12289,
                                 65535, 65546, 65547, 65548, 65549, 200000};
  if (size < 700) return size + 1;
  for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
    if (large[i] > size) return large[i];
  }
  return 0;
}

static zl_dictionary *open_dictionary(size_t length, zl_receiver *receiver) {
  if (length == 0) return NULL;
  bytes text = bytes_new(length);
  fill_text(text.at, length);
  bytes wire = dictionary_part(text);
  bytes none;
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &none), ZL_DICTIONARY);
  zl_dictionary *dictionary = zl_dictionary_open(text.at, (uint32_t)length);
  free(none.at);
  free(wire.at);
  free(text.at);
  return dictionary;
}

static void check_received(zl_receiver *receiver, bytes wire, int32_t kind, bytes plain) {
  bytes got;
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &got), kind);
  CHECK(bytes_equal(got, plain));
  free(got.at);
}

typedef struct {
  const char *name;
  size_t dictionary;
  int32_t effort;
} sender_case;

static const sender_case sender_cases[] = {
    {"no dictionary", 0, 1},
    {"no dictionary, acceleration 65537", 0, 65537},
    {"a dictionary of 1 byte", 1, 1},
    {"a dictionary of 3 bytes", 3, 1},
    {"a dictionary of 7 bytes", 7, 1},
    {"a dictionary of 8 bytes", 8, 1},
    {"a dictionary of 2048 bytes", 2048, 1},
    {"a dictionary of 8192 bytes", 8192, 1},
    {"a dictionary of 8192 bytes, acceleration 65537", 8192, 65537},
    {"no dictionary, level 3", 0, -3},
    {"no dictionary, level 12", 0, -12},
    {"a dictionary of 1 byte, level 3", 1, -3},
    {"a dictionary of 1 byte, level 12", 1, -12},
    {"a dictionary of 8192 bytes, level 3", 8192, -3},
    {"a dictionary of 8192 bytes, level 9", 8192, -9},
    {"a dictionary of 8192 bytes, level 12", 8192, -12},
};

static void test_round_trip(const void *of) {
  const sender_case *c = of;
  zl_receiver *receiver = zl_receiver_open(NO_BUDGET, NO_BUDGET, 2);
  zl_dictionary *dictionary = open_dictionary(c->dictionary, receiver);
  for (size_t sample = 0; sample < SAMPLES; sample++) {
    size_t length = 0;
    do {
      bytes plain = bytes_new(length);
      samples[sample].fill(plain.at, length);
      if (length <= ZL_BLOCK_MAX) {
        bytes wire = send_part(dictionary, plain, c->effort);
        int32_t kind = zl_read_u32le(wire.at) == 0 ? ZL_PLAIN : ZL_LZ4B;
        CHECK(kind == ZL_PLAIN ? wire.length == length + 4 : wire.length < length + 4);
        if (samples[sample].fill == fill_noise) CHECK_EQUAL(kind, ZL_PLAIN);
        if (samples[sample].fill == fill_zeros && length >= 32) CHECK_EQUAL(kind, ZL_LZ4B);
        check_received(receiver, wire, kind, plain);
        free(wire.at);
      }
      bytes wire = send_multi(dictionary, plain, c->effort);
      check_received(receiver, wire, ZL_LZ4M, plain);
      free(wire.at);
      free(plain.at);
      length = next_size(length);
    } while (length > 0);
  }
  zl_dictionary_close(dictionary);
  zl_receiver_close(receiver);
}

/* LZ4B is sent if, and only if, block + 12 < plaintext + 4. */
static void test_not_shorter_goes_plain(const void *of) {
  (void)of;
  for (size_t noise = 0; noise < 100; noise++) {
    /* The more zeros follow the random bytes, the larger the gain. */
    for (size_t zeros = 0; zeros < 40; zeros++) {
      bytes plain = bytes_new(noise + zeros);
      fill_noise(plain.at, noise);
      fill_zeros(plain.at + noise, zeros);
      bytes target = bytes_new(zl_block_bound((uint32_t)plain.length));
      uint32_t block = zl_block_encode(NULL, plain.at, (uint32_t)plain.length, target.at,
                                       (uint32_t)target.length, 1);
      CHECK(block > 0);
      bytes wire = send_part(NULL, plain, 1);
      int compressed = zl_read_u32le(wire.at) != 0;
      CHECK_EQUAL(compressed, block + 12 < plain.length + 4);
      if (compressed) CHECK_EQUAL(wire.length, block + 12);
      free(wire.at);
      free(target.at);
      free(plain.at);
    }
  }
}

static void test_room(const void *of) {
  (void)of;
  bytes plain = bytes_new(700);
  fill_text(plain.at, plain.length);
  zl_dictionary *dictionaries[] = {NULL, zl_dictionary_open(plain.at, 300)};
  for (int i = 0; i < 2; i++) {
    bytes whole = bytes_new(zl_block_bound((uint32_t)plain.length));
    uint32_t needed = zl_block_encode(dictionaries[i], plain.at, (uint32_t)plain.length, whole.at,
                                      (uint32_t)whole.length, 1);
    CHECK(needed > 0 && needed < plain.length);
    for (uint32_t room = 1; room <= whole.length; room++) {
      bytes target = bytes_new(room);
      uint32_t length =
          zl_block_encode(dictionaries[i], plain.at, (uint32_t)plain.length, target.at, room, 1);
      /* If it only just fits, liblz4 may give up a little early. */
      CHECK(length == 0 || length == needed);
      if (room < needed) CHECK_EQUAL(length, 0);
      if (room >= needed + 16) CHECK_EQUAL(length, needed);
      free(target.at);
    }
    free(whole.at);
  }
  zl_dictionary_close(dictionaries[1]);
  free(plain.at);
}

/* A block that did not fit must not affect the next one of the same compressor. */
static void test_nothing_is_left_behind(const void *of) {
  (void)of;
  zl_receiver *receivers[] = {zl_receiver_open(NO_BUDGET, NO_BUDGET, 2),
                              zl_receiver_open(NO_BUDGET, NO_BUDGET, 2)};
  zl_dictionary *dictionaries[] = {NULL, open_dictionary(2048, receivers[1])};
  uint32_t state = 42;
  for (int i = 0; i < 3000; i++) {
    int which = (int)(sample_random(&state) % 2);
    size_t length = sample_random(&state) % (i % 100 == 0 ? 150000 : 5000);
    bytes plain = bytes_new(length);
    samples[sample_random(&state) % SAMPLES].fill(plain.at, length);
    if (length) plain.at[sample_random(&state) % length] ^= 1;
    if (i % 3 == 0) {
      bytes target = bytes_new(1 + length / 4);
      zl_block_encode(dictionaries[which], plain.at, (uint32_t)length, target.at,
                      (uint32_t)target.length, 1);
      free(target.at);
    } else {
      bytes wire = send_multi(dictionaries[which], plain, 1);
      check_received(receivers[which], wire, ZL_LZ4M, plain);
      free(wire.at);
    }
    free(plain.at);
  }
  zl_dictionary_close(dictionaries[1]);
  for (int i = 0; i < 2; i++)
    zl_receiver_close(receivers[i]);
}

static void test_bound(const void *of) {
  (void)of;
  CHECK_EQUAL(zl_block_bound(0), 16);
  CHECK_EQUAL(zl_block_bound(254), 254 + 16);
  CHECK_EQUAL(zl_block_bound(255), 255 + 1 + 16);
  CHECK_EQUAL(zl_block_bound(0x40000000), 0x40000000 + 0x40000000 / 255 + 16);
}

static void test_version(const void *of) {
  (void)of;
  CHECK(zl_lz4_version() >= 10904); /* CVE-2021-3520 is fixed in 1.9.4 */
  CHECK_EQUAL(zl_block_max(), ZL_BLOCK_MAX);
  CHECK(zl_part_max() <= zl_block_max());
}

int main(void) {
  for (size_t i = 0; i < sizeof sender_cases / sizeof *sender_cases; i++)
    RUN_CASE(sender_cases[i].name, test_round_trip, &sender_cases[i]);
  RUN("a part that does not get shorter goes plain", test_not_shorter_goes_plain);
  RUN("a block is never longer than its room", test_room);
  RUN("a block that found no room leaves nothing behind", test_nothing_is_left_behind);
  RUN("the bound of a block is liblz4's", test_bound);
  RUN("liblz4 is recent enough", test_version);
  return test_result();
}
