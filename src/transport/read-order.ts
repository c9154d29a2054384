import { Heap } from "../base/heap.js"

/**
 * How much unused share a connection keeps, in virtual milliseconds. A connection with half of it left
 * has been quiet.
 */
export const CREDIT_MS = 0.4
/**
 * Slices of up to so many milliseconds are charged in part only, because most of the time is that of a
 * call, which a question takes like a flood's 256 KiB.
 */
const SHORT_MS = 0.05
const SHORT_CHARGE = 0.25

/** A connection that has bytes to decode. */
export interface Readable {
  /**
   * The virtual time until which the connection has used its share, in milliseconds of decoding. It
   * belongs to the line; undefined at first.
   */
  shareMs: number | undefined
  /**
   * Whether the program that receives the messages has more of them than it may receive in one turn of
   * the event loop. It goes first then: messages are received fastest just after they were decoded,
   * and piled up they take memory.
   */
  readonly isBehind: boolean
  /** Decodes one slice. Returns whether to put the connection in line again. */
  readSlice(): boolean
}

/** A connection in line. */
export interface InLine {
  readonly readable: Readable
  /** The virtual time at which its slice may begin. */
  readonly startMs: number
  /** Whether it has been quiet, so that it does not wait for its program. */
  readonly isQuiet: boolean
  /** Number of connections put in line before it. */
  readonly number: number
}

const isFirst = (one: InLine, other: InLine) =>
  one.startMs < other.startMs || (one.startMs === other.startMs && one.number < other.number)

/** Returns how much of a connection's share a slice of so many milliseconds uses. */
export function charged(tookMs: number): number {
  return tookMs - (1 - SHORT_CHARGE) * Math.min(tookMs, SHORT_MS)
}

/**
 * The line is start-time fair queueing: a slice begins when the connection has used the share that it
 * had so far, or at once if it has been quiet, and the one that may begin first is decoded next. So
 * whoever used least of the time comes first, and nobody who is always in line waits for ever.
 */
export class ReadOrder {
  readonly #turnMs: number
  readonly #line = new Heap(isFirst)
  /** Connections whose turn has come, but whose programs are behind. */
  #held: InLine[] = []
  #joined = 0
  /** The lowest number in line, or the next one if nobody is; undefined until it is looked for again. */
  #lowest: number | undefined
  /** The virtual time: the start of the last slice, in milliseconds. */
  #virtualMs = 0

  /** @param turnMs milliseconds of decoding in a turn of the event loop. */
  constructor(turnMs: number) {
    this.#turnMs = turnMs
  }

  /** Number of connections in line whose turn has not come. */
  get length(): number {
    return this.#line.length
  }

  get holds(): boolean {
    return this.#held.length > 0
  }

  /** Number of connections ever put in line. */
  get joined(): number {
    return this.#joined
  }

  /**
   * Returns whether all of the first `count` connections that were ever put in line have had their turn.
   */
  isServed(count: number): boolean {
    // Looked for once for all deadlines of a turn: there may be as many as connections in line.
    this.#lowest ??= this.#lowestNumber()
    return this.#lowest >= count
  }

  #lowestNumber(): number {
    let found = this.#joined
    for (const lines of [this.#line, this.#held])
      for (const { number } of lines) found = Math.min(found, number)
    return found
  }

  /**
   * Returns whether a connection that is not in line may decode before those that are: it has been
   * quiet, and used less than all of them. Among many that ask one question after the other, who has
   * just been answered would otherwise go before those that still wait.
   */
  goesFirst(readable: Readable): boolean {
    if (!this.#isQuiet(readable)) return false
    const { first } = this.#line
    return first === undefined || this.#startOf(readable) < first.startMs
  }

  join(readable: Readable): void {
    const startMs = this.#startOf(readable)
    this.#line.add({ readable, startMs, isQuiet: this.#isQuiet(readable), number: this.#joined++ })
  }

  /** Returns the virtual time for a slice of a connection that decodes without waiting in line. */
  startNow(readable: Readable): number {
    return readable.shareMs === undefined ? this.#virtualMs : this.#startOf(readable)
  }

  /**
   * Returns when the next slice of a connection may begin. A new connection begins behind those that
   * have been quiet, or a flood of them would go before all others.
   */
  #startOf({ shareMs }: Readable): number {
    if (shareMs === undefined) return this.#virtualMs + this.#turnMs
    return Math.max(this.#virtualMs - CREDIT_MS, shareMs)
  }

  /** Returns whether a connection has used clearly less than its share. */
  #isQuiet({ shareMs }: Readable): boolean {
    return shareMs !== undefined && shareMs + CREDIT_MS / 2 <= this.#virtualMs
  }

  /** Takes the connection whose turn it is. */
  take(): InLine | undefined {
    const next = this.#line.take()
    if (next?.number === this.#lowest) this.#lowest = undefined
    return next
  }

  /** Holds one that was taken until `release()`. */
  hold(one: InLine): void {
    this.#held.push(one)
  }

  release(): void {
    const held = this.#held
    this.#held = []
    for (const one of held) this.#line.add(one)
  }

  /** A slice of the connection that was taken, or asked for its start, begins at this virtual time. */
  begin(startMs: number): void {
    this.#virtualMs = Math.max(this.#virtualMs, startMs)
  }

  /** The slice has ended, and took so many milliseconds. */
  end(readable: Readable, startMs: number, tookMs: number): void {
    readable.shareMs = startMs + charged(tookMs)
  }
}
