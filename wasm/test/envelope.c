/* Parts that a receiver accepts, and the codes with which it refuses others. */
#include "../zeromq_lz4.h"
#include "parts.h"
#include "samples.h"
#include "test.h"

#define BLOCK ((uint64_t)ZL_BLOCK_MAX)
#define NO_BUDGET UINT64_MAX
/* Larger than all parts in the tests; as the length of a part it makes any size plausible. */
#define ENDLESS UINT64_MAX

static zl_receiver *open_receiver(uint64_t budget) {
  return zl_receiver_open((uint32_t)budget, (uint32_t)(budget >> 32), 2);
}

/* After whatever came before, a good part still passes: one without plaintext,
 * because the budget may be 0. */
static void check_good_part(zl_receiver *receiver) {
  static const uint8_t block[] = {0};
  bytes wire = sized_part("LZ4B", 0, block, sizeof block);
  bytes plain;
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &plain), ZL_LZ4B);
  CHECK_EQUAL(plain.length, 0);
  free(plain.at);
  free(wire.at);
}

/* -- Heads: checks before any block -------------------------------------------- */

typedef struct {
  const char *rule;
  const char *sentinel;
  uint64_t plain;
  uint64_t wire; /* length of the part */
  uint64_t budget;
  int32_t expected;
} head_case;

#define HEAD ZL_HEAD_BYTES

