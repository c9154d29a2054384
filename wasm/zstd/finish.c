/* Makes a dictionary of the content that training has found (RFC 8878 section 5): before it come
 * the entropy tables for messages like the samples. */
#include <stdlib.h>
#include <string.h>

#include "../bytes.h"
#include "../cover.h"
#include "../format.h"
#include "fse.h"
#include "huf.h"
#include "prepared.h"
#include "xxhash.h"
#include "zstd_compress_internal.h"

#define LITERALS 256u
#define OFFSETS 18u /* the codes of all offsets within a block and a dictionary before it */
#define HEAD_MAX 512u
#define ID_AT 4u
#define TABLES_AT 8u
#define REPEATED_BYTES 12u
/* Offsets that are repeated at the beginning of a frame have to be within the content. */
#define CONTENT_MIN 8u
/* IDs for private use. */
#define ID_MIN 32768u
#define ID_MAX 0x7FFFFFFFu

typedef struct {
  unsigned literals[LITERALS];
  unsigned offsets[OFFSETS];
  unsigned matches[MaxML + 1];
  unsigned lengths[MaxLL + 1];
} counts;

/* Anything may occur in messages, even if the samples have none of it. */
static void count_one(unsigned *of, unsigned symbols) {
  for (unsigned i = 0; i < symbols; i++)
    of[i] = 1;
}

static void count_sequences(const SeqStore_t *store, counts *c) {
  for (const BYTE *at = store->litStart; at < store->lit; at++)
    c->literals[*at]++;
  ZSTD_seqToCodes(store);
  const size_t sequences = (size_t)(store->sequences - store->sequencesStart);
  for (size_t i = 0; i < sequences; i++) {
    if (store->ofCode[i] < OFFSETS) c->offsets[store->ofCode[i]]++;
    c->matches[store->mlCode[i]]++;
    c->lengths[store->llCode[i]]++;
  }
}

/* Counts what compressing the samples with the content leaves. Returns 0 if memory runs out. */
static int count_samples(const zl_samples *samples, const uint8_t *content, uint32_t length,
                         counts *c) {
  const ZSTD_compressionParameters parameters =
      ZSTD_getCParams(ZL_TRIAL_EFFORT, ZSTD_CONTENTSIZE_UNKNOWN, length);
  ZSTD_CDict *dictionary = ZSTD_createCDict_advanced(
      content, length, ZSTD_dlm_byRef, ZSTD_dct_rawContent, parameters, ZSTD_defaultCMem);
  ZSTD_CCtx *compressor = ZSTD_createCCtx();
  uint8_t *block = malloc(ZSTD_COMPRESSBOUND(ZL_SAMPLE_MAX));
  const int is_ready = dictionary && compressor && block;
  uint32_t at = 0;
  for (uint32_t i = 0; is_ready && i < samples->count; i++) {
    const uint32_t plain = samples->ends[i] - at;
    if (!ZSTD_isError(ZSTD_compressBegin_usingCDict_deprecated(compressor, dictionary))) {
      const size_t left = ZSTD_compressBlock_deprecated(
          compressor, block, ZSTD_COMPRESSBOUND(ZL_SAMPLE_MAX), samples->bytes + at, plain);
      if (left > 0 && !ZSTD_isError(left)) count_sequences(ZSTD_getSeqStore(compressor), c);
    }
    at = samples->ends[i];
  }
  free(block);
  ZSTD_freeCCtx(compressor);
  ZSTD_freeCDict(dictionary);
  return is_ready;
}

static size_t write_literals(uint8_t *target, size_t room, const unsigned *literals) {
  static HUF_CREATE_STATIC_CTABLE(table, LITERALS - 1);
  static unsigned workspace[HUF_WORKSPACE_SIZE / sizeof(unsigned)];
  const size_t bits = HUF_buildCTable_wksp(table, literals, LITERALS - 1, HUF_TABLELOG_DEFAULT,
                                           workspace, sizeof workspace);
  if (HUF_isError(bits)) return 0;
  const size_t length = HUF_writeCTable_wksp(target, room, table, LITERALS - 1, (unsigned)bits,
                                             workspace, sizeof workspace);
  return HUF_isError(length) ? 0 : length;
}

static size_t write_codes(uint8_t *target, size_t room, const unsigned *of, unsigned symbols,
                          unsigned bits) {
  short normalized[MaxSeq + 1];
  size_t total = 0;
  for (unsigned i = 0; i < symbols; i++)
    total += of[i];
  const size_t used = FSE_normalizeCount(normalized, bits, of, total, symbols - 1, 1);
  if (FSE_isError(used)) return 0;
  const size_t length = FSE_writeNCount(target, room, normalized, symbols - 1, (unsigned)used);
  return FSE_isError(length) ? 0 : length;
}

/* Codes that are all of the same length cannot be written in short. Then those of ASCII are
 * shorter. */
static size_t write_any_literals(uint8_t *target, size_t room, const unsigned *literals) {
  const size_t length = write_literals(target, room, literals);
  if (length > 0) return length;
  unsigned preferred[LITERALS];
  for (unsigned i = 0; i < LITERALS; i++)
    preferred[i] = i < LITERALS / 2 ? 2 : 1;
  return write_literals(target, room, preferred);
}

/* Writes all tables. Returns their length; 0 if they cannot be made. */
static size_t write_tables(uint8_t *target, size_t room, const counts *c) {
  const struct {
    const unsigned *of;
    unsigned symbols;
    unsigned bits;
  } codes[] = {
      {c->offsets, OFFSETS, OffFSELog},
      {c->matches, MaxML + 1, MLFSELog},
      {c->lengths, MaxLL + 1, LLFSELog},
  };
  size_t at = write_any_literals(target, room, c->literals);
  for (unsigned i = 0; at > 0 && i < 3; i++) {
    const size_t length =
        write_codes(target + at, room - at, codes[i].of, codes[i].symbols, codes[i].bits);
    at = length > 0 ? at + length : 0;
  }
  return at;
}

uint32_t zl_format_finish(const zl_samples *samples, uint8_t *bytes, uint32_t length,
                          uint32_t capacity) {
  uint8_t head[HEAD_MAX];
  counts c;
  count_one(c.literals, LITERALS);
  count_one(c.offsets, OFFSETS);
  count_one(c.matches, MaxML + 1);
  count_one(c.lengths, MaxLL + 1);
  if (length < CONTENT_MIN || !count_samples(samples, bytes, length, &c)) return 0;
  const size_t tables = write_tables(head + TABLES_AT, HEAD_MAX - TABLES_AT - REPEATED_BYTES, &c);
  const uint32_t around = TABLES_AT + (uint32_t)tables + REPEATED_BYTES;
  if (tables == 0 || capacity < around + CONTENT_MIN) return 0;
  /* The end is the most useful part of the content. */
  uint32_t kept = capacity - around;
  if (kept > length) kept = length;
  const uint32_t id =
      ID_MIN + (uint32_t)(XXH64(bytes + length - kept, kept, 0) % (ID_MAX - ID_MIN + 1));
  zl_write_u32le(head, ZL_SENTINEL_ZDICT);
  zl_write_u32le(head + ID_AT, id);
  for (uint32_t i = 0; i < 3; i++)
    zl_write_u32le(head + around - REPEATED_BYTES + 4 * i, repStartValue[i]);
  memmove(bytes + around, bytes + length - kept, kept);
  memcpy(bytes, head, around);
  return around + kept;
}
