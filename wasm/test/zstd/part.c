/* Parts of zstd+tcp: one frame each, dictionaries, arenas, and large parts in slices. */
#include "../../zstd/exports.h"

#include <stdlib.h>
#include <string.h>

#include "../../bytes.h"
#include "../../trainer.h"
#include "../samples.h"
#include "../test.h"

#define ALONE (ZL_FIRST | ZL_LAST)

static const int32_t levels[] = {-7, -1, 1, 3, 5, 9};
#define LEVELS (sizeof levels / sizeof *levels)

static uint8_t *copy_of(const uint8_t *from, size_t length) {
  uint8_t *copy = malloc(length ? length : 1);
  if (!copy) abort();
  if (length) memcpy(copy, from, length);
  return copy;
}

static uint8_t *text_of(size_t length) {
  uint8_t *text = malloc(length ? length : 1);
  if (!text) abort();
  fill_text(text, length);
  return text;
}

/* Reads a part in memory that is exactly as large as it is. Returns the kind or an error; `plain`
 * is the caller's to free. */
static int32_t receive(zl_receiver *receiver, const uint8_t *wire, size_t length, uint8_t **plain) {
  *plain = NULL;
  zl_part part;
  uint8_t *head = copy_of(wire, length < ZL_HEAD_BYTES ? length : ZL_HEAD_BYTES);
  int32_t kind = zl_receive_head(receiver, head, (uint32_t)length, 0, ALONE, &part);
  free(head);
  if (kind < 0) return kind;
  uint8_t *whole = copy_of(wire, length);
  int32_t status = 0;
  if (kind == ZL_DICTIONARY) {
    status = zl_receive_dictionary(receiver, whole, (uint32_t)length);
  } else if (kind == ZL_FRAME && part.plain_bytes <= ZL_PART_MAX) {
    *plain = malloc((size_t)part.plain_bytes + 1);
    status = zl_part_decode(receiver, whole, (uint32_t)length, &part, *plain);
  }
  free(whole);
  return status < 0 ? status : kind;
}

/* Sends a part into memory that is exactly as large as it has to be. Returns its length; 0 for
 * plain. */
static uint32_t send(zl_dictionary *dictionary, const uint8_t *plain, uint32_t length,
                     int32_t level, uint8_t **wire) {
  *wire = malloc(length + ZL_SENTINEL_BYTES);
  uint8_t *source = copy_of(plain, length);
  uint32_t bytes = zl_part_encode(dictionary, source, length, *wire, level);
  free(source);
  return bytes;
}

static zl_dictionary *train(uint32_t capacity) {
  zl_trainer *trainer = zl_trainer_open(capacity, 200, 64, 0);
  uint8_t sample[300];
  for (uint32_t i = 0; i < 200; i++) {
    fill_text(sample, sizeof sample);
    sample[i % sizeof sample] = (uint8_t)i;
    zl_trainer_sample(trainer, sample, 100 + i);
    zl_trainer_message(trainer);
  }
  zl_dictionary *made = zl_trainer_train(trainer);
  zl_dictionary *own =
      made ? zl_dictionary_open(zl_dictionary_bytes(made), zl_dictionary_length(made)) : NULL;
  zl_trainer_close(trainer);
  return own;
}

static void check_round_trips(zl_dictionary *dictionary, zl_receiver *receiver) {
  static const uint32_t sizes[] = {0, 1, 64, 100, 4000, 4096};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    uint8_t *plain = text_of(sizes[i]);
    for (size_t l = 0; l < LEVELS; l++) {
      uint8_t *wire;
      uint8_t *got;
      uint32_t length = send(dictionary, plain, sizes[i], levels[l], &wire);
      if (length > 0) {
        CHECK(length < sizes[i] + ZL_SENTINEL_BYTES);
        CHECK_EQUAL(receive(receiver, wire, length, &got), ZL_FRAME);
        CHECK(got && memcmp(got, plain, sizes[i]) == 0);
        free(got);
      } else {
        CHECK(sizes[i] <= 100);
      }
      free(wire);
    }
    free(plain);
  }
}

static void test_round_trips(const void *of) {
  (void)of;
  zl_receiver *receiver = zl_receiver_open(UINT32_MAX, UINT32_MAX, 2);
  check_round_trips(NULL, receiver);
  zl_receiver_close(receiver);
}

static void test_dictionary(const void *of) {
  (void)of;
  zl_dictionary *dictionary = train(2048);
  CHECK(dictionary != NULL);
  if (!dictionary) return;
  CHECK(zl_dictionary_length(dictionary) <= 2048);
  CHECK_EQUAL(zl_dictionary_check(dictionary), 0);
  zl_receiver *receiver = zl_receiver_open(UINT32_MAX, UINT32_MAX, 2);
  uint8_t *none;
  CHECK_EQUAL(
      receive(receiver, zl_dictionary_bytes(dictionary), zl_dictionary_length(dictionary), &none),
      ZL_DICTIONARY);
  CHECK(zl_receiver_dictionary(receiver) == dictionary);
  check_round_trips(dictionary, receiver);
  zl_receiver_close(receiver);
  zl_dictionary_close(dictionary);
}

static void test_capacities(const void *of) {
  (void)of;
  static const uint32_t capacities[] = {1, 100, 200, 400, 8192};
  for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
    zl_dictionary *dictionary = train(capacities[i]);
    if (!dictionary) continue;
    CHECK(zl_dictionary_length(dictionary) <= capacities[i]);
    CHECK_EQUAL(zl_dictionary_check(dictionary), 0);
    zl_dictionary_close(dictionary);
  }
}

