/* What a compressed part is. Each format implements this in a directory of its own, and all other
 * sources are compiled once with each format. */
#ifndef ZL_FORMAT_H
#define ZL_FORMAT_H

#include "cover.h"
#include "envelope.h"

/* Returns how many bytes of a part of `wire_bytes` are needed to read its head, which begins with
 * the sentinel at `head`. */
uint32_t zl_format_head(const uint8_t *head, uint64_t wire_bytes);

/* Reads the head of a part with a sentinel of the format: its kind and its sizes. Returns 0 or
 * an error. */
int32_t zl_format_read(const zl_receiver *receiver, const uint8_t *head, uint64_t wire_bytes,
                       zl_part *part);
/* Checks these sizes, after the budget was checked. Returns 0 or an error. */
int32_t zl_format_check(uint64_t wire_bytes, const zl_part *part);

/* Returns the maximum size of a compressed part of `plain` bytes; UINT64_MAX if that is more. */
uint64_t zl_format_longest(uint64_t plain);

/* Compresses the frames of an arena into at most `room` bytes. Returns their number, or 0 if there
 * is not enough room. */
uint32_t zl_body_encode(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                        uint8_t *target, uint32_t room, int32_t effort);
/* Decodes them to the `plain` bytes at `target`. */
int32_t zl_body_decode(const zl_dictionary *dictionary, const uint8_t *source, uint32_t bytes,
                       uint8_t *target, uint32_t plain);

/* Makes a dictionary of at most `capacity` bytes of the `length` bytes of content at `bytes`, which
 * has room for ZL_DICTIONARY_MAX, in place. Returns its length; 0 if there can be none. */
uint32_t zl_format_finish(const zl_samples *samples, uint8_t *bytes, uint32_t length,
                          uint32_t capacity);

/* Frees what was prepared for a dictionary that nobody uses any more. */
void zl_prepared_free(zl_dictionary *dictionary);

#endif
