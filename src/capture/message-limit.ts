/**
 * Maximum plaintext of a message that a person looks at, in bytes: a few bytes of a capture can declare
 * gigabytes.
 */
export const MESSAGE_MAX_BYTES: number = 256 << 20
