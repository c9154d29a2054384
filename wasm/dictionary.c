#include "dictionary.h"

#include <stdlib.h>
#include <string.h>

/* Ten thousand peers mostly ship the same few dictionaries. */
#define BUCKETS 256

static zl_dictionary *buckets[BUCKETS];
static uint32_t opened;

/* The dictionaries that were prepared for LZ4HC last. Each takes a quarter of a megabyte, and
 * connections that train their own may be many. */
#define PREPARED_HC_MAX 32u
static zl_dictionary *prepared_hc[PREPARED_HC_MAX];
static uint32_t prepared_hc_next;

/* FNV-1a. It only chooses a bucket, and the bytes are compared: a peer that makes collisions gains
 * no more than a longer chain of its own dictionaries. */
static uint64_t hash_bytes(const uint8_t *bytes, uint32_t length) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (uint32_t i = 0; i < length; i++)
    hash = (hash ^ bytes[i]) * 0x100000001B3u;
  return hash;
}

zl_dictionary *zl_dictionary_share(zl_dictionary *dictionary) {
  dictionary->users++;
  return dictionary;
}

zl_dictionary *zl_dictionary_open(const uint8_t *bytes, uint32_t length) {
  if (length == 0 || length > ZL_DICTIONARY_MAX) return NULL;
  uint64_t hash = hash_bytes(bytes, length);
  zl_dictionary **bucket = &buckets[hash % BUCKETS];
  for (zl_dictionary *d = *bucket; d; d = d->next) {
    if (d->hash == hash && d->length == length && memcmp(d->bytes, bytes, length) == 0) {
      return zl_dictionary_share(d);
    }
  }

  zl_dictionary *d = malloc(sizeof *d + length);
  if (!d) return NULL;
  *d = (zl_dictionary){.next = *bucket, .hash = hash, .id = ++opened, .users = 1, .length = length};
  memcpy(d->bytes, bytes, length);
  *bucket = d;
  return d;
}

void zl_dictionary_close(zl_dictionary *dictionary) {
  if (!dictionary || --dictionary->users > 0) return;
  zl_dictionary **link = &buckets[dictionary->hash % BUCKETS];
  while (*link != dictionary)
    link = &(*link)->next;
  *link = dictionary->next;
  for (uint32_t i = 0; i < PREPARED_HC_MAX; i++)
    if (prepared_hc[i] == dictionary) prepared_hc[i] = NULL;
  free(dictionary->prepared);
  free(dictionary->prepared_hc);
  free(dictionary);
}

const uint8_t *zl_dictionary_bytes(const zl_dictionary *dictionary) {
  return dictionary->bytes;
}
uint32_t zl_dictionary_length(const zl_dictionary *dictionary) {
  return dictionary->length;
}

const LZ4_stream_t *zl_dictionary_prepare(zl_dictionary *dictionary) {
  if (!dictionary->prepared) {
    LZ4_stream_t *stream = malloc(sizeof *stream);
    if (!stream) return NULL;
    LZ4_initStream(stream, sizeof *stream);
    LZ4_loadDictSlow(stream, (const char *)dictionary->bytes, (int)dictionary->length);
    dictionary->prepared = stream;
  }
  return dictionary->prepared;
}

const LZ4_streamHC_t *zl_dictionary_prepare_hc(zl_dictionary *dictionary) {
  if (!dictionary->prepared_hc) {
    zl_dictionary **place = &prepared_hc[prepared_hc_next++ % PREPARED_HC_MAX];
    if (*place) {
      free((*place)->prepared_hc);
      (*place)->prepared_hc = NULL;
      *place = NULL;
    }
    LZ4_streamHC_t *stream = malloc(sizeof *stream);
    if (!stream) return NULL;
    *place = dictionary;
    LZ4_initStreamHC(stream, sizeof *stream);
    LZ4_loadDictHC(stream, (const char *)dictionary->bytes, (int)dictionary->length);
    dictionary->prepared_hc = stream;
  }
  return dictionary->prepared_hc;
}
