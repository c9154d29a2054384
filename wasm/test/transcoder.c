/* Streams through a transcoder, in both directions, with many chunk sizes and little room. */
#include "samples.h"
#include "streams.h"
#include "test.h"

#define NO_BUDGET UINT64_MAX
#define MINIMUM_DEFAULT 512u

/* At once with ample room; byte by byte with minimal room; and in between. */
static const cut cuts[] = {
    {.room = 1 << 20, .effort = 1},
    {.chunk = 1, .room = 1, .effort = 1},
    {.chunk = 1, .room = 100, .effort = 1},
    {.chunk = 7, .room = 64, .effort = 1},
    {.chunk = 100, .room = 300, .random = 12345, .effort = 1},
    {.chunk = 5000, .room = 5000, .random = 54321, .effort = 1},
};

#define CUTS (sizeof cuts / sizeof *cuts)

/* -- Helpers ------------------------------------------------------------------- */

static outcome receive(bytes stream, uint64_t budget, cut how) {
  zl_transcoder *t = zl_receiving_open((uint32_t)budget, (uint32_t)(budget >> 32), 2, 0);
  return run_stream(t, 0, stream, how);
}

static outcome send(bytes stream, bytes dictionary, uint32_t min_bytes, cut how) {
  zl_dictionary *opened = zl_dictionary_open(dictionary.at, (uint32_t)dictionary.length);
  return run_stream(zl_sending_open(opened, min_bytes, how.effort, 0, NULL, 0), 1, stream, how);
}

static bytes text(const char *from) {
  return bytes_copy((const uint8_t *)from, strlen(from));
}

static bytes filled(fill_function *fill, size_t length) {
  bytes b = bytes_new(length);
  fill(b.at, length);
  return b;
}

static bytes command(const char *body) {
  return frame(ZMTP_COMMAND, (const uint8_t *)body, strlen(body));
}

static void check_bytes(bytes actual, bytes expected) {
  CHECK_EQUAL(actual.length, expected.length);
  for (size_t i = 0; i < actual.length && i < expected.length; i++) {
    if (actual.at[i] == expected.at[i]) continue;
    test_fail(__FILE__, __LINE__, "byte %zu is %02x, not %02x", i, actual.at[i], expected.at[i]);
    return;
  }
}

/* Encodes a part with the functions that envelope.c tests. */
static bytes wire_part(bytes plain, bytes dictionary, uint32_t min_bytes) {
  zl_dictionary *opened = zl_dictionary_open(dictionary.at, (uint32_t)dictionary.length);
  bytes wire = plain.length > ZL_BLOCK_MAX ? send_multi(opened, plain, 1)
               : plain.length < min_bytes  ? plain_part(plain)
                                           : send_part(opened, plain, 1);
  zl_dictionary_close(opened);
  return wire;
}

/* The same growing stream on both sides. */
typedef struct {
  bytes plain;
  bytes wire;
  bytes dictionary;
  uint32_t min_bytes;
  zl_traffic traffic;
} streams;

static streams streams_new(bytes dictionary, uint32_t min_bytes) {
  return (streams){
      .plain = greeting("NULL", 3, 1),
      .wire = greeting("NULL", 3, 1),
      .dictionary = dictionary,
      .min_bytes = min_bytes,
  };
}

static void add_command(streams *s, const char *body) {
  stream_add(&s->plain, command(body));
  stream_add(&s->wire, command(body));
}

/* Takes `plain`, which is freed. */
static void add_part(streams *s, bytes plain, int more) {
  if (s->dictionary.length && s->traffic.wire_bytes == 0) {
    bytes shipped = dictionary_part(s->dictionary);
    s->traffic.wire_bytes += shipped.length;
    stream_add(&s->wire, part_frame(shipped, 0));
  }
  bytes wire = wire_part(plain, s->dictionary, s->min_bytes);
  s->traffic.plain_bytes += plain.length;
  s->traffic.wire_bytes += wire.length;
  s->traffic.messages += !more;
  stream_add(&s->wire, part_frame(wire, more));
  stream_add(&s->plain, part_frame(plain, more));
}

