import { CollectedBody } from "../../base/collected-body.js"
import { allocate, concat } from "../../codec/arrays.js"
import {
  areFlags,
  BODY_MAX_BYTES,
  COMMAND,
  frameError,
  MORE,
  StreamHead,
} from "../../codec/frames.js"
import { BLOCK_MAX_BYTES, EXPANSION_MAX } from "../../codec/lz4/wire.js"
import { ARENA_PART_MAX_BYTES } from "../../codec/wire.js"
import { COMMAND_MAX_BYTES } from "../../zmtp/commands.js"
import type { CaptureError, Side, Time } from "../events.js"
import { MESSAGE_MAX_PARTS } from "../message-limit.js"
import { appendRange } from "./ranges.js"

/** The factor by which the room of a body grows: unused room counts as memory of unfinished messages. */
const BODY_GROWTH = 2
/** Memory of a part besides its bytes, and of a number in `ranges`, in bytes. */
const PART_BYTES = 200
const NUMBER_BYTES = 8
/**
 * What a part's form adds to its plaintext at most: a head, and a length for each block (RFC.md sections
 * 5.2 and 13.3).
 */
const PART_EXTRA_BYTES = 128
const BLOCK_EXTRA_BYTES = 20
const NOTHING = new Uint8Array(0)

/** Takes what the frames of one side contain. */
export interface FrameHandlers {
  /** `ranges` is where the body is in the file, as in CaptureMessage.ranges. */
  command(from: Side, body: Uint8Array, time: Time, offset: number, ranges: number[]): void
  /** These bytes of a command belong to one that is not complete. */
  commandLost(ranges: number[]): void
  /** Whether a frame with MORE is a message of its own, because MORE counts inside, as with CURVE. */
  isAlone(from: Side, body: Uint8Array): boolean
  /** `hasMore` is set for such a frame. */
  message(from: Side, wire: Uint8Array[], ranges: number[], time: Time, hasMore: boolean): void
  error(error: CaptureError): void
}

/** Reads the frames of one direction, which may have gaps, and joins the parts of each message. */
export class FrameReader {
  readonly #handlers: FrameHandlers
  readonly #from: Side
  /** Maximum plaintext of a message; -1 is no limit. */
  readonly #budgetBytes: number
  /** The file offset of the current frame. */
  offset = 0
  /**
   * Length of a head that is not allowed, at which reading stopped until `reset`; 0 if there is none.
   */
  refusedBytes = 0

  #head = new StreamHead()
  /** The bytes of a head that is split between segments. */
  #headStart: Uint8Array = NOTHING
  /** Length of the body; -1 between frames. */
  #length = -1
  readonly #body = new CollectedBody(allocate, BODY_GROWTH)
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

  constructor(handlers: FrameHandlers, from: Side, budgetBytes: number) {
    this.#handlers = handlers
    this.#from = from
    this.#budgetBytes = budgetBytes
  }

  /** The memory in use, in bytes. */
  get heldBytes(): number {
    return (
      this.#body.roomBytes +
      this.#partsBytes +
      this.#parts.length * PART_BYTES +
      (this.#ranges.length + this.#commandRanges.length) * NUMBER_BYTES
    )
  }

  /** Whether the current message is dropped, up to its end. */
  get isLost(): boolean {
    return this.#messageLost
  }

  get #isCommand(): boolean {
    return (this.#head.flags & COMMAND) !== 0
  }

  /** Bytes of the body not yet read. */
  get #left(): number {
    return this.#length - this.#bodyBytes
  }

