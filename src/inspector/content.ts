import type { CapturePart } from "../capture/events.js"
import { shippedIn } from "../capture/streams/messages.js"

/** Returns the content of a part: its plaintext, or the dictionary that it ships. */
export const contentOf = (part: CapturePart): Uint8Array | undefined =>
  shippedIn(part) ?? part.plain
