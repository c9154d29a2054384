/* Large parts, in slices. */
#include <stdlib.h>

#include "../bytes.h"
#include "exports.h"
#include "frame.h"

/* Windows may be as large as the content, of which a receiver has checked that they are no larger.
 */
#define WINDOW_LOG_MAX 31

struct zl_stream {
  ZSTD_CCtx *compressor;
  ZSTD_DCtx *decompressor;
};

void zl_stream_close(zl_stream *stream) {
  if (!stream) return;
  ZSTD_freeCCtx(stream->compressor);
  ZSTD_freeDCtx(stream->decompressor);
  free(stream);
}

/* Returns the stream, or closes it and returns 0 if it could not be set up. */
static zl_stream *checked(zl_stream *stream, int is_ready) {
  if (is_ready) return stream;
  zl_stream_close(stream);
  return NULL;
}

zl_stream *zl_stream_encoder(zl_dictionary *dictionary, uint32_t low, uint32_t high,
                             int32_t effort) {
  zl_stream *stream = calloc(1, sizeof *stream);
  if (!stream) return NULL;
  ZSTD_CCtx *c = stream->compressor = ZSTD_createCCtx();
  if (!c) return checked(stream, 0);
  size_t results[3] = {
      ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, effort),
      ZSTD_CCtx_setPledgedSrcSize(c, zl_join_u64(low, high)),
      dictionary ? ZSTD_CCtx_loadDictionary(c, dictionary->bytes, dictionary->length) : 0,
  };
  return checked(stream, !ZSTD_isError(results[0]) && !ZSTD_isError(results[1]) &&
                             !ZSTD_isError(results[2]));
}

zl_stream *zl_stream_decoder(const zl_dictionary *dictionary) {
  zl_stream *stream = calloc(1, sizeof *stream);
  if (!stream) return NULL;
  ZSTD_DCtx *d = stream->decompressor = ZSTD_createDCtx();
  if (!d) return checked(stream, 0);
  size_t results[2] = {
      ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, WINDOW_LOG_MAX - (sizeof(size_t) == 4)),
      dictionary ? ZSTD_DCtx_loadDictionary(d, dictionary->bytes, dictionary->length) : 0,
  };
  return checked(stream, !ZSTD_isError(results[0]) && !ZSTD_isError(results[1]));
}

int32_t zl_stream_step(zl_stream *stream, const uint8_t *input, uint32_t length, uint8_t *output,
                       uint32_t room, uint32_t last, zl_progress *progress) {
  ZSTD_inBuffer in = {.src = input, .size = length};
  ZSTD_outBuffer out = {.dst = output, .size = room};
  size_t left;
  int32_t status;
  if (stream->compressor) {
    left = ZSTD_compressStream2(stream->compressor, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    /* Only memory can run out. */
    status = ZSTD_isError(left) ? ZL_E_NO_MEMORY : !last || left > 0;
  } else {
    left = ZSTD_decompressStream(stream->decompressor, &out, &in);
    status = zl_decoder_error(left);
    if (status == 0) {
      status = left > 0;
      if (!status && in.pos < in.size) status = ZL_E_TRAILING_BYTES;
      /* It asks for more, and there is none: what there is was written. */
      if (status == 1 && last && in.pos == in.size && out.pos < out.size) status = ZL_E_TRUNCATED;
    }
  }
  *progress = (zl_progress){.consumed = (uint32_t)in.pos, .produced = (uint32_t)out.pos};
  return status;
}
