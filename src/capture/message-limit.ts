/**
 * Maximum plaintext of a message that a person looks at, in bytes: a few bytes of a capture can declare
 * gigabytes.
 */
export const MESSAGE_MAX_BYTES: number = 256 << 20

/** Maximum number of parts of a message: a small part takes more memory than its bytes. */
export const MESSAGE_MAX_PARTS: number = 1 << 20