static const head_case head_cases[] = {
    {"LZ4B of 2^31 bytes", "LZ4B", UINT64_C(1) << 31, ENDLESS, NO_BUDGET, ZL_E_BLOCK_TOO_LARGE},
    {"LZ4B of 2^32 bytes", "LZ4B", UINT64_C(1) << 32, ENDLESS, NO_BUDGET, ZL_E_BLOCK_TOO_LARGE},
    {"LZ4B of 2^53 bytes", "LZ4B", UINT64_C(1) << 53, ENDLESS, NO_BUDGET, ZL_E_BLOCK_TOO_LARGE},
    {"LZ4B of 2^63 bytes", "LZ4B", UINT64_C(1) << 63, ENDLESS, NO_BUDGET, ZL_E_BLOCK_TOO_LARGE},
    {"LZ4B of 2^64 - 1 bytes", "LZ4B", UINT64_MAX, ENDLESS, NO_BUDGET, ZL_E_BLOCK_TOO_LARGE},
    {"LZ4B of a block and a byte", "LZ4B", BLOCK + 1, BLOCK + 13, NO_BUDGET, ZL_E_BLOCK_TOO_LARGE},
    {"LZ4B of a whole block", "LZ4B", BLOCK, BLOCK + 13, NO_BUDGET, ZL_LZ4B},
    {"LZ4B of 2^32 bytes, cut short", "LZ4B", UINT64_C(1) << 32, HEAD, NO_BUDGET,
     ZL_E_BLOCK_TOO_LARGE},
    {"LZ4B of 2^32 bytes, over budget", "LZ4B", UINT64_C(1) << 32, HEAD, 0, ZL_E_BLOCK_TOO_LARGE},

    {"LZ4M of 2^31 bytes in 20", "LZ4M", UINT64_C(1) << 31, 20, NO_BUDGET, ZL_E_IMPLAUSIBLE_SIZE},
    {"LZ4M of 2^32 bytes in 20", "LZ4M", UINT64_C(1) << 32, 20, NO_BUDGET, ZL_E_IMPLAUSIBLE_SIZE},
    {"LZ4M of 2^53 bytes in 20", "LZ4M", UINT64_C(1) << 53, 20, NO_BUDGET, ZL_E_IMPLAUSIBLE_SIZE},
    {"LZ4M of 2^63 bytes in 20", "LZ4M", UINT64_C(1) << 63, 20, NO_BUDGET, ZL_E_IMPLAUSIBLE_SIZE},
    {"LZ4M of 2^64 - 1 bytes in 20", "LZ4M", UINT64_MAX, 20, NO_BUDGET, ZL_E_IMPLAUSIBLE_SIZE},
    {"LZ4M of 2^31 bytes", "LZ4M", UINT64_C(1) << 31, UINT64_C(1) << 31, NO_BUDGET, ZL_LZ4M},
    {"LZ4M of 2^32 bytes", "LZ4M", UINT64_C(1) << 32, UINT64_C(1) << 32, NO_BUDGET, ZL_LZ4M},
    {"LZ4M of 2^53 bytes", "LZ4M", UINT64_C(1) << 53, UINT64_C(1) << 53, NO_BUDGET, ZL_LZ4M},
    {"LZ4M of 2^63 bytes", "LZ4M", UINT64_C(1) << 63, UINT64_C(1) << 63, NO_BUDGET, ZL_LZ4M},
    {"LZ4M of 2^64 - 1 bytes", "LZ4M", UINT64_MAX, ENDLESS, NO_BUDGET, ZL_LZ4M},
    {"LZ4M of 2^31 bytes, over budget", "LZ4M", UINT64_C(1) << 31, 20, 1 << 20,
     ZL_E_BUDGET_EXCEEDED},
    {"LZ4M of 2^32 bytes, over budget", "LZ4M", UINT64_C(1) << 32, 20, 1 << 20,
     ZL_E_BUDGET_EXCEEDED},
    {"LZ4M of 2^53 bytes, over budget", "LZ4M", UINT64_C(1) << 53, 20, 1 << 20,
     ZL_E_BUDGET_EXCEEDED},
    {"LZ4M of 2^63 bytes, over budget", "LZ4M", UINT64_C(1) << 63, 20, 1 << 20,
     ZL_E_BUDGET_EXCEEDED},
    {"LZ4M of 2^64 - 1 bytes, over budget", "LZ4M", UINT64_MAX, 20, UINT64_MAX - 1,
     ZL_E_BUDGET_EXCEEDED},

    {"LZ4B of 255 times its block", "LZ4B", 2550, HEAD + 10, NO_BUDGET, ZL_LZ4B},
    {"LZ4B of 255 times its block and a byte", "LZ4B", 2551, HEAD + 10, NO_BUDGET,
     ZL_E_IMPLAUSIBLE_SIZE},
    {"LZ4B of a byte without a block", "LZ4B", 1, HEAD, NO_BUDGET, ZL_E_IMPLAUSIBLE_SIZE},
    {"LZ4M of 255 times its blocks", "LZ4M", 2550, HEAD + 10, NO_BUDGET, ZL_LZ4M},
    {"LZ4M of 255 times its blocks and a byte", "LZ4M", 2551, HEAD + 10, NO_BUDGET,
     ZL_E_IMPLAUSIBLE_SIZE},
    {"an implausible size over budget", "LZ4B", 2551, HEAD + 10, 2550, ZL_E_BUDGET_EXCEEDED},

    {"LZ4B of nothing without a block", "LZ4B", 0, HEAD, NO_BUDGET, ZL_E_TRUNCATED},
    {"LZ4B of nothing", "LZ4B", 0, HEAD + 1, NO_BUDGET, ZL_LZ4B},
    {"LZ4B with the longest block of its size", "LZ4B", 1000, HEAD + 1000 + 3 + 16, NO_BUDGET,
     ZL_LZ4B},
    {"LZ4B with a longer block than its size can take", "LZ4B", 1000, HEAD + 1000 + 3 + 17,
     NO_BUDGET, ZL_E_CORRUPT_BLOCK},
    {"LZ4B without end", "LZ4B", 1000, ENDLESS, NO_BUDGET, ZL_E_CORRUPT_BLOCK},
    {"LZ4M of nothing", "LZ4M", 0, HEAD, NO_BUDGET, ZL_LZ4M},
    {"LZ4M of nothing and a byte", "LZ4M", 0, HEAD + 1, NO_BUDGET, ZL_E_TRAILING_BYTES},
    {"LZ4M with the longest block of its size", "LZ4M", 1000, HEAD + 4 + 1000 + 3 + 16, NO_BUDGET,
     ZL_LZ4M},
    {"LZ4M with a byte more than its size can take", "LZ4M", 1000, HEAD + 4 + 1000 + 3 + 17,
     NO_BUDGET, ZL_E_TRAILING_BYTES},
    {"LZ4M without end", "LZ4M", 1000, ENDLESS, NO_BUDGET, ZL_E_TRAILING_BYTES},

    {"LZ4B of exactly the budget", "LZ4B", 1000, HEAD + 1000, 1000, ZL_LZ4B},
    {"LZ4B of one byte over the budget", "LZ4B", 1000, HEAD + 1000, 999, ZL_E_BUDGET_EXCEEDED},
    {"LZ4B without a budget to spend", "LZ4B", 1000, HEAD + 1000, 0, ZL_E_BUDGET_EXCEEDED},
    {"LZ4B of nothing without a budget to spend", "LZ4B", 0, HEAD + 1, 0, ZL_LZ4B},
    {"LZ4M of exactly the budget", "LZ4M", 1000, HEAD + 1000, 1000, ZL_LZ4M},
    {"LZ4M of one byte over the budget", "LZ4M", 1000, HEAD + 1000, 999, ZL_E_BUDGET_EXCEEDED},
    {"LZ4M without a budget to spend", "LZ4M", 1000, HEAD + 1000, 0, ZL_E_BUDGET_EXCEEDED},
    {"plain of exactly the budget", "\0\0\0\0", 0, 1004, 1000, ZL_PLAIN},
    {"plain of one byte over the budget", "\0\0\0\0", 0, 1004, 999, ZL_E_BUDGET_EXCEEDED},
    {"plain without a budget to spend", "\0\0\0\0", 0, 1004, 0, ZL_E_BUDGET_EXCEEDED},
    {"an empty plain part without a budget to spend", "\0\0\0\0", 0, 4, 0, ZL_PLAIN},
    {"plain of a budget over 4 GiB", "\0\0\0\0", 0, 4 + (UINT64_C(5) << 32), UINT64_C(5) << 32,
     ZL_PLAIN},
    {"plain over a budget over 4 GiB", "\0\0\0\0", 0, 5 + (UINT64_C(5) << 32), UINT64_C(5) << 32,
     ZL_E_BUDGET_EXCEEDED},

    {"LZ4D of 0 bytes", "LZ4D", 0, 4, NO_BUDGET, ZL_E_DICTIONARY_SIZE},
    {"LZ4D of 1 byte", "LZ4D", 0, 5, NO_BUDGET, ZL_DICTIONARY},
    {"LZ4D of 8192 bytes", "LZ4D", 0, 4 + 8192, NO_BUDGET, ZL_DICTIONARY},
    {"LZ4D of 8193 bytes", "LZ4D", 0, 4 + 8193, NO_BUDGET, ZL_E_DICTIONARY_SIZE},
    {"LZ4D of 2^32 + 1 bytes", "LZ4D", 0, 5 + (UINT64_C(1) << 32), NO_BUDGET, ZL_E_DICTIONARY_SIZE},
    {"LZ4D without end", "LZ4D", 0, ENDLESS, NO_BUDGET, ZL_E_DICTIONARY_SIZE},
    {"LZ4D of 8192 bytes with a budget of 1", "LZ4D", 0, 4 + 8192, 1, ZL_DICTIONARY},
    {"LZ4D of 8192 bytes without a budget to spend", "LZ4D", 0, 4 + 8192, 0, ZL_DICTIONARY},

    {"an arena of its head", "LZ4A", 0, ZL_ARENA_HEAD_BYTES, NO_BUDGET, ZL_ARENA},
    {"an arena of a byte less", "LZ4A", 0, ZL_ARENA_HEAD_BYTES - 1, NO_BUDGET, ZL_E_ARENA},
    {"an arena of all that fits", "LZ4A", 0, ZL_ARENA_HEAD_BYTES + ZL_ARENA_MAX, 0, ZL_ARENA},
    {"an arena of a byte more", "LZ4A", 0, ZL_ARENA_HEAD_BYTES + ZL_ARENA_MAX + 1, 0, ZL_E_ARENA},
    {"an arena without end", "LZ4A", 0, ENDLESS, NO_BUDGET, ZL_E_ARENA},
    {"a sentinel in small letters", "lz4b", 0, 100, NO_BUDGET, ZL_E_UNKNOWN_SENTINEL},
    {"a sentinel backwards", "B4ZL", 0, 100, NO_BUDGET, ZL_E_UNKNOWN_SENTINEL},
    {"almost plain: 01 00 00 00", "\1\0\0\0", 0, 100, NO_BUDGET, ZL_E_UNKNOWN_SENTINEL},
    {"almost plain: 00 00 00 01", "\0\0\0\1", 0, 100, NO_BUDGET, ZL_E_UNKNOWN_SENTINEL},
    {"ff ff ff ff", "\377\377\377\377", 0, 100, NO_BUDGET, ZL_E_UNKNOWN_SENTINEL},
    {"an unknown sentinel and nothing else", "LZ4X", 0, 4, 0, ZL_E_UNKNOWN_SENTINEL},
};

