/* Fuzzes receiving over zstd+tcp: any bytes as a part or as a stream, in slices too, against
 * libzstd itself. */
#include "../../zstd/exports.h"

#include <stdlib.h>
#include <string.h>

#include "../../bytes.h"
#include "zstd.h"

#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) __builtin_trap();                                                            \
  } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Longer inputs, and plaintext, are left out. */
#define INPUT_MAX 16384u
#define PLAIN_MAX (1u << 22)

static uint8_t *copy_of(const uint8_t *from, size_t length) {
  uint8_t *copy = malloc(length ? length : 1);
  if (length) memcpy(copy, from, length);
  return copy;
}

/* Decodes a frame in slices of `slice` bytes. Returns whether that makes exactly `length` bytes of
 * `plain`. */
static int decodes_in_slices(const zl_dictionary *dictionary, const uint8_t *wire, uint32_t length,
                             uint32_t slice, uint8_t *plain, uint32_t plain_bytes) {
  zl_stream *stream = zl_stream_decoder(dictionary);
  uint32_t read = 0;
  uint32_t made = 0;
  int32_t status = 1;
  while (status > 0 && made <= plain_bytes) {
    const uint32_t left = length - read;
    const uint32_t given = left < slice ? left : slice;
    uint8_t *input = copy_of(wire + read, given);
    uint8_t *output = malloc(4096);
    zl_progress progress;
    status = zl_stream_step(stream, input, given, output, 4096, given == left, &progress);
    const int fits = progress.produced <= plain_bytes - made;
    if (status >= 0 && fits) memcpy(plain + made, output, progress.produced);
    if (status >= 0) {
      read += progress.consumed;
      made += progress.produced;
      if (progress.consumed == 0 && progress.produced == 0 && given == left)
        status = ZL_E_TRUNCATED;
    }
    free(output);
    free(input);
    if (!fits) status = ZL_E_SIZE_MISMATCH;
  }
  zl_stream_close(stream);
  return status == 0 && made == plain_bytes && read == length;
}

/* Compares what the module makes of an accepted frame with what libzstd does. */
static void check_frame(zl_receiver *receiver, zl_part *part, const uint8_t *wire, uint32_t length,
                        uint32_t slice) {
  const uint32_t plain_bytes = (uint32_t)part->plain_bytes;
  const zl_dictionary *dictionary = zl_receiver_dictionary(receiver);
  uint8_t *plain = malloc(plain_bytes + 1);
  uint8_t *expected = malloc(plain_bytes + 1);
  const int32_t status = zl_part_decode(receiver, wire, length, part, plain);
  ZSTD_DCtx *decoder = ZSTD_createDCtx();
  const size_t made = ZSTD_decompress_usingDict(decoder, expected, plain_bytes, wire, length,
                                                dictionary ? zl_dictionary_bytes(dictionary) : NULL,
                                                dictionary ? zl_dictionary_length(dictionary) : 0);
  ZSTD_freeDCtx(decoder);
  const int good = !ZSTD_isError(made) && made == plain_bytes;
  /* Several frames are good for libzstd. */
  if (status == 0) REQUIRE(good && memcmp(plain, expected, plain_bytes) == 0);
  if (good) REQUIRE(status == 0 || status == ZL_E_TRAILING_BYTES);
  const int streams = decodes_in_slices(dictionary, wire, length, slice, plain, plain_bytes);
  /* libzstd's streams refuse empty blocks of frames without content. Ours are of large parts. */
  if (plain_bytes > 0) REQUIRE(streams == (status == 0));
  if (streams) REQUIRE(memcmp(plain, expected, plain_bytes) == 0);
  free(expected);
  free(plain);
}

static void check_part(const uint8_t *dictionary, uint32_t dictionary_bytes, const uint8_t *wire,
                       uint32_t length, uint32_t place, uint32_t slice) {
  zl_receiver *receiver = zl_receiver_open(UINT32_MAX, UINT32_MAX, 2);
  zl_part part;
  if (dictionary_bytes > 0 && zl_receive_head(receiver, dictionary, dictionary_bytes, 0,
                                              ZL_FIRST | ZL_LAST, &part) == ZL_DICTIONARY)
    zl_receive_dictionary(receiver, dictionary, dictionary_bytes);
  uint8_t *head = copy_of(wire, length < ZL_HEAD_BYTES ? length : ZL_HEAD_BYTES);
  const int32_t kind = zl_receive_head(receiver, head, length, 0, place, &part);
  free(head);
  if (kind == ZL_FRAME && part.plain_bytes <= PLAIN_MAX)
    check_frame(receiver, &part, wire, length, slice);
  if (kind == ZL_DICTIONARY) zl_receive_dictionary(receiver, wire, length);
  if (kind == ZL_ARENA) {
    static uint8_t frames[ZL_ARENA_MAX];
    zl_arena arena;
    zl_arena_read(receiver, wire, length, frames, &arena);
  }
  zl_receiver_close(receiver);
}

/* Transcodes the bytes as a stream of frames, in pieces of `slice` bytes. */
static void transcode(const uint8_t *stream, uint32_t length, uint32_t slice) {
  zl_transcoder *transcoder = zl_receiving_open(1u << 20, 0, 2, 1);
  uint8_t *output = malloc(1u << 17);
  uint32_t end = 0;
  uint32_t at = 0;
  int32_t status = ZL_NEEDS_INPUT;
  while (status >= 0 && (status != ZL_NEEDS_INPUT || end < length)) {
    if (status == ZL_NEEDS_INPUT) end = length - end < slice ? length : end + slice;
    uint8_t *input = copy_of(stream + at, end - at);
    zl_progress progress;
    status = zl_transcode(transcoder, input, end - at, output, 1u << 17, &progress);
    free(input);
    if (status < 0 || status == ZL_LARGE_PART) break;
    at += progress.consumed;
    if (status == ZL_BODY) {
      zl_body_taken(transcoder, progress.need);
      at += progress.need;
    }
    if (status == ZL_NEEDS_ROOM && progress.need > 1u << 17) break;
  }
  zl_transcoder_close(transcoder);
  free(output);
}

/* The input: the place, the slices' length, the dictionary's length, its bytes, and the part. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4 || size > INPUT_MAX) return 0;
  const uint32_t slice = 1u + data[1] * 4u;
  uint32_t dictionary_bytes = (uint32_t)(data[2] | data[3] << 8) % (ZL_DICTIONARY_MAX + 1);
  if (dictionary_bytes > size - 4) dictionary_bytes = 0;
  uint8_t *dictionary = copy_of(data + 4, dictionary_bytes);
  const uint32_t length = (uint32_t)size - 4 - dictionary_bytes;
  uint8_t *wire = copy_of(data + 4 + dictionary_bytes, length);
  check_part(dictionary, dictionary_bytes, wire, length, data[0] & 3, slice);
  transcode(wire, length, slice);
  free(wire);
  free(dictionary);
  return 0;
}
