/* Fuzzes sending: any bytes, with any dictionary, come back as they were. */
#include "fuzz.h"

/* A block in too little room, so that what follows meets the state it leaves. */
static void encode_in_little_room(zl_dictionary *dictionary, bytes plain, uint32_t room,
                                  int32_t effort) {
  if (plain.length > ZL_BLOCK_MAX) plain.length = ZL_BLOCK_MAX;
  bytes target = bytes_new(room);
  uint32_t length =
      zl_block_encode(dictionary, plain.at, (uint32_t)plain.length, target.at, room, effort);
  REQUIRE(length <= room);
  free(target.at);
}

/* Acceleration in the upper half, the levels below. */
static int32_t read_effort(uint8_t byte) {
  if (byte < 64) return 1;
  return byte < 128 ? -3 - byte % 10 : 1 + (byte - 128) * 516;
}

/* The input: effort, room, the dictionary's length, its bytes, and the plaintext. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4) return 0;
  int32_t effort = read_effort(data[0]);
  uint32_t room = data[1];
  uint32_t length = (uint32_t)(data[2] | data[3] << 8) % (ZL_DICTIONARY_MAX + 1);
  if (length > size - 4) length = 0;
  bytes text = bytes_copy(data + 4, length);
  bytes plain = bytes_copy(data + 4 + length, size - 4 - length);

  zl_receiver *receiver = open_receiver(plain.length, 1, text);
  zl_dictionary *dictionary = zl_dictionary_open(text.at, length);
  REQUIRE(dictionary == zl_receiver_dictionary(receiver));
  encode_in_little_room(dictionary, plain, room, effort);
  check_round_trips(receiver, dictionary, plain, effort);

  zl_dictionary_close(dictionary);
  zl_receiver_close(receiver);
  free(plain.at);
  free(text.at);
  return 0;
}
