/* liblz4 without JavaScript, the reference of bench/codec.mjs.
 *
 *   lz4-bench write|encode|decode FILE SIZE DICTIONARY MIN_COMPRESS MILLISECONDS
 *
 * FILE holds payloads of SIZE bytes one after another; DICTIONARY is a file or
 * "-". Does what Codec.encodePart and decodePart do, copies included: the input
 * goes into a buffer of its own, the output into fresh memory.
 *
 *   write   prints the wire parts, each preceded by its length as u32
 *   encode  prints the microseconds per call, measured for MILLISECONDS
 *   decode  prints the same for decoding those parts */
#define LZ4_STATIC_LINKING_ONLY /* for the fast reset */
#include <lz4.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEAD = 12, SENTINEL = 4 };

typedef struct {
  uint8_t *bytes;
  size_t length;
} buffer;

static buffer input, output; /* reused by every call, like the scratch memory of the module */
static buffer dictionary;
static size_t min_compress;
static LZ4_stream_t stream, prepared;

static void fail(const char *what) {
  fprintf(stderr, "lz4-bench: %s\n", what);
  exit(1);
}

static void *allocate(size_t bytes) {
  void *memory = malloc(bytes ? bytes : 1);
  if (!memory) fail("out of memory");
  return memory;
}

static buffer read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) fail(path);
  fseek(file, 0, SEEK_END);
  buffer content = {NULL, (size_t)ftell(file)};
  content.bytes = allocate(content.length);
  rewind(file);
  if (fread(content.bytes, 1, content.length, file) != content.length) fail(path);
  fclose(file);
  return content;
}

static buffer fresh_copy(const uint8_t *bytes, size_t length) {
  buffer copy = {allocate(length), length};
  memcpy(copy.bytes, bytes, length);
  return copy;
}

static int compress(int plain, int room) {
  char *source = (char *)input.bytes;
  char *target = (char *)output.bytes + HEAD;
  if (!dictionary.length)
    return LZ4_compress_fast_extState_fastReset(&stream, source, target, plain, room, 1);
  LZ4_resetStream_fast(&stream);
  LZ4_attach_dictionary(&stream, &prepared);
  return LZ4_compress_fast_continue(&stream, source, target, plain, room, 1);
}

static buffer encode(const uint8_t *plain, size_t length) {
  memcpy(input.bytes, plain, length);
  /* A block is only used if it is shorter than the plain form. */
  int room = (int)length + SENTINEL - HEAD - 1;
  int block = length < min_compress ? 0 : compress((int)length, room);
  if (block > 0) {
    uint64_t size = length;
    memcpy(output.bytes, "LZ4B", SENTINEL);
    memcpy(output.bytes + SENTINEL, &size, sizeof size);
    return fresh_copy(output.bytes, HEAD + (size_t)block);
  }
  memset(output.bytes, 0, SENTINEL);
  memcpy(output.bytes + SENTINEL, input.bytes, length);
  return fresh_copy(output.bytes, SENTINEL + length);
}

static buffer decode(const uint8_t *part, size_t length) {
  memcpy(input.bytes, part, length);
  if (input.bytes[0] == 0) return fresh_copy(input.bytes + SENTINEL, length - SENTINEL);
  uint64_t size;
  memcpy(&size, input.bytes + SENTINEL, sizeof size);
  const char *source = (char *)input.bytes + HEAD;
  char *target = (char *)output.bytes;
  int block = (int)(length - HEAD), plain = (int)size;
  int written = dictionary.length ? LZ4_decompress_safe_usingDict(source, target, block, plain,
                                                                  (char *)dictionary.bytes,
                                                                  (int)dictionary.length)
                                  : LZ4_decompress_safe(source, target, block, plain);
  if (written != plain) fail("a part does not decode");
  return fresh_copy(output.bytes, (size_t)plain);
}

/* Keeps the compiler from removing a result that nothing reads. */
static void use_and_free(buffer result) {
  __asm__ volatile("" : : "r"(result.bytes) : "memory");
  free(result.bytes);
}

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static double us_per_call(buffer (*call)(const uint8_t *, size_t), const buffer *inputs,
                          size_t count, double duration_us) {
  for (size_t i = 0; i < count; i++)
    use_and_free(call(inputs[i].bytes, inputs[i].length));
  double start = now_us(), elapsed = 0;
  size_t calls = 0;
  while (elapsed < duration_us) {
    for (size_t i = 0; i < count; i++)
      use_and_free(call(inputs[i].bytes, inputs[i].length));
    calls += count;
    elapsed = now_us() - start;
  }
  return elapsed / (double)calls;
}

static void write_parts(const buffer *parts, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint32_t length = (uint32_t)parts[i].length;
    fwrite(&length, sizeof length, 1, stdout);
    fwrite(parts[i].bytes, 1, length, stdout);
  }
}

int main(int argc, char **argv) {
  if (argc != 7) fail("usage: write|encode|decode FILE SIZE DICTIONARY MIN_COMPRESS MILLISECONDS");
  const char *mode = argv[1];
  buffer file = read_file(argv[2]);
  size_t size = strtoul(argv[3], NULL, 10);
  if (strcmp(argv[4], "-") != 0) dictionary = read_file(argv[4]);
  min_compress = strtoul(argv[5], NULL, 10);
  double duration_us = strtod(argv[6], NULL) * 1e3;

  LZ4_initStream(&stream, sizeof stream);
  LZ4_initStream(&prepared, sizeof prepared);
  if (dictionary.length)
    LZ4_loadDictSlow(&prepared, (char *)dictionary.bytes, (int)dictionary.length);
  input.bytes = allocate(size + HEAD);
  output.bytes = allocate(size + HEAD);

  size_t count = file.length / size;
  buffer *plains = allocate(count * sizeof *plains), *parts = allocate(count * sizeof *parts);
  for (size_t i = 0; i < count; i++) {
    plains[i] = (buffer){file.bytes + i * size, size};
    parts[i] = encode(plains[i].bytes, size);
    buffer back = decode(parts[i].bytes, parts[i].length);
    if (back.length != size || memcmp(back.bytes, plains[i].bytes, size) != 0)
      fail("a payload differs after decoding");
    free(back.bytes);
  }

  if (strcmp(mode, "write") == 0)
    write_parts(parts, count);
  else if (strcmp(mode, "encode") == 0)
    printf("%.6f\n", us_per_call(encode, plains, count, duration_us));
  else if (strcmp(mode, "decode") == 0)
    printf("%.6f\n", us_per_call(decode, parts, count, duration_us));
  else
    fail("the mode is write, encode or decode");
  return 0;
}
