/* Dictionaries: one copy of each in the module, kept while it is used. */
#include "../lz4/prepared.h"
#include "parts.h"
#include "samples.h"
#include "test.h"

#define NO_BUDGET UINT32_MAX

/* Opens a dictionary from memory that is freed when it returns. */
static zl_dictionary *open_text(size_t length, uint8_t first) {
  bytes text = bytes_new(length);
  fill_text(text.at, length);
  if (length) text.at[0] = first;
  zl_dictionary *dictionary = zl_dictionary_open(text.at, (uint32_t)length);
  free(text.at);
  return dictionary;
}

static void test_sizes(const void *of) {
  (void)of;
  static const size_t good[] = {1, 2, 3, 4, 7, 8, 9, 100, 8191, 8192};
  static const size_t bad[] = {0, 8193, 65536};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    zl_dictionary *dictionary = open_text(good[i], 'x');
    CHECK(dictionary != NULL);
    CHECK_EQUAL(zl_dictionary_length(dictionary), good[i]);
    CHECK_EQUAL(zl_dictionary_bytes(dictionary)[0], 'x');
    zl_dictionary_close(dictionary);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(open_text(bad[i], 'x') == NULL);
}

static void test_interning(const void *of) {
  (void)of;
  zl_dictionary *one = open_text(1000, 'a');
  zl_dictionary *same = open_text(1000, 'a');
  zl_dictionary *other = open_text(1000, 'b');
  zl_dictionary *prefix = open_text(999, 'a');
  CHECK(one == same);
  CHECK(one != other && one != prefix && other != prefix);
  CHECK_EQUAL(one->users, 2);
  CHECK_EQUAL(other->users, 1);
  zl_dictionary_close(one);
  CHECK_EQUAL(same->users, 1);
  CHECK_EQUAL(zl_dictionary_bytes(same)[0], 'a');
  zl_dictionary_close(same);
  zl_dictionary_close(other);
  zl_dictionary_close(prefix);
}

static void test_close_of_nothing(const void *of) {
  (void)of;
  zl_dictionary_close(NULL);
}

/* More dictionaries than the table has buckets, so that there are chains. */
static void test_many(const void *of) {
  (void)of;
  enum { COUNT = 3000 };
  static zl_dictionary *opened[COUNT];
  for (uint32_t i = 0; i < COUNT; i++)
    opened[i] = zl_dictionary_open((const uint8_t *)&i, sizeof i);

  /* Closed in an order that removes the heads, middles and ends of chains. */
  uint32_t left = COUNT;
  uint32_t state = 1;
  while (left > 0) {
    uint32_t i = sample_random(&state) % COUNT;
    if (!opened[i]) continue;
    zl_dictionary *again = zl_dictionary_open((const uint8_t *)&i, sizeof i);
    CHECK(again == opened[i]);
    CHECK(memcmp(zl_dictionary_bytes(again), &i, sizeof i) == 0);
    CHECK_EQUAL(again->users, 2);
    zl_dictionary_close(again);
    zl_dictionary_close(opened[i]);
    opened[i] = NULL;
    left--;
  }
}

static void test_prepared_once(const void *of) {
  (void)of;
  zl_dictionary *dictionary = open_text(2048, 'p');
  CHECK(dictionary->prepared == NULL);
  bytes plain = bytes_new(300);
  fill_text(plain.at, plain.length);
  free(send_part(dictionary, plain, 1).at);
  CHECK(dictionary->prepared != NULL);
  const LZ4_stream_t *prepared = dictionary->prepared->fast;
  free(send_part(dictionary, plain, 1).at);
  CHECK(zl_prepare_fast(dictionary) == prepared);
  free(plain.at);
  zl_dictionary_close(dictionary);
}

/* A peer may ship a dictionary that another peer, or this side, already has. */
static void test_receivers_share(const void *of) {
  (void)of;
  bytes text = bytes_new(500);
  fill_text(text.at, text.length);
  bytes wire = dictionary_part(text);
  zl_dictionary *ours = zl_dictionary_open(text.at, (uint32_t)text.length);
  zl_receiver *receivers[3];
  bytes none;
  for (int i = 0; i < 3; i++) {
    receivers[i] = zl_receiver_open(NO_BUDGET, NO_BUDGET, 2);
    CHECK(zl_receiver_dictionary(receivers[i]) == NULL);
    CHECK_EQUAL(receive_part(receivers[i], wire, ALONE, &none), ZL_DICTIONARY);
    free(none.at);
    CHECK(zl_receiver_dictionary(receivers[i]) == ours);
  }
  CHECK_EQUAL(ours->users, 4);
  CHECK_EQUAL(receive_part(receivers[0], wire, ALONE, &none), ZL_E_DICTIONARY_REPEATED);
  free(none.at);
  CHECK_EQUAL(ours->users, 4);
  for (int i = 0; i < 3; i++)
    zl_receiver_close(receivers[i]);
  CHECK_EQUAL(ours->users, 1);
  CHECK(ours->prepared == NULL);
  zl_dictionary_close(ours);
  free(wire.at);
  free(text.at);
}

