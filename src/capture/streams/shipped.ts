import { SENTINEL_BYTES } from "../../codec/envelope.js"
import type { CapturePart } from "../events.js"

/** The dictionary that a part ships; undefined where it does not, or was refused. */
export function shippedIn({ kind, wire, error }: CapturePart): Uint8Array | undefined {
  return kind === "LZ4D" && !error ? wire.subarray(SENTINEL_BYTES) : undefined
}