static void test_head(const void *of) {
  const head_case *c = of;
  bytes whole = sized_part(c->sentinel, c->plain, NULL, 0);
  bytes head = bytes_copy(whole.at, c->wire < whole.length ? (size_t)c->wire : whole.length);
  zl_receiver *receiver = open_receiver(c->budget);
  zl_part part;
  CHECK_EQUAL(zl_receive_head(receiver, head.at, (uint32_t)c->wire, (uint32_t)(c->wire >> 32),
                              ALONE, &part),
              c->expected);
  CHECK(part.budget_left == c->budget);
  if (c->sentinel[3] == 'B' || c->sentinel[3] == 'M') CHECK(part.plain_bytes == c->plain);
  check_good_part(receiver);
  zl_receiver_close(receiver);
  free(head.at);
  free(whole.at);
}

/* -- Parts cut short ---------------------------------------------------------- */

typedef struct {
  const char *rule;
  const char *sentinel;
} form_case;

static const form_case form_cases[] = {
    {"a plain part cut at every length", "\0\0\0\0"}, {"an LZ4B part cut at every length", "LZ4B"},
    {"an LZ4M part cut at every length", "LZ4M"},     {"an LZ4D part cut at every length", "LZ4D"},
    {"an unknown part cut at every length", "LZ4X"},
};

