/* libsodium's implementation splits numbers into five limbs of 26 bits, which takes 25 products for
 * a block. WebAssembly has products of 64 bits, in which limbs of 32 bits fit: 16 products, four
 * small ones, and nothing to split.
 *
 * A number h is h[0] + 2^32 h[1] + 2^64 h[2] + 2^96 h[3] + 2^128 h[4], modulo p = 2^130 - 5. No
 * step depends on the values, as they are secret. */
#include "poly1305.h"

#include <string.h>

#include "utils.h"

#include "../bytes.h"

#define LOW 0xffffffffu

void poly1305_begin(poly1305 *p, const uint8_t *key) {
  memset(p, 0, sizeof *p);
  p->r[0] = zl_read_u32le(key) & 0x0fffffff;
  for (int i = 1; i < 4; i++)
    p->r[i] = zl_read_u32le(key + 4 * i) & 0x0ffffffc;
  for (int i = 0; i < 4; i++)
    p->pad[i] = zl_read_u32le(key + 16 + 4 * i);
}

/* Adds whole blocks: h = (h + block) * r for each. `top` is the bit after a block's last one. */
static void add_blocks(poly1305 *p, const uint8_t *bytes, size_t length, uint32_t top) {
  const uint64_t r0 = p->r[0], r1 = p->r[1], r2 = p->r[2], r3 = p->r[3];
  /* The last two bits of r1, r2 and r3 are 0, and 2^130 is 5: 2^128 r1 is 5 r1 / 4, and so on. */
  const uint64_t s1 = r1 + (r1 >> 2), s2 = r2 + (r2 >> 2), s3 = r3 + (r3 >> 2);
  uint64_t h0 = p->h[0], h1 = p->h[1], h2 = p->h[2], h3 = p->h[3], h4 = p->h[4];
  for (; length >= POLY1305_BLOCK_BYTES; length -= POLY1305_BLOCK_BYTES) {
    h0 += zl_read_u32le(bytes);
    h1 += zl_read_u32le(bytes + 4);
    h2 += zl_read_u32le(bytes + 8);
    h3 += zl_read_u32le(bytes + 12);
    h4 += top;
    bytes += POLY1305_BLOCK_BYTES;

    /* h0 is less than 2^34 now, h1 to h3 are less than 2^33, and h4 is at most 4. r0 to r3 are less
     * than 2^28, s1 to s3 less than 5/4 * 2^28. So no sum exceeds 12 * 2^60. */
    const uint64_t d0 = h0 * r0 + h1 * s3 + h2 * s2 + h3 * s1;
    const uint64_t d1 = h0 * r1 + h1 * r0 + h2 * s3 + h3 * s2 + h4 * s1 + (d0 >> 32);
    const uint64_t d2 = h0 * r2 + h1 * r1 + h2 * r0 + h3 * s3 + h4 * s2 + (d1 >> 32);
    const uint64_t d3 = h0 * r3 + h1 * r2 + h2 * r1 + h3 * r0 + h4 * s3 + (d2 >> 32);
    const uint64_t d4 = h4 * r0 + (d3 >> 32);

    /* What is above 2^130 comes back as 5 times as much. */
    h0 = (d0 & LOW) + (d4 >> 2) * 5;
    h1 = d1 & LOW;
    h2 = d2 & LOW;
    h3 = d3 & LOW;
    h4 = d4 & 3;
  }
  p->h[0] = h0, p->h[1] = h1, p->h[2] = h2, p->h[3] = h3, p->h[4] = h4;
}

void poly1305_add(poly1305 *p, const uint8_t *bytes, size_t length) {
  if (p->rest_bytes > 0) {
    const size_t missing = POLY1305_BLOCK_BYTES - p->rest_bytes;
    const size_t taken = length < missing ? length : missing;
    memcpy(p->rest + p->rest_bytes, bytes, taken);
    p->rest_bytes += (uint32_t)taken;
    if (p->rest_bytes < POLY1305_BLOCK_BYTES) return;
    add_blocks(p, p->rest, POLY1305_BLOCK_BYTES, 1);
    p->rest_bytes = 0;
    bytes += taken;
    length -= taken;
  }
  add_blocks(p, bytes, length, 1);
  p->rest_bytes = (uint32_t)(length % POLY1305_BLOCK_BYTES);
  if (p->rest_bytes > 0) memcpy(p->rest, bytes + (length - p->rest_bytes), p->rest_bytes);
}

void poly1305_end(poly1305 *p, uint8_t *mac) {
  if (p->rest_bytes > 0) {
    memset(p->rest + p->rest_bytes, 0, POLY1305_BLOCK_BYTES - p->rest_bytes);
    p->rest[p->rest_bytes] = 1;
    add_blocks(p, p->rest, POLY1305_BLOCK_BYTES, 0);
  }
  /* Carry, twice, as the first time h[4] may get a third bit. */
  uint64_t h[5];
  memcpy(h, p->h, sizeof h);
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 4; i++) {
      h[i + 1] += h[i] >> 32;
      h[i] &= LOW;
    }
    h[0] += (h[4] >> 2) * 5;
    h[4] &= 3;
  }
  for (int i = 0; i < 4; i++) {
    h[i + 1] += h[i] >> 32;
    h[i] &= LOW;
  }
  /* h - p is h + 5 without 2^130; it counts if there is a 2^130, so if h is at least p. */
  uint64_t g[5], carry = 5;
  for (int i = 0; i < 5; i++) {
    carry += h[i];
    g[i] = carry & LOW;
    carry >>= 32;
  }
  const uint64_t above = 0 - (g[4] >> 2);
  carry = 0;
  for (int i = 0; i < 4; i++) {
    carry += ((g[i] & above) | (h[i] & ~above)) + p->pad[i];
    zl_write_u32le(mac + 4 * i, (uint32_t)carry);
    carry >>= 32;
  }
  sodium_memzero(h, sizeof h);
  sodium_memzero(g, sizeof g);
}
