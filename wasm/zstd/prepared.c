#include "prepared.h"

#include <stddef.h>

#include "../format.h"

/* Maximum number of dictionaries that are kept ready. For compression one takes some 100 KB, for
 * decompression 27. */
#define COMPRESSION_MAX 16u
#define DECOMPRESSION_MAX 64u

typedef struct {
  const zl_dictionary *dictionary; /* NULL: the place is free */
  int32_t level;
  uint32_t used; /* when it was used last */
  ZSTD_CDict *compression;
  ZSTD_DDict *decompression;
} ready;

static ready compressions[COMPRESSION_MAX];
static ready decompressions[DECOMPRESSION_MAX];
static uint32_t uses;

static void clear(ready *place) {
  ZSTD_freeCDict(place->compression);
  ZSTD_freeDDict(place->decompression);
  *place = (ready){0};
}

/* Returns the place of a dictionary, or a free one: that of the dictionary that was used least
 * recently. */
static ready *place_of(ready *places, uint32_t count, const zl_dictionary *dictionary,
                       int32_t level) {
  ready *oldest = places;
  uses++;
  for (uint32_t i = 0; i < count; i++) {
    ready *place = &places[i];
    if (place->dictionary == dictionary && place->level == level) {
      place->used = uses;
      return place;
    }
    if (!oldest->dictionary) continue;
    if (!place->dictionary || uses - place->used > uses - oldest->used) oldest = place;
  }
  clear(oldest);
  *oldest = (ready){.level = level, .used = uses};
  return oldest;
}

const ZSTD_CDict *zl_prepare_compression(const zl_dictionary *dictionary, int32_t level) {
  ready *place = place_of(compressions, COMPRESSION_MAX, dictionary, level);
  if (!place->compression) {
    place->compression = ZSTD_createCDict_byReference(dictionary->bytes, dictionary->length, level);
    if (place->compression) place->dictionary = dictionary;
  }
  return place->compression;
}

const ZSTD_DDict *zl_prepare_decompression(const zl_dictionary *dictionary) {
  ready *place = place_of(decompressions, DECOMPRESSION_MAX, dictionary, 0);
  if (!place->decompression) {
    place->decompression = ZSTD_createDDict_advanced(
        dictionary->bytes, dictionary->length, ZSTD_dlm_byRef, ZSTD_dct_fullDict, ZSTD_defaultCMem);
    if (place->decompression) place->dictionary = dictionary;
  }
  return place->decompression;
}

void zl_prepared_free(zl_dictionary *dictionary) {
  for (uint32_t i = 0; i < COMPRESSION_MAX; i++)
    if (compressions[i].dictionary == dictionary) clear(&compressions[i]);
  for (uint32_t i = 0; i < DECOMPRESSION_MAX; i++)
    if (decompressions[i].dictionary == dictionary) clear(&decompressions[i]);
}
