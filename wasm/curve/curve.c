#include "curve.h"

#include <stdlib.h>
#include <string.h>

#include "crypto_core_hsalsa20.h"
#include "crypto_scalarmult_curve25519.h"
#include "crypto_stream_salsa20.h"
#include "crypto_verify_16.h"
#include "utils.h"

#include "../bytes.h"
#include "../zmtp.h"
#include "poly1305.h"

#define BLOCK_BYTES 64u
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

/* A box under way. */
typedef struct {
  poly1305 mac;
  uint8_t key[ZL_KEY_BYTES];
  uint8_t counter[ZL_COUNTER_BYTES];
  /* The block of the key stream that `position` is in, unless it is at the beginning of one. */
  uint8_t block[BLOCK_BYTES];
  uint64_t position;
} box;

static void read_block(box *b) {
  memset(b->block, 0, BLOCK_BYTES);
  crypto_stream_salsa20_xor_ic(b->block, b->block, BLOCK_BYTES, b->counter,
                               b->position / BLOCK_BYTES, b->key);
}

/* Begins a box with a key that the first part of the nonce is already in. */
static void box_begin(box *b, const uint8_t *key, const uint8_t *counter) {
  memcpy(b->key, key, ZL_KEY_BYTES);
  memcpy(b->counter, counter, ZL_COUNTER_BYTES);
  b->position = 0;
  read_block(b);
  poly1305_begin(&b->mac, b->block);
  b->position = MAC_KEY_BYTES;
}

static void box_cross(box *b, const uint8_t *from, uint32_t length, uint8_t *to) {
  const uint32_t past = (uint32_t)(b->position % BLOCK_BYTES);
  uint32_t done = 0;
  if (past > 0) {
    if (b->position >= BLOCK_BYTES) read_block(b);
    done = BLOCK_BYTES - past < length ? BLOCK_BYTES - past : length;
    for (uint32_t i = 0; i < done; i++)
      to[i] = from[i] ^ b->block[past + i];
    b->position += done;
  }
  if (length == done) return;
  crypto_stream_salsa20_xor_ic(to + done, from + done, length - done, b->counter,
                               b->position / BLOCK_BYTES, b->key);
  b->position += length - done;
}

static void box_seal(box *b, const uint8_t *plain, uint32_t length, uint8_t *target) {
  box_cross(b, plain, length, target);
  poly1305_add(&b->mac, target, length);
}

static void box_end(box *b, uint8_t *mac) {
  poly1305_end(&b->mac, mac);
  sodium_memzero(b, sizeof *b);
}

/* Compares the MAC of what was read with the one that was received. */
static int32_t box_verify(box *b, const uint8_t *mac) {
  uint8_t expected[ZL_MAC_BYTES];
  poly1305_end(&b->mac, expected);
  const int different = crypto_verify_16(mac, expected);
  sodium_memzero(expected, sizeof expected);
  return different ? ZL_E_FORGED : 0;
}