static int32_t expected_of_cut(char form, size_t length, size_t whole, uint64_t plain) {
  if (length < ZL_SENTINEL_BYTES) return ZL_E_PART_TOO_SHORT;
  if (form == 0) return ZL_PLAIN;
  if (form == 'X') return ZL_E_UNKNOWN_SENTINEL;
  if (form == 'D') return length == ZL_SENTINEL_BYTES ? ZL_E_DICTIONARY_SIZE : ZL_DICTIONARY;
  if (length < ZL_HEAD_BYTES) return ZL_E_TRUNCATED;
  if (length == whole) return form == 'B' ? ZL_LZ4B : ZL_LZ4M;
  if (plain > 255 * (uint64_t)(length - ZL_HEAD_BYTES)) return ZL_E_IMPLAUSIBLE_SIZE;
  return form == 'B' ? ZL_E_CORRUPT_BLOCK : ZL_E_TRUNCATED;
}

static void test_cut(const void *of) {
  const char *sentinel = ((const form_case *)of)->sentinel;
  char form = sentinel[3];
  bytes plain = bytes_new(2 * 4096 + 100);
  fill_text(plain.at, plain.length);
  if (form == 'B') plain.length = 4096;
  bytes whole = form == 'B'   ? send_part(NULL, plain, 1)
                : form == 'M' ? send_multi(NULL, plain, 1)
                              : part_with(sentinel, plain.at, 200);
  for (size_t length = 0; length <= whole.length; length++) {
    bytes wire = bytes_copy(whole.at, length);
    zl_receiver *receiver = open_receiver(NO_BUDGET);
    bytes got;
    int32_t status = receive_part(receiver, wire, ALONE, &got);
    /* If the cut is between two sequences of a block, the rest is a valid block. */
    if (form == 'B' && status == ZL_E_SIZE_MISMATCH) status = ZL_E_CORRUPT_BLOCK;
    CHECK_EQUAL(status, expected_of_cut(form, length, whole.length, plain.length));
    check_good_part(receiver);
    zl_receiver_close(receiver);
    free(got.at);
    free(wire.at);
  }
  free(whole.at);
  free(plain.at);
}

/* -- Sizes that do not match the blocks ---------------------------------------- */

