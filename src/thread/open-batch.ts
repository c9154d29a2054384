/**
 * Batches that the program still adds messages to, in memory that threads share. A program that
 * starts to compute cannot post its last batch, so the thread takes what is there.
 */
import type { Slab } from "../codec/chunk.js"
import type { OpenMemory } from "../transport/transport.js"
import { framer } from "./framer.js"

/** Bytes of a batch. */
const OPEN_BYTES = 64 * 1024
/** Batches that may be open at once. */
const SLOTS = 32

// What both threads know of a slot: how many bytes of its batch are whole messages; and how many of
// these the thread has taken, with the generation of the batch, which is over when that changes.
const PUBLISHED = 0
const TAKEN = 1
const FIELDS = 2

const LENGTH_BITS = 17
const LENGTH_MASK = (1 << LENGTH_BITS) - 1
const GENERATION_MASK = (1 << (31 - LENGTH_BITS)) - 1
const NOTHING = new Uint8Array(0)

/** For all threads of the process. */
export const openBatches: Int32Array = new Int32Array(
  new SharedArrayBuffer(SLOTS * FIELDS * Int32Array.BYTES_PER_ELEMENT),
)
const free: number[] = Array.from({ length: SLOTS }, (_, slot) => slot)

/** A batch, as the thread of the sockets sees it. */
export class OpenBatch implements OpenMemory {
  readonly bytes: Buffer
  readonly slot: number
  readonly slab: Slab
  readonly start: number
  readonly generation: number
  readonly #at: number

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
    this.#at = slot * FIELDS
    this.generation = Atomics.load(openBatches, this.#at + TAKEN) >>> LENGTH_BITS
    this.publish(0)
  }

  publish(bytes: number): void {
    Atomics.store(openBatches, this.#at + PUBLISHED, bytes)
  }

  seal(): number {
    const next = ((this.generation + 1) & GENERATION_MASK) << LENGTH_BITS
    return Atomics.exchange(openBatches, this.#at + TAKEN, next) & LENGTH_MASK
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
  readonly #fields: Int32Array
  readonly #memory: Uint8Array
  readonly #generation: number
  readonly #at: number

  /** @param memory the slab from where the batch begins. */
  constructor(
    fields: Int32Array,
    slot: number,
    generation: number,
    memory: Uint8Array,
    connections: readonly number[],
  ) {
    this.#fields = fields
    this.#at = slot * FIELDS
    this.#generation = generation
    this.#memory = memory
    this.connections = connections
  }

  /** Whether it takes no more messages. */
  get isOver(): boolean {
    return Atomics.load(this.#fields, this.#at + TAKEN) >>> LENGTH_BITS !== this.#generation
  }

  /** A copy of the messages that were added since the last time. */
  take(): Uint8Array {
    const before = Atomics.load(this.#fields, this.#at + TAKEN)
    const length = Atomics.load(this.#fields, this.#at + PUBLISHED)
    const taken = before & LENGTH_MASK
    if (before >>> LENGTH_BITS !== this.#generation || length <= taken) return NOTHING
    const bytes = this.#memory.slice(taken, length)
    const after = (this.#generation << LENGTH_BITS) | length
    // What was sealed meanwhile is posted by the other thread.
    const isTaken =
      Atomics.compareExchange(this.#fields, this.#at + TAKEN, before, after) === before
    return isTaken ? bytes : NOTHING
  }
}
