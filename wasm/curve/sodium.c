/* What the compiled files of libsodium need of the others: how to wipe memory, and the choice of an
 * implementation, which libsodium makes when a program starts. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "utils.h"

#include "core.h"
#include "private/implementations.h"
#include "randombytes.h"
#include "runtime.h"

/* libsodium wipes a few bytes several times for each message. A loop takes less time for that than
 * the engine's memory.fill, which the barrier keeps it from becoming; nor is what nobody reads left
 * out. */
void sodium_memzero(void *const bytes, const size_t length) {
  uint8_t *at = bytes;
  uint8_t *const end = at + length;
  for (; end - at >= (ptrdiff_t)sizeof(uint64_t); at += sizeof(uint64_t)) {
    memset(at, 0, sizeof(uint64_t));
    __asm__ __volatile__("" : : "r"(at) : "memory");
  }
  for (; at < end; at++) {
    *at = 0;
    __asm__ __volatile__("" : : "r"(at) : "memory");
  }
}

/* WebAssembly has SIMD in all engines since 2021, and every x86-64 has SSE2. */
int sodium_runtime_has_sse2(void) {
  return 1;
}

/* Only functions that nobody calls refer to these. Random bytes come from node:crypto. */
int sodium_is_zero(const unsigned char *bytes, const size_t length) {
  (void)bytes;
  (void)length;
  __builtin_trap();
}
void randombytes_buf(void *const bytes, const size_t length) {
  (void)bytes;
  (void)length;
  __builtin_trap();
}
void sodium_misuse(void) {
  __builtin_trap();
}

__attribute__((constructor)) static void choose(void) {
  _crypto_stream_salsa20_pick_best_implementation();
}
