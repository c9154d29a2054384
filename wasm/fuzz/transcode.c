/* Fuzzes transcoding: any bytes as a stream, either way. */
#include "../test/streams.h"
#include "fuzz.h"

/* Longer inputs are left out, so that what they can hold is soon allocated. */
#define INPUT_MAX 16384u

static const uint64_t budgets[] = {UINT64_MAX, 0, 1, 1000, 10000};
static const cut whole = {.room = 1 << 16, .effort = 1};

static zl_transcoder *open_receiving(uint64_t budget) {
  return zl_receiving_open((uint32_t)budget, (uint32_t)(budget >> 32), 2, 0);
}

/* A frame header at `at`; what follows it may be cut off. */
static int read_frame(bytes stream, size_t at, zmtp_frame *header) {
  return zmtp_frame_read(stream.at + at, stream.length - at, header) == 0;
}

/* What should come of a stream of plain ZMTP that is sent and received: the same
 * frames, with the shortest headers. It ends where the stream breaks a rule. */
static bytes reference(bytes stream) {
  bytes expected = bytes_copy(stream.at, 0);
  size_t at = stream.length < ZMTP_GREETING_BYTES ? stream.length : ZMTP_GREETING_BYTES;
  for (uint32_t i = 1; i <= at && i <= ZMTP_GREETING_CHECKED; i++) {
    if (!zmtp_greeting_accepts(stream.at, i)) {
      stream_add(&expected, bytes_copy(stream.at, i - 1));
      return expected;
    }
  }
  stream_add(&expected, bytes_copy(stream.at, at));
  zmtp_frame header;
  while (read_frame(stream, at, &header)) {
    bytes head = bytes_copy(stream.at + at, header.head_bytes);
    if (!(header.flags & ZMTP_COMMAND))
      head.length = zmtp_frame_write(head.at, header.flags & ZMTP_MORE, header.body_bytes);
    at += header.head_bytes;
    stream_add(&expected, head);
    uint64_t body = stream.length - at < header.body_bytes ? stream.length - at : header.body_bytes;
    stream_add(&expected, bytes_copy(stream.at + at, (size_t)body));
    at += (size_t)body;
  }
  return expected;
}

/* The length of what has come to its end in a stream: greeting and whole frames. */
static size_t whole_frames(bytes stream) {
  size_t at = stream.length < ZMTP_GREETING_BYTES ? stream.length : ZMTP_GREETING_BYTES;
  zmtp_frame header;
  while (read_frame(stream, at, &header) &&
         header.body_bytes <= stream.length - at - header.head_bytes)
    at += (size_t)(header.head_bytes + header.body_bytes);
  return at;
}

/* How a stream is sent. */
typedef struct {
  bytes dictionary;
  uint32_t min_bytes;
  int32_t effort;
  uint32_t arenas;
  uint32_t capacity; /* of a dictionary that is trained; 0 for none */
} sender;

static outcome send_stream(sender how, bytes stream, cut cut) {
  zl_dictionary *dictionary =
      zl_dictionary_open(how.dictionary.at, (uint32_t)how.dictionary.length);
  zl_trainer *trainer = dictionary ? NULL : zl_trainer_open(how.capacity, 3, 30, 0);
  cut.effort = how.effort;
  zl_transcoder *t = zl_sending_open(dictionary, how.min_bytes, how.effort, how.arenas, trainer, 0);
  outcome sent = run_stream(t, 1, stream, cut);
  zl_trainer_close(trainer);
  return sent;
}

static void check_received_stream(outcome sent, bytes stream, cut cut) {
  REQUIRE(sent.status == 0 || sent.status == ZL_E_GREETING || sent.status == ZL_E_FRAME);

  outcome received = run_stream(open_receiving(UINT64_MAX), 0, sent.output, cut);
  REQUIRE(received.status == 0);
  REQUIRE(received.traffic.messages == sent.traffic.messages);
  REQUIRE(received.traffic.plain_bytes == sent.traffic.plain_bytes);
  REQUIRE(received.traffic.wire_bytes == sent.traffic.wire_bytes);

  /* All frames that are whole, and a part that was cut off as far as it came. In an
   * arena frames keep their long headers. */
  bytes expected = reference(stream);
  bytes output = reference(received.output);
  REQUIRE(output.length <= expected.length);
  REQUIRE(output.length >= whole_frames(expected));
  REQUIRE(memcmp(output.at, expected.at, output.length) == 0);
  free(expected.at);
  free(output.at);
  free(received.output.at);
}

/* Sends a stream that breaks no rule but may be cut off, and receives it again. */
static void check_comes_back(sender how, bytes stream, cut cut) {
  outcome sent = send_stream(how, stream, whole);
  outcome other = send_stream(how, stream, cut);
  if (!how.arenas) REQUIRE(outcomes_equal(sent, other));
  check_received_stream(sent, stream, cut);
  if (how.arenas) check_received_stream(other, stream, cut);
  free(sent.output.at);
  free(other.output.at);
}

/* The input: what to do with it, room, cut, the dictionary's length, the
 * dictionary, and the stream. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 6 || size > INPUT_MAX) return 0;
  uint32_t length = (uint32_t)(data[4] | data[5] << 8) % (ZL_DICTIONARY_MAX + 1);
  if (length > size - 6) length = 0;
  const sender how = {
      .dictionary = bytes_copy(data + 6, length),
      .min_bytes = data[0] & 2 ? 0 : 300,
      .effort = data[0] & 4   ? 50
                : data[0] & 8 ? -3 - data[0] % 3
                              : 1,
      .arenas = data[0] & 16,
      .capacity = data[0] & 32 ? 100 : 0,
  };
  const cut cut = {
      .chunk = data[2] & 15 ? 1u << (data[2] & 15) >> 1 : 1,
      .random = data[2] >> 4,
      .room = 1u + data[1],
  };
  /* Streams are found sooner behind a greeting that is good. */
  bytes stream = data[0] & 1 ? greeting("NULL", 3, 1) : bytes_new(0);
  stream_add(&stream, bytes_copy(data + 6 + length, size - 6 - length));

  uint64_t budget = budgets[data[3] % (sizeof budgets / sizeof *budgets)];
  outcome one = run_stream(open_receiving(budget), 0, stream, whole);
  outcome other = run_stream(open_receiving(budget), 0, stream, cut);
  REQUIRE(outcomes_equal(one, other));
  /* Parts as they came are no different for how the stream was cut. */
  zl_transcoder *keeping[] = {open_receiving(budget), open_receiving(budget)};
  for (int i = 0; i < 2; i++)
    zl_receiving_keep(keeping[i], 1);
  outcome kept = run_stream(keeping[0], 0, stream, whole);
  outcome kept_other = run_stream(keeping[1], 0, stream, cut);
  REQUIRE(outcomes_equal(kept, kept_other));
  REQUIRE(kept.status == one.status && kept.traffic.plain_bytes == one.traffic.plain_bytes);
  free(kept.output.at);
  free(kept_other.output.at);
  check_comes_back(how, one.output, cut);
  check_comes_back(how, stream, cut);

  free(one.output.at);
  free(other.output.at);
  free(stream.at);
  free(how.dictionary.at);
  return 0;
}
