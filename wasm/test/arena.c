/* Arenas: violations that a receiver refuses (RFC.md section A.3), and the content of a sender's.
 */
#include "../arena.h"

#include "samples.h"
#include "streams.h"
#include "test.h"

#define NO_BUDGET UINT64_MAX

static const cut cuts[] = {
    {.room = 1 << 20, .effort = 1},
    {.chunk = 1, .room = 1, .effort = 1},
    {.chunk = 100, .room = 300, .random = 12345, .effort = 1},
};

#define CUTS (sizeof cuts / sizeof *cuts)

/* -- Helpers ------------------------------------------------------------------- */

static zl_receiver *open_receiver(uint64_t budget, uint32_t revision) {
  return zl_receiver_open((uint32_t)budget, (uint32_t)(budget >> 32), revision);
}

static bytes filled(fill_function *fill, size_t length) {
  bytes b = bytes_new(length);
  fill(b.at, length);
  return b;
}

/* Builds an arena with any declared values. */
static bytes arena_part(uint32_t compressed, size_t inner, uint32_t count, bytes body) {
  bytes part = bytes_new(ZL_ARENA_HEAD_BYTES + body.length);
  memcpy(part.at, "LZ4A", 4);
  zl_write_u32le(part.at + 4, compressed);
  zl_write_u32le(part.at + 8, (uint32_t)inner);
  zl_write_u32le(part.at + 12, count);
  if (body.length) memcpy(part.at + ZL_ARENA_HEAD_BYTES, body.at, body.length);
  return part;
}

/* Receives a stored arena of `frames`, which is freed, and expects the same frames. */
static void check_frames(bytes frames, uint32_t count, uint64_t budget, int32_t expected) {
  zl_receiver *receiver = open_receiver(budget, 2);
  bytes wire = arena_part(0, frames.length, count, frames);
  bytes got;
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &got), expected);
  if (expected > 0) CHECK(bytes_equal(got, frames));
  zl_receiver_close(receiver);
  free(got.at);
  free(wire.at);
  free(frames.at);
}

/* Returns `parts` empty frames, of which every `each`-th ends a message. */
static bytes empty_frames(uint32_t parts, uint32_t each) {
  bytes frames = bytes_new(2 * parts);
  fill_zeros(frames.at, frames.length);
  for (uint32_t i = 0; i < parts; i++)
    frames.at[2 * i] = (i + 1) % each ? ZMTP_MORE : 0;
  return frames;
}

/* -- What is refused ----------------------------------------------------------- */

typedef struct {
  const char *rule;
  int32_t expected;
  uint32_t flags; /* bytes 4 to 7 */
  uint32_t inner;
  uint32_t count;
  const char *body;
  uint32_t length;
  uint64_t budget;
} arena_case;

#define ARENA(rule, expected, flags, inner, count, body, budget)                                   \
  { rule, expected, flags, inner, count, body, sizeof body - 1, budget }

