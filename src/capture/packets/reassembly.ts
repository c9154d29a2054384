import { copy } from "../../codec/arrays.js"
import type { Side, Time } from "../events.js"
import { firstEndingAfter } from "./first-ending-after.js"

/** The consumer of one direction's bytes, in order. */
export interface Output {
  data(from: Side, bytes: Uint8Array, offset: number, time: Time): void
  gap(from: Side, bytes: number, offset: number, time: Time): void
  /** Like `gap`, of bytes at the end of a packet that was cut to a snap length. */
  cut(from: Side, bytes: number, offset: number, time: Time): void
  /** The direction has ended with a FIN. */
  end(from: Side, time: Time): void
  /** A segment has data that was there before. */
  repeated(from: Side): void
}

/**
 * A range of sequence numbers: captured bytes, then bytes that were cut to a snap length, then a FIN.
 */
export interface Piece {
  bytes: Uint8Array
  cut: number
  fin: boolean
  /** The offset of `bytes` in the file. */
  offset: number
  time: Time
}

/** A queued piece with a copy of its bytes, and the next one. */
interface QueuedPiece extends Piece {
  next: QueuedPiece | undefined
}

interface Block {
  start: number
  end: number
  first: QueuedPiece
  last: QueuedPiece
}

/** Number of packets to wait for a missing segment that the other side has already acknowledged. */
const PATIENCE_PACKETS = 32
/** Limits on the pieces queued behind gaps in one direction. */
const WAITING_MAX_PIECES = 16384
const WAITING_MAX_BYTES = 64 * 1024 * 1024
/** The same limits for all directions together. */
const BACKLOG_MAX_PIECES = 128 * 1024
const BACKLOG_MAX_BYTES = 128 * 1024 * 1024

/**
 * Counts the pieces behind gaps in all directions together. Above the limits, the directions that
 * have waited longest give up their gaps.
 */
export class Backlog {
  readonly #maxPieces: number
  readonly #maxBytes: number
  /** The waiting directions, oldest first. */
  readonly #waiting = new Set<Reassembly>()
  #pieces = 0
  #bytes = 0

  constructor(maxPieces: number = BACKLOG_MAX_PIECES, maxBytes: number = BACKLOG_MAX_BYTES) {
    this.#maxPieces = maxPieces
    this.#maxBytes = maxBytes
  }

  add(direction: Reassembly, bytes: number): void {
    this.#waiting.add(direction)
    this.#pieces++
    this.#bytes += bytes
  }

  remove(pieces: number, bytes: number): void {
    this.#pieces -= pieces
    this.#bytes -= bytes
  }

  /** Removes a direction that has no queued pieces left. */
  clear(direction: Reassembly): void {
    this.#waiting.delete(direction)
  }

  trim(): void {
    for (const direction of this.#waiting) {
      if (this.#pieces <= this.#maxPieces && this.#bytes <= this.#maxBytes) return
      direction.giveUp()
    }
  }
}

/**
 * Reassembles one direction of a TCP connection: segments may arrive in any order and repeatedly,
 * and each byte is passed on once, in order. If bytes arrive twice, the first ones count. Bytes
 * that never arrive become gaps.
 *
 * A position is a sequence number that does not wrap: its lower 32 bits are the sequence number,
 * and it is within 2^31 of the previous one.
 */
export class Reassembly {
  readonly #from: Side
  readonly #output: Output
  readonly #backlog: Backlog
  /** The position of the first byte; undefined until a packet shows it. */
  #first: number | undefined
  /** The position of the next byte to pass on. */
  #due = 0
  /**
   * The blocks behind gaps, in order, with bytes missing between them. None starts at or before `#due`.
   */
  #blocks: Block[] = []
  #waitingPieces = 0
  #waitingBytes = 0
  /**
   * The other side's acknowledgement: the latest, and the one when the count of packets was last reset.
   */
  #acknowledged = 0
  #acknowledgedBefore = 0
  #acknowledgedOffset = 0
  #acknowledgedTime: Time
  #packets = 0
  #ended = false

