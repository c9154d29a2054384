/**
 * The numbers that all formats have on the wire and in the interfaces of their modules. The C code has
 * the same; test/unit/codec/wire.test.ts compares them.
 */

/** Size of the sentinel, which tells the form of a part. */
export const SENTINEL_BYTES = 4
/** The sentinel of plain parts. */
export const PLAIN_HEAD: Uint8Array = new Uint8Array(SENTINEL_BYTES)
/** Maximum size of a dictionary, in bytes. */
export const DICTIONARY_MAX_BYTES = 8192

export const ARENA_HEAD_BYTES = 16
/** Maximum size of all frames of an arena, in bytes. */
export const ARENA_MAX_BYTES = 65536
export const ARENA_PART_MAX_BYTES: number = ARENA_HEAD_BYTES + ARENA_MAX_BYTES

/** The form of a part, as the module reports it. */
export const PLAIN = 1
export const DICTIONARY = 4
export const ARENA = 5

/** The position of a part in its message. A single part is both first and last. */
export const FIRST = 1
export const LAST = 2
export const ALONE: number = FIRST | LAST

/** Splits a 64-bit number into the two halves that the module takes. */
export function uint64(value: number): [low: number, high: number] {
  return [value >>> 0, Math.floor(value / 2 ** 32)]
}

/** Returns the sentinel at the start of a part of at least four bytes. */
export function readSentinel(part: Uint8Array): number {
  return new DataView(part.buffer, part.byteOffset, SENTINEL_BYTES).getUint32(0, true)
}

/** Writes a sentinel to the start of a part. */
export function writeSentinel(part: Uint8Array, sentinel: number): void {
  for (let byte = 0; byte < SENTINEL_BYTES; byte++) part[byte] = (sentinel >>> (8 * byte)) & 0xff
}
