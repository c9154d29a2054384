import { allocate, concat } from "../../codec/arrays.js"
import { DESCRIBED_BYTES, describeGreeting } from "../../codec/describe-greeting.js"
import {
  areFlags,
  BODY_MAX_BYTES,
  COMMAND,
  frameError,
  MORE,
  StreamHead,
} from "../../codec/frames.js"
import { ARENA_PART_MAX_BYTES, BLOCK_MAX_BYTES, EXPANSION_MAX } from "../../codec/wire.js"
import { COMMAND_MAX_BYTES } from "../../zmtp/commands.js"
import { GREETING_BYTES, isOld, mayGreet, SIGNATURE_BYTES } from "../../zmtp/greeting.js"
import type { CaptureError, Side, Time } from "../events.js"
import { MESSAGE_MAX_PARTS } from "../message-limit.js"
import { type Expectation, FrameSearch } from "./frame-search.js"
import type { Holder, Unfinished } from "./memory.js"

/** Initial room for a body that arrives in pieces. */
const BODY_ROOM_BYTES = 512
/** The factor by which the room grows. More would reserve memory that may never be used. */
const BODY_GROWTH = 2
/** Memory of a part besides its bytes, and of a number in `ranges`, in bytes. */
const PART_BYTES = 200
const NUMBER_BYTES = 8
/**
 * The maximum that a part's form adds to its plaintext: a head, and a length for each block (RFC.md
 * section 5.2).
 */
const PART_EXTRA_BYTES = 32
const BLOCK_EXTRA_BYTES = 20
const NOTHING = new Uint8Array(0)

/** Events of a direction. */
export interface DirectionHandlers {
  /** The signature of a greeting was read. */
  signature(): void
  /** A whole greeting was read; of ZMTP 1 or 2, the bytes up to its version. */
  greeting(from: Side, bytes: Uint8Array, time: Time, offset: number): void
  /** Frames were found in a connection that might have been of any protocol. */
  framesFound(): void
  /** `ranges` is where the body is in the file, as in CaptureMessage.ranges. */
  command(from: Side, body: Uint8Array, time: Time, offset: number, ranges: number[]): void
  /** These bytes of a command belong to one that is not complete. */
  commandLost(ranges: number[]): void
  /** Bytes are skipped unless frames are found in them, which are read then. */
  skipped(start: number, end: number): void
  read(start: number, end: number): void
  message(from: Side, wire: Uint8Array[], ranges: number[], time: Time): void
  /** Bytes were lost or skipped. */
  missed(from: Side): void
  error(error: CaptureError): void
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

/**
 * One direction of a connection: reads its bytes, and passes on the greeting, commands and the
 * parts of messages.
 */
export class Direction implements Holder {
  readonly #from: Side
  readonly #handlers: DirectionHandlers
  readonly #begun: boolean
  /** Maximum plaintext of a message; -1 is no limit. */
  readonly #budgetBytes: number
  readonly #unfinished: Unfinished
  /** The bytes that #unfinished counts for this direction. */
  #counted = 0
  #state: State = "greeting"

  /** The bytes of the greeting so far; those in a gap are zero. */
  #greeting: Uint8Array = new Uint8Array(GREETING_BYTES)
  #greetingBytes = 0
  /** Whether bytes of the greeting are missing. */
  #damaged = false
  #described = false
  #startOffset = -1
  #startTime: Time
  /** The file offset of the current frame. */
  #offset = 0

  #head = new StreamHead()
  /** The bytes of a head that is split between segments. */
  #headStart: Uint8Array = NOTHING
  /** Length of the body; -1 between frames. */
  #length = -1
  /**
   * The bytes of the body so far. It grows with the bytes that arrive, not with the length that the
   * head declares.
   */
  #body: Uint8Array | undefined
  #bodyBytes = 0
  /** Whether bytes of the body are missing. */
  #bodyLost = false

  /** The parts of the current message so far. */
  #parts: Uint8Array[] = []
  #partsBytes = 0
  #ranges: number[] = []
  /** The ranges of the body of the current command. */
  #commandRanges: number[] = []
  /** Whether a part is missing, so that the whole message is dropped. */
  #messageLost = false

