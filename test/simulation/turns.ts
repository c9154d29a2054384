/** The turns of decoding of one thread: whoever used least of its time comes first. */
import type { Readable } from "../../src/transport/read-order.js"
import type { World } from "./world.js"

/** Turns of the event loop until a connection that has been quiet is decoded, if there is time in them. */
const TURNS_MAX = 1

interface Waiting {
  /** The virtual time at which the next slice may begin. */
  readonly startMs: number
  readonly isQuiet: boolean
  /** Whether it waits for its program, until the next turn of the event loop. */
  isHeld: boolean
  /** Number of turns of the event loop that ended with time left. */
  turns: number
}

/**
 * Follows the turns of decoding, and keeps its own account of them: start-time fair queueing. The
 * engine reports what it does, and the milliseconds that it took.
 */
export class Turns {
  readonly #world: World
  readonly #used = new WeakMap<Readable, number>()
  readonly #waiting = new Map<Readable, Waiting>()
  #virtualMs = 0
  /** Milliseconds of decoding since the event loop last had its turn. */
  #spentMs = 0
  /** The longest slice so far. */
  #longestMs = 0

  /** Whether a slice is being decoded, and the frames read in it since the engine looked at the clock. */
  #isReading = false
  #frames = 0
  readonly #framesMax: number

  /** @param operations maximum number of frames that a session reads in one call. */
  constructor(world: World, operations: number) {
    this.#world = world
    // Those that were kept may be followed by a large one that was read into place, and by more.
    this.#framesMax = 2 * operations + 1
  }

  /**
   * @param turnMs the time of decoding in a turn of the event loop
   * @param creditMs the unused share that a connection keeps
   */
  joined(readable: Readable, turnMs: number, creditMs: number): void {
    const usedMs = this.#used.get(readable) ?? this.#virtualMs + turnMs
    const startMs = Math.max(this.#virtualMs - creditMs, usedMs)
    const isQuiet = usedMs + creditMs / 2 <= this.#virtualMs
    this.#waiting.set(readable, {
      startMs,
      isQuiet,
      isHeld: false,
      turns: 0,
    })
  }

  /** A slice begins. @param startMs its virtual time */
  begins(readable: Readable, startMs: number): void {
    this.#virtualMs = Math.max(this.#virtualMs, startMs)
    this.#isReading = true
    this.#frames = 0
    const own = this.#waiting.get(readable)
    this.#waiting.delete(readable)
    // One that has been quiet need not get in line, but does not go before those that used less.
    const [ownMs, leewayMs] = own ? [own.startMs, this.#longestMs] : [startMs, 0]
    for (const { startMs: otherMs, isHeld } of this.#waiting.values())
      if (!isHeld && otherMs + leewayMs < ownMs)
        this.#world.fail(
          "whoever used least of the time decodes first",
          `a slice begins at ${ownMs} ms, and another could have begun at ${otherMs} ms`,
        )
  }

  /**
   * @param startMs the virtual time at which the slice began
   * @param tookMs the time that it took
   * @param usedMs the share that it used
   */
  ended(readable: Readable, startMs: number, tookMs: number, usedMs: number): void {
    this.#isReading = false
    this.#longestMs = Math.max(this.#longestMs, usedMs)
    this.#spentMs += tookMs
    this.#used.set(readable, startMs + usedMs)
  }

  /** A handshake of CURVE computes the key that it shares with its peer, which takes longest. */
  exchanged(): void {
    if (!this.#isReading)
      this.#world.fail("handshakes of CURVE are read in turns", "a key was computed out of turn")
  }

  /** A frame is read. */
  framed(): void {
    if (this.#isReading && ++this.#frames > this.#framesMax)
      this.#world.fail(
        "a slice ends in time",
        `${this.#frames} frames were read without a look at the clock`,
      )
  }

  /** The engine looks at the clock. */
  looked(): void {
    this.#frames = 0
  }

  /** The connection whose turn it was waits for its program. */
  held(readable: Readable): void {
    const one = this.#waiting.get(readable)
    if (one) one.isHeld = true
  }

  /** The event loop has had its turn. @param turnMs the time of decoding in one */
  paused(turnMs: number): void {
    for (const one of this.#waiting.values()) one.isHeld = false
    const spentMs = this.#spentMs
    this.#spentMs = 0
    if (spentMs >= turnMs) return
    for (const one of this.#waiting.values())
      if (one.isQuiet && ++one.turns > TURNS_MAX)
        this.#world.fail(
          "a quiet connection waits for nobody's program",
          `it could begin at ${one.startMs} ms, and waits for ${one.turns} turns`,
        )
  }
}
