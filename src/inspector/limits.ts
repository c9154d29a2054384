/** The largest message that is decoded: a page must not run out of memory for one. */
export const MAX_MESSAGE_BYTES: number = 256 << 20
