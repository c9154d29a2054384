/* The exports of the CURVE module: boxes of libsodium's parts, and the MESSAGE commands of CurveZMQ
 * (RFC 26 of the ZeroMQ project). It is a module of its own, so that programs without CURVE do not
 * load it. Memory, units and errors are as in zeromq_lz4.h, and scratch memory is zl_scratch.
 *
 * A box is a MAC of ZL_MAC_BYTES and then as many bytes as were sealed: what libsodium's
 * crypto_box_easy_afternm and crypto_secretbox_easy make. */
#ifndef ZEROMQ_LZ4_CURVE_H
#define ZEROMQ_LZ4_CURVE_H

#include "../zeromq_lz4.h"

#define ZL_KEY_BYTES 32u
#define ZL_NONCE_BYTES 24u
#define ZL_MAC_BYTES 16u
/* The last bytes of a nonce, a counter. The others are the same for all messages in one direction.
 */
#define ZL_COUNTER_BYTES 8u

/* A MESSAGE command: its name, a counter and a MAC, and then the sealed flags and part. */
#define ZL_MESSAGE_HEAD_BYTES 32u
#define ZL_MESSAGE_MIN_BYTES (ZL_MESSAGE_HEAD_BYTES + 1u)
/* Maximum size of the head of a frame and of its MESSAGE command, with the sealed flags. */
#define ZL_MESSAGE_PREFIX_MAX (9u + ZL_MESSAGE_MIN_BYTES)

/* Errors of the functions below. */
enum {
  ZL_E_NOT_MESSAGE = -1,
  ZL_E_MESSAGE_TOO_SHORT = -2,
  ZL_E_COUNTER = -3,
  ZL_E_FORGED = -4,
  ZL_E_MESSAGE_HEAD = -5,
  ZL_E_MESSAGE_TOO_LARGE = -6,
  /* This side has used all its counters. */
  ZL_E_USED_UP = -7,
};

/* -- The handshake --------------------------------------------------------------- */

/* Writes the public key of a secret one. */
ZL_EXPORT void zl_public_key(const uint8_t *secret, uint8_t *target);

/* Writes the key that two pairs share, from one's secret and the other's public key. Returns 0, or
 * ZL_E_FORGED for a public key of low order, with which anybody could find the shared key. */
ZL_EXPORT int32_t zl_shared_key(const uint8_t *public, const uint8_t *secret, uint8_t *target);

/* Writes a box of `length` bytes. `target` may not overlap `plain`. */
ZL_EXPORT void zl_box(const uint8_t *key, const uint8_t *nonce, const uint8_t *plain,
                      uint32_t length, uint8_t *target);

/* Opens a box of `length` bytes, the MAC included. Returns the number of bytes written, or
 * ZL_E_FORGED; nothing is written then. `target` may not overlap `box`. */
ZL_EXPORT int32_t zl_box_open(const uint8_t *key, const uint8_t *nonce, const uint8_t *box,
                              uint32_t length, uint8_t *target);

/* Returns whether two runs of bytes are the same, in a time that depends on `length` only. */
ZL_EXPORT int32_t zl_same(const uint8_t *one, const uint8_t *other, uint32_t length);

/* Overwrites secrets. */
ZL_EXPORT void zl_wipe(uint8_t *bytes, uint32_t length);

/* -- Messages -------------------------------------------------------------------- */

/* The key and the counter of one direction of a connection. */
typedef struct zl_cipher zl_cipher;

/* Opens a cipher for the messages of the server or of the client, with the key of the connection
 * and the last counter in this direction. Returns NULL if memory runs out. The key is not kept. */
ZL_EXPORT zl_cipher *zl_cipher_open(const uint8_t *key, int32_t of_server, uint32_t counter_low,
                                    uint32_t counter_high);
/* Wipes and frees a cipher. */
ZL_EXPORT void zl_cipher_close(zl_cipher *cipher);

/* The bytes that a call has read and written, both up to the end of a frame. */
typedef struct {
  uint32_t read;
  uint32_t written;
} zl_crossing;

ZL_EXPORT zl_crossing *zl_crossing_slot(void);

/* Seals frames, each as a MESSAGE command in a frame of its own, as far as `source` has whole
 * frames and `target` has room. Returns 0 or an error. Either way `crossing` says how far it came.
 * `target` may not overlap `source`. */
ZL_EXPORT int32_t zl_seal(zl_cipher *cipher, const uint8_t *source, uint32_t length,
                          uint8_t *target, uint32_t room, zl_crossing *crossing);

/* Opens frames with MESSAGE commands in the same way, whose bodies may have up to `max` bytes. A
 * frame is refused as early as its first bytes show that it breaks a rule. */
ZL_EXPORT int32_t zl_unseal(zl_cipher *cipher, const uint8_t *source, uint32_t length,
                            uint32_t max_low, uint32_t max_high, uint8_t *target, uint32_t room,
                            zl_crossing *crossing);

/* -- Messages in pieces ------------------------------------------------------------ */

/* A frame that is too large for scratch memory is sealed or opened in pieces, of any size, in
 * place, one frame of the thread at a time. */

/* Begins to seal a frame with a body of `bytes`. Writes what comes before the body, at most
 * ZL_MESSAGE_PREFIX_MAX bytes, in which the MAC is still missing. Returns their number, or
 * ZL_E_USED_UP. */
ZL_EXPORT int32_t zl_seal_begin(zl_cipher *cipher, uint32_t flags, uint32_t bytes_low,
                                uint32_t bytes_high, uint8_t *target);
ZL_EXPORT void zl_seal_piece(uint8_t *piece, uint32_t length);
/* Writes the MAC. */
ZL_EXPORT void zl_seal_end(uint8_t *mac);

/* Begins to open a MESSAGE command. `head` is its first ZL_MESSAGE_HEAD_BYTES. Returns 0 or an
 * error. */
ZL_EXPORT int32_t zl_unseal_begin(zl_cipher *cipher, const uint8_t *head);
/* What this makes of a piece must not be used before zl_unseal_end returns 0. The first byte is the
 * flags; zl_message_flags makes those of a frame of them. */
ZL_EXPORT void zl_unseal_piece(uint8_t *piece, uint32_t length);
ZL_EXPORT int32_t zl_unseal_end(void);
ZL_EXPORT uint32_t zl_message_flags(uint32_t sealed);

#endif
