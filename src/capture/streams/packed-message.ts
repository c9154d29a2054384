/**
 * Messages from arenas that have more parts than bytes on the wire. LZ4 makes thousands of parts out of
 * a few bytes, and an object for each takes hundreds. So these messages keep the frames of their arena,
 * and make parts when they are asked for.
 */
import { FrameHead, MORE } from "../../codec/frames.js"
import type { CaptureMessage, CapturePart } from "../events.js"

/** What the messages of an arena have in common. */
export interface PackedArena {
  /** A part in place of all, which only differ in their content. */
  alike: readonly [CapturePart]
  /** Its decompressed body. */
  frames: Uint8Array
}

/** The place of a message's frames in those of its arena, and what is in them. */
export interface PackedPlace {
  start: number
  end: number
  parts: number
  plainBytes: number
}

/** Returns the places of the messages of an arena that was checked. */
export function placesIn(frames: Uint8Array): PackedPlace[] {
  const places: PackedPlace[] = []
  const head = new FrameHead()
  let [start, parts, plainBytes] = [0, 0, 0]
  for (let at = 0; at < frames.length; ) {
    at = head.read(frames, at) + head.bodyBytes
    parts++
    plainBytes += head.bodyBytes
    if (head.flags & MORE) continue
    places.push({ start, end: at, parts, plainBytes })
    start = at
    parts = plainBytes = 0
  }
  return places
}

type Packed = Pick<CaptureMessage, "parts" | "wireBytes" | "plainBytes" | "arena">

export class PackedMessage implements Packed {
  readonly #of: PackedArena
  readonly #place: PackedPlace
  /** Whether a caller has given it other parts. */
  #isReplaced = false
  declare parts: CapturePart[]
  readonly wireBytes: number
  readonly plainBytes: number
  readonly arena: CaptureMessage["arena"]

  constructor(of: PackedArena, place: PackedPlace, wireBytes: number, arena: Packed["arena"]) {
    this.#of = of
    this.#place = place
    this.wireBytes = wireBytes
    this.plainBytes = place.plainBytes
    this.arena = arena
    Object.defineProperty(this, "parts", PackedMessage.#parts)
  }

  /** Returns a message if it is packed; undefined if all its parts are there. */
  static of(message: Pick<CaptureMessage, "parts">): PackedMessage | undefined {
    return #of in message && !message.#isReplaced ? message : undefined
  }

  get count(): number {
    return this.#place.parts
  }

  /** A part with the form of all, but not their content. */
  get alike(): readonly [CapturePart] {
    return this.#of.alike
  }

  get frameBytes(): number {
    return this.#place.end - this.#place.start
  }

  /** Its frames, as they are over plain ZMTP. */
  get frames(): Uint8Array {
    return this.#of.frames.subarray(this.#place.start, this.#place.end)
  }

  /** Returns the content of all parts, with a byte between each two if one is given. */
  joined(separator?: number): Uint8Array {
    const { parts, plainBytes } = this.#place
    const { frames } = this
    const between = separator === undefined ? 0 : 1
    const joined = new Uint8Array(plainBytes + between * (parts - 1)).fill(separator ?? 0)
    const head = new FrameHead()
    for (let at = 0, end = 0; at < frames.length; end += head.bodyBytes + between) {
      const start = head.read(frames, at)
      at = start + head.bodyBytes
      joined.set(frames.subarray(start, at), end)
    }
    return joined
  }

  /** Makes the first part. */
  get first(): CapturePart {
    return this.each().next().value as CapturePart
  }

  /** Makes the parts one by one. */
  *each(): Generator<CapturePart, undefined> {
    const { frames, alike } = this.#of
    const head = new FrameHead()
    for (let at = this.#place.start; at < this.#place.end; ) {
      const start = head.read(frames, at)
      at = start + head.bodyBytes
      yield { ...alike[0], plain: frames.subarray(start, at) }
    }
  }

  /** A property of each message itself, not of its class, so that a copy of the message has it too. */
  static readonly #parts: PropertyDescriptor & ThisType<PackedMessage> = {
    enumerable: true,
    configurable: true,
    get() {
      if (last?.message !== this) last = { message: this, parts: [...this.each()] }
      return last.parts
    },
    set(value: CapturePart[]) {
      this.#isReplaced = true
      Object.defineProperty(this, "parts", { value, writable: true })
    },
  }
}

/** The message whose parts were asked for last, because a loop may ask for them at each part. */
let last: { message: PackedMessage; parts: CapturePart[] } | undefined
