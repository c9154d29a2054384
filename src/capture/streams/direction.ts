import { GREETING_BYTES, SIGNATURE_BYTES } from "../../zmtp/greeting.js"
import type { CaptureError, Side, Time } from "../events.js"
import { byteText, type FrameHandlers, FrameReader } from "./frame-reader.js"
import { type Expectation, FrameSearch } from "./frame-search.js"
import { GreetingReader } from "./greeting-reader.js"
import type { Holder, Unfinished } from "./memory.js"

/** Events of a direction. */
export interface DirectionHandlers extends FrameHandlers {
  /** The signature of a greeting was read. */
  signature(): void
  /** A whole greeting was read; of ZMTP 1 or 2, the bytes up to its version. */
  greeting(from: Side, bytes: Uint8Array, time: Time, offset: number): void
  /** Frames were found in a connection that might have been of any protocol. */
  framesFound(): void
  /** Bytes are skipped unless frames are found in them, which are read then. */
  skipped(start: number, end: number): void
  read(start: number, end: number): void
  /** Bytes were lost or skipped. */
  missed(from: Side): void
  /** Whether the connection looks like ZMTP and was announced. */
  readonly isAnnounced: boolean
  readonly expectation: Expectation
}

type State =
  /** Reading the greeting. */
  | "greeting"
  /** Another protocol. Its first bytes are kept for the error. */
  | "foreign"
  | "frames"
  /** Searching for the next frame after frames were lost. */
  | "search"
  /** Ignoring the rest. */
  | "over"

/** One direction of a connection: its greeting, then frames, and a search for frames after each loss. */
export class Direction implements Holder {
  readonly #from: Side
  readonly #handlers: DirectionHandlers
  readonly #begun: boolean
  readonly #unfinished: Unfinished
  /** The bytes that #unfinished counts for this direction. */
  #counted = 0
  #state: State = "greeting"
  #hasEnded = false
  readonly #greeting = new GreetingReader()
  readonly #frames: FrameReader
  #search: FrameSearch | undefined

  constructor(
    handlers: DirectionHandlers,
    from: Side,
    begun: boolean,
    budgetBytes: number,
    unfinished: Unfinished,
  ) {
    this.#handlers = handlers
    this.#from = from
    this.#begun = begun
    this.#unfinished = unfinished
    this.#frames = new FrameReader(handlers, from, budgetBytes)
  }

  get isForeign(): boolean {
    return this.#state === "foreign"
  }

