/* One LZ4 block, in either direction. */
#include "exports.h"
#include "prepared.h"

uint32_t zl_lz4_version(void) {
  return (uint32_t)LZ4_versionNumber();
}

uint32_t zl_block_bound(uint32_t plain) {
  return (uint32_t)LZ4_COMPRESSBOUND(plain);
}

int32_t zl_block_decode(const zl_dictionary *dictionary, const uint8_t *source,
                        uint32_t block_bytes, uint8_t *target, uint32_t plain) {
  if (block_bytes > zl_block_bound(plain)) return ZL_E_CORRUPT_BLOCK;
  int n =
      dictionary
          ? LZ4_decompress_safe_usingDict((const char *)source, (char *)target, (int)block_bytes,
                                          (int)plain, (const char *)dictionary->bytes,
                                          (int)dictionary->length)
          : LZ4_decompress_safe((const char *)source, (char *)target, (int)block_bytes, (int)plain);
  if (n < 0) return ZL_E_CORRUPT_BLOCK;
  return (uint32_t)n == plain ? 0 : ZL_E_SIZE_MISMATCH;
}

/* Two scratch compressors: a stream that alternated between 16-bit and 32-bit table entries would
 * be zeroed each time. Static memory is zero, which is the result of LZ4_initStream. A compression
 * that ran out of room leaves a state that the fast resets accept (liblz4's own frame code relies
 * on it too). */
static LZ4_stream_t independent;
static LZ4_stream_t attached;

static int encode_fast(zl_dictionary *dictionary, const char *from, char *to, int plain, int room,
                       int acceleration) {
  const LZ4_stream_t *prepared = dictionary ? zl_prepare_fast(dictionary) : NULL;
  if (!prepared)
    return LZ4_compress_fast_extState_fastReset(&independent, from, to, plain, room, acceleration);
  LZ4_resetStream_fast(&attached);
  LZ4_attach_dictionary(&attached, prepared);
  return LZ4_compress_fast_continue(&attached, from, to, plain, room, acceleration);
}

/* Allocated on first use: a quarter of a megabyte that most processes never need. */
static LZ4_streamHC_t *thorough;

static int encode_thorough(zl_dictionary *dictionary, const char *from, char *to, int plain,
                           int room, int level) {
  if (!thorough) thorough = LZ4_createStreamHC();
  if (!thorough) return encode_fast(dictionary, from, to, plain, room, 1);
  LZ4_resetStreamHC_fast(thorough, level);
  if (dictionary) LZ4_attach_HC_dictionary(thorough, zl_prepare_hc(dictionary));
  return LZ4_compress_HC_continue(thorough, from, to, plain, room);
}

uint32_t zl_block_encode(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                         uint8_t *target, uint32_t room, int32_t effort) {
  if (effort == ZL_NO_EFFORT) return 0;
  const char *from = (const char *)source;
  char *to = (char *)target;
  return (uint32_t)(effort > 0
                        ? encode_fast(dictionary, from, to, (int)plain, (int)room, effort)
                        : encode_thorough(dictionary, from, to, (int)plain, (int)room, -effort));
}