static void streams_free(streams *s) {
  free(s->plain.at);
  free(s->wire.at);
}

static void check_traffic(zl_traffic actual, zl_traffic expected) {
  CHECK_EQUAL(actual.messages, expected.messages);
  CHECK_EQUAL(actual.plain_bytes, expected.plain_bytes);
  CHECK_EQUAL(actual.wire_bytes, expected.wire_bytes);
}

/* Converts each side to the other. */
static void check_cut(const streams *s, cut how) {
  outcome sent = send(s->plain, s->dictionary, s->min_bytes, how);
  CHECK_EQUAL(sent.status, 0);
  check_bytes(sent.output, s->wire);
  check_traffic(sent.traffic, s->traffic);
  free(sent.output.at);

  outcome received = receive(s->wire, NO_BUDGET, how);
  CHECK_EQUAL(received.status, 0);
  check_bytes(received.output, s->plain);
  check_traffic(received.traffic, s->traffic);
  free(received.output.at);
}

/* Converts them with all chunk sizes. Frees them. */
static void check_streams(streams *s) {
  for (size_t i = 0; i < CUTS; i++)
    check_cut(s, cuts[i]);
  streams_free(s);
}

/* Parts of more than a block are only tested byte by byte if blocks are small. */
static int fits(cut how) {
  return how.chunk == 0 || how.chunk >= 1000 || ZL_PART_MAX <= 100000;
}

/* -- Valid streams ------------------------------------------------------------- */

static const bytes no_dictionary = {(uint8_t *)"", 0};

static void test_nothing(const void *of) {
  (void)of;
  streams s = streams_new(no_dictionary, MINIMUM_DEFAULT);
  s.plain.length = s.wire.length = 0;
  check_streams(&s);
}

static void test_handshake(const void *of) {
  (void)of;
  streams s = streams_new(no_dictionary, MINIMUM_DEFAULT);
  add_command(&s, "\5READY");
  add_command(&s, "");
  add_command(&s, "\4PING");
  check_streams(&s);
}

/* Sizes around every boundary: of short headers, of thresholds, of blocks. */
static void test_sizes(const void *of) {
  fill_function *const *fill = of;
  static const size_t sizes[] = {0,    1,    8,    9,    10,   11,   250,  251,   252,
                                 253,  254,  255,  256,  257,  511,  512,  513,   4091,
                                 4092, 4095, 4096, 4097, 8191, 8192, 8193, 12288, 20000};
  static const uint32_t leasts[] = {0, 128, MINIMUM_DEFAULT, ZL_BLOCK_MAX + 1u};
  for (size_t l = 0; l < sizeof leasts / sizeof *leasts; l++) {
    streams s = streams_new(no_dictionary, leasts[l]);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      add_part(&s, filled(*fill, sizes[i]), 0);
    check_streams(&s);
  }
}

static void test_multipart(const void *of) {
  (void)of;
  streams s = streams_new(no_dictionary, MINIMUM_DEFAULT);
  add_part(&s, text(""), 1);
  add_part(&s, filled(fill_text, 1000), 1);
  add_command(&s, "\4PING");
  add_part(&s, filled(fill_text, 5000), 1);
  add_command(&s, "\4PING");
  add_part(&s, text("end"), 0);
  add_part(&s, text(""), 0);
  check_streams(&s);
}

static void test_dictionary(const void *of) {
  (void)of;
  static const size_t sizes[] = {1, 251, 252, 2048, 8192};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    bytes dictionary = filled(fill_text, sizes[i]);
    streams s = streams_new(dictionary, 128);
    add_command(&s, "\11SUBSCRIBEtopic");
    add_part(&s, text("short"), 1);
    add_part(&s, filled(fill_text, 300), 0);
    add_part(&s, filled(fill_text, 9000), 0);
    check_streams(&s);
    free(dictionary.at);
  }
}

