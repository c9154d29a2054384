/**
 * The distance between the offsets of two files that are read together: an offset in the second one
 * is this number more than in the first one, and so on.
 */
export const FILE_STRIDE: number = 2 ** 40
/** More files would have offsets that numbers cannot represent. */
export const MAX_FILES = 4096

/**
 * Returns which of several files an offset means, counted from 0, and which byte of it. Errors and the
 * `ranges` of messages have such offsets.
 */
export function placeOf(offset: number): { file: number; offset: number } {
  const file = Math.floor(offset / FILE_STRIDE)
  return { file, offset: offset - file * FILE_STRIDE }
}