static const arena_case arena_cases[] = {
    ARENA("a message of one part", ZL_ARENA, 0, 3, 1, "\0\1x", NO_BUDGET),
    ARENA("a message without a byte", ZL_ARENA, 0, 2, 1, "\0\0", 0),
    ARENA("messages of several parts", ZL_ARENA, 0, 9, 2, "\0\1x\1\0\0\2yz", 2),
    ARENA("a long frame around little", ZL_ARENA, 0, 10, 1, "\2\0\0\0\0\0\0\0\1x", NO_BUDGET),
    ARENA("a block", ZL_ARENA, 1, 3, 1, "\60\0\1x", NO_BUDGET),
    ARENA("A3: a form that does not exist", ZL_E_ARENA, 2, 3, 1, "\0\1x", NO_BUDGET),
    ARENA("A3: byte 5", ZL_E_ARENA, 1 << 8, 3, 1, "\0\1x", NO_BUDGET),
    ARENA("A3: byte 6", ZL_E_ARENA, 1 << 16, 3, 1, "\0\1x", NO_BUDGET),
    ARENA("A3: byte 7", ZL_E_ARENA, 1u << 31, 3, 1, "\0\1x", NO_BUDGET),
    ARENA("A4: an inner size of 0", ZL_E_ARENA, 0, 0, 1, "", NO_BUDGET),
    ARENA("A4: an inner size of 65537", ZL_E_ARENA, 1, 65537, 1, "\0", NO_BUDGET),
    ARENA("A4: an inner size of 2^32 - 1", ZL_E_ARENA, 1, UINT32_MAX, 1, "\0", NO_BUDGET),
    ARENA("A5: no messages", ZL_E_ARENA, 0, 3, 0, "\0\1x", NO_BUDGET),
    ARENA("A5: 257 messages", ZL_E_ARENA, 0, 3, 257, "\0\1x", NO_BUDGET),
    ARENA("A6: a body that is too short", ZL_E_ARENA, 0, 4, 1, "\0\1x", NO_BUDGET),
    ARENA("A6: a body that is too long", ZL_E_ARENA, 0, 3, 1, "\0\1xx", NO_BUDGET),
    ARENA("A7: 256 bytes out of one", ZL_E_IMPLAUSIBLE_SIZE, 1, 256, 1, "\0", NO_BUDGET),
    ARENA("A7: a byte out of none", ZL_E_IMPLAUSIBLE_SIZE, 1, 1, 1, "", NO_BUDGET),
    ARENA("A8: a block that does not decode", ZL_E_CORRUPT_BLOCK, 1, 3, 1, "\60\0\1", NO_BUDGET),
    ARENA("A8: a block of more", ZL_E_CORRUPT_BLOCK, 1, 2, 1, "\60\0\1x", NO_BUDGET),
    ARENA("A9: a block of less", ZL_E_SIZE_MISMATCH, 1, 4, 1, "\60\0\1x", NO_BUDGET),
    ARENA("A10: a command", ZL_E_ARENA, 0, 3, 1, "\4\1x", NO_BUDGET),
    ARENA("A10: flags that do not exist", ZL_E_ARENA, 0, 3, 1, "\10\1x", NO_BUDGET),
    ARENA("A10: a frame that goes on", ZL_E_ARENA, 0, 3, 1, "\0\2x", NO_BUDGET),
    ARENA("A10: half a header", ZL_E_ARENA, 0, 4, 2, "\0\1x\0", NO_BUDGET),
    ARENA("A10: half a long header", ZL_E_ARENA, 0, 8, 1, "\2\0\0\0\0\0\0\0", NO_BUDGET),
    ARENA("A10: a frame of 2^62", ZL_E_ARENA, 0, 9, 1, "\2\100\0\0\0\0\0\0\0", NO_BUDGET),
    ARENA("A10: a frame of 2^63", ZL_E_ARENA, 0, 9, 1, "\2\200\0\0\0\0\0\0\0", NO_BUDGET),
    ARENA("A12: a part over budget", ZL_E_BUDGET_EXCEEDED, 0, 4, 1, "\0\2xx", 1),
    ARENA("A12: the last part over it", ZL_E_BUDGET_EXCEEDED, 0, 8, 1, "\1\2xx\0\2xx", 3),
    ARENA("A12: the last message over it", ZL_E_BUDGET_EXCEEDED, 0, 7, 2, "\0\1x\0\2xx", 1),
    ARENA("A12 before A13", ZL_E_BUDGET_EXCEEDED, 0, 4, 9, "\1\2xx", 1),
    ARENA("A13: more messages than the count", ZL_E_ARENA, 0, 6, 1, "\0\1x\0\1x", NO_BUDGET),
    ARENA("A13: fewer messages than the count", ZL_E_ARENA, 0, 3, 2, "\0\1x", NO_BUDGET),
    ARENA("A13: an open message", ZL_E_ARENA, 0, 6, 1, "\0\1x\1\1x", NO_BUDGET),
};

static const uint8_t good_frames[] = {0, 0};

