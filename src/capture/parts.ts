/** Parts of messages, without an object for each part of a message that has thousands. */
import type { CaptureMessage, CapturePart } from "./events.js"
import { isDictionary, shippedIn } from "./streams/messages.js"
import { PackedMessage } from "./streams/packed-message.js"

type Parts = Pick<CaptureMessage, "parts">

/** Returns the number of parts. */
export const partCount = (message: Parts): number =>
  PackedMessage.of(message)?.count ?? message.parts.length

/** Returns all parts, which may be made one by one. */
export const eachPart = (message: Parts): Iterable<CapturePart> =>
  PackedMessage.of(message)?.each() ?? message.parts

/** Returns the first part. */
export const firstPart = (message: Parts): CapturePart =>
  PackedMessage.of(message)?.first ?? (message.parts[0] as CapturePart)

/**
 * Returns parts for their forms, errors and values of `dictionary`, beginning with those of the first
 * part. Parts that only differ in their content have one in their place, without content.
 */
export const variousParts = (message: Parts): readonly CapturePart[] =>
  PackedMessage.of(message)?.alike ?? message.parts

/** Returns the dictionary that a message ships; undefined if it is none, or was refused. */
export const shipmentIn = (message: Parts): Uint8Array | undefined =>
  shippedIn(variousParts(message)[0] as CapturePart)

/** Returns whether a message is a dictionary, which may have been refused. */
export const isShipment = (message: Parts): boolean =>
  isDictionary((variousParts(message)[0] as CapturePart).kind)

/** Returns the first parts, up to a number of them. */
export function firstParts(message: Parts, count: number): CapturePart[] {
  const packed = PackedMessage.of(message)
  if (!packed) return message.parts.slice(0, count)
  const parts: CapturePart[] = []
  for (const part of packed.each()) {
    if (parts.length === count) break
    parts.push(part)
  }
  return parts
}

/** Bytes that a part has in an arena besides its plaintext, unless it is long. */
const HEAD_BYTES = 2

/**
 * Returns the bytes on the wire of each of the first parts of a message. Those from an arena share their
 * message's, in proportion to their sizes in it; the shares of all add up to it.
 */
export function wireBytesOf(
  message: Pick<CaptureMessage, "parts" | "wireBytes" | "plainBytes" | "arena">,
  parts: readonly CapturePart[],
): number[] {
  if (!message.arena) return parts.map(({ wire }) => wire.length)
  const whole = message.plainBytes + HEAD_BYTES * partCount(message)
  let end = 0
  let counted = 0
  return parts.map(({ plain }) => {
    end += (plain?.length ?? 0) + HEAD_BYTES
    const until = Math.floor((end / whole) * message.wireBytes)
    const wireBytes = until - counted
    counted = until
    return wireBytes
  })
}

/** Parts of an arena that are printed however few bytes the arena has, and of any message at most. */
const FREE_PARTS = 100
const PRINTED_MAX = 65_536

/** The parts of a message that are printed, and those after them. */
export interface PrintedParts {
  parts: readonly CapturePart[]
  /** Undefined if all are printed. */
  more: { parts: number; plainBytes: number } | undefined
}

/**
 * Returns the parts that are printed: of an arena's message the first 100, and one more for each byte on
 * the wire, so that the output is in proportion to the capture.
 *
 * @param max the number of parts that there is room for.
 */
export function printedParts(
  message: Pick<CaptureMessage, "parts" | "wireBytes" | "plainBytes" | "arena">,
  max: number = PRINTED_MAX,
): PrintedParts {
  const count = partCount(message)
  const paid = message.arena ? FREE_PARTS + message.wireBytes : count
  const parts = firstParts(message, Math.min(count, paid, max, PRINTED_MAX))
  if (parts.length === count) return { parts, more: undefined }
  const plainBytes = parts.reduce(
    (left, { plain }) => left - (plain?.length ?? 0),
    message.plainBytes,
  )
  return { parts, more: { parts: count - parts.length, plainBytes } }
}
