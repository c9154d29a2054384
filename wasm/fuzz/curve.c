/* Fuzzes MESSAGE commands: any bytes as a stream, and good ones with a changed byte. */
#include "../curve/curve.h"

#include "fuzz.h"

#define INPUT_MAX 8192u

static const uint8_t key[ZL_KEY_BYTES] = {1, 2, 3};

/* Opens whole frames with room for all, in memory of exactly their size. */
static int32_t open_at_once(bytes stream, uint64_t max, bytes *opened, uint32_t *read) {
  zl_cipher *cipher = zl_cipher_open(key, 0, 0, 0);
  bytes source = bytes_copy(stream.at, stream.length);
  *opened = bytes_new(stream.length + 16);
  zl_crossing crossing;
  const int32_t status =
      zl_unseal(cipher, source.at, (uint32_t)source.length, (uint32_t)max, (uint32_t)(max >> 32),
                opened->at, (uint32_t)opened->length, &crossing);
  REQUIRE(crossing.read <= stream.length && crossing.written <= crossing.read);
  opened->length = crossing.written;
  *read = crossing.read;
  zl_cipher_close(cipher);
  free(source.at);
  return status;
}

/* The same, with one byte more at a time. */
static int32_t open_slowly(bytes stream, uint64_t max, bytes expected, uint32_t read) {
  zl_cipher *cipher = zl_cipher_open(key, 0, 0, 0);
  uint32_t at = 0, written = 0;
  int32_t status = 0;
  for (uint32_t have = 1; status == 0 && at + have <= stream.length; have++) {
    bytes source = bytes_copy(stream.at + at, have);
    bytes room = bytes_new(have + 16);
    zl_crossing crossing;
    status = zl_unseal(cipher, source.at, have, (uint32_t)max, (uint32_t)(max >> 32), room.at,
                       (uint32_t)room.length, &crossing);
    REQUIRE(written + crossing.written <= expected.length);
    REQUIRE(memcmp(room.at, expected.at + written, crossing.written) == 0);
    if (crossing.read) have = 0;
    at += crossing.read;
    written += crossing.written;
    free(source.at);
    free(room.at);
  }
  REQUIRE(at == read && written == expected.length);
  zl_cipher_close(cipher);
  return status;
}

static int32_t check_stream(bytes stream, uint64_t max) {
  bytes opened;
  uint32_t read;
  const int32_t status = open_at_once(stream, max, &opened, &read);
  REQUIRE(open_slowly(stream, max, opened, read) == status);
  free(opened.at);
  return status;
}

/* The input: what to change, and frames in the clear. As far as they are frames, they are sealed.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4 || size > INPUT_MAX) return 0;
  bytes frames = bytes_copy(data + 4, size - 4);
  check_stream(frames, UINT64_MAX);
  check_stream(frames, data[0]);

  zl_cipher *cipher = zl_cipher_open(key, 0, 0, 0);
  bytes sealed = bytes_new(25 * frames.length + ZL_MESSAGE_PREFIX_MAX);
  zl_crossing crossing;
  zl_seal(cipher, frames.at, (uint32_t)frames.length, sealed.at, (uint32_t)sealed.length,
          &crossing);
  sealed.length = crossing.written;
  zl_cipher_close(cipher);
  /* MORE and COMMAND together are refused, so these frames come back whatever their flags. */
  REQUIRE(check_stream(sealed, UINT64_MAX) == 0);
  if (sealed.length) {
    const size_t at = (size_t)(data[1] << 8 | data[2]) % sealed.length;
    sealed.at[at] ^= data[3];
    check_stream(sealed, UINT64_MAX);
  }
  free(frames.at);
  free(sealed.at);
  return 0;
}