static void test_arena(const void *of) {
  const arena_case *c = of;
  bytes body = bytes_copy((const uint8_t *)c->body, c->length);
  bytes wire = arena_part(c->flags, c->inner, c->count, body);
  bytes good = arena_part(0, 2, 1, (bytes){(uint8_t *)good_frames, 2});
  zl_receiver *receiver = open_receiver(c->budget, 2);
  bytes frames;
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &frames), c->expected);
  if (c->expected == ZL_ARENA) CHECK_EQUAL(frames.length, c->inner);
  free(frames.at);

  /* A1: it is the only part, which is checked first. */
  for (uint32_t place = 0; place < ALONE; place++) {
    CHECK_EQUAL(receive_part(receiver, wire, place, &frames), ZL_E_ARENA);
    free(frames.at);
  }
  /* A valid one is still accepted afterwards. */
  CHECK_EQUAL(receive_part(receiver, good, ALONE, &frames), ZL_ARENA);
  CHECK_EQUAL(frames.length, 2);
  free(frames.at);
  zl_receiver_close(receiver);

  receiver = open_receiver(c->budget, 1);
  CHECK_EQUAL(receive_part(receiver, wire, ALONE, &frames), ZL_E_UNKNOWN_SENTINEL);
  free(frames.at);
  zl_receiver_close(receiver);

  /* In a stream, nothing of it is delivered unless all of it is valid. */
  bytes stream = greeting("NULL", 3, 1);
  stream_add(&stream, part_frame(bytes_copy(good.at, good.length), 0));
  stream_add(&stream, part_frame(bytes_copy(wire.at, wire.length), 0));
  const size_t before = ZMTP_GREETING_BYTES + sizeof good_frames;
  for (size_t i = 0; i < CUTS; i++) {
    zl_transcoder *t = zl_receiving_open((uint32_t)c->budget, (uint32_t)(c->budget >> 32), 2, 0);
    outcome received = run_stream(t, 0, stream, cuts[i]);
    CHECK_EQUAL(received.status, c->expected < 0 ? c->expected : 0);
    CHECK_EQUAL(received.output.length, before + (c->expected < 0 ? 0 : c->inner));
    CHECK_EQUAL(received.traffic.messages, 1 + (c->expected < 0 ? 0 : c->count));
    free(received.output.at);
  }
  free(stream.at);
  free(good.at);
  free(wire.at);
  free(body.at);
}

static void test_limits(const void *of) {
  (void)of;
  check_frames(empty_frames(256, 1), 256, NO_BUDGET, ZL_ARENA);
  check_frames(empty_frames(257, 1), 256, NO_BUDGET, ZL_E_ARENA);
  check_frames(empty_frames(4096, 4096), 1, 0, ZL_ARENA);
  check_frames(empty_frames(4096, 16), 256, 0, ZL_ARENA);
  check_frames(empty_frames(4097, 4097), 1, 0, ZL_E_ARENA);
  for (size_t more = 0; more < 2; more++) {
    const size_t plain = ZL_ARENA_MAX - ZMTP_LONG_HEAD + more;
    int32_t expected = more ? ZL_E_ARENA : ZL_ARENA;
    check_frames(part_frame(filled(fill_text, plain), 0), 1, NO_BUDGET, expected);
  }
  /* Each message has the whole budget, and the arena itself is not counted. */
  bytes frames = bytes_new(0);
  for (int i = 0; i < 20; i++) {
    stream_add(&frames, part_frame(filled(fill_text, 60), 1));
    stream_add(&frames, part_frame(filled(fill_text, 40), 0));
  }
  check_frames(bytes_copy(frames.at, frames.length), 20, 100, ZL_ARENA);
  check_frames(frames, 20, 99, ZL_E_BUDGET_EXCEEDED);
}

/* -- What is sent -------------------------------------------------------------- */

/* Frames with all kinds of content round-trip, with every effort. */
static void test_encode(const void *of) {
  (void)of;
  static const int32_t efforts[] = {1, 50, -3, -9, -12};
  static const size_t sizes[] = {1, 100, 511, 513, 10000, ZL_ARENA_MAX - ZMTP_LONG_HEAD};
  bytes history = filled(fill_text, 500);
  zl_dictionary *dictionaries[] = {NULL, zl_dictionary_open(history.at, 500)};
  for (size_t n = 0; n < 2 * SAMPLES * sizeof efforts / sizeof *efforts; n++) {
    zl_dictionary *dictionary = dictionaries[n % 2];
    fill_function *fill = samples[n / 2 % SAMPLES].fill;
    int32_t effort = efforts[n / 2 / SAMPLES];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      bytes frames = part_frame(filled(fill, sizes[i]), 0);
      bytes target = bytes_new(ZL_ARENA_HEAD_BYTES + frames.length);
      uint32_t length = zl_arena_encode(dictionary, frames.at, (uint32_t)frames.length, 1, 1,
                                        target.at, 512, effort);
      int stored = zl_read_u32le(target.at + 4) == 0;
      if (frames.length < 512 || fill == fill_noise) CHECK(stored);
      if (frames.length >= 512 && fill == fill_zeros) CHECK(!stored);
      if (stored) CHECK_EQUAL(length, target.length);
      if (!stored) CHECK(length < target.length);

      zl_receiver *receiver = open_receiver(NO_BUDGET, 2);
      if (dictionary) CHECK_EQUAL(zl_receive_dictionary(receiver, history.at, 500), 0);
      bytes got;
      CHECK_EQUAL(receive_part(receiver, (bytes){target.at, length}, ALONE, &got), ZL_ARENA);
      CHECK(bytes_equal(got, frames));
      zl_receiver_close(receiver);
      free(got.at);
      free(target.at);
      free(frames.at);
    }
  }
  zl_dictionary_close(dictionaries[1]);
  free(history.at);
}