static void test_dictionary_waits(const void *of) {
  (void)of;
  bytes dictionary = filled(fill_text, 100);
  streams s = streams_new(dictionary, 128);
  add_command(&s, "\4PING");
  check_streams(&s);
  free(dictionary.at);
}

/* Much larger than its samples, with repetition only outside of them. */
#define HIDDEN_BYTES 8192u

static bytes hidden(void) {
  bytes b = filled(fill_noise, HIDDEN_BYTES);
  memset(b.at + 1024, 0, 2048);
  return b;
}

static void add_parts(streams *s, fill_function *fill, size_t count) {
  for (size_t i = 0; i < count; i++)
    add_part(s, filled(fill, HIDDEN_BYTES), 0);
}

/* Adds a part that is not tried. Takes it. */
static void add_plain(streams *s, bytes plain) {
  s->traffic.plain_bytes += plain.length;
  s->traffic.wire_bytes += plain.length + ZL_SENTINEL_BYTES;
  s->traffic.messages++;
  stream_add(&s->wire, part_frame(plain_part(plain), 0));
  stream_add(&s->plain, part_frame(plain, 0));
}

static void test_vain(const void *of) {
  (void)of;
  if (HIDDEN_BYTES > ZL_PART_MAX) return;
  streams s = streams_new(no_dictionary, MINIMUM_DEFAULT);
  add_parts(&s, fill_noise, 3);
  add_part(&s, hidden(), 0); /* three in a row are few */
  add_parts(&s, fill_noise, 4);
  add_part(&s, filled(fill_text, 2000), 0); /* another size */
  add_plain(&s, hidden());
  add_parts(&s, fill_text, 1); /* its sample shrinks */
  add_part(&s, hidden(), 0);
  add_parts(&s, fill_noise, 4 + 64);
  add_part(&s, hidden(), 0); /* one is tried in any case */
  /* Byte by byte, 600 KB would take minutes. */
  check_cut(&s, cuts[0]);
  check_cut(&s, cuts[CUTS - 1]);
  streams_free(&s);
}

/* Returns how many of `count` parts of a size are tried, if none of them gets shorter. */
static uint32_t tried(uint32_t body, uint32_t count) {
  zl_transcoder *t = zl_sending_open(NULL, MINIMUM_DEFAULT, 1, 0, NULL, 1);
  uint8_t head[16];
  uint32_t sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    sum += zl_sending_plan(t, body, 0) == ZL_IS_TRIED;
    zl_sending_plain(t, head, 0, body, 0);
  }
  zl_transcoder_close(t);
  return sum;
}

static void test_vain_and_large(const void *of) {
  (void)of;
  const uint32_t count = 4 + 3 * 65; /* a round is 64 samples and a trial */
  if (ZL_PART_MAX >= 4096) CHECK_EQUAL(tried(ZL_PART_MAX, count), 4 + 3);
  CHECK_EQUAL(tried(ZL_PART_MAX < 4096 ? 4096 : ZL_PART_MAX + 1, count), 4);
}

static void test_no_effort(const void *of) {
  (void)of;
  bytes dictionary = filled(fill_text, 100);
  for (size_t i = 0; i < CUTS; i++) {
    streams s = streams_new(no_dictionary, MINIMUM_DEFAULT);
    add_plain(&s, filled(fill_text, 1000));
    add_plain(&s, filled(fill_text, 10));
    cut how = cuts[i];
    how.effort = ZL_NO_EFFORT;
    if (fits(how)) add_plain(&s, filled(fill_text, ZL_PART_MAX + 1000u));
    outcome sent = send(s.plain, dictionary, 0, how);
    check_bytes(sent.output, s.wire);
    check_traffic(sent.traffic, s.traffic);
    free(sent.output.at);
    streams_free(&s);
  }
  free(dictionary.at);
}

