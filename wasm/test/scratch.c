/* The scratch regions. */
#include <string.h>

#include "../zeromq_lz4.h"
#include "test.h"

static void test_every_size(const void *of) {
  (void)of;
  static const uint32_t sizes[] = {0, 1, 12, 65535, 65536, 65537, 1 << 20, 3, 0, (1 << 20) + 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (uint32_t region = 0; region < ZL_SCRATCH_REGIONS; region++) {
      uint8_t *scratch = zl_scratch(region, sizes[i]);
      CHECK(scratch != NULL);
      if (scratch) memset(scratch, 0xA5, sizes[i]);
    }
  }
}

static void test_stays(const void *of) {
  (void)of;
  uint8_t *large = zl_scratch(ZL_INPUT, 1 << 20);
  for (uint32_t bytes = 0; bytes <= 1 << 20; bytes += 4099)
    CHECK(zl_scratch(ZL_INPUT, bytes) == large);
}

static void test_apart(const void *of) {
  (void)of;
  enum { BYTES = 100000 };
  uint8_t *input = zl_scratch(ZL_INPUT, BYTES);
  uint8_t *output = zl_scratch(ZL_OUTPUT, BYTES);
  memset(input, 1, BYTES);
  memset(output, 2, BYTES);
  for (int i = 0; i < BYTES; i++)
    CHECK(input[i] == 1);
  output = zl_scratch(ZL_OUTPUT, 50 * BYTES);
  memset(output, 3, 50 * BYTES);
  for (int i = 0; i < BYTES; i++)
    CHECK(input[i] == 1);
}

static void test_too_large(const void *of) {
  (void)of;
  static const uint32_t sizes[] = {UINT32_MAX, UINT32_MAX - 1, UINT32_MAX - 65535};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    CHECK(zl_scratch(ZL_INPUT, sizes[i]) == NULL);
    uint8_t *after = zl_scratch(ZL_INPUT, 1000);
    CHECK(after != NULL);
    if (after) memset(after, 1, 1000);
  }
}

int main(void) {
  RUN("a region has the bytes that were asked for, even none", test_every_size);
  RUN("a region stays where it is while it is large enough", test_stays);
  RUN("regions do not overlap", test_apart);
  RUN("a region after one that was too large", test_too_large);
  return test_result();
}
