import type { CaptureMessage } from "../capture/events.js"

const SENTINEL_BYTES = 4

/** The dictionary that a message ships, if that is what it does. */
export function shippedIn({ parts }: CaptureMessage): Uint8Array | undefined {
  const [part] = parts
  if (parts.length !== 1 || part?.kind !== "LZ4D" || part.error) return undefined
  return part.wire.subarray(SENTINEL_BYTES)
}
