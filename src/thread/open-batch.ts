/**
 * Batches that the program still adds messages to, in memory that threads share. A program that
 * starts to compute cannot post its last batch, so the thread takes what is there.
 *
 * Each batch has a cell of two numbers for itself alone, PUBLISHED and TAKEN, which no later batch
 * uses: however long a thread holds on to a batch that is over, it cannot mistake another for it.
 * TAKEN only grows, until seal() makes it SEALED, for good. So of the two threads:
 *
 * - publish() stores the length after the bytes before it, and take() loads it before it copies
 *   them: what is copied is whole.
 * - take() copies first, and then exchanges TAKEN, if nothing has changed it since it was read. If
 *   that succeeds before seal(), seal() returns the new TAKEN, and what lies behind it is posted.
 *   If seal() comes first, at any moment before, the exchange fails, and the copy is thrown away:
 *   all is posted. Either way every byte leaves once.
 * - The memory may be used again after seal(), while a copy is being made of it. That copy is
 *   thrown away as well.
 */
import type { Slab } from "../codec/chunk.js"
import type { OpenMemory } from "../transport/transport.js"
import { framer } from "./framer.js"

/** Bytes of a batch. */
const OPEN_BYTES = 64 * 1024
/** Batches that may be open at once. */
const SLOTS = 32
/** Cells that are allocated together. */
const CELLS = 4096

// The numbers of a cell: how many bytes of the batch are whole messages, and how many of these the
// thread has taken, or SEALED.
const PUBLISHED = 0
const TAKEN = 1
const FIELDS = 2

const SEALED = -1
const NOTHING = new Uint8Array(0)

const free: number[] = Array.from({ length: SLOTS }, (_, slot) => slot)

let cells = newCells()
let used = 0

function newCells(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(CELLS * FIELDS * Int32Array.BYTES_PER_ELEMENT))
}

/** A batch, as the thread of the sockets sees it. */
export class OpenBatch implements OpenMemory {
  readonly bytes: Buffer
  /** The slot. A later batch of the same slot means that this one is over. */
  readonly slot: number
  readonly slab: Slab
  readonly start: number
  /** The cells that that of this batch is among, and where it is. */
  readonly cells: Int32Array
  readonly at: number
  #taken: number | undefined

  /** undefined where there are too many. */
  static open(): OpenBatch | undefined {
    const slot = free.pop()
    return slot === undefined ? undefined : new OpenBatch(slot)
  }

  private constructor(slot: number) {
    this.slot = slot
    this.slab = framer.slabs.withRoom(OPEN_BYTES) as Slab
    this.start = this.slab.used
    this.slab.used += OPEN_BYTES
    this.slab.live++
    this.bytes = Buffer.from(this.slab.bytes.buffer, this.start, OPEN_BYTES)
    if (used === CELLS) {
      cells = newCells()
      used = 0
    }
    this.cells = cells
    this.at = used++ * FIELDS
  }

  publish(bytes: number): void {
    Atomics.store(this.cells, this.at + PUBLISHED, bytes)
  }

  get left(): number {
    return this.#taken ?? Atomics.load(this.cells, this.at + TAKEN)
  }

  seal(): number {
    this.#taken ??= Atomics.exchange(this.cells, this.at + TAKEN, SEALED)
    return this.#taken
  }

  close(bytes: number): void {
    const { slab, start } = this
    if (slab.used === start + OPEN_BYTES) slab.used = start + bytes
    if (--slab.live === 0) slab.slabs.emptied(slab)
    free.push(this.slot)
  }
}

/** A batch, as the thread that may take from it sees it. */
export class SeenBatch {
  readonly connections: readonly number[]
  readonly #cells: Int32Array
  readonly #at: number
  readonly #memory: Uint8Array

  /** @param memory the slab from where the batch begins. */
  constructor(cells: Int32Array, at: number, memory: Uint8Array, connections: readonly number[]) {
    this.#cells = cells
    this.#at = at
    this.#memory = memory
    this.connections = connections
  }

  /** Whether it takes no more messages. */
  get isOver(): boolean {
    return Atomics.load(this.#cells, this.#at + TAKEN) === SEALED
  }

  /** A copy of the messages that were added since the last time. */
  take(): Uint8Array {
    const taken = Atomics.load(this.#cells, this.#at + TAKEN)
    const length = Atomics.load(this.#cells, this.#at + PUBLISHED)
    if (taken === SEALED || length <= taken) return NOTHING
    const bytes = this.#memory.slice(taken, length)
    // What was sealed meanwhile is posted by the other thread.
    const isTaken = Atomics.compareExchange(this.#cells, this.#at + TAKEN, taken, length) === taken
    return isTaken ? bytes : NOTHING
  }
}
