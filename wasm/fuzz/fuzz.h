/* What the fuzz targets share. */
#ifndef ZL_FUZZ_H
#define ZL_FUZZ_H

#include "../test/parts.h"

#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) __builtin_trap();                                                            \
  } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A receiver that has been sent the dictionary, unless that is empty. */
static inline zl_receiver *open_receiver(uint64_t budget, uint32_t revision, bytes dictionary) {
  zl_receiver *receiver = zl_receiver_open((uint32_t)budget, (uint32_t)(budget >> 32), revision);
  if (dictionary.length) {
    bytes shipped = dictionary_part(dictionary);
    bytes none;
    REQUIRE(receive_part(receiver, shipped, ALONE, &none) == ZL_DICTIONARY);
    free(none.at);
    free(shipped.at);
  }
  return receiver;
}

/* Receives `wire`, which is freed, and compares. */
static inline void check_received(zl_receiver *receiver, bytes wire, bytes plain) {
  bytes got;
  REQUIRE(receive_part(receiver, wire, ALONE, &got) > 0);
  REQUIRE(bytes_equal(got, plain));
  free(got.at);
  free(wire.at);
}

/* What is sent comes back, in every form that holds it. */
static inline void check_round_trips(zl_receiver *receiver, zl_dictionary *dictionary, bytes plain,
                                     int32_t effort) {
  if (plain.length <= ZL_BLOCK_MAX) {
    bytes wire = send_part(dictionary, plain, effort);
    int compressed = zl_read_u32le(wire.at) != 0;
    REQUIRE(compressed ? wire.length < plain.length + 4 : wire.length == plain.length + 4);
    check_received(receiver, wire, plain);
  }
  check_received(receiver, send_multi(dictionary, plain, effort), plain);
}

#endif