static void test_large(const void *of) {
  (void)of;
  streams s = streams_new(no_dictionary, MINIMUM_DEFAULT);
  add_part(&s, text("first"), 1);
  add_part(&s, filled(fill_text, ZL_PART_MAX), 1);
  add_part(&s, filled(fill_text, ZL_PART_MAX + 1u), 1);
  add_part(&s, filled(fill_noise, ZL_PART_MAX + 1000u), 0);
  add_part(&s, text("after"), 0);
  bytes plain = bytes_copy(s.plain.at, s.plain.length);
  for (size_t i = 0; i < CUTS; i++) {
    if (!fits(cuts[i])) continue;
    outcome sent = send(s.plain, no_dictionary, s.min_bytes, cuts[i]);
    check_bytes(sent.output, s.wire);
    check_traffic(sent.traffic, s.traffic);
    outcome received = receive(s.wire, NO_BUDGET, cuts[i]);
    check_bytes(received.output, plain);
    check_traffic(received.traffic, s.traffic);
    free(sent.output.at);
    free(received.output.at);
  }
  free(plain.at);
  streams_free(&s);
}

static void test_long_heads(const void *of) {
  (void)of;
  bytes stream = greeting("PLAIN", 3, 0);
  bytes expected = greeting("PLAIN", 3, 0);
  stream_add(&stream, frame(ZMTP_COMMAND | ZMTP_LONG, (const uint8_t *)"\5HELLO", 6));
  stream_add(&expected, frame(ZMTP_COMMAND | ZMTP_LONG, (const uint8_t *)"\5HELLO", 6));
  stream_add(&stream, frame(ZMTP_MORE | ZMTP_LONG, (const uint8_t *)"\0\0\0\0ab", 6));
  stream_add(&expected, frame(ZMTP_MORE, (const uint8_t *)"ab", 2));
  stream_add(&stream, frame(ZMTP_LONG, (const uint8_t *)"\0\0\0\0", 4));
  stream_add(&expected, frame(0, NULL, 0));
  for (size_t i = 0; i < CUTS; i++) {
    outcome received = receive(stream, NO_BUDGET, cuts[i]);
    CHECK_EQUAL(received.status, 0);
    check_bytes(received.output, expected);
    free(received.output.at);
  }
  free(stream.at);
  free(expected.at);
}

/* A stream may end anywhere. The bytes held back then are part of a frame header,
 * of a head, or of a part that has to be there as a whole. */
static void test_ends_anywhere(const void *of) {
  (void)of;
  streams s = streams_new(no_dictionary, MINIMUM_DEFAULT);
  add_command(&s, "\5READY");
  add_part(&s, text("plain"), 1);
  add_part(&s, filled(fill_zeros, 600), 0);
  add_part(&s, filled(fill_noise, 300), 0);
  for (size_t length = 0; length < s.wire.length; length++) {
    bytes start = {s.wire.at, length};
    outcome received = receive(start, NO_BUDGET, cuts[0]);
    outcome same = receive(start, NO_BUDGET, cuts[1]);
    CHECK_EQUAL(received.status, 0);
    CHECK(outcomes_equal(received, same));
    CHECK(received.output.length <= s.plain.length);
    check_bytes(received.output, (bytes){s.plain.at, received.output.length});
    free(received.output.at);
    free(same.output.at);
  }
  for (size_t length = 0; length < s.plain.length; length++) {
    bytes start = {s.plain.at, length};
    outcome sent = send(start, no_dictionary, MINIMUM_DEFAULT, cuts[0]);
    outcome same = send(start, no_dictionary, MINIMUM_DEFAULT, cuts[1]);
    CHECK_EQUAL(sent.status, 0);
    CHECK(outcomes_equal(sent, same));
    check_bytes(sent.output, (bytes){s.wire.at, sent.output.length});
    free(sent.output.at);
    free(same.output.at);
  }
  streams_free(&s);
}

static void test_budget(const void *of) {
  (void)of;
  streams s = streams_new(no_dictionary, MINIMUM_DEFAULT);
  for (int i = 0; i < 3; i++) {
    add_part(&s, filled(fill_noise, 100), 1);
    add_part(&s, filled(fill_text, 900), 0);
  }
  for (size_t i = 0; i < CUTS; i++) {
    outcome enough = receive(s.wire, 1000, cuts[i]);
    CHECK_EQUAL(enough.status, 0);
    check_bytes(enough.output, s.plain);
    free(enough.output.at);
    outcome less = receive(s.wire, 999, cuts[i]);
    CHECK_EQUAL(less.status, ZL_E_BUDGET_EXCEEDED);
    check_bytes(less.output, (bytes){s.plain.at, ZMTP_GREETING_BYTES + 2 + 100});
    CHECK_EQUAL(less.traffic.messages, 0);
    free(less.output.at);
  }
  streams_free(&s);
}

