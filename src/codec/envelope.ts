/** What a part on the wire begins with (RFC.md section 4). */

/** What says which form it has. */
export const SENTINEL_BYTES = 4
/** That, and the size of the plaintext, which LZ4B and LZ4M have. */
export const HEAD_BYTES = 12
