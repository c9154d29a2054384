/* Scratch memory: one region for input and one for output, shared by everyone on
 * the thread, so that a part costs no allocation. */
#include <stdlib.h>

#include "zeromq_lz4.h"

/* Regions grow in these steps, so that growing parts don't each allocate anew. */
#define STEP 65536u

static struct {
  uint8_t *start;
  uint32_t bytes;
} regions[ZL_SCRATCH_REGIONS];

uint8_t *zl_scratch(uint32_t region, uint32_t bytes) {
  if (!regions[region].start || regions[region].bytes < bytes) {
    if (bytes > UINT32_MAX - STEP) return NULL;
    uint32_t rounded = bytes / STEP * STEP + STEP; /* not 0: that would mean no memory */
    /* Freed first: its content is not kept, and two at once might not fit. */
    free(regions[region].start);
    regions[region].start = malloc(rounded);
    regions[region].bytes = regions[region].start ? rounded : 0;
  }
  return regions[region].start;
}