/* Opens a box whose MAC is elsewhere. Nothing is written if it is forged. */
static int32_t box_open(box *b, const uint8_t *mac, const uint8_t *sealed, uint32_t length,
                        uint8_t *target) {
  poly1305_add(&b->mac, sealed, length);
  const int32_t result = box_verify(b, mac);
  if (result == 0) box_cross(b, sealed, length, target);
  sodium_memzero(b, sizeof *b);
  return result;
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

static void begin_with_nonce(box *b, const uint8_t *key, const uint8_t *nonce) {
  uint8_t subkey[ZL_KEY_BYTES];
  crypto_core_hsalsa20(subkey, nonce, key, NULL);
  box_begin(b, subkey, nonce + NONCE_PREFIX_BYTES);
  sodium_memzero(subkey, sizeof subkey);
}

void zl_box(const uint8_t *key, const uint8_t *nonce, const uint8_t *plain, uint32_t length,
            uint8_t *target) {
  box b;
  begin_with_nonce(&b, key, nonce);
  box_seal(&b, plain, length, target + ZL_MAC_BYTES);
  box_end(&b, target);
}

int32_t zl_box_open(const uint8_t *key, const uint8_t *nonce, const uint8_t *sealed,
                    uint32_t length, uint8_t *target) {
  if (length < ZL_MAC_BYTES || length - ZL_MAC_BYTES > INT32_MAX) return ZL_E_FORGED;
  box b;
  begin_with_nonce(&b, key, nonce);
  const uint32_t plain = length - ZL_MAC_BYTES;
  const int32_t result = box_open(&b, sealed, sealed + ZL_MAC_BYTES, plain, target);
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
  box_begin(b, cipher->key, counter);
  return (int32_t)(head + ZL_MESSAGE_HEAD_BYTES);
}

static uint8_t sealed_flags(uint32_t flags) {
  return (flags & ZMTP_MORE ? SEALED_MORE : 0) | (flags & ZMTP_COMMAND ? SEALED_COMMAND : 0);
}

uint32_t zl_message_flags(uint32_t sealed) {
  return (sealed & SEALED_MORE ? ZMTP_MORE : 0) | (sealed & SEALED_COMMAND ? ZMTP_COMMAND : 0);
}

/* Seals a frame in one go. The key of the MAC, which the key stream begins with, arises in the
 * place of the command's head. Returns the length of the frame's head, or ZL_E_USED_UP. */
static int32_t seal_whole(zl_cipher *cipher, uint8_t flags, const uint8_t *body, uint32_t length,
                          uint8_t *target) {
  if (cipher->counter == UINT64_MAX) return ZL_E_USED_UP;
  const uint32_t head = zmtp_frame_write(target, 0, (uint64_t)ZL_MESSAGE_MIN_BYTES + length);
  uint8_t *command = target + head;
  uint8_t *sealed = command + ZL_MESSAGE_HEAD_BYTES;
  uint8_t counter[ZL_COUNTER_BYTES];
  poly1305 mac;
  zl_write_u64be(counter, ++cipher->counter);
  memset(command, 0, MAC_KEY_BYTES);
  sealed[0] = flags;
  memcpy(sealed + 1, body, length);
  crypto_stream_salsa20_xor(command, command, (uint64_t)ZL_MESSAGE_MIN_BYTES + length, counter,
                            cipher->key);
  poly1305_begin(&mac, command);
  memcpy(command, name, NAME_BYTES);
  memcpy(command + NAME_BYTES, counter, ZL_COUNTER_BYTES);
  poly1305_add(&mac, sealed, (size_t)length + 1);
  poly1305_end(&mac, sealed - ZL_MAC_BYTES);
  sodium_memzero(&mac, sizeof mac);
  return (int32_t)head;
}

int32_t zl_seal(zl_cipher *cipher, const uint8_t *source, uint32_t length, uint8_t *target,
                uint32_t room, zl_crossing *crossing) {
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

    const int32_t head =
        seal_whole(cipher, sealed_flags(frame.flags), from + frame.head_bytes, body, to);
    if (head < 0) return head;
    crossing->read += frame.head_bytes + body;
    crossing->written += (uint32_t)head + ZL_MESSAGE_MIN_BYTES + body;
  }
  return 0;
}

/* Checks the name, of which `have` bytes are there. */
static int is_named(const uint8_t *body, uint64_t have) {
  return memcmp(body, name, have < NAME_BYTES ? (size_t)have : NAME_BYTES) == 0;
}

/* Checks the head of a MESSAGE command, and begins to open it. */
static int32_t message_open(zl_cipher *cipher, box *b, const uint8_t *head) {
  const uint8_t *counter = head + NAME_BYTES;
  const uint64_t value = zl_read_u64be(counter);
  if (value <= cipher->counter) return ZL_E_COUNTER;
  cipher->counter = value;
  box_begin(b, cipher->key, counter);
  return 0;
}

