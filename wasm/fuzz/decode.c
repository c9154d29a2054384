/* Fuzzes receiving: any bytes as a part, against a second, plainer reading of the format. */
#include "../zmtp.h"
#include "lz4.h"

#include "fuzz.h"

/* Longer inputs are left out, so that what they can hold is soon allocated. */
#define INPUT_MAX 16384u

static const uint64_t budgets[] = {UINT64_MAX, 0, 1, 1000, 10000, UINT64_MAX - 1};

/* How a part is received. The input: place and budget, the dictionary's length with
 * the revision, its bytes, and the part. */
typedef struct {
  uint32_t place;
  uint32_t revision;
  uint64_t budget;
  bytes dictionary;
  bytes wire;
} situation;

static situation read_situation(const uint8_t *data, size_t size) {
  uint32_t length = (uint32_t)(data[1] | data[2] << 8) % (ZL_DICTIONARY_MAX + 1);
  if (length > size - 3) length = 0;
  return (situation){
      .place = data[0] & 3,
      .revision = data[2] & 0x80 ? 1 : 2,
      .budget = budgets[(data[0] >> 2) % (sizeof budgets / sizeof *budgets)],
      .dictionary = bytes_copy(data + 3, length),
      .wire = bytes_copy(data + 3 + length, size - 3 - length),
  };
}

/* -- The plainer reading --------------------------------------------------------- */

/* liblz4 on one block; whether it holds exactly what `plain` has room for. */
static int reference_block(bytes dictionary, const uint8_t *from, size_t length, bytes plain) {
  bytes source = bytes_copy(from, length);
  int n = dictionary.length
              ? LZ4_decompress_safe_usingDict((char *)source.at, (char *)plain.at, (int)length,
                                              (int)plain.length, (char *)dictionary.at,
                                              (int)dictionary.length)
              : LZ4_decompress_safe((char *)source.at, (char *)plain.at, (int)length,
                                    (int)plain.length);
  free(source.at);
  return n >= 0 && (size_t)n == plain.length;
}

/* Whether the blocks of an LZ4B or LZ4M part make what it declares, into `plain`. */
static int reference_blocks(situation s, bytes plain) {
  const uint8_t *at = s.wire.at + ZL_HEAD_BYTES;
  size_t left = s.wire.length - ZL_HEAD_BYTES;
  if (s.wire.at[3] == 'B')
    return plain.length <= ZL_BLOCK_MAX && reference_block(s.dictionary, at, left, plain);
  for (size_t done = 0; done < plain.length;) {
    if (left < 4) return 0;
    uint32_t length = zl_read_u32le(at);
    at += 4;
    left -= 4;
    if (length > left) return 0;
    size_t share = plain.length - done < ZL_BLOCK_MAX ? plain.length - done : ZL_BLOCK_MAX;
    bytes block = bytes_new(share);
    int good = reference_block(s.dictionary, at, length, block);
    memcpy(plain.at + done, block.at, good ? share : 0);
    free(block.at);
    if (!good) return 0;
    at += length;
    left -= length;
    done += share;
  }
  return left == 0;
}

/* Whether any other part is good, budget apart. */
static int reference_single(situation s, bytes *plain) {
  if (s.wire.length < ZL_SENTINEL_BYTES) return 0;
  size_t body = s.wire.length - ZL_SENTINEL_BYTES;
  if (memcmp(s.wire.at, "\0\0\0\0", 4) == 0) {
    free(plain->at);
    *plain = bytes_copy(s.wire.at + ZL_SENTINEL_BYTES, body);
    return 1;
  }
  if (memcmp(s.wire.at, "LZ4D", 4) == 0)
    return s.place == ALONE && s.dictionary.length == 0 && body >= 1 && body <= ZL_DICTIONARY_MAX;
  if (memcmp(s.wire.at, "LZ4B", 4) != 0 && memcmp(s.wire.at, "LZ4M", 4) != 0) return 0;
  if (s.wire.length < ZL_HEAD_BYTES) return 0;
  uint64_t declared = zl_read_u64le(s.wire.at + ZL_SENTINEL_BYTES);
  if (declared > 255 * INPUT_MAX) return 0; /* more than a byte can stand for */
  free(plain->at);
  *plain = bytes_new((size_t)declared);
  return reference_blocks(s, *plain);
}

/* The most plaintext of a message in the frames of an arena with a body of this length, or -1 if
 * they are not good. */
static int64_t reference_frames(bytes frames, uint32_t count, size_t body_bytes) {
  uint64_t most = 0;
  uint64_t message = 0;
  uint32_t parts = 0;
  int more = 0;
  for (size_t at = 0; at < frames.length; parts++) {
    const uint8_t *head = frames.at + at;
    const size_t left = frames.length - at;
    const size_t length = head[0] & 2 ? 9 : 2;
    if (head[0] > 3 || left < length) return -1;
    const uint64_t body = length == 9 ? zl_read_u64be(head + 1) : head[1];
    if (body > left - length) return -1;
    at += length + (size_t)body;
    message += body;
    if (message > most) most = message;
    more = head[0] & 1;
    if (more) continue;
    message = 0;
    count--;
  }
  if (parts > ZL_ARENA_PARTS_MAX || parts > 1024 + 16 * body_bytes) return -1;
  return more || count != 0 ? -1 : (int64_t)most;
}

