/* Parts that are one Zstandard frame each (RFC.md section 13). */
#include "../bytes.h"
#include "../format.h"
#include "exports.h"
#include "frame.h"
#include "zstd_errors.h"

/* A block has a header of 3 bytes, and plaintext takes at least one more. */
#define BLOCK_HEAD_BYTES 3u
#define CHECKSUM_BYTES 4u

/* Returns the longest frame of `plain` bytes that a compressor makes: its blocks are stored if they
 * do not get shorter. */
uint64_t zl_format_longest(uint64_t plain) {
  const uint64_t extra = plain / 256 + 128;
  return plain > UINT64_MAX - extra ? UINT64_MAX : plain + extra;
}

/* -- Receiving --------------------------------------------------------------- */

uint32_t zl_format_head(const uint8_t *head, uint64_t wire_bytes) {
  if (zl_read_u32le(head) != ZL_SENTINEL_FRAME) return ZL_SENTINEL_BYTES;
  return wire_bytes < ZL_HEAD_BYTES ? (uint32_t)wire_bytes : ZL_HEAD_BYTES;
}

/* Returns whether a window is larger than the content needs. */
static int is_wide(uint64_t window, uint64_t content) {
  if (window <= ZL_WINDOW_MAX || window <= content) return 0;
  /* A window is a power of two, or some eighths more. */
  return window / 2 >= content;
}

static int32_t read_header(const zl_dictionary *dictionary, const uint8_t *head,
                           uint64_t wire_bytes, zl_part *part) {
  if (wire_bytes < ZL_SENTINEL_BYTES || zl_read_u32le(head) != ZL_SENTINEL_FRAME)
    return ZL_E_UNKNOWN_SENTINEL;
  part->kind = ZL_FRAME;
  ZSTD_FrameHeader header;
  const size_t missing = ZSTD_getFrameHeader_advanced(
      &header, head, (size_t)zl_format_head(head, wire_bytes), ZSTD_f_zstd1);
  if (ZSTD_getErrorCode(missing) == ZSTD_error_frameParameter_windowTooLarge)
    return ZL_E_BLOCK_TOO_LARGE;
  if (ZSTD_isError(missing)) return ZL_E_CORRUPT_BLOCK;
  if (missing > 0) return ZL_E_TRUNCATED;
  if (header.frameContentSize == ZSTD_CONTENTSIZE_UNKNOWN) return ZL_E_NO_SIZE;
  part->plain_bytes = header.frameContentSize;
  if (is_wide(header.windowSize, header.frameContentSize)) return ZL_E_BLOCK_TOO_LARGE;
  if (header.dictID && (!dictionary || header.dictID != ZSTD_getDictID_fromDict(
                                                            dictionary->bytes, dictionary->length)))
    return ZL_E_DICTIONARY_ID;
  const uint64_t around = header.headerSize + (header.checksumFlag ? CHECKSUM_BYTES : 0);
  if (wire_bytes < around + BLOCK_HEAD_BYTES) return ZL_E_TRUNCATED;
  part->wire_left = wire_bytes - around;
  part->block_plain = header.blockSizeMax;
  return 0;
}

int32_t zl_format_read(const zl_receiver *receiver, const uint8_t *head, uint64_t wire_bytes,
                       zl_part *part) {
  return read_header(receiver->dictionary, head, wire_bytes, part);
}

int32_t zl_format_check(uint64_t wire_bytes, const zl_part *part) {
  const uint64_t plain = part->plain_bytes;
  if (plain > 0) {
    const uint64_t blocks = plain / part->block_plain + (plain % part->block_plain != 0);
    if (part->wire_left / (BLOCK_HEAD_BYTES + 1) < blocks) return ZL_E_IMPLAUSIBLE_SIZE;
  }
  return wire_bytes > zl_format_longest(plain) ? ZL_E_TRAILING_BYTES : 0;
}

int32_t zl_part_decode(const zl_receiver *receiver, const uint8_t *wire, uint32_t wire_bytes,
                       zl_part *part, uint8_t *target) {
  return zl_frame_decode(receiver->dictionary, wire, wire_bytes, target,
                         (uint32_t)part->plain_bytes);
}

int32_t zl_body_decode(const zl_dictionary *dictionary, const uint8_t *source, uint32_t bytes,
                       uint8_t *target, uint32_t plain) {
  zl_part part = {0};
  int32_t status = read_header(dictionary, source, bytes, &part);
  if (status < 0) return status == ZL_E_UNKNOWN_SENTINEL ? ZL_E_CORRUPT_BLOCK : status;
  if (part.plain_bytes != plain) return ZL_E_SIZE_MISMATCH;
  status = zl_format_check(bytes, &part);
  return status < 0 ? status : zl_frame_decode(dictionary, source, bytes, target, plain);
}

int32_t zl_dictionary_check(const zl_dictionary *dictionary) {
  return zl_prepare_decompression(dictionary) ? 0 : ZL_E_DICTIONARY;
}

/* -- Sending ----------------------------------------------------------------- */

uint32_t zl_body_encode(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                        uint8_t *target, uint32_t room, int32_t effort) {
  return zl_frame_encode(dictionary, source, plain, target, room, effort);
}

uint32_t zl_part_encode(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                        uint8_t *target, int32_t effort) {
  return zl_frame_encode(dictionary, source, plain, target, plain + ZL_SENTINEL_BYTES - 1, effort);
}