static void test_receiver_keeps_it(const void *of) {
  (void)of;
  bytes text = bytes_new(500);
  fill_text(text.at, text.length);
  zl_dictionary *sender = zl_dictionary_open(text.at, (uint32_t)text.length);
  bytes shipped = dictionary_part(text);
  bytes wire = send_part(sender, text, 1);
  zl_dictionary_close(sender);

  zl_receiver *receiver = zl_receiver_open(NO_BUDGET, NO_BUDGET, 2);
  bytes plain;
  CHECK_EQUAL(receive_part(receiver, shipped, ALONE, &plain), ZL_DICTIONARY);
  free(plain.at);
  CHECK(wire.length < 40); /* the dictionary is the plaintext */
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &plain), ZL_LZ4B);
  CHECK(bytes_equal(plain, text));
  free(plain.at);
  zl_receiver_close(receiver);

  /* Without the dictionary, the same block reaches back beyond its start. */
  receiver = zl_receiver_open(NO_BUDGET, NO_BUDGET, 2);
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &plain), ZL_E_CORRUPT_BLOCK);
  free(plain.at);
  zl_receiver_close(receiver);
  free(wire.at);
  free(shipped.at);
  free(text.at);
}

static void test_wrong_dictionary(const void *of) {
  (void)of;
  bytes text = bytes_new(500);
  fill_text(text.at, text.length);
  zl_dictionary *sender = zl_dictionary_open(text.at, (uint32_t)text.length);
  bytes wire = send_part(sender, text, 1);
  for (size_t length = 1; length < 600; length += 7) {
    bytes zeros = bytes_new(length);
    fill_zeros(zeros.at, length);
    bytes shipped = dictionary_part(zeros);
    zl_receiver *receiver = zl_receiver_open(NO_BUDGET, NO_BUDGET, 2);
    bytes plain;
    CHECK_EQUAL(receive_part(receiver, shipped, ALONE, &plain), ZL_DICTIONARY);
    free(plain.at);
    /* Wrong bytes of the right size if the match is inside, otherwise an error. */
    int32_t status = receive_part(receiver, wire, ALONE, &plain);
    if (status == ZL_LZ4B)
      CHECK_EQUAL(plain.length, text.length);
    else
      CHECK_EQUAL(status, ZL_E_CORRUPT_BLOCK);
    free(plain.at);
    zl_receiver_close(receiver);
    free(shipped.at);
    free(zeros.at);
  }
  free(wire.at);
  zl_dictionary_close(sender);
  free(text.at);
}

/* A table for LZ4HC takes a quarter of a megabyte, so only those used last are kept. */
static void test_prepared_hc(const void *of) {
  (void)of;
  enum { COUNT = 40, KEPT = 32 };
  zl_dictionary *opened[COUNT];
  uint8_t text[600];
  for (size_t at = 0; at < sizeof text; at++)
    text[at] = (uint8_t)(at * at % 251);
  for (uint32_t round = 0; round < 2; round++) {
    for (uint32_t i = 0; i < COUNT; i++) {
      text[0] = (uint8_t)i;
      if (round == 0) opened[i] = zl_dictionary_open(text, sizeof text);
      uint8_t block[sizeof text];
      uint8_t plain[sizeof text];
      uint32_t length = zl_block_encode(opened[i], text, sizeof text, block, sizeof block, -9);
      CHECK(length > 0 && length < 30);
      CHECK_EQUAL(zl_block_decode(opened[i], block, length, plain, sizeof plain), 0);
      CHECK(memcmp(plain, text, sizeof text) == 0);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < COUNT; i++)
      if (opened[i]->prepared->hc) kept++;
    CHECK_EQUAL(kept, KEPT);
  }
  for (uint32_t i = 0; i < COUNT; i++)
    zl_dictionary_close(opened[i * 7 % COUNT]);
}

int main(void) {
  RUN("a dictionary has 1 to 8192 bytes", test_sizes);
  RUN("the same bytes are one dictionary", test_interning);
  RUN("closing nothing does nothing", test_close_of_nothing);
  RUN("thousands of dictionaries are found and closed in any order", test_many);
  RUN("a dictionary is prepared by the first part that is sent", test_prepared_once);
  RUN("few dictionaries are prepared for LZ4HC at a time", test_prepared_hc);
  RUN("receivers of the same dictionary share it", test_receivers_share);
  RUN("a receiver keeps its dictionary after the sender closed it", test_receiver_keeps_it);
  RUN("a wrong dictionary gives garbage or an error", test_wrong_dictionary);
  return test_result();
}
