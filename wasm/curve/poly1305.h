/* Poly1305, the MAC of boxes, in the same results as libsodium's crypto_onetimeauth_poly1305. */
#ifndef ZEROMQ_LZ4_POLY1305_H
#define ZEROMQ_LZ4_POLY1305_H

#include <stddef.h>
#include <stdint.h>

#define POLY1305_BLOCK_BYTES 16u

/* A MAC under way. */
typedef struct {
  uint64_t h[5];
  uint32_t r[4];
  uint32_t pad[4];
  /* The beginning of a block. */
  uint8_t rest[POLY1305_BLOCK_BYTES];
  uint32_t rest_bytes;
} poly1305;

/* Begins a MAC with a key of 32 bytes, which may be used only once. */
void poly1305_begin(poly1305 *p, const uint8_t *key);
void poly1305_add(poly1305 *p, const uint8_t *bytes, size_t length);
/* Writes the MAC of 16 bytes. The caller wipes the state. */
void poly1305_end(poly1305 *p, uint8_t *mac);

#endif
