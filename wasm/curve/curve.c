#include "curve.h"

#include <stdlib.h>
#include <string.h>

#include "crypto_core_hsalsa20.h"
#include "crypto_onetimeauth_poly1305.h"
#include "crypto_scalarmult_curve25519.h"
#include "crypto_stream_salsa20.h"
#include "crypto_verify_16.h"
#include "utils.h"

#include "../bytes.h"
#include "../zmtp.h"

#define BLOCK_BYTES 64u
/* libsodium makes four blocks of the key stream at once in less time than two, with SIMD. */
#define WIDE_BYTES (4u * BLOCK_BYTES)
/* The key of the MAC takes the beginning of the key stream. */
#define MAC_KEY_BYTES 32u
#define NONCE_PREFIX_BYTES (ZL_NONCE_BYTES - ZL_COUNTER_BYTES)

/* The command's name with its length. */
static const char name[] = "\7MESSAGE";
#define NAME_BYTES (sizeof name - 1)

/* The flags inside a MESSAGE command. */
enum { SEALED_MORE = 1, SEALED_COMMAND = 2 };

_Static_assert(MAC_KEY_BYTES == ZL_MESSAGE_HEAD_BYTES, "one takes the place of the other");
_Static_assert(NAME_BYTES + ZL_COUNTER_BYTES + ZL_MAC_BYTES == ZL_MESSAGE_HEAD_BYTES, "");

/* -- Boxes ----------------------------------------------------------------------- */

/* A box under way. Whoever has one wipes it, once for all the messages of a call. */
typedef struct {
  /* Only for a box in pieces. */
  crypto_onetimeauth_poly1305_state mac;
  uint8_t key[ZL_KEY_BYTES];
  uint8_t counter[ZL_COUNTER_BYTES];
  uint8_t mac_key[MAC_KEY_BYTES];
  /* The last bytes of the key stream up to `end`, those before `position` of them used. */
  uint8_t stream[WIDE_BYTES];
  uint64_t position;
  uint64_t end;
} box;

/* XORs with the key stream from `position` on, which is at the beginning of a block. */
static void cross_blocks(const box *b, const uint8_t *from, uint32_t length, uint8_t *to) {
  crypto_stream_salsa20_xor_ic(to, from, length, b->counter, b->position / BLOCK_BYTES, b->key);
}

/* Reads the next part of the key stream, for `wanted` bytes. */
static void read_stream(box *b, uint64_t wanted) {
  const uint32_t bytes = wanted > BLOCK_BYTES ? WIDE_BYTES : BLOCK_BYTES;
  static const uint8_t zeros[WIDE_BYTES];
  cross_blocks(b, zeros, bytes, b->stream + (WIDE_BYTES - bytes));
  b->end = b->position + bytes;
}

/* Begins a box of `length` bytes with a key that the first part of the nonce is already in. */
static void box_begin(box *b, const uint8_t *key, const uint8_t *counter, uint64_t length) {
  memcpy(b->key, key, ZL_KEY_BYTES);
  memcpy(b->counter, counter, ZL_COUNTER_BYTES);
  b->position = 0;
  read_stream(b, length > WIDE_BYTES ? WIDE_BYTES : MAC_KEY_BYTES + length);
  memcpy(b->mac_key, b->stream + WIDE_BYTES - b->end, MAC_KEY_BYTES);
  b->position = MAC_KEY_BYTES;
}

/* `to` is `from`, or they do not overlap. */
static void xor_bytes(uint8_t *to, const uint8_t *from, const uint8_t *with, uint32_t length) {
  typedef uint64_t pair __attribute__((vector_size(16)));
  uint32_t i = 0;
  for (pair one, other; i + sizeof one <= length; i += sizeof one) {
    memcpy(&one, from + i, sizeof one);
    memcpy(&other, with + i, sizeof other);
    one ^= other;
    memcpy(to + i, &one, sizeof one);
  }
  for (; i < length; i++)
    to[i] = from[i] ^ with[i];
}

static void box_cross(box *b, const uint8_t *from, uint32_t length, uint8_t *to) {
  for (uint32_t done = 0; done < length;) {
    const uint32_t left = length - done;
    const uint64_t ready = b->end - b->position;
    uint32_t bytes;
    if (ready > 0) {
      bytes = left < ready ? left : (uint32_t)ready;
      xor_bytes(to + done, from + done, b->stream + WIDE_BYTES - ready, bytes);
    } else if (left < WIDE_BYTES) {
      read_stream(b, left);
      continue;
    } else {
      bytes = left - left % WIDE_BYTES;
      cross_blocks(b, from + done, bytes, to + done);
      b->end += bytes;
    }
    b->position += bytes;
    done += bytes;
  }
}

