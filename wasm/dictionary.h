/* Dictionaries, with one copy of each in the module (RFC.md section 6). */
#ifndef ZL_DICTIONARY_H
#define ZL_DICTIONARY_H

#include "zeromq_lz4.h"

/* What a format derives from the bytes. */
typedef struct zl_prepared zl_prepared;

struct zl_dictionary {
  zl_dictionary *next;   /* in the chain of its bucket */
  zl_prepared *prepared; /* made by the first that needs it, and then the format's */
  uint64_t hash;
  uint32_t id; /* unique, unlike an address, which is reused */
  uint32_t users;
  uint32_t length;
  uint8_t bytes[];
};

/* Adds an opening of a dictionary, which needs a close of its own. */
zl_dictionary *zl_dictionary_share(zl_dictionary *dictionary);

#endif
