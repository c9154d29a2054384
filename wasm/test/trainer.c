/* Dictionaries that a sender trains (RFC.md section 6.4). */
#include "../trainer.h"

#include "../lz4/prepared.h"
#include "samples.h"
#include "streams.h"
#include "test.h"

static const cut whole = {.room = 1 << 20, .effort = 1};
static const cut dribbled = {.chunk = 1, .room = 1, .effort = 1};

/* -- Helpers ------------------------------------------------------------------- */

/* Returns an event of a log, of about 120 bytes, with values from `i`. */
static bytes event(uint32_t i) {
  static const char *levels[] = {"info", "warn", "debug"};
  uint32_t state = i * 2654435761u + 1;
  bytes e = bytes_new(200);
  e.length =
      (size_t)snprintf((char *)e.at, 200,
                       "{\"id\":%u,\"level\":\"%s\",\"service\":\"billing\",\"amount\":%u,"
                       "\"currency\":\"EUR\",\"customer\":\"c-%u\"}",
                       i, levels[i % 3], sample_random(&state) % 100000, sample_random(&state));
  return e;
}

static bytes noise(uint32_t i, size_t length) {
  uint32_t state = i * 2654435761u + 1;
  bytes b = bytes_new(length);
  for (size_t at = 0; at < length; at++)
    b.at[at] = (uint8_t)(sample_random(&state) >> 24);
  return b;
}

/* Takes `part`, which is freed. */
static void sample(zl_trainer *trainer, bytes part) {
  zl_trainer_sample(trainer, part.at, (uint32_t)part.length);
  free(part.at);
}

static zl_trainer *trainer_of_events(uint32_t capacity, uint32_t count) {
  zl_trainer *trainer = zl_trainer_open(capacity, count, 128, 0);
  for (uint32_t i = 0; i < count; i++) {
    sample(trainer, event(i));
    CHECK_EQUAL(zl_trainer_message(trainer), i + 1 == count);
  }
  return trainer;
}

/* -- Training ------------------------------------------------------------------ */

static void test_capacity(const void *of) {
  (void)of;
  static const uint32_t capacities[] = {1, 5, 6, 7, 100, 127, 128, 129, 2048, 8191, 8192};
  CHECK(zl_trainer_open(0, 1, 0, 0) == NULL);
  CHECK(zl_trainer_open(ZL_DICTIONARY_MAX + 1, 1, 0, 0) == NULL);
  for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
    zl_trainer *trainer = trainer_of_events(capacities[i], 100);
    CHECK_EQUAL(zl_trainer_wants(trainer), 0);
    zl_dictionary *made = zl_trainer_train(trainer);
    if (capacities[i] >= 100) CHECK(made != NULL);
    if (made) CHECK(made->length <= capacities[i]);
    zl_trainer_close(trainer);
  }
}

static void test_gains(const void *of) {
  (void)of;
  zl_trainer *trainer = trainer_of_events(1024, 100);
  zl_dictionary *made = zl_trainer_train(trainer);
  size_t without = 0;
  size_t with = 0;
  for (uint32_t i = 1000; i < 1100; i++) {
    bytes plain = event(i);
    bytes one = send_part(NULL, plain, 1);
    bytes other = send_part(made, plain, 1);
    without += one.length;
    with += other.length;
    free(one.at);
    free(other.at);
    free(plain.at);
  }
  CHECK(with * 10 < without * 6);
  zl_trainer_close(trainer);
}

static void test_same_again(const void *of) {
  (void)of;
  zl_trainer *one = trainer_of_events(2048, 200);
  zl_trainer *other = trainer_of_events(2048, 200);
  zl_dictionary *made = zl_trainer_train(one);
  CHECK(made && made == zl_trainer_train(other)); /* the same bytes are one dictionary */
  zl_trainer_close(one);
  zl_trainer_close(other);
}

/* Without repetition between samples there is no dictionary, however many there are. */
static void test_steps(const void *of) {
  (void)of;
  zl_trainer *one = trainer_of_events(2048, 100);
  zl_trainer *other = trainer_of_events(2048, 100);
  zl_trainer *given_up = trainer_of_events(2048, 100);
  uint32_t steps = 1;
  while (zl_trainer_step(other))
    steps++;
  CHECK(steps >= 4);
  zl_dictionary *made = zl_trainer_train(one);
  CHECK(made && made == zl_trainer_finish(other));
  for (uint32_t i = 0; i < 3; i++)
    CHECK(zl_trainer_step(given_up));
  zl_trainer_close(one);
  zl_trainer_close(other);
  zl_trainer_close(given_up);
}