static void box_seal(box *b, const uint8_t *plain, uint32_t length, uint8_t *target) {
  box_cross(b, plain, length, target);
  crypto_onetimeauth_poly1305_update(&b->mac, target, length);
}

/* Opens a box whose MAC is elsewhere. Nothing is written if it is forged. */
static int32_t box_open(box *b, const uint8_t *mac, const uint8_t *sealed, uint32_t length,
                        uint8_t *target) {
  uint8_t expected[ZL_MAC_BYTES];
  crypto_onetimeauth_poly1305(expected, sealed, length, b->mac_key);
  const int different = crypto_verify_16(mac, expected);
  sodium_memzero(expected, sizeof expected);
  if (different) return ZL_E_FORGED;
  box_cross(b, sealed, length, target);
  return 0;
}

/* -- The handshake --------------------------------------------------------------- */

void zl_public_key(const uint8_t *secret, uint8_t *target) {
  crypto_scalarmult_curve25519_base(target, secret);
}

int32_t zl_shared_key(const uint8_t *public, const uint8_t *secret, uint8_t *target) {
  static const uint8_t zeros[16];
  uint8_t point[crypto_scalarmult_curve25519_BYTES];
  const int failed = crypto_scalarmult_curve25519(point, secret, public);
  if (!failed) crypto_core_hsalsa20(target, zeros, point, NULL);
  sodium_memzero(point, sizeof point);
  return failed ? ZL_E_FORGED : 0;
}

static void begin_with_nonce(box *b, const uint8_t *key, const uint8_t *nonce, uint32_t length) {
  uint8_t subkey[ZL_KEY_BYTES];
  crypto_core_hsalsa20(subkey, nonce, key, NULL);
  box_begin(b, subkey, nonce + NONCE_PREFIX_BYTES, length);
  sodium_memzero(subkey, sizeof subkey);
}

void zl_box(const uint8_t *key, const uint8_t *nonce, const uint8_t *plain, uint32_t length,
            uint8_t *target) {
  box b;
  begin_with_nonce(&b, key, nonce, length);
  box_cross(&b, plain, length, target + ZL_MAC_BYTES);
  crypto_onetimeauth_poly1305(target, target + ZL_MAC_BYTES, length, b.mac_key);
  sodium_memzero(&b, sizeof b);
}

int32_t zl_box_open(const uint8_t *key, const uint8_t *nonce, const uint8_t *sealed,
                    uint32_t length, uint8_t *target) {
  if (length < ZL_MAC_BYTES || length - ZL_MAC_BYTES > INT32_MAX) return ZL_E_FORGED;
  const uint32_t plain = length - ZL_MAC_BYTES;
  box b;
  begin_with_nonce(&b, key, nonce, plain);
  const int32_t result = box_open(&b, sealed, sealed + ZL_MAC_BYTES, plain, target);
  sodium_memzero(&b, sizeof b);
  return result < 0 ? result : (int32_t)plain;
}

int32_t zl_same(const uint8_t *one, const uint8_t *other, uint32_t length) {
  volatile uint8_t difference = 0;
  for (uint32_t i = 0; i < length; i++)
    difference |= one[i] ^ other[i];
  return difference == 0;
}

void zl_wipe(uint8_t *bytes, uint32_t length) {
  sodium_memzero(bytes, length);
}

/* -- Messages -------------------------------------------------------------------- */

/* All nonces in one direction begin alike, so that part of the key is made once. */
struct zl_cipher {
  uint8_t key[ZL_KEY_BYTES];
  /* The last counter. */
  uint64_t counter;
};

zl_cipher *zl_cipher_open(const uint8_t *key, int32_t of_server, uint32_t counter_low,
                          uint32_t counter_high) {
  const char *prefix = of_server ? "CurveZMQMESSAGES" : "CurveZMQMESSAGEC";
  zl_cipher *cipher = malloc(sizeof *cipher);
  if (!cipher) return NULL;
  crypto_core_hsalsa20(cipher->key, (const uint8_t *)prefix, key, NULL);
  cipher->counter = zl_join_u64(counter_low, counter_high);
  return cipher;
}

void zl_cipher_close(zl_cipher *cipher) {
  sodium_memzero(cipher, sizeof *cipher);
  free(cipher);
}

zl_crossing *zl_crossing_slot(void) {
  static zl_crossing crossing;
  return &crossing;
}

/* Begins a MESSAGE command: writes the head of the frame and all of the command's head but the MAC.
 * Returns their length, or ZL_E_USED_UP. */
