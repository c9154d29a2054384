/**
 * Batches to which the program is still adding messages, in memory that both threads share. A
 * program that starts a long computation cannot post its last batch, so the worker takes its
 * messages.
 *
 * Each batch has a cell of two numbers, PUBLISHED and TAKEN, which no later batch uses: a worker
 * that keeps a reference to an old batch cannot mistake another for it. TAKEN only grows, until
 * seal() sets it to SEALED for good. The two threads work as follows:
 *
 * - publish() stores the length after the bytes, and take() loads it before it copies them, so the
 * copy is complete.
 * - take() copies first, and then exchanges TAKEN if it has not changed since it was read. If this
 * happens before seal(), then seal() returns the new TAKEN, and the socket thread posts the bytes
 * after it. If seal() comes first, the exchange fails, the copy is discarded, and the socket thread
 * posts everything. Either way every byte is sent once.
 * - After seal(), the memory may be reused while take() is still copying. That copy is discarded
 * too.
 */
import type { Slab } from "../codec/slabs.js"
import type { OpenMemory } from "../transport/transport.js"
import { slabs } from "./framer.js"

/** Milliseconds after which the worker looks for messages in open batches again. */
export const POLL_MS = 10
/** Size of a batch, in bytes. */
const OPEN_BYTES = 64 * 1024
/** Maximum number of open batches. */
const SLOTS = 32
/** Number of cells that are allocated together. */
const CELLS = 4096

// The numbers of a cell: the length of the whole messages in the batch, and the bytes of them that
// the worker has taken, or SEALED.
const PUBLISHED = 0
const TAKEN = 1
const FIELDS = 2

const SEALED = -1
const NOTHING = new Uint8Array(0)

const free: number[] = Array.from({ length: SLOTS }, (_, slot) => slot)

let cells: Int32Array | undefined
let used = 0

function newCells(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(CELLS * FIELDS * Int32Array.BYTES_PER_ELEMENT))
}

/** A batch, as the socket thread sees it. */
export class OpenBatch implements OpenMemory {
  readonly bytes: Buffer
  /** The slot of the batch. A later batch in the same slot means that this one is over. */
  readonly slot: number
  readonly slab: Slab
  readonly start: number
  /** The array with the batch's cell, and the index of the cell. */
  readonly cells: Int32Array
  readonly at: number
  #taken: number | undefined

  /** Opens a batch; undefined if too many are open. */
  static open(): OpenBatch | undefined {
    return free.length === 0 ? undefined : new OpenBatch()
  }

  private constructor() {
    // Both may lack memory, so the slot is taken last.
    this.slab = slabs.withRoom(OPEN_BYTES) as Slab
    if (!cells || used === CELLS) {
      cells = newCells()
      used = 0
    }
    this.slot = free.pop() as number
    this.cells = cells
    this.at = used++ * FIELDS
    this.start = this.slab.used
    this.slab.used += OPEN_BYTES
    this.slab.live++
    this.bytes = Buffer.from(this.slab.bytes.buffer, this.start, OPEN_BYTES)
  }

  publish(bytes: number): void {
    Atomics.store(this.cells, this.at + PUBLISHED, bytes)
  }

  get flushed(): number {
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

/** A batch, as the worker that may take messages from it sees it. */
export class SeenBatch {
  readonly connections: readonly number[]
  readonly #cells: Int32Array
  readonly #at: number
  readonly #memory: Uint8Array

  /** @param memory the slab, from the beginning of the batch. */
  constructor(cells: Int32Array, at: number, memory: Uint8Array, connections: readonly number[]) {
    this.#cells = cells
    this.#at = at
    this.#memory = memory
    this.connections = connections
  }

  /** Whether the batch was sealed. */
  get isOver(): boolean {
    return Atomics.load(this.#cells, this.#at + TAKEN) === SEALED
  }

  /** Returns a copy of the messages added since the last call. */
  take(): Uint8Array {
    const taken = Atomics.load(this.#cells, this.#at + TAKEN)
    const length = Atomics.load(this.#cells, this.#at + PUBLISHED)
    if (taken === SEALED || length <= taken) return NOTHING
    const bytes = this.#memory.slice(taken, length)
    // If the batch was sealed meanwhile, the socket thread posts these messages.
    const isTaken = Atomics.compareExchange(this.#cells, this.#at + TAKEN, taken, length) === taken
    return isTaken ? bytes : NOTHING
  }
}
