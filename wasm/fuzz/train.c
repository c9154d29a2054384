/* Fuzzes training: whatever the samples are, a dictionary is within its capacity, the
 * same each time, and worth its bytes. */
#include "../cover.h"
#include "fuzz.h"

/* What samples, one behind the other, take on the wire. */
static size_t wire_bytes(zl_samples samples, zl_dictionary *dictionary) {
  size_t sum = 0;
  uint32_t at = 0;
  for (uint32_t i = 0; i < samples.count; at = samples.ends[i++]) {
    bytes wire =
        send_part(dictionary, (bytes){(uint8_t *)samples.bytes + at, samples.ends[i] - at}, 1);
    sum += wire.length;
    free(wire.at);
  }
  return sum;
}

static bytes trained(const zl_samples *samples, uint32_t capacity) {
  bytes made = {0};
  uint32_t length = 0;
  zl_training *training = zl_training_open(samples, capacity);
  if (training) {
    while (zl_training_step(training))
      ;
    const uint8_t *result = zl_training_result(training, &length);
    made = bytes_copy(result, length);
  }
  zl_training_close(training);
  return made;
}

static void check_cover(zl_samples samples, uint32_t capacity) {
  bytes one = trained(&samples, capacity);
  bytes other = trained(&samples, capacity);
  REQUIRE(one.length <= capacity);
  REQUIRE(bytes_equal(one, other));
  zl_dictionary *dictionary = zl_dictionary_open(one.at, (uint32_t)one.length);
  REQUIRE(wire_bytes(samples, dictionary) <= wire_bytes(samples, NULL));
  zl_dictionary_close(dictionary);
  free(one.at);
  free(other.at);
}

/* The same samples as a sender's: the shortest are left out. */
static void check_trainer(zl_samples samples, uint32_t capacity) {
  zl_trainer *trainer = zl_trainer_open(capacity, samples.count, 0, 0);
  uint32_t at = 0;
  for (uint32_t i = 0; i < samples.count; at = samples.ends[i++]) {
    bytes part = bytes_copy(samples.bytes + at, samples.ends[i] - at);
    zl_trainer_sample(trainer, part.at, (uint32_t)part.length);
    REQUIRE(zl_trainer_message(trainer) == (i + 1 == samples.count));
    free(part.at);
  }
  zl_dictionary *made = zl_trainer_train(trainer);
  if (made) REQUIRE(zl_dictionary_length(made) >= 1 && zl_dictionary_length(made) <= capacity);
  zl_trainer_close(trainer);
}

/* The input: capacity, how long samples are for each unit of their length byte, and
 * the samples, each behind its length. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3 || size > ZL_SAMPLE_MAX) return 0;
  const uint32_t capacity = 1 + (uint32_t)(data[0] | data[1] << 8) % ZL_DICTIONARY_MAX;
  const uint32_t unit = 1 + data[2] % 16;
  bytes all = bytes_new(size);
  uint32_t *ends = malloc(size * sizeof *ends);
  zl_samples samples = {.bytes = all.at, .ends = ends};
  uint32_t end = 0;
  for (size_t at = 3; at < size;) {
    size_t length = data[at++] * unit;
    if (length > size - at) length = size - at;
    memcpy(all.at + end, data + at, length);
    at += length;
    end += (uint32_t)length;
    ends[samples.count++] = end;
  }
  all.at = realloc(all.at, end + 1); /* as far as it may be read */
  samples.bytes = all.at;
  check_cover(samples, capacity);
  check_trainer(samples, capacity);
  free(ends);
  free(all.at);
  return 0;
}
