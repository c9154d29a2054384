/* Dictionaries, ready for libzstd. */
#ifndef ZL_PREPARED_H
#define ZL_PREPARED_H

#define ZSTD_STATIC_LINKING_ONLY /* dictionaries that are not copied */
#include "../dictionary.h"
#include "zstd.h"

/* Return a dictionary, ready for compression at a level or for decompression; 0 if memory runs out,
 * or its bytes are none. Each is valid until the next one is prepared: only those used last are
 * kept. */
const ZSTD_CDict *zl_prepare_compression(const zl_dictionary *dictionary, int32_t level);
const ZSTD_DDict *zl_prepare_decompression(const zl_dictionary *dictionary);

#endif