/* Receives `wire` with its size changed by `change`. */
static int32_t receive_resized(bytes wire, int change) {
  bytes changed = bytes_copy(wire.at, wire.length);
  uint64_t size = zl_read_u64le(changed.at + ZL_SENTINEL_BYTES);
  zl_write_u64le(changed.at + ZL_SENTINEL_BYTES, size + (uint64_t)(int64_t)change);
  zl_receiver *receiver = open_receiver(NO_BUDGET);
  bytes plain;
  int32_t status = receive_part(receiver, changed, ALONE, &plain);
  check_good_part(receiver);
  zl_receiver_close(receiver);
  free(plain.at);
  free(changed.at);
  return status;
}

static void test_wrong_size(const void *of) {
  int multi = of != NULL;
  for (size_t sample = 0; sample < SAMPLES; sample++) {
    for (size_t length = 600; length < 4000; length += 97) {
      bytes plain = bytes_new(length);
      samples[sample].fill(plain.at, length);
      bytes wire = multi ? send_multi(NULL, plain, 1) : send_part(NULL, plain, 1);
      if (zl_read_u32le(wire.at) != 0) {
        CHECK_EQUAL(receive_resized(wire, 0), multi ? ZL_LZ4M : ZL_LZ4B);
        CHECK_EQUAL(receive_resized(wire, 1), ZL_E_SIZE_MISMATCH);
        CHECK_EQUAL(receive_resized(wire, -1), ZL_E_CORRUPT_BLOCK);
      }
      free(wire.at);
      free(plain.at);
    }
  }
}

/* -- Blocks -------------------------------------------------------------------- */

typedef struct {
  const char *rule;
  uint64_t plain;
  int32_t expected;
  uint32_t length;
  uint8_t rest[24]; /* of the part, after its head */
} blocks_case;

static const blocks_case lz4b_cases[] = {
    {"a block of literals", 3, ZL_LZ4B, 4, {0x30, 'a', 'b', 'c'}},
    {"a block of nothing", 0, ZL_LZ4B, 1, {0}},
    {"a block of nothing with a byte too many", 0, ZL_E_CORRUPT_BLOCK, 2, {0, 0}},
    {"a block of nothing that is not 00", 0, ZL_E_CORRUPT_BLOCK, 1, {0x10}},
    {"literals beyond the end of the block", 3, ZL_E_CORRUPT_BLOCK, 3, {0x30, 'a', 'b'}},
    {"a literal length beyond the end of the block", 15, ZL_E_CORRUPT_BLOCK, 2, {0xF0, 0xFF}},
    {"more literals than the size says", 2, ZL_E_CORRUPT_BLOCK, 4, {0x30, 'a', 'b', 'c'}},
    {"fewer literals than the size says", 4, ZL_E_SIZE_MISMATCH, 4, {0x30, 'a', 'b', 'c'}},
    {"a byte after the last literals", 3, ZL_E_CORRUPT_BLOCK, 5, {0x30, 'a', 'b', 'c', 0}},
    {"a match before the start of the plaintext",
     18,
     ZL_E_CORRUPT_BLOCK,
     10,
     {0x18, 'a', 2, 0, 0x50, 'a', 'b', 'c', 'd', 'e'}},
    {"a match 65535 bytes before the start",
     18,
     ZL_E_CORRUPT_BLOCK,
     10,
     {0x18, 'a', 0xFF, 0xFF, 0x50, 'a', 'b', 'c', 'd', 'e'}},
    {"a match beyond the end of the plaintext", 10, ZL_E_CORRUPT_BLOCK, 4, {0x1F, 'a', 1, 0}},
    {"a match longer than 4 GiB", 18, ZL_E_CORRUPT_BLOCK, 20, {0x1F, 'a', 1,   0,   255, 255, 255,
                                                               255,  255, 255, 255, 255, 255, 255,
                                                               255,  255, 255, 255, 255, 255}},
    {"half an offset", 6, ZL_E_CORRUPT_BLOCK, 3, {0x10, 'a', 1}},
};