static void test_nothing_to_gain(const void *of) {
  (void)of;
  static const struct {
    uint32_t count;
    size_t length;
  } cases[] = {{0, 0},    {1, 0},     {1, 7},      {1, 8},      {100, 7},
               {100, 64}, {100, 300}, {100, 4096}, {300, 4096}, {1, 100000}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    zl_trainer *trainer = zl_trainer_open(2048, 1, 128, 0);
    for (uint32_t n = 0; n < cases[i].count; n++)
      sample(trainer, noise(n, cases[i].length));
    CHECK(zl_trainer_train(trainer) == NULL);
    zl_trainer_close(trainer);
  }
  /* Nor with a single sample. */
  zl_trainer *trainer = zl_trainer_open(2048, 1, 128, 0);
  sample(trainer, event(1));
  CHECK(zl_trainer_train(trainer) == NULL);
  zl_trainer_close(trainer);
}

static void test_kept(const void *of) {
  (void)of;
  zl_trainer *trainer = zl_trainer_open(100, 1, 128, 0);
  sample(trainer, noise(1, 7));
  CHECK_EQUAL(trainer->count, 0);
  sample(trainer, noise(1, 8));
  sample(trainer, noise(2, 200));
  sample(trainer, noise(3, 201));
  CHECK_EQUAL(trainer->count, 3);
  CHECK_EQUAL(trainer->ends[2], 8 + 200 + 200);
  for (uint32_t i = 0; i < 10000; i++)
    sample(trainer, noise(i, 8));
  CHECK_EQUAL(trainer->count, 8192);
  zl_trainer_close(trainer);

  trainer = zl_trainer_open(ZL_DICTIONARY_MAX, 1, 128, 0);
  for (uint32_t i = 0; i < 100; i++)
    sample(trainer, noise(i, 20000));
  CHECK_EQUAL(trainer->count, 64);
  CHECK_EQUAL(trainer->ends[63], 1 << 20);
  zl_trainer_close(trainer);
}

/* -- In a stream --------------------------------------------------------------- */

static bytes events_stream(uint32_t count) {
  bytes stream = greeting("NULL", 3, 1);
  for (uint32_t i = 0; i < count; i++)
    stream_add(&stream, part_frame(event(i), 0));
  return stream;
}

/* Returns the position of the only dictionary in a stream of wire parts, counted in data frames. */
static int dictionary_at(bytes stream) {
  int found = -1;
  int index = 0;
  zmtp_frame head;
  for (size_t at = ZMTP_GREETING_BYTES; at < stream.length; index++) {
    CHECK_EQUAL(zmtp_frame_read(stream.at + at, stream.length - at, &head), 0);
    if (memcmp(stream.at + at + head.head_bytes, "LZ4D", 4) == 0) {
      CHECK_EQUAL(found, -1);
      found = index;
    }
    at += (size_t)(head.head_bytes + head.body_bytes);
  }
  return found;
}

static void check_received(bytes wire, bytes plain) {
  outcome received = run_stream(zl_receiving_open(UINT32_MAX, UINT32_MAX, 2, 0), 0, wire, dribbled);
  CHECK_EQUAL(received.status, 0);
  CHECK(bytes_equal(received.output, plain));
  free(received.output.at);
}

/* After `trigger` messages, with any chunks; with arenas the rest is one arena. */
static void test_ships_once(const void *of) {
  (void)of;
  bytes stream = events_stream(150);
  for (int arenas = 0; arenas < 2; arenas++) {
    outcome outcomes[2];
    for (int i = 0; i < 2; i++) {
      zl_trainer *trainer = zl_trainer_open(1024, 100, 128, 0);
      zl_transcoder *t = zl_sending_open(NULL, 512, 1, (uint32_t)arenas, trainer, 0);
      outcomes[i] = run_stream(t, 1, stream, i ? dribbled : whole);
      CHECK_EQUAL(outcomes[i].status, 0);
      CHECK_EQUAL(outcomes[i].traffic.messages, 150);
      CHECK_EQUAL(dictionary_at(outcomes[i].output), 100);
      check_received(outcomes[i].output, stream);
      zl_trainer_close(trainer);
    }
    if (!arenas) CHECK(outcomes_equal(outcomes[0], outcomes[1]));
    if (arenas) CHECK(outcomes[0].traffic.wire_bytes < outcomes[1].traffic.wire_bytes);
    free(outcomes[0].output.at);
    free(outcomes[1].output.at);
  }
  free(stream.at);
}