  /**
   * Reads frames. Returns the position where it stopped: the end, or after a head that is not allowed.
   */
  read(bytes: Uint8Array, start: number, offset: number, time: Time): number {
    let at = start
    while (at < bytes.length) {
      if (this.#length < 0) {
        at = this.#readHead(bytes, at, offset, time)
        if (this.refusedBytes > 0) return at
        if (this.#length !== 0) continue
      } else {
        const taken = Math.min(this.#left, bytes.length - at)
        if (!this.#bodyLost) this.#collect(bytes, at, time)
        this.#addRange(offset + at, taken)
        this.#bodyBytes += taken
        at += taken
      }
      if (this.#left === 0) this.#endFrame(time, offset + at)
    }
    return at
  }

  /** Returns what is lost if this many bytes are missing; undefined if heads may be among them. */
  lossOf(bytes: number): string | undefined {
    if (this.#left < bytes) return undefined
    const what = this.#isCommand ? "command" : "message"
    return `from a frame of ${this.#length} bytes: its ${what} is lost`
  }

  /** Skips missing bytes of the current body. */
  skip(bytes: number, offset: number, time: Time): void {
    this.#bodyBytes += bytes
    this.#loseBody()
    if (this.#left === 0) this.#endFrame(time, offset)
  }

  /**
   * Gives up what is not complete. Returns where the frames end; undefined if it is between messages.
   */
  end(): string | undefined {
    if (this.#length >= 0) {
      this.#loseCommand()
      return `after ${this.#bodyBytes} of the ${this.#length} bytes of a frame`
    }
    if (this.#head.isIncomplete) return "in the middle of a frame's head"
    return this.#parts.length > 0 || this.#messageLost
      ? "between two parts of a message"
      : undefined
  }

  /** Begins again, between two messages. */
  reset(): void {
    this.#loseCommand()
    this.#head = new StreamHead()
    this.#headStart = NOTHING
    this.refusedBytes = 0
    this.#bodyBytes = 0
    this.#length = -1
    this.#bodyLost = this.#messageLost = false
    this.drop()
  }

  /** Frees the current body and message. */
  drop(): void {
    this.#body.drop()
    this.#forgetMessage()
  }

  /** Drops what is not complete. `max` says which limit it exceeds. */
  forget(max: string, time: Time): void {
    const isInside = this.#length >= 0
    if (isInside) {
      this.#loseBody()
      this.#loseCommand()
    }
    if (isInside && this.#isCommand)
      this.#tooMuch(`${max}: a command of ${byteText(this.#length)}`, time)
    if (this.#parts.length === 0 && (!isInside || this.#isCommand)) return
    const read = this.#partsBytes + (isInside ? this.#bodyBytes : 0)
    this.#tooMuch(`${max}: a message, after ${byteText(read)} of it`, time)
    this.#loseMessage()
  }

  /** Reads the head of a frame, or a part of one. Returns the position after it. */
  #readHead(bytes: Uint8Array, start: number, offset: number, time: Time): number {
    const head = this.#head
    if (!head.isIncomplete) {
      this.offset = offset + start
      if (!areFlags(bytes[start] as number)) {
        this.#refuse(bytes.subarray(start, start + 1), time)
        return start + 1
      }
    }
    const at = head.readNext(bytes, start)
    this.#addRange(offset + start, at - start)
    const before = this.#headStart
    this.#headStart = head.isIncomplete ? concat([before, bytes.subarray(start, at)]) : NOTHING
    if (head.isIncomplete) return at
    const { bodyBytes: length } = head
    if (length >= BODY_MAX_BYTES) {
      this.#refuse(concat([before, bytes.subarray(start, at)]), time)
      return at
    }
    this.#length = length
    this.#bodyBytes = 0
    this.#body.begin(length)
    // Decoding longer commands would take many times their size.
    if (this.#isCommand && length > COMMAND_MAX_BYTES) {
      this.#bodyLost = true
      this.#tooMuch(`a command of ${length} bytes, more than ${COMMAND_MAX_BYTES}`, time)
    } else if (!this.#isCommand && !this.#messageLost) this.#checkBudget(length, time)
    return at
  }

  #refuse(head: Uint8Array, time: Time): void {
    const { code, message } = frameError(head)
    this.#error(code, message.slice(code.length + 2), time)
    this.refusedBytes = head.length
  }

  /** Refuses a part whose length exceeds the budget in every form, before any of its body is kept. */
  #checkBudget(length: number, time: Time): void {
    const max = wireMaxBytes(this.#budgetBytes, this.#parts.length + 1)
    if (this.#partsBytes + length <= max) return
    const message = `part ${this.#parts.length} has ${length} bytes on the wire; ${Math.max(max - this.#partsBytes, 0)} left of the most that a message of maxMessageSize ${this.#budgetBytes} can take: skipped`
    this.#error("ERR_LZ4_BUDGET_EXCEEDED", message, time)
    this.#loseMessage()
    this.#bodyLost = true
  }

  #collect(bytes: Uint8Array, at: number, time: Time): void {
    try {
      this.#body.collect(bytes, at)
    } catch {
      this.#tooMuch(`not enough memory for a frame of ${this.#length} bytes`, time)
      this.#loseBody()
    }
  }

  #endFrame(time: Time, end: number): void {
    const isLost = this.#bodyLost
    const body = isLost || this.#length === 0 ? NOTHING : this.#body.take()
    this.#length = -1
    this.#bodyLost = false
    if (this.#isCommand) {
      const ranges = this.#commandRanges
      if (isLost) this.#loseCommand()
      else this.#handlers.command(this.#from, body, time, end - body.length, ranges)
      this.#commandRanges = []
      return
    }
    if (isLost) this.#loseMessage()
    if (!this.#messageLost) {
      this.#parts.push(body)
      this.#partsBytes += body.length
    }
    if (this.#parts.length > MESSAGE_MAX_PARTS) {
      this.#tooMuch(`a message of more than ${MESSAGE_MAX_PARTS} parts`, time)
      this.#loseMessage()
    }
    const hasMore = (this.#head.flags & MORE) !== 0
    if (hasMore && !this.#isAlone()) return
    const parts = this.#parts
    const ranges = this.#ranges
    this.#forgetMessage()
    if (!this.#messageLost) this.#handlers.message(this.#from, parts, ranges, time, hasMore)
    this.#messageLost = false
  }

  #isAlone(): boolean {
    const [first] = this.#parts
    return this.#parts.length === 1 && this.#handlers.isAlone(this.#from, first as Uint8Array)
  }

  #loseBody(): void {
    this.#bodyLost = true
    this.#body.drop()
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
    const isCommand = this.#isCommand
    // The head of a command is of no interest.
    if (length === 0 || (isCommand ? this.#length < 0 : this.#messageLost)) return
    // A command that is skipped may have no end.
    if (isCommand && this.#bodyLost) {
      this.#handlers.commandLost([offset, length])
      return
    }
    appendRange(isCommand ? this.#commandRanges : this.#ranges, offset, length)
  }

  #tooMuch(what: string, time: Time): void {
    this.#error("ERR_CAPTURE_UNREADABLE", `${what}: skipped`, time)
  }

  #error(code: CaptureError["code"], message: string, time: Time): void {
    this.#handlers.error({ code, message, time, from: this.#from, offset: this.offset })
  }
}

export const byteText = (bytes: number): string => (bytes === 1 ? "1 byte" : `${bytes} bytes`)

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