static const blocks_case lz4m_cases[] = {
    {"one block", 3, ZL_LZ4M, 8, {4, 0, 0, 0, 0x30, 'a', 'b', 'c'}},
    {"no plaintext and no block", 0, ZL_LZ4M, 0, {0}},
    {"a block for no plaintext", 0, ZL_E_TRAILING_BYTES, 5, {1, 0, 0, 0, 0}},
    {"a byte after the last block",
     3,
     ZL_E_TRAILING_BYTES,
     9,
     {4, 0, 0, 0, 0x30, 'a', 'b', 'c', 0}},
    {"another block after the last",
     3,
     ZL_E_TRAILING_BYTES,
     16,
     {4, 0, 0, 0, 0x30, 'a', 'b', 'c', 4, 0, 0, 0, 0x30, 'a', 'b', 'c'}},
    {"a block of 0 bytes", 3, ZL_E_TRUNCATED, 8, {0, 0, 0, 0, 0x30, 'a', 'b', 'c'}},
    {"half a block length", 3, ZL_E_TRUNCATED, 3, {4, 0, 0}},
    {"a block length and no block", 3, ZL_E_TRUNCATED, 4, {4, 0, 0, 0}},
    {"a block one byte longer than the part",
     3,
     ZL_E_TRUNCATED,
     8,
     {5, 0, 0, 0, 0x30, 'a', 'b', 'c'}},
    {"a block of 2^31 bytes", 3, ZL_E_TRUNCATED, 8, {0, 0, 0, 0x80, 0x30, 'a', 'b', 'c'}},
    {"a block of 2^32 - 1 bytes",
     3,
     ZL_E_TRUNCATED,
     8,
     {0xFF, 0xFF, 0xFF, 0xFF, 0x30, 'a', 'b', 'c'}},
    {"a block one byte shorter than it is",
     3,
     ZL_E_CORRUPT_BLOCK,
     8,
     {3, 0, 0, 0, 0x30, 'a', 'b', 'c'}},
    {"a block that cannot hold its plaintext",
     5 * 255,
     ZL_E_IMPLAUSIBLE_SIZE,
     5,
     {1, 0, 0, 0, 0x30}},
    {"a block that holds more than the size",
     2,
     ZL_E_CORRUPT_BLOCK,
     8,
     {4, 0, 0, 0, 0x30, 'a', 'b', 'c'}},
    {"a block that holds less than the size",
     4,
     ZL_E_SIZE_MISMATCH,
     8,
     {4, 0, 0, 0, 0x30, 'a', 'b', 'c'}},
};

static void check_blocks(const char *sentinel, const blocks_case *c) {
  bytes wire = sized_part(sentinel, c->plain, c->rest, c->length);
  zl_receiver *receiver = open_receiver(NO_BUDGET);
  bytes plain;
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &plain), c->expected);
  if (c->expected > 0) CHECK_EQUAL(plain.length, c->plain);
  check_good_part(receiver);
  zl_receiver_close(receiver);
  free(plain.at);
  free(wire.at);
}

static void test_lz4b(const void *of) {
  check_blocks("LZ4B", of);
}

static void test_lz4m(const void *of) {
  check_blocks("LZ4M", of);
}

#if ZL_BLOCK_MAX < 65536

/* A part of two blocks of random bytes, the first of which the test may change. */
static bytes two_blocks(size_t *second) {
  bytes plain = bytes_new(ZL_BLOCK_MAX + 100);
  fill_noise(plain.at, plain.length);
  bytes wire = send_multi(NULL, plain, 1);
  *second = ZL_HEAD_BYTES + 4 + zl_read_u32le(wire.at + ZL_HEAD_BYTES);
  free(plain.at);
  return wire;
}

static int32_t receive_once(bytes wire) {
  zl_receiver *receiver = open_receiver(NO_BUDGET);
  bytes plain;
  int32_t status = receive_part(receiver, wire, ALONE, &plain);
  check_good_part(receiver);
  zl_receiver_close(receiver);
  free(plain.at);
  free(wire.at);
  return status;
}