static void test_no_second_try(const void *of) {
  (void)of;
  bytes stream = greeting("NULL", 3, 1);
  for (uint32_t i = 0; i < 10; i++)
    stream_add(&stream, part_frame(noise(i, 600), 0));
  bytes more = events_stream(100);
  stream_add(&stream, bytes_copy(more.at + ZMTP_GREETING_BYTES, more.length - ZMTP_GREETING_BYTES));
  zl_trainer *trainer = zl_trainer_open(1024, 10, 128, 0);
  outcome sent = run_stream(zl_sending_open(NULL, 512, 1, 0, trainer, 0), 1, stream, whole);
  CHECK_EQUAL(dictionary_at(sent.output), -1);
  CHECK(trainer->done && trainer->dictionary == NULL && trainer->bytes == NULL);
  zl_trainer_close(trainer);
  free(sent.output.at);
  free(more.at);
  free(stream.at);
}

/* Feeds a stream to a transcoder that stays open, and returns its output. */
static bytes feed(zl_transcoder *t, bytes stream) {
  bytes output = bytes_new(1 << 18);
  zl_progress progress;
  CHECK_EQUAL(zl_transcode(t, stream.at, (uint32_t)stream.length, output.at,
                           (uint32_t)output.length, &progress),
              ZL_NEEDS_INPUT);
  CHECK_EQUAL(progress.consumed, stream.length);
  output.length = progress.produced;
  return output;
}

/* One of several is sampled. If it closes, another continues; all ship the resulting dictionary. */
static void test_shared(const void *of) {
  (void)of;
  bytes stream = events_stream(60);
  bytes rest = {stream.at + ZMTP_GREETING_BYTES, stream.length - ZMTP_GREETING_BYTES};
  zl_trainer *trainer = zl_trainer_open(1024, 100, 128, 0);
  zl_transcoder *senders[3];
  for (int i = 0; i < 3; i++) {
    senders[i] = zl_sending_open(NULL, 512, 1, 0, trainer, 0);
    bytes sent = feed(senders[i], stream);
    CHECK_EQUAL(dictionary_at(sent), -1);
    free(sent.at);
  }
  CHECK_EQUAL(trainer->messages, 60);
  zl_transcoder_close(senders[0]);
  free(feed(senders[2], rest).at);
  CHECK(trainer->done);
  for (int i = 1; i < 3; i++) {
    bytes sent = greeting("NULL", 3, 1);
    stream_add(&sent, feed(senders[i], rest));
    CHECK_EQUAL(dictionary_at(sent), i == 1 ? 0 : -1); /* the last has shipped it already */
    CHECK(zl_transcoder_dictionary(senders[i]) == trainer->dictionary);
    free(sent.at);
  }
  zl_transcoder *late = zl_sending_open(NULL, 512, 1, 0, trainer, 0);
  bytes sent = feed(late, stream);
  CHECK_EQUAL(dictionary_at(sent), 0);
  check_received(sent, stream);
  free(sent.at);
  zl_transcoder_close(late);
  zl_transcoder_close(senders[1]);
  zl_transcoder_close(senders[2]);
  zl_trainer_close(trainer);
  free(stream.at);
}

/* The others wait for the sampled one for as many messages as sampling takes. */
static void test_idle(const void *of) {
  (void)of;
  bytes stream = events_stream(20);
  bytes rest = {stream.at + ZMTP_GREETING_BYTES, stream.length - ZMTP_GREETING_BYTES};
  zl_trainer *trainer = zl_trainer_open(1024, 20, 128, 0);
  zl_transcoder *idle = zl_sending_open(NULL, 512, 1, 0, trainer, 0);
  zl_transcoder *busy = zl_sending_open(NULL, 512, 1, 0, trainer, 0);
  bytes one = events_stream(1);
  free(feed(idle, one).at);
  free(feed(busy, stream).at);
  CHECK_EQUAL(trainer->messages, 1);
  free(feed(busy, rest).at);
  CHECK(trainer->done);
  zl_transcoder_close(idle);
  zl_transcoder_close(busy);
  zl_trainer_close(trainer);
  free(one.at);
  free(stream.at);
}

/* Of a part that is larger than what is wanted of it the beginning is sampled, once,
 * as soon as it is there; so with a part that is left to the caller. */
