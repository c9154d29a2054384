/**
 * Batches that the program is still adding messages to, in memory that threads see. A program that
 * goes on to compute does not get to post its last batch: the thread takes from it what is there.
 */
import type { Slab } from "../codec/chunk.js"
import type { OpenMemory } from "../transport/transport.js"
import { framer } from "./framer.js"

/** Bytes of one. */
const OPEN_BYTES = 64 * 1024
/** As many as there may be at once. */
const SLOTS = 32
/** A thread that takes from a batch does so within this time, in milliseconds, or is gone. */
const TAKING_MAX_MS = 100

// What both threads know of each: which batch it is by its generation, and how many bytes of it are
// whole messages; how many of these the thread has taken; and whether it is taking right now.
const PUBLISHED = 0
const TAKEN = 1
const TAKING = 2
const FIELDS = 3

const LENGTH_BITS = 17
const LENGTH_MASK = (1 << LENGTH_BITS) - 1
const GENERATION_MASK = (1 << (31 - LENGTH_BITS)) - 1

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
    const before = Atomics.load(openBatches, this.#at + PUBLISHED) >>> LENGTH_BITS
    this.generation = (before + 1) & GENERATION_MASK
    Atomics.store(openBatches, this.#at + TAKEN, 0)
    Atomics.store(openBatches, this.#at + TAKING, 0) // a thread may have died while it took
    this.publish(0)
  }

  publish(bytes: number): void {
    Atomics.store(openBatches, this.#at + PUBLISHED, (this.generation << LENGTH_BITS) | bytes)
  }

  seal(): number {
    this.publish(0)
    const taking = this.#at + TAKING
    if (Atomics.load(openBatches, taking) === 1) Atomics.wait(openBatches, taking, 1, TAKING_MAX_MS)
    return Atomics.load(openBatches, this.#at + TAKEN)
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
    return this.#published === 0
  }

  /** How many bytes are whole messages. */
  get #published(): number {
    const published = Atomics.load(this.#fields, this.#at + PUBLISHED)
    return published >>> LENGTH_BITS === this.#generation ? published & LENGTH_MASK : 0
  }

  /** A copy of the messages that were added since the last time. */
  take(): Uint8Array {
    const fields = this.#fields
    Atomics.store(fields, this.#at + TAKING, 1)
    const taken = Atomics.load(fields, this.#at + TAKEN)
    const length = this.#published
    const bytes = this.#memory.slice(taken, Math.max(taken, length))
    if (length > 0) Atomics.store(fields, this.#at + TAKEN, length)
    Atomics.store(fields, this.#at + TAKING, 0)
    Atomics.notify(fields, this.#at + TAKING)
    return bytes
  }
}
