#include "zmtp.h"

#include <string.h>

#include "bytes.h"
#include "zeromq_lz4.h"

#define SIGNATURE_LAST 9
#define VERSION_MAJOR 10
#define MECHANISM 12
#define MECHANISM_BYTES 20

static const char mechanisms[][MECHANISM_BYTES] = {"NULL", "PLAIN"};

int zmtp_greeting_accepts(const uint8_t *greeting, uint32_t count) {
  if (count > 0 && greeting[0] != 0xFF) return 0;
  if (count > SIGNATURE_LAST && greeting[SIGNATURE_LAST] != 0x7F) return 0;
  if (count > VERSION_MAJOR && greeting[VERSION_MAJOR] < 3) return 0;
  if (count <= MECHANISM) return 1;
  uint32_t named = count - MECHANISM < MECHANISM_BYTES ? count - MECHANISM : MECHANISM_BYTES;
  for (uint32_t i = 0; i < sizeof mechanisms / sizeof *mechanisms; i++) {
    if (memcmp(greeting + MECHANISM, mechanisms[i], named) == 0) return 1;
  }
  return 0;
}

int32_t zmtp_frame_read(const uint8_t *bytes, uint64_t have, zmtp_frame *frame) {
  if (have < ZMTP_SHORT_HEAD) return ZMTP_SHORT_HEAD;
  frame->flags = bytes[0];
  if (frame->flags > (ZMTP_MORE | ZMTP_LONG | ZMTP_COMMAND) ||
      (frame->flags & (ZMTP_COMMAND | ZMTP_MORE)) == (ZMTP_COMMAND | ZMTP_MORE))
    return ZL_E_FRAME;
  if (!(frame->flags & ZMTP_LONG)) {
    frame->head_bytes = ZMTP_SHORT_HEAD;
    frame->body_bytes = bytes[1];
    return 0;
  }
  if (have < ZMTP_LONG_HEAD) return ZMTP_LONG_HEAD;
  frame->head_bytes = ZMTP_LONG_HEAD;
  frame->body_bytes = zl_read_u64be(bytes + 1);
  return frame->body_bytes >> 63 ? ZL_E_FRAME : 0;
}

uint32_t zmtp_frame_write(uint8_t *target, uint8_t flags, uint64_t body_bytes) {
  if (body_bytes <= UINT8_MAX) {
    target[0] = flags;
    target[1] = (uint8_t)body_bytes;
    return ZMTP_SHORT_HEAD;
  }
  target[0] = flags | ZMTP_LONG;
  zl_write_u64be(target + 1, body_bytes);
  return ZMTP_LONG_HEAD;
}
