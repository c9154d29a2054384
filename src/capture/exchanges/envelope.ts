/** What a question and its answer have in common, as text that can be compared. */
import type { CapturePart } from "../events.js"

/** Bytes that are compared. Two that are the same up to here count as the same. */
const COMPARED_BYTES = 512

/**
 * Returns the parts up to the first empty one, which REP sends back with its answer (a REQ sends only
 * the empty one, or before it an id with `ZMQ_REQ_CORRELATE`); undefined if there is no empty part, or
 * if a part before it does not decode.
 */
export function envelopeOf(parts: Iterable<CapturePart>): string | undefined {
  let envelope = ""
  let count = 0
  for (const { plain } of parts) {
    if (!plain) return undefined
    if (plain.length === 0) return count === 0 ? "" : `${count}:${envelope}`
    count++
    const room = COMPARED_BYTES - envelope.length
    if (room > 0) envelope += `${plain.length}:${latin1(plain.subarray(0, room))}`
  }
  return undefined
}

/** Number of parts of a message that `idOf` looks at. */
export const ID_PARTS = 3

/**
 * Returns the first part, or after an empty one the second, if it is not the last; undefined if
 * there is none, it does not decode, or is too long for an id.
 */
export function idOf(parts: readonly CapturePart[]): string | undefined {
  const at = parts[0]?.plain?.length === 0 ? 1 : 0
  const id = parts[at]?.plain
  if (!id || id.length > COMPARED_BYTES || at + 1 >= parts.length) return undefined
  return latin1(id)
}

const latin1 = (bytes: Uint8Array): string => String.fromCharCode(...bytes)