static void test_several_blocks(const void *of) {
  (void)of;
  size_t second;
  bytes wire = two_blocks(&second);
  CHECK_EQUAL(receive_once(wire), ZL_LZ4M);

  /* No block but the last may be short: 4095 + 101 bytes for 4096 + 100. */
  bytes plain = bytes_new(ZL_BLOCK_MAX + 100);
  fill_noise(plain.at, plain.length);
  bytes shorter = bytes_new(ZL_HEAD_BYTES + 2 * (4 + zl_block_bound(ZL_BLOCK_MAX)));
  zl_multi_head(shorter.at, (uint32_t)plain.length, 0);
  uint8_t *to = shorter.at + ZL_HEAD_BYTES;
  to += zl_multi_block(NULL, plain.at, ZL_BLOCK_MAX - 1, to, 1);
  to += zl_multi_block(NULL, plain.at + ZL_BLOCK_MAX - 1, 101, to, 1);
  shorter.length = (size_t)(to - shorter.at);
  CHECK_EQUAL(receive_once(shorter), ZL_E_SIZE_MISMATCH);
  free(plain.at);

  /* Wrong block lengths must not compensate each other. */
  wire = two_blocks(&second);
  zl_write_u32le(wire.at + ZL_HEAD_BYTES, zl_block_bound(ZL_BLOCK_MAX) + 1);
  CHECK_EQUAL(receive_once(wire), ZL_E_CORRUPT_BLOCK);
  wire = two_blocks(&second);
  zl_write_u32le(wire.at + ZL_HEAD_BYTES, ZL_BLOCK_MAX / 255);
  CHECK_EQUAL(receive_once(wire), ZL_E_IMPLAUSIBLE_SIZE);
  wire = two_blocks(&second);
  zl_write_u32le(wire.at + second, zl_read_u32le(wire.at + second) + 1);
  CHECK_EQUAL(receive_once(wire), ZL_E_TRUNCATED);
}

/* A block of literals, and one whose match reaches back into it. */
static void test_blocks_are_independent(const void *of) {
  (void)of;
  static const uint8_t reaching[] = {0x10, 'a', 2, 0, 0x50, 'a', 'b', 'c', 'd', 'e'};
  bytes plain = bytes_new(ZL_BLOCK_MAX);
  fill_text(plain.at, plain.length);
  bytes wire = send_multi(NULL, plain, 1);
  size_t first = wire.length;
  wire.at = realloc(wire.at, first + 4 + sizeof reaching);
  if (!wire.at) abort();
  wire.length += 4 + sizeof reaching;
  zl_multi_head(wire.at, ZL_BLOCK_MAX + 10, 0);
  zl_write_u32le(wire.at + first, sizeof reaching);
  memcpy(wire.at + first + 4, reaching, sizeof reaching);
  CHECK_EQUAL(receive_once(wire), ZL_E_CORRUPT_BLOCK);
  free(plain.at);
}

#endif

/* -- Messages of several parts ------------------------------------------------- */

static void test_budget_of_a_message(const void *of) {
  (void)of;
  bytes plain = bytes_new(600);
  fill_text(plain.at, plain.length);
  bytes wires[] = {plain_part(plain), send_part(NULL, plain, 1), send_multi(NULL, plain, 1)};
  zl_receiver *receiver = open_receiver(2 * 600 + 599);
  zl_part part;
  /* Twice, because each message has the whole budget, whatever the last one used. */
  for (int message = 0; message < 2; message++) {
    CHECK_EQUAL(receive_head(receiver, wires[0], ZL_FIRST, &part), ZL_PLAIN);
    CHECK_EQUAL(part.budget_left, 2 * 600 + 599);
    CHECK_EQUAL(receive_head(receiver, wires[1], 0, &part), ZL_LZ4B);
    CHECK_EQUAL(part.budget_left, 600 + 599);
    CHECK_EQUAL(receive_head(receiver, wires[2], ZL_LAST, &part), ZL_E_BUDGET_EXCEEDED);
    CHECK_EQUAL(part.budget_left, 599);
    CHECK_EQUAL(part.plain_bytes, 600);
  }
  for (int message = 0; message < 100; message++)
    CHECK_EQUAL(receive_head(receiver, wires[2], ALONE, &part), ZL_LZ4M);
  zl_receiver_close(receiver);
  for (size_t i = 0; i < 3; i++)
    free(wires[i].at);
  free(plain.at);
}

static void test_no_budget_is_no_limit(const void *of) {
  (void)of;
  zl_receiver *receiver = open_receiver(NO_BUDGET);
  bytes head = sized_part("LZ4M", UINT64_MAX, NULL, 0);
  zl_part part;
  for (int i = 0; i < 3; i++) {
    CHECK_EQUAL(zl_receive_head(receiver, head.at, UINT32_MAX, UINT32_MAX, 0, &part), ZL_LZ4M);
    CHECK(part.budget_left == UINT64_MAX);
  }
  zl_receiver_close(receiver);
  free(head.at);
}

