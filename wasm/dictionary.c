#include "dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "format.h"

/* Ten thousand peers mostly ship the same few dictionaries. */
#define BUCKETS 256

static zl_dictionary *buckets[BUCKETS];
static uint32_t opened;

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
  zl_prepared_free(dictionary);
  free(dictionary);
}

const uint8_t *zl_dictionary_bytes(const zl_dictionary *dictionary) {
  return dictionary->bytes;
}
uint32_t zl_dictionary_length(const zl_dictionary *dictionary) {
  return dictionary->length;
}