  #search: FrameSearch | undefined
  #searchOffset = 0
  /** Whether the reason for the search has been reported. */
  #searchIsTold = false

  #ended = false

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
    this.#budgetBytes = budgetBytes
    this.#unfinished = unfinished
  }

  get isForeign(): boolean {
    return this.#state === "foreign"
  }

  /** Bytes of the body not yet read. */
  get #left(): number {
    return this.#length - this.#bodyBytes
  }

  data(bytes: Uint8Array, offset: number, time: Time): void {
    this.#read(bytes, offset, time)
    this.#count(time)
  }

  #read(bytes: Uint8Array, offset: number, time: Time): void {
    let at = 0
    if (this.#state === "greeting" || this.#state === "foreign")
      at = this.#greet(bytes, offset, time)
    if (this.#state === "frames") at = this.#frames(bytes, at, offset, time)
    if (this.#state !== "search") return
    this.#search ??= new FrameSearch()
    this.#handlers.skipped(offset + at, offset + bytes.length)
    this.#search.push(bytes.subarray(at), offset + at, time)
    this.#find(this.#search, false)
  }

  /** Handles missing bytes. If `isTold`, the reason has been reported, and they are not. */
  gap(bytes: number, offset: number, time: Time, isTold = false): void {
    this.#lose(bytes, offset, time, isTold)
    this.#count(time)
  }

  #lose(bytes: number, offset: number, time: Time, isTold: boolean): void {
    if (this.#search) this.#find(this.#search, true)
    this.#reportNothingFound(time)
    const missing = `${count(bytes)} missing from the capture`
    const lose = (what: string) => {
      if (!isTold) this.#error("ERR_CAPTURE_GAP", missing + what, offset, time)
    }
    if (this.#state === "foreign" || this.#state === "over") return
    this.#handlers.missed(this.#from)
    if (this.#state === "greeting" && this.#greetingBytes >= SIGNATURE_BYTES) {
      if (this.#greetingBytes + bytes <= GREETING_BYTES) {
        lose(": of the greeting")
        this.#damaged = true
        this.#greetingBytes += bytes
        if (this.#greetingBytes === GREETING_BYTES) this.#state = "frames"
        return
      }
    } else if (this.#state === "frames" && this.#left >= bytes) {
      const what = this.#head.flags & COMMAND ? "command" : "message"
      lose(`, from a frame of ${this.#length} bytes: its ${what} is lost`)
      this.#bodyBytes += bytes
      this.#bodyLost = true
      this.#body = undefined
      if (this.#left === 0) this.#endFrame(time, offset)
      return
    }
    lose(": their content is lost; the start of the next frame is a guess")
    this.#startSearch(offset, 0)
    this.#searchIsTold = isTold
  }

  /** Ends the direction. Returns whether it ends between messages. */
  end(time: Time, cut: boolean): boolean {
    this.#ended = true
    let isComplete = true
    if (this.#search) this.#find(this.#search, true)
    this.#reportNothingFound(time)
    this.describeForeign()
    const what = cut ? "the capture" : "the connection"
    const truncated = (message: string) => {
      isComplete = false
      this.#error("ERR_CAPTURE_TRUNCATED", message, this.#offset, time)
    }
    if (this.#state === "greeting" && this.#greetingBytes > 0) {
      truncated(`${what} ends in the middle of the greeting`)
    } else if (this.#state === "frames" && this.#length >= 0) {
      this.#loseCommand()
      truncated(`${what} ends after ${this.#bodyBytes} of the ${this.#length} bytes of a frame`)
    } else if (this.#state === "frames" && this.#head.isIncomplete) {
      truncated(`${what} ends in the middle of a frame's head`)
    } else if (this.#state === "frames" && (this.#parts.length > 0 || this.#messageLost)) {
      truncated(`${what} ends between two parts of a message`)
    }
    this.stop()
    return isComplete
  }

  /** Ignores everything that follows. */
  stop(): void {
    this.#state = "over"
    this.#search = this.#body = undefined
    this.#forgetMessage()
    this.#count(undefined)
  }

  /** Drops the unfinished message, command or search: all connections together take too much memory. */
  forget(time: Time): void {
    this.#counted = 0
    const max = `the unfinished messages of all connections take more than ${this.#unfinished.maxBytes} bytes`
    if (this.#search) {
      const { length } = this.#search
      this.#search.drop()
      this.#tooMuch(`${max}: ${count(length)} in which frames are searched`, time)
      return
    }
    if (this.#length >= 0) {
      this.#body = undefined
      this.#bodyLost = true
      this.#loseCommand()
    }
    if (this.#length >= 0 && this.#head.flags & COMMAND)
      this.#tooMuch(`${max}: a command of ${count(this.#length)}`, time)
    if (this.#parts.length === 0 && (this.#length < 0 || this.#head.flags & COMMAND)) return
    const read = this.#partsBytes + (this.#length < 0 ? 0 : this.#bodyBytes)
    this.#tooMuch(`${max}: a message, after ${count(read)} of it`, time)
    this.#loseMessage()
  }

  /** Counts the memory in use. */
  #count(time: Time): void {
    const bytes =
      (this.#body?.length ?? 0) +
      this.#partsBytes +
      this.#parts.length * PART_BYTES +
      (this.#ranges.length + this.#commandRanges.length) * NUMBER_BYTES +
      (this.#search?.heldBytes ?? 0)
    if (bytes === this.#counted) return
    this.#counted = bytes
    this.#unfinished.set(this, bytes, time)
  }

  /** Reports once which protocol this is instead of ZMTP, as soon as there are enough bytes. */
  describeForeign(): void {
    if (!this.isForeign || this.#described || !this.#handlers.isAnnounced) return
    if (this.#greetingBytes < DESCRIBED_BYTES && !this.#ended) return
    this.#described = true
    const seen = describeGreeting(this.#greeting.subarray(0, this.#greetingBytes))
    this.#error("ERR_ZMTP_GREETING", `the greeting ${seen}`, this.#startOffset, this.#startTime)
  }

  /** Reads the greeting. Returns the position after its bytes. */
  #greet(bytes: Uint8Array, offset: number, time: Time): number {
    if (this.#startOffset < 0) {
      this.#startOffset = this.#offset = offset
      this.#startTime = time
      if (!this.#begun && bytes[0] !== 0xff) {
        this.#startSearch(offset, 0)
        return 0
      }
    }
    let at = 0
    // The signature is checked first, because without one this is not a greeting.
    for (const end of [SIGNATURE_BYTES, GREETING_BYTES]) {
      const taken = Math.min(bytes.length - at, Math.max(0, end - this.#greetingBytes))
      this.#greeting.set(bytes.subarray(at, at + taken), this.#greetingBytes)
      const before = this.#greetingBytes
      this.#greetingBytes += taken
      at += taken
      if (this.#state === "foreign") continue
      if (!mayGreet(this.#greeting.subarray(0, this.#greetingBytes))) {
        if (!this.#begun) {
          this.#handlers.skipped(offset, offset + at)
          this.#startSearch(this.#startOffset, this.#greetingBytes)
          return at
        }
        this.#state = "foreign"
      } else if (this.#greetingBytes >= SIGNATURE_BYTES && before < SIGNATURE_BYTES) {
        this.#handlers.signature()
      }
    }
    if (this.#state === "foreign") {
      this.describeForeign()
      return bytes.length
    }
    if (this.#damaged) {
      if (this.#greetingBytes === GREETING_BYTES) this.#state = "frames"
      return at
    }
    const greeting = this.#greeting.subarray(0, this.#greetingBytes)
    if (this.#greetingBytes === GREETING_BYTES) this.#state = "frames"
    else if (this.#greetingBytes <= SIGNATURE_BYTES || !isOld(greeting)) return at
    this.#handlers.greeting(this.#from, greeting, time, this.#startOffset)
    // Many connections send nothing else.
    this.#greeting = NOTHING
    return at
  }

  /** Reads frames. Returns the position where it stopped: the end, or after a head that is not allowed. */
  #frames(bytes: Uint8Array, start: number, offset: number, time: Time): number {
    let at = start
    while (at < bytes.length) {
      if (this.#length < 0) {
        const headEnd = this.#frameHead(bytes, at, offset, time)
        if (this.#state !== "frames") return headEnd
        at = headEnd
        if (this.#length !== 0) continue
      } else {
        const taken = Math.min(this.#left, bytes.length - at)
        if (!this.#bodyLost) this.#collect(bytes, at, taken, time)
        this.#addRange(offset + at, taken)
        this.#bodyBytes += taken
        at += taken
      }
      if (this.#left === 0) this.#endFrame(time, offset + at)
    }
    return at
  }

  /** Reads the head of a frame, or a part of one. Returns the position after it. */
  #frameHead(bytes: Uint8Array, start: number, offset: number, time: Time): number {
    const head = this.#head
    if (!head.isIncomplete) {
      this.#offset = offset + start
      if (!areFlags(bytes[start] as number)) {
        this.#refuse(bytes.subarray(start, start + 1), this.#offset, time)
        return start + 1
      }
    }
    const at = head.readNext(bytes, start)
    this.#addRange(offset + start, at - start)
    const before = this.#headStart
    this.#headStart = head.isIncomplete ? concat([before, bytes.subarray(start, at)]) : NOTHING
    if (head.isIncomplete) return at
    const { flags, bodyBytes: length } = head
    if (length >= BODY_MAX_BYTES) {
      this.#refuse(concat([before, bytes.subarray(start, at)]), this.#offset, time)
    } else {
      this.#length = length
      this.#bodyBytes = 0
      // Decoding longer commands would take many times their size.
      if (flags & COMMAND && length > COMMAND_MAX_BYTES) {
        this.#bodyLost = true
        this.#tooMuch(`a command of ${length} bytes, more than ${COMMAND_MAX_BYTES}`, time)
      } else if (!(flags & COMMAND) && !this.#messageLost) {
        this.#checkBudget(length, time)
      }
    }
    return at
  }

  /** Refuses a part whose length exceeds the budget in every form, before any of its body is kept. */
  #checkBudget(length: number, time: Time): void {
    const max = wireMaxBytes(this.#budgetBytes, this.#parts.length + 1)
    if (this.#partsBytes + length <= max) return
    const message = `part ${this.#parts.length} has ${length} bytes on the wire; ${Math.max(max - this.#partsBytes, 0)} left of the most that a message of maxMessageSize ${this.#budgetBytes} can take: skipped`
    this.#error("ERR_LZ4_BUDGET_EXCEEDED", message, this.#offset, time)
    this.#loseMessage()
    this.#bodyLost = true
  }

  #refuse(head: Uint8Array, offset: number, time: Time): void {
    const { code, message } = frameError(head)
    this.#error(code, message.slice(code.length + 2), offset, time)
    this.#handlers.missed(this.#from)
    this.#startSearch(offset, head.length)
  }

  #collect(bytes: Uint8Array, at: number, length: number, time: Time): void {
    const end = this.#bodyBytes + length
    if (!this.#body || this.#body.length < end) {
      // The last piece shows the final size.
      const room = end === this.#length ? end : Math.max(BODY_GROWTH * end, BODY_ROOM_BYTES)
      const grown = this.#allocate(Math.min(this.#length, room)) ?? this.#allocate(end)
      if (!grown) {
        this.#tooMuch(`not enough memory for a frame of ${this.#length} bytes`, time)
        this.#bodyLost = true
        this.#body = undefined
        return
      }
      if (this.#body) grown.set(this.#body.subarray(0, this.#bodyBytes))
      this.#body = grown
    }
    this.#body.set(bytes.subarray(at, at + length), this.#bodyBytes)
  }

  #allocate(bytes: number): Uint8Array | undefined {
    try {
      return allocate(bytes)
    } catch {
      return undefined
    }
  }

  #endFrame(time: Time, end: number): void {
    const body = this.#body ?? NOTHING
    const lost = this.#bodyLost
    this.#length = -1
    this.#body = undefined
    this.#bodyLost = false
    if (this.#head.flags & COMMAND) {
      const ranges = this.#commandRanges
      if (lost) this.#loseCommand()
      else this.#handlers.command(this.#from, body, time, end - body.length, ranges)
      this.#commandRanges = []
      return
    }
    if (lost) this.#loseMessage()
    if (!this.#messageLost) {
      this.#parts.push(body)
      this.#partsBytes += body.length
    }
    if (this.#parts.length > MESSAGE_MAX_PARTS) {
      this.#tooMuch(`a message of more than ${MESSAGE_MAX_PARTS} parts`, time)
      this.#loseMessage()
    }
    if (this.#head.flags & MORE) return
    const parts = this.#parts
    const ranges = this.#ranges
    this.#forgetMessage()
    if (!this.#messageLost) this.#handlers.message(this.#from, parts, ranges, time)
    this.#messageLost = false
  }

  #loseCommand(): void {
    if (this.#commandRanges.length > 0) this.#handlers.commandLost(this.#commandRanges)
    this.#commandRanges = []
  }

  #loseMessage(): void {
    this.#messageLost = true
    this.#forgetMessage()
  }

  #forgetMessage(): void {
    this.#parts = []
    this.#ranges = []
    this.#partsBytes = 0
  }

  #addRange(offset: number, length: number): void {
    const isCommand = (this.#head.flags & COMMAND) !== 0
    // The head of a command is of no interest.
    if (length === 0 || (isCommand ? this.#length < 0 : this.#messageLost)) return
    // A command that is skipped may have no end.
    if (isCommand && this.#bodyLost) {
      this.#handlers.commandLost([offset, length])
      return
    }
    const ranges = isCommand ? this.#commandRanges : this.#ranges
    const last = ranges.length - 2
    if (last >= 0 && (ranges[last] as number) + (ranges[last + 1] as number) === offset)
      ranges[last + 1] = (ranges[last + 1] as number) + length
    else ranges.push(offset, length)
  }

  #startSearch(offset: number, skipped: number): void {
    this.#state = "search"
    this.#searchIsTold = false
    this.#loseCommand()
    this.#searchOffset = offset
    this.#search ??= new FrameSearch()
    this.#search.skipped = skipped
    this.#head = new StreamHead()
    this.#headStart = NOTHING
    this.#bodyBytes = 0
    this.#length = -1
    this.#body = undefined
    this.#bodyLost = this.#messageLost = false
    this.#forgetMessage()
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
        if (search.skipped > 0 && !this.#searchIsTold) {
          const message = `${count(search.skipped)} skipped up to the first frame that could be found`
          this.#error("ERR_CAPTURE_UNREADABLE", message, this.#searchOffset, search.next().time)
        }
      }
      const { bytes, offset, time } = search.next()
      const read = this.#frames(bytes, 0, offset, time)
      this.#handlers.read(offset, offset + read)
      search.advance(read)
    }
    if (this.#state !== "search") this.#search = undefined
  }

  /** Reports that a search found no more frames. */
  #reportNothingFound(time: Time): void {
    const skipped = this.#state === "search" ? (this.#search?.skipped ?? 0) : 0
    if (skipped === 0 || this.#searchIsTold) return
    const message = `${count(skipped)} skipped: no frame was found in them`
    this.#error("ERR_CAPTURE_UNREADABLE", message, this.#searchOffset, time)
  }

  #tooMuch(what: string, time: Time): void {
    this.#error("ERR_CAPTURE_UNREADABLE", `${what}: skipped`, this.#offset, time)
  }

  #error(code: CaptureError["code"], message: string, offset: number, time: Time): void {
    this.#handlers.error({ code, message, time, from: this.#from, offset })
  }
}

function count(bytes: number): string {
  return bytes === 1 ? "1 byte" : `${bytes} bytes`
}

/**
 * Returns the maximum size on the wire, in any form, of this many parts whose plaintext is within a
 * budget.
 */
function wireMaxBytes(budgetBytes: number, parts: number): number {
  if (budgetBytes < 0) return Number.POSITIVE_INFINITY
  const blocks = Math.ceil(budgetBytes / BLOCK_MAX_BYTES)
  const plain = budgetBytes + Math.floor(budgetBytes / EXPANSION_MAX)
  const max = plain + parts * PART_EXTRA_BYTES + blocks * BLOCK_EXTRA_BYTES
  // maxMessageSize does not limit dictionaries and arenas, which are at most as large as an arena.
  return parts === 1 ? Math.max(max, ARENA_PART_MAX_BYTES) : max
}