int32_t zl_unseal(zl_cipher *cipher, const uint8_t *source, uint32_t length, uint32_t max_low,
                  uint32_t max_high, uint8_t *target, uint32_t room, zl_crossing *crossing) {
  const uint64_t max = zl_join_u64(max_low, max_high);
  *crossing = (zl_crossing){0};
  while (crossing->read < length) {
    const uint8_t *from = source + crossing->read;
    uint8_t *to = target + crossing->written;
    const uint32_t have = length - crossing->read;
    zmtp_frame frame;
    const int32_t missing = zmtp_frame_read(from, have, &frame);
    if (missing < 0) return ZL_E_MESSAGE_HEAD;
    if (missing > 0) return 0;
    if (frame.flags & ZMTP_MORE) return ZL_E_MESSAGE_HEAD; /* it belongs inside */
    const uint8_t *body = from + frame.head_bytes;
    const uint64_t received =
        frame.body_bytes < have - frame.head_bytes ? frame.body_bytes : have - frame.head_bytes;
    if (frame.body_bytes > max) return ZL_E_MESSAGE_TOO_LARGE;
    /* As in libzmq, what is too short for the name has the wrong one. */
    if (!is_named(body, received) || frame.body_bytes < NAME_BYTES) return ZL_E_NOT_MESSAGE;
    if (received < NAME_BYTES) return 0;
    if (frame.body_bytes < ZL_MESSAGE_MIN_BYTES) return ZL_E_MESSAGE_TOO_SHORT;
    if (received < frame.body_bytes) return 0;
    const uint32_t plain = (uint32_t)frame.body_bytes - ZL_MESSAGE_MIN_BYTES;
    if ((uint64_t)plain + ZMTP_LONG_HEAD > room - crossing->written) return 0;

    box b;
    const int32_t refused = message_open(cipher, &b, body);
    if (refused) return refused;
    /* The head of the frame ends with the byte in which the flags are opened. */
    const uint32_t head = plain > UINT8_MAX ? ZMTP_LONG_HEAD : ZMTP_SHORT_HEAD;
    const uint8_t *mac = body + ZL_MESSAGE_HEAD_BYTES - ZL_MAC_BYTES;
    const int32_t forged =
        box_open(&b, mac, body + ZL_MESSAGE_HEAD_BYTES, plain + 1, to + head - 1);
    if (forged) return forged;
    zmtp_frame_write(to, (uint8_t)zl_message_flags(to[head - 1]), plain);
    crossing->read += frame.head_bytes + (uint32_t)frame.body_bytes;
    crossing->written += head + plain;
  }
  return 0;
}

/* -- Messages in pieces ------------------------------------------------------------ */

static box large;
static uint8_t large_mac[ZL_MAC_BYTES];

int32_t zl_seal_begin(zl_cipher *cipher, uint32_t flags, uint32_t bytes_low, uint32_t bytes_high,
                      uint8_t *target) {
  const int32_t head = message_begin(cipher, &large, zl_join_u64(bytes_low, bytes_high), target);
  if (head < 0) return head;
  const uint8_t plain = sealed_flags(flags);
  box_seal(&large, &plain, 1, target + head);
  return head + 1;
}

void zl_seal_piece(uint8_t *piece, uint32_t length) {
  box_seal(&large, piece, length, piece);
}

void zl_seal_end(uint8_t *mac) {
  box_end(&large, mac);
}

int32_t zl_unseal_begin(zl_cipher *cipher, const uint8_t *head) {
  if (!is_named(head, NAME_BYTES)) return ZL_E_NOT_MESSAGE;
  memcpy(large_mac, head + ZL_MESSAGE_HEAD_BYTES - ZL_MAC_BYTES, ZL_MAC_BYTES);
  return message_open(cipher, &large, head);
}

void zl_unseal_piece(uint8_t *piece, uint32_t length) {
  poly1305_add(&large.mac, piece, length);
  box_cross(&large, piece, length, piece);
}

int32_t zl_unseal_end(void) {
  const int32_t result = box_verify(&large, large_mac);
  sodium_memzero(&large, sizeof large);
  return result;
}