static void add_messages(bytes *stream, size_t count, size_t plain) {
  for (size_t i = 0; i < count; i++)
    stream_add(stream, part_frame(filled(fill_text, plain), 0));
}

static void add_parts(bytes *stream, size_t parts, size_t plain) {
  for (size_t i = 1; i <= parts; i++)
    stream_add(stream, part_frame(filled(fill_text, plain), i < parts));
}

/* Checks a sender's output for a stream that arrives at once: each arena as its number of
 * messages, p for any other part, d for a dictionary, c for a command. */
static void check_forms(bytes stream, bytes dictionary, const char *expected) {
  zl_dictionary *opened = zl_dictionary_open(dictionary.at, (uint32_t)dictionary.length);
  zl_transcoder *t = zl_sending_open(opened, 512, 1, 1, NULL, 0);
  outcome sent = run_stream(t, 1, stream, cuts[0]);
  CHECK_EQUAL(sent.status, 0);
  char forms[512] = "";
  zmtp_frame head;
  for (size_t at = ZMTP_GREETING_BYTES; at < sent.output.length;) {
    CHECK_EQUAL(zmtp_frame_read(sent.output.at + at, sent.output.length - at, &head), 0);
    const uint8_t *body = sent.output.at + at + head.head_bytes;
    char *end = forms + strlen(forms);
    const size_t left = sizeof forms - strlen(forms);
    if (head.flags & ZMTP_COMMAND)
      snprintf(end, left, " c");
    else if (memcmp(body, "LZ4A", 4) == 0)
      snprintf(end, left, " %u", zl_read_u32le(body + 12));
    else
      snprintf(end, left, memcmp(body, "LZ4D", 4) == 0 ? " d" : " p");
    at += (size_t)(head.head_bytes + head.body_bytes);
  }
  if (strcmp(forms, expected) != 0)
    test_fail(__FILE__, __LINE__, "\"%s\", not \"%s\"", forms, expected);

  for (size_t i = 0; i < CUTS; i++) {
    outcome received =
        run_stream(zl_receiving_open(UINT32_MAX, UINT32_MAX, 2, 0), 0, sent.output, cuts[i]);
    CHECK_EQUAL(received.status, 0);
    CHECK(bytes_equal(received.output, stream));
    CHECK_EQUAL(received.traffic.messages, sent.traffic.messages);
    CHECK_EQUAL(received.traffic.plain_bytes, sent.traffic.plain_bytes);
    CHECK_EQUAL(received.traffic.wire_bytes, sent.traffic.wire_bytes);
    free(received.output.at);
  }
  free(sent.output.at);
  free(stream.at);
}

static const bytes no_dictionary = {(uint8_t *)"", 0};

static void test_groups(const void *of) {
  (void)of;
  bytes stream = greeting("NULL", 3, 1);
  add_messages(&stream, 1, 100);
  check_forms(stream, no_dictionary, " p");

  stream = greeting("NULL", 3, 1);
  add_messages(&stream, 600, 10);
  check_forms(stream, no_dictionary, " 256 256 88");

  /* An arena that is not shorter than its messages is not sent: here it would be stored. */
  stream = greeting("NULL", 3, 1);
  add_messages(&stream, 6, 10);
  check_forms(stream, no_dictionary, " p p p p p p");
  stream = greeting("NULL", 3, 1);
  add_messages(&stream, 7, 10);
  check_forms(stream, no_dictionary, " 7");
  /* Those are all that are not looked at again. */
  stream = greeting("NULL", 3, 1);
  add_messages(&stream, 2, 10);
  add_messages(&stream, 1, 10000);
  add_messages(&stream, 2, 300);
  check_forms(stream, no_dictionary, " p p p 2");

  /* 8192 bytes of frames are small, a byte more is not, in one part or in several. */
  stream = greeting("NULL", 3, 1);
  add_messages(&stream, 2, 10);
  add_messages(&stream, 1, 8192 - ZMTP_LONG_HEAD);
  add_messages(&stream, 1, 8192 - ZMTP_LONG_HEAD + 1);
  add_messages(&stream, 1, 10);
  add_messages(&stream, 1, 10000);
  add_parts(&stream, 2, 4096 - ZMTP_LONG_HEAD);
  add_messages(&stream, 1, 10);
  add_parts(&stream, 2, 4097 - ZMTP_LONG_HEAD);
  add_messages(&stream, 2, 300);
  check_forms(stream, no_dictionary, " 3 p p p 2 p p 2");

  /* 65536 bytes of frames are an arena. */
  stream = greeting("NULL", 3, 1);
  add_messages(&stream, 20, 4096 - ZMTP_LONG_HEAD);
  add_messages(&stream, 13, 4097 - ZMTP_LONG_HEAD);
  check_forms(stream, no_dictionary, " 16 15 2");

  /* 4096 parts are. */
  stream = greeting("NULL", 3, 1);
  for (int i = 0; i < 4; i++)
    add_parts(&stream, 2048, 0);
  check_forms(stream, no_dictionary, " 2 2");
}