  constructor(from: Side, output: Output, backlog: Backlog) {
    this.#from = from
    this.#output = output
    this.#backlog = backlog
  }

  get complete(): boolean {
    return this.#blocks.length === 0
  }

  /** Sets the sequence number of the first byte. Later calls have no effect. */
  begin(sequence: number): void {
    if (this.#first !== undefined) return
    this.#first = this.#due = this.#acknowledged = this.#acknowledgedBefore = sequence
  }

  /** Sets another sequence number for the first byte, unless bytes were already passed on. */
  rebegin(sequence: number): void {
    if (this.#first !== this.#due || !this.complete) return
    this.#first = undefined
    this.begin(sequence)
  }

  /** Returns whether the first byte has this sequence number, or may still get it. */
  mayBeginWith(sequence: number): boolean {
    return this.#first === undefined || this.#first === sequence
  }

  /**
   * Returns whether the other side, which has room for `window` bytes, takes a segment with this
   * sequence number (RFC 9293, section 3.10.7.4).
   */
  isInWindow(sequence: number, window: number): boolean {
    const position = this.#position(sequence)
    return (
      position >= this.#acknowledged && position <= Math.max(this.#due, this.#acknowledged) + window
    )
  }

  /** Returns whether a piece has data that is neither passed on nor queued at its beginning. */
  isNew(sequence: number, { bytes }: Piece): boolean {
    return bytes.length > 0 && this.#position(sequence) + bytes.length > this.#due
  }

  /** Adds a piece whose first byte has this sequence number. Its bytes are not kept. */
  push(sequence: number, piece: Piece): void {
    if (this.#ended) return
    const start = this.#position(sequence)
    const end = start + span(piece)
    if (start < this.#due && piece.bytes.length > 0) this.#output.repeated(this.#from)
    if (end === start || end <= this.#due) return
    if (start > this.#due) {
      this.#wait(start, end, piece)
    } else {
      // In order: passed on without a copy, up to the next queued block.
      while (end > this.#due && !this.#ended) {
        const block = this.#blocks[0]
        this.#pass(part(piece, this.#due - start, Math.min(end, block?.start ?? end) - this.#due))
        this.#passBlocks((block) => block.start <= this.#due)
      }
    }
    if (this.#waitingPieces > WAITING_MAX_PIECES || this.#waitingBytes > WAITING_MAX_BYTES) {
      // Down to half, or the next piece would exceed the limit again.
      this.#passBlocks(
        () =>
          this.#waitingPieces > WAITING_MAX_PIECES / 2 ||
          this.#waitingBytes > WAITING_MAX_BYTES / 2,
      )
    }
    this.#backlog.trim()
  }

  /**
   * Records that the other side has received all bytes before this sequence number, as a packet at
   * `offset` says.
   */
  acknowledge(sequence: number, offset: number, time: Time): void {
    const position = this.#position(sequence)
    if (position <= this.#acknowledged) return
    this.#acknowledged = position
    this.#acknowledgedOffset = offset
    this.#acknowledgedTime = time
  }

  /**
   * Counts a packet of the connection. After enough packets, bytes that were acknowledged before
   * them and are still missing are given up.
   */
  countPacket(): void {
    if (this.#blocks.length === 0 || ++this.#packets < PATIENCE_PACKETS) return
    this.#packets = 0
    this.#passBlocks((block) => block.start <= this.#acknowledgedBefore)
    this.#acknowledgedBefore = this.#acknowledged
  }

  /** Passes on all queued pieces, and gives up the bytes missing before them. */
  giveUp(): void {
    this.#passBlocks(() => true)
  }

  /** Gives up all missing bytes, because no more will arrive. */
  flush(): void {
    this.giveUp()
    // A single missing number may be a FIN.
    const missing = this.#acknowledged - this.#due
    if (missing <= 1 || this.#ended) return
    this.#due = this.#acknowledged
    this.#output.gap(this.#from, missing, this.#acknowledgedOffset, this.#acknowledgedTime)
  }

  /** Drops all queued pieces, and all later ones. */
  stop(): void {
    this.#ended = true
    this.#blocks = []
    this.#backlog.remove(this.#waitingPieces, this.#waitingBytes)
    this.#backlog.clear(this)
    this.#waitingPieces = this.#waitingBytes = 0
  }

  #position(sequence: number): number {
    return this.#due + ((sequence - this.#due) | 0)
  }

  #pass({ bytes, cut, fin, offset, time }: Piece): void {
    this.#due += bytes.length + cut + Number(fin)
    if (bytes.length > 0) this.#output.data(this.#from, bytes, offset, time)
    if (cut > 0 && !this.#ended) this.#output.cut(this.#from, cut, offset + bytes.length, time)
    if (!fin) return
    this.stop()
    this.#output.end(this.#from, time)
  }

  /** Passes on blocks, and the gaps before them, as long as `wanted` returns true. */
  #passBlocks(wanted: (block: Block) => boolean): void {
    let passed = 0
    for (const block of this.#blocks) {
      if (this.#ended || !wanted(block)) break
      passed++
      const { first } = block
      const missing = block.start - this.#due
      if (missing > 0) this.#output.gap(this.#from, missing, first.offset, first.time)
      this.#due = block.start
      for (let piece: QueuedPiece | undefined = first; piece && !this.#ended; piece = piece.next) {
        this.#waitingPieces--
        this.#waitingBytes -= piece.bytes.length
        this.#backlog.remove(1, piece.bytes.length)
        this.#pass(piece)
      }
    }
    if (passed > 0 && !this.#ended) this.#blocks.splice(0, passed)
    if (this.complete) this.#backlog.clear(this)
  }

  /** Keeps the new bytes between `start` and `end`, and joins them with the blocks that they touch. */
  #wait(start: number, end: number, piece: Piece): void {
    const blocks = this.#blocks
    // One that ends at `start` is joined as well.
    const from = firstEndingAfter(blocks, start - 1)
    let to = from
    let at = start
    let joined: Block | undefined
    for (let block = blocks[to]; block && block.start <= end; block = blocks[++to]) {
      if (at < block.start) joined = join(joined, this.#kept(piece, start, at, block.start))
      joined = join(joined, block)
      at = block.end
    }
    if (at < end) joined = join(joined, this.#kept(piece, start, at, end))
    blocks.splice(from, to - from, joined as Block)
  }

  /** Returns a block with a copy of the bytes of a piece at `start` between two positions. */
  #kept(piece: Piece, start: number, from: number, to: number): Block {
    const kept = part(piece, from - start, to - from)
    const bytes = copy(kept.bytes, 0, kept.bytes.length)
    this.#waitingPieces++
    this.#waitingBytes += bytes.length
    this.#backlog.add(this, bytes.length)
    const waiting = { ...kept, bytes, next: undefined }
    return { start: from, end: to, first: waiting, last: waiting }
  }
}

const span = ({ bytes, cut, fin }: Piece): number => bytes.length + cut + Number(fin)

/** Returns `length` sequence numbers of a piece, from the one at `from` on. */
function part(piece: Piece, from: number, length: number): Piece {
  const dataEnd = Math.min(from + length, piece.bytes.length + piece.cut)
  const bytes = piece.bytes.subarray(from, from + length)
  return {
    bytes,
    cut: dataEnd - from - bytes.length,
    fin: from + length > dataEnd,
    offset: piece.offset + Math.min(from, piece.bytes.length),
    time: piece.time,
  }
}

/** Appends a block to another. */
function join(block: Block | undefined, next: Block): Block {
  if (!block) return next
  block.last.next = next.first
  block.last = next.last
  block.end = next.end
  return block
}
