/* Dictionaries, ready for liblz4's compressors. */
#ifndef ZL_PREPARED_H
#define ZL_PREPARED_H

#define LZ4_STATIC_LINKING_ONLY /* the fast reset of a single-shot compressor */
#include "lz4.h"
#include "lz4hc.h"

#if LZ4_VERSION_NUMBER < 10904
#error "liblz4 before 1.9.4 writes out of bounds (CVE-2021-3520)"
#endif

#include "../dictionary.h"

/* Made by the first sender of each kind; receivers need only the bytes. */
struct zl_prepared {
  LZ4_stream_t *fast;
  LZ4_streamHC_t *hc;
};

/* Returns the hash table of a dictionary, ready to attach; 0 if memory runs out. */
const LZ4_stream_t *zl_prepare_fast(zl_dictionary *dictionary);
/* Returns the same for LZ4HC, for all levels. The table is valid until the next dictionary is
 * prepared. */
const LZ4_streamHC_t *zl_prepare_hc(zl_dictionary *dictionary);

#endif
