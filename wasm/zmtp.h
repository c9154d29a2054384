/* The greeting and the frame headers of ZMTP 3.x (RFC.md section 3). */
#ifndef ZL_ZMTP_H
#define ZL_ZMTP_H

#include <stdint.h>

#define ZMTP_GREETING_BYTES 64u
/* Size of the signature, version and mechanism, the only fields that are checked. */
#define ZMTP_GREETING_CHECKED 32u

enum {
  ZMTP_MORE = 1,
  ZMTP_LONG = 2,
  ZMTP_COMMAND = 4,
  /* In the output of a receiving transcoder that keeps forms: the body is a part as it came. */
  ZMTP_KEPT = 8,
};

#define ZMTP_SHORT_HEAD 2u
#define ZMTP_LONG_HEAD 9u

typedef struct {
  uint64_t body_bytes;
  uint32_t head_bytes;
  uint8_t flags;
} zmtp_frame;

/* Returns whether the first `count` bytes can begin a greeting that is accepted: version 3 or
 * later, mechanism NULL or PLAIN. */
int zmtp_greeting_accepts(const uint8_t *greeting, uint32_t count);

/* Reads a frame header (RFC.md section 3.3; ZMTP 3.1) of at most `have` bytes. Returns 0, the
 * number of bytes that it needs if there are too few, or ZL_E_FRAME. */
int32_t zmtp_frame_read(const uint8_t *bytes, uint64_t have, zmtp_frame *frame);

/* Writes the header of a frame in its shortest form. `flags` are without ZMTP_LONG. Returns its
 * length, at most ZMTP_LONG_HEAD. */
uint32_t zmtp_frame_write(uint8_t *target, uint8_t flags, uint64_t body_bytes);

#endif
