import { Queue } from "../base/queue.js"
import { Chunk } from "../codec/chunk.js"
import type { PendingWrite, Waiting } from "../transport/transport.js"
import type { SharedState } from "./shared-state.js"

/** Bytes that the worker has not flushed at which a connection is full. */
const WINDOW_BYTES = 1 << 20

/** Memory that a posted command takes beside its data, in bytes; roughly. */
const COMMAND_BYTES = 256

/**
 * The writes of a connection that were posted to its worker. Their memory is held until the worker has
 * flushed them, no longer writes from there, and this thread has noticed.
 */
export class PostedWrites {
  readonly #state: SharedState
  #held: Queue<PendingWrite> | undefined
  #heldBytes = 0
  /** Number of writes that were released so far, modulo 2^32. */
  #released = 0

  constructor(state: SharedState) {
    this.#state = state
  }

  /** Whether no memory is held. */
  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** The messages and bytes that the worker has not flushed. */
  get waiting(): Waiting {
    const { messages, bytes } = this.#state.waiting
    const waiting = { messages, bytes }
    let flushed = this.#flushed
    for (const item of this.#held ?? []) {
      if (flushed-- > 0) continue
      if (!(item instanceof Chunk)) continue
      waiting.messages += item.messages
      waiting.bytes += item.bytes.length
    }
    return waiting
  }

  /** Returns whether the worker has enough to write, or anything at all with `conflate`. */
  isFull(conflates: boolean): boolean {
    // With `conflate`, only the latest message may be queued, and that in the pipe.
    if (conflates && this.#count > this.#flushed) return true
    let bytes = this.#heldBytes
    if (bytes < WINDOW_BYTES) return false
    let flushed = this.#flushed
    for (const item of this.#held ?? []) {
      if (bytes < WINDOW_BYTES || flushed-- <= 0) break
      bytes -= bytesOf(item)
    }
    return bytes >= WINDOW_BYTES
  }

  push(item: PendingWrite): void {
    this.#held ??= new Queue()
    this.#held.push(item)
    this.#heldBytes += bytesOf(item)
  }

  /** Requests a notification early enough that the worker still has bytes to write until it is read. */
  wantRoom(): void {
    const flushed = this.#flushed
    this.#want(flushed + ((this.#count - flushed + 3) >> 2))
  }

  /** Requests a notification when everything has been flushed. Returns false if it has been. */
  wantAll(): boolean {
    this.release()
    if (this.#count === this.#flushed) return false
    this.#want(this.#count)
    return this.#count > this.#flushed
  }

  /** Releases the memory of flushed writes that is no longer in use. */
  release(): void {
    const { freed } = this.#state
    while (((freed - this.#released) | 0) > 0) this.#releaseFirst()
  }

  #releaseFirst(): void {
    this.#released = (this.#released + 1) | 0
    const item = this.#held?.shift()
    if (!item) return
    this.#heldBytes -= bytesOf(item)
    if (item instanceof Chunk) item.release()
  }

  /** Removes and returns all writes that were not flushed. The connection has ended. */
  takeAll(): PendingWrite[] {
    while (this.#flushed > 0) this.#releaseFirst()
    const items = [...(this.#held ?? [])]
    this.#held = undefined
    this.#heldBytes = 0
    return items
  }

  get #count(): number {
    return this.#held?.length ?? 0
  }

  /** Number of held writes that the worker has flushed. */
  get #flushed(): number {
    return (this.#state.flushed - this.#released) | 0
  }

  /** Requests a notification when the first `writes` that are held have been flushed. */
  #want(writes: number): void {
    this.#state.want((this.#released + writes) | 0)
    this.release() // they may have been flushed before the request
  }
}

const bytesOf = (item: PendingWrite): number =>
  item instanceof Chunk ? item.bytes.length : item.data.length + COMMAND_BYTES
