import { frameHeadLength } from "../codec/frames.js"
import { SENTINEL_BYTES } from "../codec/wire.js"

/** Approximate size of the training data. More samples are thinned out evenly. */
const TRAINED_BYTES = 1 << 20

/** Chooses messages evenly, up to the size that training uses. */
export function thinOut(messages: readonly (readonly Uint8Array[])[]): Uint8Array[] {
  const bytes = messages.flat().reduce((sum, { length }) => sum + length, 0)
  const step = Math.max(1, bytes / TRAINED_BYTES)
  const chosen = Math.ceil(messages.length / step)
  return Array.from(
    { length: chosen },
    (_, i) => messages[Math.floor(i * step)] as Uint8Array[],
  ).flat()
}

/** Returns the bytes of a dictionary on the wire, which each connection sends first, with the head of its frame. */
export const shippedBytes = ({ length }: Uint8Array): number =>
  frameHeadLength(SENTINEL_BYTES + length) + SENTINEL_BYTES + length
