#include "frame.h"

#include "exports.h"
#include "zstd_errors.h"

uint32_t zl_zstd_version(void) {
  return ZSTD_versionNumber();
}

int32_t zl_decoder_error(size_t result) {
  if (!ZSTD_isError(result)) return 0;
  switch (ZSTD_getErrorCode(result)) {
  case ZSTD_error_memory_allocation:
    return ZL_E_NO_MEMORY;
  case ZSTD_error_srcSize_wrong:
    return ZL_E_TRUNCATED;
  case ZSTD_error_dstSize_tooSmall:
    return ZL_E_SIZE_MISMATCH;
  default:
    return ZL_E_CORRUPT_BLOCK;
  }
}

/* One compressor and one decompressor for all connections of the thread. Both are made on first
 * use. */
static ZSTD_CCtx *compressor;
static ZSTD_DCtx *decompressor;

uint32_t zl_frame_encode(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                         uint8_t *target, uint32_t room, int32_t effort) {
  if (effort == ZL_NO_EFFORT) return 0;
  if (!compressor) compressor = ZSTD_createCCtx();
  if (!compressor) return 0;
  size_t length;
  if (dictionary) {
    const ZSTD_CDict *prepared = zl_prepare_compression(dictionary, effort);
    if (!prepared) return 0;
    length = ZSTD_compress_usingCDict(compressor, target, room, source, plain, prepared);
  } else {
    length = ZSTD_compressCCtx(compressor, target, room, source, plain, effort);
  }
  return ZSTD_isError(length) ? 0 : (uint32_t)length;
}

int32_t zl_frame_decode(const zl_dictionary *dictionary, const uint8_t *source, uint32_t bytes,
                        uint8_t *target, uint32_t plain) {
  if (!decompressor) decompressor = ZSTD_createDCtx();
  if (!decompressor) return ZL_E_NO_MEMORY;
  const size_t frame = ZSTD_findFrameCompressedSize(source, bytes);
  int32_t status = zl_decoder_error(frame);
  if (status < 0) return status;
  if (frame < bytes) return ZL_E_TRAILING_BYTES;
  const ZSTD_DDict *prepared = NULL;
  if (dictionary) {
    prepared = zl_prepare_decompression(dictionary);
    if (!prepared) return ZL_E_NO_MEMORY;
  }
  const size_t length =
      ZSTD_decompress_usingDDict(decompressor, target, plain, source, bytes, prepared);
  status = zl_decoder_error(length);
  if (status < 0) return status;
  return length == plain ? 0 : ZL_E_SIZE_MISMATCH;
}
