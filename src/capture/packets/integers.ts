/** Integers in the byte order of the network. */

export const u16 = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] as number) << 8) | (bytes[at + 1] as number)

export const u32 = (bytes: Uint8Array, at: number): number =>
  ((u16(bytes, at) << 16) | u16(bytes, at + 2)) >>> 0