static int32_t message_begin(zl_cipher *cipher, box *b, uint64_t body_bytes, uint8_t *target) {
  if (cipher->counter == UINT64_MAX) return ZL_E_USED_UP;
  const uint32_t head = zmtp_frame_write(target, 0, ZL_MESSAGE_MIN_BYTES + body_bytes);
  memcpy(target + head, name, NAME_BYTES);
  uint8_t *counter = target + head + NAME_BYTES;
  zl_write_u64be(counter, ++cipher->counter);
  memset(counter + ZL_COUNTER_BYTES, 0, ZL_MAC_BYTES);
  box_begin(b, cipher->key, counter, 1 + body_bytes);
  return (int32_t)(head + ZL_MESSAGE_HEAD_BYTES);
}

static uint8_t sealed_flags(uint32_t flags) {
  return (flags & ZMTP_MORE ? SEALED_MORE : 0) | (flags & ZMTP_COMMAND ? SEALED_COMMAND : 0);
}

uint32_t zl_message_flags(uint32_t sealed) {
  return (sealed & SEALED_MORE ? ZMTP_MORE : 0) | (sealed & SEALED_COMMAND ? ZMTP_COMMAND : 0);
}

/* Seals a frame in one go. Returns its length, or ZL_E_USED_UP. */
static int32_t seal_whole(zl_cipher *cipher, box *b, uint8_t flags, const uint8_t *body,
                          uint32_t length, uint8_t *target) {
  const int32_t head = message_begin(cipher, b, length, target);
  if (head < 0) return head;
  uint8_t *sealed = target + head;
  box_cross(b, &flags, 1, sealed);
  box_cross(b, body, length, sealed + 1);
  crypto_onetimeauth_poly1305(sealed - ZL_MAC_BYTES, sealed, (size_t)length + 1, b->mac_key);
  return head + 1 + (int32_t)length;
}

static int32_t seal_frames(zl_cipher *cipher, box *b, const uint8_t *source, uint32_t length,
                           uint8_t *target, uint32_t room, zl_crossing *crossing) {
  *crossing = (zl_crossing){0};
  while (crossing->read < length) {
    const uint8_t *from = source + crossing->read;
    uint8_t *to = target + crossing->written;
    const uint32_t have = length - crossing->read;
    zmtp_frame frame;
    const int32_t missing = zmtp_frame_read(from, have, &frame);
    if (missing < 0) return ZL_E_MESSAGE_HEAD;
    if (missing > 0 || frame.body_bytes > have - frame.head_bytes) return 0;
    const uint32_t body = (uint32_t)frame.body_bytes;
    if ((uint64_t)body + ZL_MESSAGE_PREFIX_MAX > room - crossing->written) return 0;

    const int32_t sealed =
        seal_whole(cipher, b, sealed_flags(frame.flags), from + frame.head_bytes, body, to);
    if (sealed < 0) return sealed;
    crossing->read += frame.head_bytes + body;
    crossing->written += (uint32_t)sealed;
  }
  return 0;
}

int32_t zl_seal(zl_cipher *cipher, const uint8_t *source, uint32_t length, uint8_t *target,
                uint32_t room, zl_crossing *crossing) {
  box b;
  const int32_t status = seal_frames(cipher, &b, source, length, target, room, crossing);
  sodium_memzero(&b, sizeof b);
  return status;
}

/* Checks the name, of which `have` bytes are there. */
static int is_named(const uint8_t *body, uint64_t have) {
  return memcmp(body, name, have < NAME_BYTES ? (size_t)have : NAME_BYTES) == 0;
}

/* Checks the head of a MESSAGE command, and begins to open its `length` bytes. */
static int32_t message_open(zl_cipher *cipher, box *b, const uint8_t *head, uint64_t length) {
  const uint8_t *counter = head + NAME_BYTES;
  const uint64_t value = zl_read_u64be(counter);
  if (value <= cipher->counter) return ZL_E_COUNTER;
  cipher->counter = value;
  box_begin(b, cipher->key, counter, length);
  return 0;
}

