/** Returns a copy of bytes in which some bits of one byte are changed. */
export function flipped(bytes: Uint8Array, at: number, bits = 1): Uint8Array {
  const copy = bytes.slice()
  copy[at] = (copy[at] as number) ^ bits
  return copy
}