/* -- Refused input ------------------------------------------------------------- */

typedef struct {
  const char *rule;
  int32_t expected;
  const char *frames; /* after a greeting and a valid message */
  size_t length;
} refusal;

#define REFUSED(rule, expected, frames)                                                            \
  { rule, expected, frames, sizeof frames - 1 }

static const refusal refusals[] = {
    REFUSED("a part without a sentinel", ZL_E_PART_TOO_SHORT, "\0\3\0\0\0"),
    REFUSED("an empty part", ZL_E_PART_TOO_SHORT, "\0\0"),
    REFUSED("another sentinel", ZL_E_UNKNOWN_SENTINEL, "\0\5hello"),
    REFUSED("another sentinel, of a part that goes on", ZL_E_UNKNOWN_SENTINEL, "\0\377hell"),
    REFUSED("an arena that is too short", ZL_E_ARENA, "\0\6LZ4A\0\0"),
    REFUSED("a head that is cut off", ZL_E_TRUNCATED, "\0\5LZ4B\0"),
    REFUSED("LZ4B of over a block", ZL_E_BLOCK_TOO_LARGE, "\0\15LZ4B\0\0\0\0\1\0\0\0\0"),
    REFUSED("an implausible size", ZL_E_IMPLAUSIBLE_SIZE, "\0\15LZ4B\0\1\0\0\0\0\0\0\0"),
    REFUSED("a block that does not decode", ZL_E_CORRUPT_BLOCK, "\0\15LZ4B\5\0\0\0\0\0\0\0\20"),
    REFUSED("a block that decodes to less", ZL_E_SIZE_MISMATCH, "\0\16LZ4B\2\0\0\0\0\0\0\0\20a"),
    REFUSED("LZ4M that goes on", ZL_E_TRAILING_BYTES, "\0\15LZ4M\0\0\0\0\0\0\0\0\0"),
    REFUSED("LZ4M that ends in a length", ZL_E_TRUNCATED, "\0\17LZ4M\1\0\0\0\0\0\0\0\2\0\0"),
    REFUSED("a dictionary of nothing", ZL_E_DICTIONARY_SIZE, "\0\4LZ4D"),
    REFUSED("a dictionary with MORE", ZL_E_DICTIONARY_MULTIPART, "\1\5LZ4Dx"),
    REFUSED("a second dictionary", ZL_E_DICTIONARY_REPEATED, "\0\5LZ4Dx\0\5LZ4Dx"),
    REFUSED("a dictionary of 2^62 bytes", ZL_E_DICTIONARY_SIZE, "\2\100\0\0\0\0\0\0\0LZ4D"),
    REFUSED("unknown flags", ZL_E_FRAME, "\10\0"),
    REFUSED("unknown flags on a long frame", ZL_E_FRAME, "\12\0"),
    REFUSED("MORE on a command", ZL_E_FRAME, "\5\0"),
    REFUSED("a length of 2^63", ZL_E_FRAME, "\2\200\0\0\0\0\0\0\0"),
    REFUSED("a command of 2^63 bytes", ZL_E_FRAME, "\6\200\0\0\0\0\0\0\0"),
};

static void test_refused(const void *of) {
  const refusal *r = of;
  streams s = streams_new(no_dictionary, MINIMUM_DEFAULT);
  add_part(&s, text("good"), 0);
  stream_add(&s.wire, bytes_copy((const uint8_t *)r->frames, r->length));
  for (size_t i = 0; i < CUTS; i++) {
    outcome received = receive(s.wire, NO_BUDGET, cuts[i]);
    CHECK_EQUAL(received.status, r->expected);
    check_bytes(received.output, s.plain);
    CHECK_EQUAL(received.traffic.messages, 1);
    free(received.output.at);
  }
  streams_free(&s);
}