  data(bytes: Uint8Array, offset: number, time: Time): void {
    let at = 0
    if (this.#state === "greeting" || this.#state === "foreign")
      at = this.#greet(bytes, offset, time)
    if (this.#state === "frames") at = this.#readFrames(bytes, at, offset, time)
    if (this.#state === "search" && this.#search) {
      this.#handlers.skipped(offset + at, offset + bytes.length)
      this.#search.push(bytes.subarray(at), offset + at, time)
      this.#find(this.#search, false)
    }
    this.#count(time)
  }

  /** Handles missing bytes. If `isTold`, the reason has been reported, and they are not. */
  gap(bytes: number, offset: number, time: Time, isTold = false): void {
    this.#lose(bytes, offset, time, isTold)
    this.#count(time)
  }

  #lose(bytes: number, offset: number, time: Time, isTold: boolean): void {
    this.#endSearch(time)
    if (this.#state === "foreign" || this.#state === "over") return
    this.#handlers.missed(this.#from)
    const report = (what: string) => {
      if (isTold) return
      this.#error(
        "ERR_CAPTURE_GAP",
        `${byteText(bytes)} missing from the capture${what}`,
        offset,
        time,
      )
    }
    const lost = this.#state === "frames" ? this.#frames.lossOf(bytes) : undefined
    if (this.#state === "greeting" && this.#greeting.skip(bytes)) {
      report(": of the greeting")
      if (this.#greeting.isComplete) this.#state = "frames"
    } else if (lost) {
      report(`, ${lost}`)
      this.#frames.skip(bytes, offset, time)
    } else {
      report(": their content is lost; the start of the next frame is a guess")
      this.#startSearch(offset, 0, isTold)
    }
  }

  /** Ends the direction. Returns whether it ends between messages. */
  end(time: Time, cut: boolean): boolean {
    this.#hasEnded = true
    this.#endSearch(time)
    this.describeForeign()
    let place: string | undefined
    if (this.#state === "frames") place = this.#frames.end()
    else if (this.#state === "greeting" && this.#greeting.length > 0)
      place = "in the middle of the greeting"
    if (place !== undefined) {
      const offset = this.#state === "greeting" ? this.#greeting.offset : this.#frames.offset
      const what = cut ? "the capture" : "the connection"
      this.#error("ERR_CAPTURE_TRUNCATED", `${what} ends ${place}`, offset, time)
    }
    this.stop()
    return place === undefined
  }

  /** Ignores everything that follows. */
  stop(): void {
    this.#state = "over"
    this.#search = undefined
    this.#frames.drop()
    this.#count(undefined)
  }

  /** Drops the unfinished message, command or search: all connections together take too much memory. */
  forget(time: Time): void {
    this.#counted = 0
    const max = `the unfinished messages of all connections take more than ${this.#unfinished.maxBytes} bytes`
    if (!this.#search) {
      this.#frames.forget(max, time)
      return
    }
    const { length } = this.#search
    this.#search.drop()
    const message = `${max}: ${byteText(length)} in which frames are searched: skipped`
    this.#error("ERR_CAPTURE_UNREADABLE", message, this.#frames.offset, time)
  }

  /** Counts the memory in use. */
  #count(time: Time): void {
    const bytes = this.#frames.heldBytes + (this.#search?.heldBytes ?? 0)
    if (bytes === this.#counted) return
    this.#counted = bytes
    this.#unfinished.set(this, bytes, time)
  }

  /** Reports once which protocol this is instead of ZMTP, as soon as there are enough bytes. */
  describeForeign(): void {
    if (!this.isForeign || !this.#handlers.isAnnounced) return
    const { offset, time } = this.#greeting
    const message = this.#greeting.describe(this.#hasEnded)
    if (message !== undefined) this.#error("ERR_ZMTP_GREETING", message, offset, time)
  }

  /** Reads the greeting. Returns the position after its bytes. */
  #greet(bytes: Uint8Array, offset: number, time: Time): number {
    const greeting = this.#greeting
    if (greeting.offset < 0) {
      greeting.offset = this.#frames.offset = offset
      greeting.time = time
      if (!this.#begun && bytes[0] !== 0xff) {
        this.#startSearch(offset, 0)
        return 0
      }
    }
    const hadSignature = greeting.hasSignature
    // The signature is checked first, because without one this is not a greeting.
    let at = greeting.take(bytes, 0, SIGNATURE_BYTES)
    if (!greeting.isPossible && !this.#begun) {
      this.#handlers.skipped(offset, offset + at)
      this.#startSearch(greeting.offset, greeting.length)
      return at
    }
    at = greeting.take(bytes, at, GREETING_BYTES)
    if (!greeting.isPossible) {
      this.#state = "foreign"
      this.describeForeign()
      return bytes.length
    }
    if (greeting.hasSignature && !hadSignature) this.#handlers.signature()
    if (greeting.isComplete) this.#state = "frames"
    const whole = greeting.release()
    if (whole) this.#handlers.greeting(this.#from, whole, time, greeting.offset)
    return at
  }

  /** Reads frames. Returns the position where it stopped, as FrameReader.read does. */
  #readFrames(bytes: Uint8Array, start: number, offset: number, time: Time): number {
    const at = this.#frames.read(bytes, start, offset, time)
    const { refusedBytes } = this.#frames
    if (refusedBytes > 0) {
      this.#handlers.missed(this.#from)
      this.#startSearch(this.#frames.offset, refusedBytes)
    }
    return at
  }

  /** Searches for a frame, at `offset` or after `skipped` bytes there. */
  #startSearch(offset: number, skipped: number, isTold = false): void {
    this.#state = "search"
    this.#frames.reset()
    this.#search ??= new FrameSearch()
    this.#search.begin(offset, skipped, isTold)
  }

  /** Reads the bytes that the search has kept. */
  #find(search: FrameSearch, final: boolean): void {
    while (search.length > 0) {
      if (this.#state === "search") {
        if (!search.find(this.#handlers.expectation, final)) {
          search.compact()
          return
        }
        this.#state = "frames"
        this.#handlers.framesFound()
        if (search.skipped > 0)
          this.#reportSkipped(
            search,
            "up to the first frame that could be found",
            search.next().time,
          )
      }
      const { bytes, offset, time } = search.next()
      const read = this.#readFrames(bytes, 0, offset, time)
      this.#handlers.read(offset, offset + read)
      search.advance(read)
    }
    if (this.#state !== "search") this.#search = undefined
  }

  /** Searches in the bytes before a loss or the end, after which nothing else can be found. */
  #endSearch(time: Time): void {
    if (this.#search) this.#find(this.#search, true)
    if (this.#state === "search" && this.#search && this.#search.skipped > 0)
      this.#reportSkipped(this.#search, "", time)
  }

  #reportSkipped({ skipped, offset, isTold }: FrameSearch, upTo: string, time: Time): void {
    if (isTold) return
    const message = `${byteText(skipped)} skipped${upTo ? ` ${upTo}` : ": no frame was found in them"}`
    this.#error("ERR_CAPTURE_UNREADABLE", message, offset, time)
  }

  #error(code: CaptureError["code"], message: string, offset: number, time: Time): void {
    this.#handlers.error({ code, message, time, from: this.#from, offset })
  }
}