static int32_t unseal_frames(zl_cipher *cipher, box *b, const uint8_t *source, uint32_t length,
                             uint64_t max, uint8_t *target, uint32_t room, zl_crossing *crossing) {
  *crossing = (zl_crossing){0};
  while (crossing->read < length) {
    const uint8_t *from = source + crossing->read;
    uint8_t *to = target + crossing->written;
    const uint32_t have = length - crossing->read;
    zmtp_frame frame;
    const int32_t missing = zmtp_frame_read(from, have, &frame);
    if (missing < 0) return ZL_E_MESSAGE_HEAD;
    if (missing > 0) return 0;
    const uint8_t *body = from + frame.head_bytes;
    const uint64_t received =
        frame.body_bytes < have - frame.head_bytes ? frame.body_bytes : have - frame.head_bytes;
    if (frame.body_bytes > max) return ZL_E_MESSAGE_TOO_LARGE;
    /* Which rule a short frame breaks depends on its first byte. */
    if (received == 0 && frame.body_bytes > 0) return 0;
    /* As in libzmq, what is too short for the name has the wrong one. */
    if (!is_named(body, received) || frame.body_bytes < NAME_BYTES) return ZL_E_NOT_MESSAGE;
    if (received < NAME_BYTES) return 0;
    if (frame.body_bytes < ZL_MESSAGE_MIN_BYTES) return ZL_E_MESSAGE_TOO_SHORT;
    if (received < frame.body_bytes) return 0;
    const uint32_t plain = (uint32_t)frame.body_bytes - ZL_MESSAGE_MIN_BYTES;
    if ((uint64_t)plain + ZMTP_LONG_HEAD > room - crossing->written) return 0;

    const int32_t refused = message_open(cipher, b, body, plain + 1);
    if (refused) return refused;
    /* The head of the frame ends with the byte in which the flags are opened. */
    const uint32_t head = plain > UINT8_MAX ? ZMTP_LONG_HEAD : ZMTP_SHORT_HEAD;
    const uint8_t *mac = body + ZL_MESSAGE_HEAD_BYTES - ZL_MAC_BYTES;
    const int32_t forged = box_open(b, mac, body + ZL_MESSAGE_HEAD_BYTES, plain + 1, to + head - 1);
    if (forged) return forged;
    const uint8_t flags = (uint8_t)zl_message_flags(to[head - 1]);
    /* MORE outside is not authenticated, so it may only repeat what is inside. */
    if (frame.flags & ~flags & ZMTP_MORE) return ZL_E_MESSAGE_HEAD;
    zmtp_frame_write(to, flags, plain);
    crossing->read += frame.head_bytes + (uint32_t)frame.body_bytes;
    crossing->written += head + plain;
  }
  return 0;
}

int32_t zl_unseal(zl_cipher *cipher, const uint8_t *source, uint32_t length, uint32_t max_low,
                  uint32_t max_high, uint8_t *target, uint32_t room, zl_crossing *crossing) {
  box b;
  const int32_t status = unseal_frames(cipher, &b, source, length, zl_join_u64(max_low, max_high),
                                       target, room, crossing);
  sodium_memzero(&b, sizeof b);
  return status;
}

/* -- Messages in pieces ------------------------------------------------------------ */

static box large;
static uint8_t large_mac[ZL_MAC_BYTES];

int32_t zl_seal_begin(zl_cipher *cipher, uint32_t flags, uint32_t bytes_low, uint32_t bytes_high,
                      uint8_t *target) {
  const int32_t head = message_begin(cipher, &large, zl_join_u64(bytes_low, bytes_high), target);
  if (head < 0) return head;
  crypto_onetimeauth_poly1305_init(&large.mac, large.mac_key);
  const uint8_t plain = sealed_flags(flags);
  box_seal(&large, &plain, 1, target + head);
  return head + 1;
}

void zl_seal_piece(uint8_t *piece, uint32_t length) {
  box_seal(&large, piece, length, piece);
}

void zl_seal_end(uint8_t *mac) {
  crypto_onetimeauth_poly1305_final(&large.mac, mac);
  sodium_memzero(&large, sizeof large);
}

int32_t zl_unseal_begin(zl_cipher *cipher, const uint8_t *head) {
  if (!is_named(head, NAME_BYTES)) return ZL_E_NOT_MESSAGE;
  memcpy(large_mac, head + ZL_MESSAGE_HEAD_BYTES - ZL_MAC_BYTES, ZL_MAC_BYTES);
  const int32_t refused = message_open(cipher, &large, head, WIDE_BYTES);
  if (refused) return refused;
  crypto_onetimeauth_poly1305_init(&large.mac, large.mac_key);
  return 0;
}

void zl_unseal_piece(uint8_t *piece, uint32_t length) {
  crypto_onetimeauth_poly1305_update(&large.mac, piece, length);
  box_cross(&large, piece, length, piece);
}

int32_t zl_unseal_end(void) {
  uint8_t expected[ZL_MAC_BYTES];
  crypto_onetimeauth_poly1305_final(&large.mac, expected);
  const int different = crypto_verify_16(large_mac, expected);
  sodium_memzero(expected, sizeof expected);
  sodium_memzero(&large, sizeof large);
  return different ? ZL_E_FORGED : 0;
}
