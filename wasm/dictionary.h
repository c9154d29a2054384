/* Dictionaries, with one copy of each in the module (RFC.md section 6). */
#ifndef ZL_DICTIONARY_H
#define ZL_DICTIONARY_H

#define LZ4_STATIC_LINKING_ONLY /* the fast reset of a single-shot compressor */
#include "lz4.h"
#include "lz4hc.h"

#if LZ4_VERSION_NUMBER < 10904
#error "liblz4 before 1.9.4 writes out of bounds (CVE-2021-3520)"
#endif

#include "zeromq_lz4.h"

struct zl_dictionary {
  zl_dictionary *next; /* in the chain of its bucket */
  /* Made by the first sender of each kind; receivers need only the bytes. */
  LZ4_stream_t *prepared;
  LZ4_streamHC_t *prepared_hc;
  uint64_t hash;
  uint32_t id; /* unique, unlike an address, which is reused */
  uint32_t users;
  uint32_t length;
  uint8_t bytes[];
};

/* Adds an opening of a dictionary, which needs a close of its own. */
zl_dictionary *zl_dictionary_share(zl_dictionary *dictionary);
/* Returns the hash table of a dictionary, ready to attach; 0 if memory runs out. */
const LZ4_stream_t *zl_dictionary_prepare(zl_dictionary *dictionary);
/* Returns the same for LZ4HC, for all levels. The table is valid until the next dictionary is
 * prepared. */
const LZ4_streamHC_t *zl_dictionary_prepare_hc(zl_dictionary *dictionary);

#endif