static void test_many_dictionaries(const void *of) {
  (void)of;
  enum { COUNT = 100 };
  zl_dictionary *dictionary = train(1024);
  CHECK(dictionary != NULL);
  if (!dictionary) return;
  zl_dictionary *opened[COUNT];
  zl_receiver *receivers[COUNT];
  uint8_t *plain = text_of(500);
  for (uint32_t round = 0; round < 2; round++)
    for (uint32_t i = 0; i < COUNT; i++) {
      uint8_t *got;
      if (round == 0) {
        uint8_t *own = copy_of(zl_dictionary_bytes(dictionary), zl_dictionary_length(dictionary));
        zl_write_u32le(own + 4, 40000 + i);
        opened[i] = zl_dictionary_open(own, zl_dictionary_length(dictionary));
        receivers[i] = zl_receiver_open(UINT32_MAX, UINT32_MAX, 2);
        CHECK_EQUAL(receive(receivers[i], own, zl_dictionary_length(dictionary), &got),
                    ZL_DICTIONARY);
        free(own);
      }
      uint8_t *wire;
      uint32_t length = send(opened[i], plain, 500, 1, &wire);
      CHECK_EQUAL(receive(receivers[i], wire, length, &got), ZL_FRAME);
      CHECK(got && memcmp(got, plain, 500) == 0);
      free(got);
      if (i > 0) { /* the dictionary before it has another ID */
        CHECK_EQUAL(receive(receivers[i - 1], wire, length, &got), ZL_E_DICTIONARY_ID);
        free(got);
      }
      free(wire);
    }
  for (uint32_t i = 0; i < COUNT; i++) {
    zl_receiver_close(receivers[i * 7 % COUNT]);
    zl_dictionary_close(opened[i * 3 % COUNT]);
  }
  free(plain);
  zl_dictionary_close(dictionary);
}

static void test_damage(const void *of) {
  (void)of;
  zl_receiver *receiver = zl_receiver_open(UINT32_MAX, UINT32_MAX, 2);
  uint8_t *plain = text_of(3000);
  uint8_t *wire;
  uint8_t *got;
  uint32_t length = send(NULL, plain, 3000, 3, &wire);
  for (uint32_t cut = 0; cut < length; cut++) {
    CHECK(receive(receiver, wire, cut, &got) < 0);
    free(got);
  }
  for (uint32_t at = 0; at < length; at++)
    for (uint32_t bit = 0; bit < 8; bit++) {
      wire[at] ^= (uint8_t)(1 << bit);
      receive(receiver, wire, length, &got); /* whatever it is */
      free(got);
      wire[at] ^= (uint8_t)(1 << bit);
    }
  CHECK_EQUAL(receive(receiver, wire, length, &got), ZL_FRAME);
  free(got);
  free(wire);
  free(plain);
  zl_receiver_close(receiver);
}

/* Gives a stream its whole input in slices, with room for pieces of the output. Returns the length
 * of the output. */
static uint32_t run_stream(zl_stream *stream, const uint8_t *input, uint32_t length, uint32_t slice,
                           uint8_t *output, uint32_t room) {
  uint32_t read = 0;
  uint32_t made = 0;
  int32_t status = 1;
  while (status > 0) {
    const uint32_t left = length - read;
    const uint32_t given = left < slice ? left : slice;
    uint8_t *source = copy_of(input + read, given);
    uint8_t *target = malloc(room);
    zl_progress progress;
    status = zl_stream_step(stream, source, given, target, room, given == left, &progress);
    memcpy(output + made, target, progress.produced);
    read += progress.consumed;
    made += progress.produced;
    free(target);
    free(source);
  }
  CHECK_EQUAL(status, 0);
  CHECK_EQUAL(read, length);
  return made;
}

/* Encodes and decodes in slices of odd sizes. */
static void test_streams(const void *of) {
  (void)of;
  enum { PLAIN = 300000, ROOM = 400000 };
  zl_dictionary *dictionary = train(2048);
  uint8_t *plain = text_of(PLAIN);
  uint8_t *wire = malloc(ROOM);
  uint8_t *got = malloc(ROOM);
  for (uint32_t with = 0; with < 2; with++) {
    zl_progress progress;
    zl_dictionary *used = with ? dictionary : NULL;
    zl_stream *encoder = zl_stream_encoder(used, PLAIN, 0, 1);
    const uint32_t wired = run_stream(encoder, plain, PLAIN, 70001, wire, 1000);
    zl_stream_close(encoder);
    zl_stream *decoder = zl_stream_decoder(used);
    CHECK_EQUAL(run_stream(decoder, wire, wired, 777, got, 5000), PLAIN);
    CHECK(memcmp(got, plain, PLAIN) == 0);
    zl_stream_close(decoder);
    /* One that ends early. */
    decoder = zl_stream_decoder(used);
    CHECK_EQUAL(zl_stream_step(decoder, wire, wired - 5, got, ROOM, 1, &progress), ZL_E_TRUNCATED);
    zl_stream_close(decoder);
  }
  zl_stream_close(NULL);
  free(got);
  free(wire);
  free(plain);
  zl_dictionary_close(dictionary);
}

int main(void) {
  RUN("parts come back at all levels", test_round_trips);
  RUN("and with a trained dictionary", test_dictionary);
  RUN("a trained dictionary is no larger than asked for", test_capacities);
  RUN("more dictionaries than are kept ready are used in turn", test_many_dictionaries);
  RUN("damaged parts are refused, or read within their memory", test_damage);
  RUN("large parts are encoded and decoded in slices", test_streams);
  return test_result();
}