static void test_greetings(const void *of) {
  (void)of;
  static const struct {
    const char *mechanism;
    uint8_t major;
    uint8_t minor;
    int accepted;
  } cases[] = {
      {"NULL", 3, 0, 1},   {"NULL", 3, 1, 1},   {"PLAIN", 3, 0, 1},  {"PLAIN", 3, 1, 1},
      {"NULL", 4, 0, 1},   {"NULL", 255, 9, 1}, {"NULL", 0, 0, 0},   {"NULL", 1, 0, 0},
      {"NULL", 2, 0, 0},   {"CURVE", 3, 1, 0},  {"GSSAPI", 3, 1, 0}, {"NULLX", 3, 1, 0},
      {"PLAINX", 3, 1, 0}, {"NUL", 3, 1, 0},    {"", 3, 1, 0},       {"null", 3, 1, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bytes opening = greeting(cases[i].mechanism, cases[i].major, cases[i].minor);
    for (size_t j = 0; j < CUTS; j++) {
      int32_t expected = cases[i].accepted ? 0 : ZL_E_GREETING;
      outcome received = receive(opening, NO_BUDGET, cuts[j]);
      outcome sent = send(opening, no_dictionary, MINIMUM_DEFAULT, cuts[j]);
      CHECK_EQUAL(received.status, expected);
      CHECK(outcomes_equal(received, sent));
      if (cases[i].accepted) check_bytes(received.output, opening);
      free(received.output.at);
      free(sent.output.at);
    }
    free(opening.at);
  }
}

/* The beginning of another protocol is refused at the first different byte. */
static void test_other_protocols(const void *of) {
  (void)of;
  static const struct {
    bytes opening;
    size_t passed;
  } cases[] = {
      {{(uint8_t *)"GET / HTTP/1.1\r\n", 16}, 0},
      {{(uint8_t *)"\x16\x03\x01", 3}, 0},
      {{(uint8_t *)"\1\0", 2}, 0}, /* ZMTP 1 */
      {{(uint8_t *)"\xff\0\0\0\0\0\0\0\1\x7e", 10}, 9},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (size_t j = 0; j < CUTS; j++) {
      outcome received = receive(cases[i].opening, NO_BUDGET, cuts[j]);
      CHECK_EQUAL(received.status, ZL_E_GREETING);
      check_bytes(received.output, (bytes){cases[i].opening.at, cases[i].passed});
      free(received.output.at);
    }
  }
}

/* The part beyond a limit is refused at its header; commands and other messages do not count. */
static void test_parts(const void *of) {
  (void)of;
  static const uint8_t full[] = "\1\4\0\0\0\0\1\4\0\0\0\0\4\0\0\4\0\0\0\0";
  zl_transcoder *t = zl_receiving_open(UINT32_MAX, UINT32_MAX, 2, 1);
  zl_receiving_limit(t, UINT32_MAX, UINT32_MAX, 3);
  uint8_t output[64];
  zl_progress progress;
  for (int i = 0; i < 2; i++) {
    CHECK_EQUAL(zl_transcode(t, full, sizeof full - 1, output, 64, &progress), ZL_NEEDS_INPUT);
    CHECK_EQUAL(progress.consumed, sizeof full - 1);
  }
  static const uint8_t open[] = "\1\4\0\0\0\0\1\4\0\0\0\0\1\4\0\0\0\0\4\0";
  CHECK_EQUAL(zl_transcode(t, open, sizeof open - 1, output, 64, &progress), ZL_NEEDS_INPUT);
  CHECK_EQUAL(zl_transcode(t, (const uint8_t *)"\0\4", 2, output, 64, &progress), ZL_E_PARTS);
  zl_transcoder_close(t);
}

static bytes compressed(uint32_t length) {
  bytes plain = filled(fill_text, length);
  bytes wire = wire_part(plain, no_dictionary, 0);
  free(plain.at);
  return wire;
}

/* Parts that came compressed, with enough plaintext, are passed on as they came. */
static void test_kept(const void *of) {
  (void)of;
  if (ZL_PART_MAX < 1000) return;
  for (size_t i = 0; i < CUTS; i++) {
    bytes stream = greeting("NULL", 3, 1);
    bytes expected = greeting("NULL", 3, 1);
    const uint32_t lengths[] = {1000, ZL_KEPT_MIN, ZL_KEPT_MIN - 1};
    for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
      stream_add(&stream, part_frame(compressed(lengths[j]), 1));
      int is_kept = lengths[j] >= ZL_KEPT_MIN;
      bytes body = is_kept ? compressed(lengths[j]) : filled(fill_text, lengths[j]);
      bytes out = part_frame(body, 1);
      if (is_kept) out.at[0] |= ZMTP_KEPT;
      stream_add(&expected, out);
    }
    bytes plain = filled(fill_text, 600);
    stream_add(&stream, part_frame(plain_part(plain), 0));
    stream_add(&expected, part_frame(plain, 0));
    zl_transcoder *t = zl_receiving_open(UINT32_MAX, UINT32_MAX, 2, 0);
    zl_receiving_keep(t, 1);
    outcome received = run_stream(t, 0, stream, cuts[i]);
    CHECK_EQUAL(received.status, 0);
    check_bytes(received.output, expected);
    CHECK_EQUAL(received.traffic.plain_bytes, 1000 + 2 * ZL_KEPT_MIN - 1 + 600);
    free(received.output.at);
    free(stream.at);
    free(expected.at);
  }
  /* One that cannot be decoded is refused as always. */
  bytes corrupt = compressed(1000);
  memset(corrupt.at + corrupt.length / 2, 0xFF, 8);
  bytes stream = greeting("NULL", 3, 1);
  stream_add(&stream, part_frame(corrupt, 0));
  zl_transcoder *t = zl_receiving_open(UINT32_MAX, UINT32_MAX, 2, 0);
  zl_receiving_keep(t, 1);
  outcome received = run_stream(t, 0, stream, cuts[0]);
  CHECK(received.status < 0);
  free(received.output.at);
  free(stream.at);
}