static void test_large_parts(const void *of) {
  (void)of;
  static const size_t sizes[] = {199, 200, 201, 5000, ZL_PART_MAX + 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int split = 0; split < 2; split++) {
      if (split && sizes[i] > 100000) continue;
      bytes stream = greeting("NULL", 3, 1);
      bytes plain = bytes_new(sizes[i]);
      fill_text(plain.at, plain.length);
      stream_add(&stream, part_frame(plain, 1));
      stream_add(&stream, part_frame(event(1), 0));
      zl_trainer *trainer = zl_trainer_open(100, 3, 128, 0);
      outcome sent = run_stream(zl_sending_open(NULL, 512, 1, 0, trainer, 0), 1, stream,
                                split ? dribbled : whole);
      CHECK_EQUAL(sent.status, 0);
      CHECK_EQUAL(trainer->messages, 1);
      CHECK_EQUAL(trainer->count, 2);
      CHECK_EQUAL(trainer->ends[0], sizes[i] < 200 ? sizes[i] : 200);
      CHECK(trainer->sampling == NULL);
      zl_trainer_close(trainer);
      free(sent.output.at);
      free(stream.at);
    }
  }
}

/* The samples of 64 trainers are kept at a time, of those that took some lately or have enough. */
static void test_places(const void *of) {
  (void)of;
  enum { COUNT = 66 };
  zl_trainer *trainers[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) {
    trainers[i] = zl_trainer_open(100 + i, i == 0 ? 1 : 3, 128, 1);
    CHECK_EQUAL(zl_trainer_wants(trainers[i]), i < 64 ? 2 * (100 + i) : 0);
    sample(trainers[i], event(i));
    CHECK_EQUAL(zl_trainer_message(trainers[i]), i == 0);
  }
  zl_trainer *waiting = trainers[64];
  CHECK_EQUAL(waiting->messages, 0);
  CHECK(!waiting->bytes);
  /* A place becomes free when a trainer has trained, or is closed. */
  zl_trainer_train(trainers[0]);
  CHECK_EQUAL(zl_trainer_wants(waiting), 2 * 164);
  CHECK_EQUAL(zl_trainer_wants(trainers[65]), 0);
  zl_trainer_close(trainers[1]);
  CHECK_EQUAL(zl_trainer_wants(trainers[65]), 2 * 165);
  /* Or when a trainer is idle, unless it has enough: here only the third one is. */
  trainers[1] = zl_trainer_open(300, 3, 128, 1);
  zl_trainer_message(trainers[3]);
  CHECK(zl_trainer_message(trainers[3]));
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < 65536 && wanted == 0; i++) {
    wanted = zl_trainer_wants(trainers[1]);
    for (uint32_t k = 4; k < COUNT && i % 256 == 0; k++)
      CHECK(zl_trainer_wants(trainers[k]) > 0);
  }
  CHECK_EQUAL(wanted, 600);
  CHECK(!trainers[2]->bytes && trainers[2]->messages == 0);
  CHECK(zl_trainer_ready(trainers[3]) && trainers[3]->count > 0);
  for (uint32_t i = 0; i < COUNT; i++)
    zl_trainer_close(trainers[i]);
}

/* The caller of a deferred trainer trains; meanwhile messages are sent without a dictionary. */
static void test_deferred(const void *of) {
  (void)of;
  bytes stream = events_stream(50);
  bytes rest = {stream.at + ZMTP_GREETING_BYTES, stream.length - ZMTP_GREETING_BYTES};
  zl_trainer *trainer = zl_trainer_open(1024, 20, 128, 1);
  zl_transcoder *t = zl_sending_open(NULL, 512, 1, 0, trainer, 0);
  CHECK(!zl_trainer_ready(trainer));
  bytes sent = feed(t, stream);
  CHECK_EQUAL(dictionary_at(sent), -1);
  free(sent.at);
  CHECK(zl_trainer_ready(trainer));
  CHECK_EQUAL(trainer->messages, 20);
  CHECK(zl_trainer_train(trainer) != NULL);
  CHECK(!zl_trainer_ready(trainer));
  free(feed(t, rest).at);
  CHECK(zl_transcoder_dictionary(t) == trainer->dictionary);
  zl_transcoder_close(t);
  zl_trainer_close(trainer);
  free(stream.at);
}

int main(void) {
  RUN("a dictionary is at most as long as its capacity", test_capacity);
  RUN("a dictionary pays for messages it was not made of", test_gains);
  RUN("the same samples make the same dictionary", test_same_again);
  RUN("training step by step makes it as well, and can be given up", test_steps);
  RUN("what does not repeat makes none", test_nothing_to_gain);
  RUN("how much is kept of samples", test_kept);
  RUN("it is shipped once, after as many messages as it takes", test_ships_once);
  RUN("there is no second try", test_no_second_try);
  RUN("several that share a trainer ship the same", test_shared);
  RUN("samples of 64 trainers are kept, and idle ones give theirs up", test_places);
  RUN("a deferred trainer leaves the training to its caller", test_deferred);
  RUN("one that is idle does not keep the others waiting", test_idle);
  RUN("large parts are sampled by their beginning", test_large_parts);
  return test_result();
}
