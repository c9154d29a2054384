/* Scratch memory: one region for input and one for output, shared by everything on the thread, so
 * that a part costs no allocation. */
#include <stdlib.h>

#include "zeromq_lz4.h"

/* Regions grow in steps, so that not every larger part allocates memory. */
#define STEP 65536u

/* If a load and an earlier store have nearly the same offset in their 4 KiB pages, processors take
 * them for the same address and wait: copies were 20 times slower when a plain part moved by its
 * sentinel. So the regions begin at different offsets, none of them near 0, where JavaScript's
 * buffers begin. */
#define PAGE 4096u
#define PLACE(region) (PAGE / 4 + (region) * (PAGE / 2))
_Static_assert(PLACE(ZL_SCRATCH_REGIONS - 1) <= PAGE, "a region ends within two pages more");

static struct {
  uint8_t *allocated;
  uint8_t *start;
  uint32_t bytes;
} regions[ZL_SCRATCH_REGIONS];

uint8_t *zl_scratch(uint32_t region, uint32_t bytes) {
  if (!regions[region].start || regions[region].bytes < bytes) {
    if (bytes > UINT32_MAX - STEP - 2 * PAGE) return NULL;
    uint32_t rounded = bytes / STEP * STEP + STEP; /* not 0: that would mean no memory */
    /* Free it first: its content is not needed, and there may not be room for both. */
    free(regions[region].allocated);
    uint8_t *allocated = malloc(rounded + 2 * PAGE);
    uint32_t past = (uint32_t)((uintptr_t)allocated % PAGE);
    regions[region].allocated = allocated;
    regions[region].start = allocated ? allocated + (PAGE - past) + PLACE(region) : NULL;
    regions[region].bytes = allocated ? rounded : 0;
  }
  return regions[region].start;
}