static void test_dictionary_is_alone(const void *of) {
  (void)of;
  static const uint32_t places[] = {ZL_FIRST, 0, ZL_LAST};
  uint8_t data[10] = {0};
  bytes wire = part_with("LZ4D", data, sizeof data);
  bytes oversized = part_with("LZ4D", NULL, 0);
  zl_receiver *receiver = open_receiver(NO_BUDGET);
  zl_part part;
  bytes none;
  for (int installed = 0; installed < 2; installed++) {
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
      CHECK_EQUAL(receive_head(receiver, wire, places[i], &part), ZL_E_DICTIONARY_MULTIPART);
      CHECK_EQUAL(receive_head(receiver, oversized, places[i], &part), ZL_E_DICTIONARY_MULTIPART);
    }
    CHECK((zl_receiver_dictionary(receiver) != NULL) == installed);
    CHECK_EQUAL(receive_part(receiver, wire, ALONE, &none),
                installed ? ZL_E_DICTIONARY_REPEATED : ZL_DICTIONARY);
    free(none.at);
    check_good_part(receiver);
  }
  zl_receiver_close(receiver);
  free(oversized.at);
  free(wire.at);
}

static void test_refused_dictionary_is_not_installed(const void *of) {
  (void)of;
  bytes wire = part_with("LZ4D", NULL, 0);
  zl_receiver *receiver = open_receiver(NO_BUDGET);
  bytes none;
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &none), ZL_E_DICTIONARY_SIZE);
  free(none.at);
  CHECK(zl_receiver_dictionary(receiver) == NULL);
  uint8_t data[8192] = {1};
  free(wire.at);
  wire = part_with("LZ4D", data, sizeof data);
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &none), ZL_DICTIONARY);
  free(none.at);
  CHECK(zl_receiver_dictionary(receiver) != NULL);
  zl_receiver_close(receiver);
  free(wire.at);
}

static void test_dictionary_costs_no_budget(const void *of) {
  (void)of;
  uint8_t data[8192] = {1};
  bytes wire = part_with("LZ4D", data, sizeof data);
  zl_receiver *receiver = open_receiver(1);
  bytes plain;
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &plain), ZL_DICTIONARY);
  free(plain.at);
  free(wire.at);
  wire = part_with("\0\0\0\0", data, 1);
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &plain), ZL_PLAIN);
  CHECK_EQUAL(plain.length, 1);
  free(plain.at);
  free(wire.at);
  zl_receiver_close(receiver);
}

#define COUNT(table) (sizeof table / sizeof *table)

int main(void) {
  for (size_t i = 0; i < COUNT(head_cases); i++)
    RUN_CASE(head_cases[i].rule, test_head, &head_cases[i]);
  for (size_t i = 0; i < COUNT(form_cases); i++)
    RUN_CASE(form_cases[i].rule, test_cut, &form_cases[i]);
  RUN("LZ4B of a size one too large or too small", test_wrong_size);
  RUN_CASE("LZ4M of a size one too large or too small", test_wrong_size, "multi");
  for (size_t i = 0; i < COUNT(lz4b_cases); i++)
    RUN_CASE(lz4b_cases[i].rule, test_lz4b, &lz4b_cases[i]);
  for (size_t i = 0; i < COUNT(lz4m_cases); i++)
    RUN_CASE(lz4m_cases[i].rule, test_lz4m, &lz4m_cases[i]);
#if ZL_BLOCK_MAX < 65536
  RUN("every block but the last is full, and none is longer than it may be", test_several_blocks);
  RUN("a block cannot refer to the one before", test_blocks_are_independent);
#endif
  RUN("the budget is for all parts of one message", test_budget_of_a_message);
  RUN("no budget is no limit", test_no_budget_is_no_limit);
  RUN("a dictionary is a message of its own, and the only one", test_dictionary_is_alone);
  RUN("a dictionary that is refused is not installed", test_refused_dictionary_is_not_installed);
  RUN("a dictionary costs no budget", test_dictionary_costs_no_budget);
  return test_result();
}
