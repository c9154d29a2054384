/* Driving a transcoder as a caller has to, with any cut of the stream and any
 * room for output. Every buffer that the module sees is exactly as large as it
 * is told, so that AddressSanitizer notices the first byte too far. */
#ifndef ZL_STREAMS_H
#define ZL_STREAMS_H

#include <malloc.h>

#include "../zmtp.h"
#include "parts.h"

#define STREAM_REQUIRE(condition)                                                                  \
  do {                                                                                             \
    if (!(condition)) __builtin_trap();                                                            \
  } while (0)

/* -- Making streams ------------------------------------------------------------ */

/* Takes `more`, which is freed. Makes room for as much again: most streams get many pieces. */
static inline void stream_add(bytes *stream, bytes more) {
  size_t needed = stream->length + more.length + 1;
  if (malloc_usable_size(stream->at) < needed) stream->at = realloc(stream->at, 2 * needed);
  if (!stream->at) abort();
  if (more.length) memcpy(stream->at + stream->length, more.at, more.length);
  stream->length += more.length;
  free(more.at);
}

static inline bytes greeting(const char *mechanism, uint8_t major, uint8_t minor) {
  bytes g = bytes_new(ZMTP_GREETING_BYTES);
  memset(g.at, 0, g.length);
  g.at[0] = 0xFF;
  g.at[8] = 1;
  g.at[9] = 0x7F;
  g.at[10] = major;
  g.at[11] = minor;
  memcpy(g.at + 12, mechanism, strlen(mechanism));
  return g;
}

/* A frame whose header is as long as `flags` say. */
static inline bytes frame(uint8_t flags, const uint8_t *body, size_t length) {
  uint32_t head = flags & ZMTP_LONG ? ZMTP_LONG_HEAD : ZMTP_SHORT_HEAD;
  bytes f = bytes_new(head + length);
  f.at[0] = flags;
  if (flags & ZMTP_LONG)
    zl_write_u64be(f.at + 1, length);
  else
    f.at[1] = (uint8_t)length;
  if (length) memcpy(f.at + head, body, length);
  return f;
}

/* A data frame with the shortest header. Takes `body`, which is freed. */
static inline bytes part_frame(bytes body, int more) {
  uint8_t flags = (more ? ZMTP_MORE : 0) | (body.length > UINT8_MAX ? ZMTP_LONG : 0);
  bytes f = frame(flags, body.at, body.length);
  free(body.at);
  return f;
}

/* -- Driving ----------------------------------------------------------------- */

/* The chunks and the room with which a stream passes through the transcoder. */
typedef struct {
  uint32_t chunk;  /* bytes at a time, on average; 0 is all at once */
  uint32_t room;   /* bytes of output at a time, or more if needed */
  uint32_t random; /* state; 0 makes every chunk the same */
  int32_t effort;  /* of large parts that are sent */
} cut;

typedef struct {
  bytes output;
  int32_t status; /* 0, or why it ended */
  zl_traffic traffic;
} outcome;

static inline size_t next_chunk(cut *how, size_t left) {
  size_t chunk = how->chunk ? how->chunk : left;
  if (how->random && how->chunk) {
    how->random ^= how->random << 13;
    how->random ^= how->random >> 17;
    how->random ^= how->random << 5;
    chunk = how->random % (2 * how->chunk);
  }
  return chunk < left ? chunk : left;
}

/* Does what the caller has to do for ZL_LARGE_PART, with its whole body. */
static inline int32_t finish_large(zl_transcoder *t, int sending, bytes body, uint32_t place,
                                   int32_t effort, bytes *output) {
  bytes other;
  if (sending) {
    zl_dictionary *dictionary = (zl_dictionary *)zl_transcoder_dictionary(t);
    other = body.length > ZL_BLOCK_MAX ? send_multi(dictionary, body, effort)
                                       : send_part(dictionary, body, effort);
  } else {
    int32_t kind = receive_part(zl_transcoder_receiver(t), body, place, &other);
    if (kind < 0) {
      free(other.at);
      return kind;
    }
    STREAM_REQUIRE(kind == ZL_LZ4B || kind == ZL_LZ4M);
    STREAM_REQUIRE(other.length > ZL_PART_MAX);
  }
  bytes head = bytes_new(ZMTP_LONG_HEAD);
  head.length =
      zl_large_done(t, head.at, (uint32_t)other.length, (uint32_t)((uint64_t)other.length >> 32));
  STREAM_REQUIRE(head.length <= ZMTP_LONG_HEAD);
  stream_add(output, head);
  stream_add(output, other);
  return 0;
}

/* Runs a whole stream through and closes the transcoder. */
static inline outcome run_stream(zl_transcoder *t, int sending, bytes stream, cut how) {
  outcome o = {.output = bytes_new(0)};
  const zl_large *large = NULL;
  size_t at = 0;
  size_t end = 0;
  uint64_t need = 1;
  for (;;) {
    while (end - at < need && end < stream.length)
      end += next_chunk(&how, stream.length - end);
    if (end - at < need) break;

    if (large) {
      bytes body = bytes_copy(stream.at + at, (size_t)large->body_bytes);
      o.status = finish_large(t, sending, body, large->place, how.effort, &o.output);
      at += body.length;
      free(body.at);
      if (o.status < 0) break;
      large = NULL;
      need = 1;
      continue;
    }

    uint32_t room = how.room;
    int32_t status;
    do {
      bytes input = bytes_copy(stream.at + at, end - at);
      bytes output = bytes_new(room);
      zl_progress progress;
      status = zl_transcode(t, input.at, (uint32_t)input.length, output.at, room, &progress);
      STREAM_REQUIRE(progress.consumed <= input.length && progress.produced <= room);
      /* It says what it needs, and asks for no more than it uses. */
      if (status == ZL_NEEDS_INPUT)
        STREAM_REQUIRE(progress.need > input.length - progress.consumed);
      if (status == ZL_NEEDS_ROOM) STREAM_REQUIRE(progress.need > room - progress.produced);
      at += progress.consumed;
      output.length = progress.produced;
      stream_add(&o.output, output);
      if (status == ZL_BODY) {
        STREAM_REQUIRE(progress.need > 0 && progress.need <= input.length - progress.consumed);
        STREAM_REQUIRE(progress.need <= zl_body_left(t));
        stream_add(&o.output, bytes_copy(input.at + progress.consumed, progress.need));
        zl_body_taken(t, progress.need);
        at += progress.need;
      }
      free(input.at);
      need = status == ZL_NEEDS_INPUT ? progress.need : 1;
      room = status == ZL_NEEDS_ROOM && progress.need > how.room ? progress.need : how.room;
    } while (status == ZL_NEEDS_ROOM || status == ZL_BODY);
    if (status < 0) {
      o.status = status;
      break;
    }
    if (status == ZL_LARGE_PART) {
      large = zl_large_part(t);
      need = large->body_bytes;
      STREAM_REQUIRE(sending ? need > ZL_PART_MAX : need >= ZL_HEAD_BYTES);
    }
  }
  memcpy(&o.traffic, t, sizeof o.traffic); /* its first field */
  zl_transcoder_close(t);
  return o;
}

static inline int outcomes_equal(outcome a, outcome b) {
  return a.status == b.status && bytes_equal(a.output, b.output) &&
         a.traffic.messages == b.traffic.messages &&
         a.traffic.plain_bytes == b.traffic.plain_bytes &&
         a.traffic.wire_bytes == b.traffic.wire_bytes;
}

#endif
