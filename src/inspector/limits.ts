/** Maximum size of a message that is decoded, so that a single one cannot use up the page's memory. */
export const MAX_MESSAGE_BYTES: number = 256 << 20
