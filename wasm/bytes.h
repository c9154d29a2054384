/* Little- and big-endian integers at any address. */
#ifndef ZL_BYTES_H
#define ZL_BYTES_H

#include <stdint.h>

static inline uint32_t zl_read_u32le(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t zl_read_u64le(const uint8_t *p) {
  return (uint64_t)zl_read_u32le(p) | (uint64_t)zl_read_u32le(p + 4) << 32;
}

static inline void zl_write_u32le(uint8_t *p, uint32_t value) {
  for (int i = 0; i < 4; i++)
    p[i] = (uint8_t)(value >> 8 * i);
}

static inline void zl_write_u64le(uint8_t *p, uint64_t value) {
  zl_write_u32le(p, (uint32_t)value);
  zl_write_u32le(p + 4, (uint32_t)(value >> 32));
}

static inline uint64_t zl_read_u64be(const uint8_t *p) {
  uint64_t value = 0;
  for (int i = 0; i < 8; i++)
    value = value << 8 | p[i];
  return value;
}

static inline void zl_write_u64be(uint8_t *p, uint64_t value) {
  for (int i = 0; i < 8; i++)
    p[i] = (uint8_t)(value >> 8 * (7 - i));
}

static inline uint64_t zl_join_u64(uint32_t low, uint32_t high) {
  return (uint64_t)high << 32 | low;
}

#endif
