import type { CapturePart } from "../capture/events.js"

const SENTINEL_BYTES = 4

/** What a part holds: its plaintext, and of the shipment of a dictionary, which has none, the dictionary. */
export function contentOf({ kind, wire, plain }: CapturePart): Uint8Array | undefined {
  return kind === "LZ4D" && plain ? wire.subarray(SENTINEL_BYTES) : plain
}
