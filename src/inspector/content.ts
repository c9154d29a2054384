import type { CapturePart } from "../capture/events.js"
import { shippedIn } from "../capture/streams/messages.js"

/** What a part holds: its plaintext, and of the shipment of a dictionary, which has none, the dictionary. */
export const contentOf = (part: CapturePart): Uint8Array | undefined =>
  shippedIn(part) ?? part.plain
