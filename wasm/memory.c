/* Scratch memory: one region for input and one for output, shared by everyone on
 * the thread, so that a part costs no allocation. */
#include <stdlib.h>

#include "zeromq_lz4.h"

/* Regions grow in these steps, so that growing parts don't each allocate anew. */
#define STEP 65536u

/* Processors take bytes that lie a little further in their 4 KiB than what is being
 * copied for the same, and wait: copies were 20 times slower where a plain part moved
 * by its sentinel. So the regions begin at different places, and none where JavaScript's
 * buffers do, near 0. */
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
    /* Freed first: its content is not kept, and two at once might not fit. */
    free(regions[region].allocated);
    uint8_t *allocated = malloc(rounded + 2 * PAGE);
    uint32_t past = (uint32_t)((uintptr_t)allocated % PAGE);
    regions[region].allocated = allocated;
    regions[region].start = allocated ? allocated + (PAGE - past) + PLACE(region) : NULL;
    regions[region].bytes = allocated ? rounded : 0;
  }
  return regions[region].start;
}