/* A11: what empty parts cost is paid for with bytes of the body. */
static void test_cheap_parts(const void *of) {
  (void)of;
  static const struct {
    uint32_t messages;
    uint32_t each;
    int32_t expected;
  } arenas[] = {
      {256, 1, ZL_ARENA},
      {256, 5, ZL_ARENA},
      {256, 6, ZL_E_ARENA},
      {256, 16, ZL_E_ARENA},
      {1, 4096, ZL_E_ARENA},
      /* 22 bytes pay for 352 parts besides those that are free. */
      {1, 1376, ZL_ARENA},
      {1, 1377, ZL_E_ARENA},
  };
  for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++) {
    const uint32_t messages = arenas[i].messages;
    bytes frames = empty_frames(messages * arenas[i].each, arenas[i].each);
    const uint32_t length = (uint32_t)frames.length;
    bytes block = bytes_new(zl_block_bound(length));
    block.length = zl_block_encode(NULL, frames.at, length, block.at, (uint32_t)block.length, 1);
    bytes wire = arena_part(1, length, messages, block);
    zl_receiver *receiver = open_receiver(NO_BUDGET, 2);
    bytes got;
    CHECK_EQUAL(receive_part(receiver, wire, ALONE, &got), arenas[i].expected);
    free(got.at);
    free(wire.at);
    free(block.at);

    /* A sender stores what would be refused. */
    wire = bytes_new(ZL_ARENA_HEAD_BYTES + length);
    wire.length = zl_arena_encode(NULL, frames.at, length, messages, length / 2, wire.at, 0, 1);
    CHECK_EQUAL(wire.at[4], arenas[i].expected == ZL_ARENA);
    CHECK_EQUAL(receive_part(receiver, wire, ALONE, &got), ZL_ARENA);
    CHECK(bytes_equal(got, frames));
    zl_receiver_close(receiver);
    free(got.at);
    free(wire.at);
    free(frames.at);
  }
}

static void test_many_parts(const void *of) {
  (void)of;
  bytes stream = greeting("NULL", 3, 1);
  add_parts(&stream, 4, 0);
  add_parts(&stream, 2, 300);
  stream_add(&stream, frame(ZMTP_COMMAND, (const uint8_t *)"\4PING", 5));
  add_messages(&stream, 2, 300);
  bytes dictionary = filled(fill_text, 100);
  check_forms(stream, dictionary, " d 2 c 2");
  free(dictionary.at);
}

/* An incomplete message waits, and so do later ones. */
static void test_cut(const void *of) {
  (void)of;
  bytes stream = greeting("NULL", 3, 1);
  add_messages(&stream, 3, 300);
  for (size_t length = ZMTP_GREETING_BYTES; length < stream.length; length++) {
    zl_transcoder *t = zl_sending_open(NULL, 512, 1, 1, NULL, 0);
    outcome sent = run_stream(t, 1, (bytes){stream.at, length}, cuts[0]);
    const size_t whole = (length - ZMTP_GREETING_BYTES) / (ZMTP_LONG_HEAD + 300);
    CHECK_EQUAL(sent.status, 0);
    CHECK(sent.traffic.messages == whole || sent.traffic.messages == whole + 1);
    if (whole == 2) CHECK(memcmp(sent.output.at + ZMTP_GREETING_BYTES + 2, "LZ4A", 4) == 0);
    free(sent.output.at);
  }
  free(stream.at);
}

int main(void) {
  for (size_t i = 0; i < sizeof arena_cases / sizeof *arena_cases; i++)
    RUN_CASE(arena_cases[i].rule, test_arena, &arena_cases[i]);
  RUN("the limits of what is in an arena", test_limits);
  RUN("parts that cost nothing", test_cheap_parts);
  RUN("an arena is compressed where that is shorter", test_encode);
  RUN("what shares an arena", test_groups);
  RUN("a dictionary and a command end an arena", test_many_parts);
  RUN("a message that was cut waits", test_cut);
  return test_result();
}