/* A frame header alone, and the head of a part, of a transcoder with a limit. */
static void test_limit(const void *of) {
  (void)of;
  const uint64_t limits[] = {1000, UINT64_C(1) << 32, (UINT64_C(1) << 53) - 1};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    const uint64_t limit = limits[i];
    const struct {
      const char *sentinel;
      uint64_t declared, body;
      uint32_t have;
      int32_t expected;
    } cases[] = {
        {"", 0, UINT64_C(1) << 62, 0, ZL_E_PART_LIMIT},
        {"", 0, (UINT64_C(1) << 63) - 1, 0, ZL_E_PART_LIMIT},
        {"", 0, 4 + limit, 0, ZL_NEEDS_INPUT},
        {"\0\0\0", 0, 4 + limit, 4, ZL_NEEDS_INPUT},
        {"\0\0\0", 0, 5 + limit, 4, ZL_E_PART_LIMIT},
        {"LZ4M", limit + 1, limit, 12, ZL_E_PART_LIMIT},
        {"LZ4M", UINT64_MAX, limit, 12, ZL_E_IMPLAUSIBLE_SIZE},
    };
    for (size_t j = 0; j < sizeof cases / sizeof *cases; j++) {
      zl_transcoder *t = zl_receiving_open(UINT32_MAX, UINT32_MAX, 2, 1);
      zl_receiving_limit(t, (uint32_t)limit, (uint32_t)(limit >> 32), UINT32_MAX);
      uint8_t input[ZMTP_LONG_HEAD + ZL_HEAD_BYTES] = {0};
      uint32_t length = zmtp_frame_write(input, 0, cases[j].body);
      memcpy(input + length, cases[j].sentinel, strlen(cases[j].sentinel));
      for (uint32_t byte = 0; byte < 8; byte++)
        input[length + 4 + byte] = (uint8_t)(cases[j].declared >> 8 * byte);
      uint8_t output[64];
      zl_progress progress;
      CHECK_EQUAL(zl_transcode(t, input, length + cases[j].have, output, 64, &progress),
                  cases[j].expected);
      zl_transcoder_close(t);
    }
  }
}