/* The same for a whole arena; its frames become `plain`. */
static int64_t reference_arena(situation s, bytes *plain) {
  if (s.revision < 2 || s.place != ALONE || s.wire.length < ZL_ARENA_HEAD_BYTES) return -1;
  const uint32_t form = zl_read_u32le(s.wire.at + 4);
  const uint32_t inner = zl_read_u32le(s.wire.at + 8);
  const uint32_t count = zl_read_u32le(s.wire.at + 12);
  const uint8_t *body = s.wire.at + ZL_ARENA_HEAD_BYTES;
  const size_t length = s.wire.length - ZL_ARENA_HEAD_BYTES;
  if (form > 1 || inner < 1 || inner > ZL_ARENA_MAX || count < 1 || count > ZL_ARENA_MESSAGES_MAX)
    return -1;
  if (form == 0 && length != inner) return -1;
  free(plain->at);
  *plain = bytes_new(inner);
  if (form == 0) memcpy(plain->at, body, inner);
  if (form == 1 && !reference_block(s.dictionary, body, length, *plain)) return -1;
  return reference_frames(*plain, count, length);
}

/* The budget that a good part needs, or -1 if it is not good. `plain` is the caller's. */
static int64_t reference_part(situation s, bytes *plain) {
  *plain = bytes_new(0);
  if (s.wire.length >= ZL_SENTINEL_BYTES && memcmp(s.wire.at, "LZ4A", 4) == 0)
    return reference_arena(s, plain);
  return reference_single(s, plain) ? (int64_t)plain->length : -1;
}

/* -- The comparison ---------------------------------------------------------------- */

static uint32_t parts_in(bytes frames) {
  uint32_t parts = 0;
  zmtp_frame frame;
  for (size_t at = 0; at < frames.length;
       at += frame.head_bytes + (size_t)frame.body_bytes, parts++)
    REQUIRE(zmtp_frame_read(frames.at + at, frames.length - at, &frame) == 0);
  return parts;
}

static void check_arena(zl_receiver *receiver, zl_dictionary *dictionary, bytes frames,
                        uint32_t count) {
  static const int32_t efforts[] = {1, -3, -12};
  for (size_t i = 0; i < sizeof efforts / sizeof *efforts; i++) {
    bytes wire = bytes_new(ZL_ARENA_HEAD_BYTES + frames.length);
    wire.length = zl_arena_encode(dictionary, frames.at, (uint32_t)frames.length, count,
                                  parts_in(frames), wire.at, 0, efforts[i]);
    REQUIRE(wire.length <= ZL_ARENA_HEAD_BYTES + frames.length);
    check_received(receiver, wire, frames);
  }
}

/* What was decoded encodes to parts that decode to the same. */
static void check_encodes_again(situation s, int32_t kind, bytes plain) {
  zl_receiver *receiver = open_receiver(UINT64_MAX, 2, s.dictionary);
  zl_dictionary *dictionary = zl_dictionary_open(s.dictionary.at, (uint32_t)s.dictionary.length);
  REQUIRE(dictionary == zl_receiver_dictionary(receiver));
  if (kind == ZL_ARENA) check_arena(receiver, dictionary, plain, zl_read_u32le(s.wire.at + 12));
  check_round_trips(receiver, dictionary, plain, 1);
  zl_dictionary_close(dictionary);
  zl_receiver_close(receiver);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3 || size > INPUT_MAX) return 0;
  situation s = read_situation(data, size);
  bytes expected;
  const int64_t needed = reference_part(s, &expected);
  const int good = needed >= 0;

  zl_receiver *receiver = open_receiver(s.budget, s.revision, s.dictionary);
  bytes plain;
  int32_t kind = receive_part(receiver, s.wire, s.place, &plain);
  if (kind == ZL_E_BUDGET_EXCEEDED) {
    REQUIRE(s.budget < UINT64_MAX);
    if (good) REQUIRE((uint64_t)needed > s.budget);
  } else {
    REQUIRE(good == (kind > 0));
  }
  if (kind > 0 && kind != ZL_DICTIONARY) {
    REQUIRE((uint64_t)needed <= s.budget);
    REQUIRE(bytes_equal(plain, expected));
    check_encodes_again(s, kind, plain);
  }

  /* After anything, a good part is still good. */
  static const uint8_t nothing[] = {0};
  bytes after = sized_part("LZ4B", 0, nothing, sizeof nothing);
  check_received(receiver, after, (bytes){0});

  zl_receiver_close(receiver);
  free(plain.at);
  free(expected.at);
  free(s.dictionary.at);
  free(s.wire.at);
  return 0;
}
