#include "prepared.h"

#include <stdlib.h>

#include "../format.h"

/* The dictionaries that were prepared for LZ4HC last. Each takes a quarter of a megabyte, and
 * connections that train their own may be many. */
#define LATEST_MAX 32u
static zl_dictionary *latest[LATEST_MAX];
static uint32_t latest_next;

static zl_prepared *prepared_of(zl_dictionary *dictionary) {
  if (!dictionary->prepared) dictionary->prepared = calloc(1, sizeof *dictionary->prepared);
  return dictionary->prepared;
}

void zl_prepared_free(zl_dictionary *dictionary) {
  if (!dictionary->prepared) return;
  for (uint32_t i = 0; i < LATEST_MAX; i++)
    if (latest[i] == dictionary) latest[i] = NULL;
  free(dictionary->prepared->fast);
  free(dictionary->prepared->hc);
  free(dictionary->prepared);
}

const LZ4_stream_t *zl_prepare_fast(zl_dictionary *dictionary) {
  zl_prepared *prepared = prepared_of(dictionary);
  if (!prepared) return NULL;
  if (!prepared->fast) {
    LZ4_stream_t *stream = malloc(sizeof *stream);
    if (!stream) return NULL;
    LZ4_initStream(stream, sizeof *stream);
    LZ4_loadDictSlow(stream, (const char *)dictionary->bytes, (int)dictionary->length);
    prepared->fast = stream;
  }
  return prepared->fast;
}

const LZ4_streamHC_t *zl_prepare_hc(zl_dictionary *dictionary) {
  zl_prepared *prepared = prepared_of(dictionary);
  if (!prepared) return NULL;
  if (!prepared->hc) {
    zl_dictionary **place = &latest[latest_next++ % LATEST_MAX];
    if (*place) {
      free((*place)->prepared->hc);
      (*place)->prepared->hc = NULL;
      *place = NULL;
    }
    LZ4_streamHC_t *stream = malloc(sizeof *stream);
    if (!stream) return NULL;
    *place = dictionary;
    LZ4_initStreamHC(stream, sizeof *stream);
    LZ4_loadDictHC(stream, (const char *)dictionary->bytes, (int)dictionary->length);
    prepared->hc = stream;
  }
  return prepared->hc;
}