/* Details of a refused greeting for the caller's error message. */
static void test_greeting_seen(const void *of) {
  (void)of;
  bytes opening = greeting("NULL", 3, 1);
  opening.at[12] = 'X';
  zl_transcoder *t = zl_receiving_open(UINT32_MAX, UINT32_MAX, 2, 0);
  uint8_t output[64];
  zl_progress progress;
  CHECK_EQUAL(zl_transcode(t, opening.at, 64, output, 64, &progress), ZL_E_GREETING);
  CHECK_EQUAL(progress.consumed, 12);
  CHECK_EQUAL(progress.produced, 12);
  CHECK_EQUAL(zl_greeting_count(t), 12);
  CHECK(memcmp(zl_greeting_seen(t), opening.at, 12) == 0);
  zl_transcoder_close(t);
  free(opening.at);
}

static void test_dictionary_of(const void *of) {
  (void)of;
  bytes dictionary = filled(fill_text, 100);
  zl_dictionary *opened = zl_dictionary_open(dictionary.at, 100);
  zl_transcoder *sending = zl_sending_open(opened, 128, 1, 0, NULL, 0);
  zl_transcoder *receiving = zl_receiving_open(UINT32_MAX, UINT32_MAX, 2, 0);
  CHECK(zl_transcoder_dictionary(sending) == NULL); /* not shipped yet */
  CHECK(zl_transcoder_dictionary(receiving) == NULL);

  bytes stream = greeting("NULL", 3, 1);
  stream_add(&stream, part_frame(dictionary_part(dictionary), 0));
  uint8_t output[64];
  zl_progress progress;
  CHECK_EQUAL(zl_transcode(receiving, stream.at, (uint32_t)stream.length, output, 64, &progress),
              ZL_NEEDS_INPUT);
  CHECK(zl_transcoder_dictionary(receiving) == opened); /* the same bytes are one */
  zl_transcoder_close(sending);                         /* with the dictionary that it took over */
  CHECK_EQUAL(zl_dictionary_length(zl_transcoder_dictionary(receiving)), 100);
  zl_transcoder_close(receiving);
  free(stream.at);
  free(dictionary.at);
}

int main(void) {
  RUN("no stream", test_nothing);
  RUN("a handshake goes through", test_handshake);
  for (size_t i = 0; i < SAMPLES; i++) {
    char name[64];
    snprintf(name, sizeof name, "%s of all sizes", samples[i].name);
    RUN_CASE(name, test_sizes, &samples[i].fill);
  }
  RUN("multipart messages with commands inside", test_multipart);
  RUN("compressed parts are passed on as they came if they are to be kept", test_kept);
  RUN("a dictionary goes before the first part", test_dictionary);
  RUN("a dictionary waits for the first part", test_dictionary_waits);
  RUN("large parts are left to the caller", test_large);
  RUN("parts are sampled once some of their size were tried in vain", test_vain);
  RUN("of large parts none is tried again", test_vain_and_large);
  RUN("with no effort all goes plain, and no dictionary is shipped", test_no_effort);
  RUN("headers of data frames become the shortest", test_long_heads);
  RUN("a stream may end anywhere", test_ends_anywhere);
  RUN("the budget is that of each message", test_budget);
  RUN("a part over the limit is refused at its header", test_limit);
  RUN("a part beyond the number of parts is refused at its header", test_parts);
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
    RUN_CASE(refusals[i].rule, test_refused, &refusals[i]);
  RUN("greetings by version and mechanism", test_greetings);
  RUN("other protocols are refused at once", test_other_protocols);
  RUN("the greeting that was refused can be read", test_greeting_seen);
  RUN("both sides know their dictionary", test_dictionary_of);
  return test_result();
}
