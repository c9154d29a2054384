import { throwLater } from "../base/throw-later.js"
import { isOutdated } from "../transport/last-poll.js"
import type { Command, OpenMemory, Waiting } from "../transport/transport.js"
import { BATCH_BYTES, Batch, plainLength, SHARED_BATCH_BYTES } from "./batch.js"
import { type Flushable, flushSoon, Rest } from "./flusher.js"
import type { Message } from "./message.js"
import type { SharedBatch } from "./outbound.js"
import type { Pipe } from "./pipe.js"
import { PipeArray } from "./pipe-array.js"
import { encodeForAll, plainBelowFor } from "./shared-encoding.js"

/**
 * The largest message that is copied into a shared batch, in bytes. Larger ones are encoded at once,
 * directly from the caller's memory.
 */
const SHARED_COPIED_MAX_BYTES = 128 * 1024
const NOTHING: Waiting = { messages: 0, bytes: 0 }

/**
 * A set of pipes that sends each message to all that match (libzmq's dist_t).
 *
 * Messages to the same pipes share a batch. It is encoded once for each endpoint, and all
 * connections of that endpoint write the same bytes.
 */
export class Distribution implements Flushable, SharedBatch {
  /**
   * The pipes in four groups: matching with room, other with room, matching without room, other
   * without room.
   */
  readonly #pipes = new PipeArray("distIndex")
  #matching = 0
  #active = 0
  /** Number of pipes that match but have no room. */
  #missing = 0
  /** The pipes that the open batch is for. */
  #shared: Pipe[] = []
  #batch: Batch | undefined
  #flushing = false
  readonly rest: Rest = new Rest()
  readonly isUrgent = false
  writeMs = 0

  isUpToDate(): boolean {
    return false
  }

  attach(pipe: Pipe): void {
    this.#pipes.add(pipe)
    this.activated(pipe)
  }

  has(pipe: Pipe): boolean {
    return this.#pipes.indexOf(pipe) >= 0
  }

  match(pipe: Pipe): void {
    const index = this.#pipes.indexOf(pipe)
    if (index < this.#matching) return
    if (index < this.#active) this.#pipes.swap(index, this.#matching++)
    else if (index >= this.#active + this.#missing)
      this.#pipes.swap(index, this.#active + this.#missing++)
  }

  /** Swaps the pipes that match and those that do not. */
  reverseMatch(): void {
    const matching = this.#matching
    this.#matching = 0
    for (let i = matching; i < this.#active; i++) this.#pipes.swap(i, this.#matching++)
    const missing = this.#active + this.#missing
    this.#missing = 0
    for (let i = missing; i < this.#pipes.length; i++)
      this.#pipes.swap(i, this.#active + this.#missing++)
  }

  unmatch(): void {
    this.#matching = 0
    this.#missing = 0
  }

  activated(pipe: Pipe): void {
    const index = this.#pipes.indexOf(pipe)
    if (index < this.#active) return
    this.#pipes.swap(index, this.#active)
    this.#active++
    this.#missing = 0
  }

  terminated(pipe: Pipe): void {
    if (pipe.out.shared === this) this.seal()
    if (this.#pipes.indexOf(pipe) < this.#matching)
      this.#pipes.swap(this.#pipes.indexOf(pipe), --this.#matching)
    if (this.#pipes.indexOf(pipe) < this.#active)
      this.#pipes.swap(this.#pipes.indexOf(pipe), --this.#active)
    this.#pipes.remove(pipe)
  }

  /** Returns whether every matching pipe has room. */
  checkHwm(): boolean {
    for (let i = 0; i < this.#matching; i++) if (!this.#pipes.at(i).out.hasRoom()) return false
    return true
  }

  sendToAll(message: Message): void {
    this.#matching = this.#active
    this.#missing = this.#pipes.length - this.#active
    this.sendToMatching(message)
  }

  /** Sends to the matching pipes that have room; the others drop the message. */
  sendToMatching(message: Message): void {
    const missing = this.#active + this.#missing
    for (let i = this.#active; i < missing; i++) this.#pipes.at(i).out.countDropped()
    this.#missing = 0
    const errors: unknown[] = []
    for (let i = 0; i < this.#matching; ) {
      const { out } = this.#pipes.at(i)
      if (!out.checkWrite()) {
        out.countDropped()
        this.#pipes.swap(i, --this.#matching)
        this.#pipes.swap(this.#matching, --this.#active)
      } else if (out.conflates) {
        // A conflating pipe keeps only its latest message, so it cannot share a batch.
        try {
          out.write(message)
        } catch (error) {
          errors.push(error)
        }
        this.#pipes.swap(i, --this.#matching)
      } else i++
    }
    if (this.#matching > 0) this.#share(message)
    this.#matching = 0
    if (errors.length > 0) throw errors[0]
  }

  /** Sends a command to all pipes, as `Outbound.writeCommand` does. */
  commandToAll(name: Command["name"], data: Uint8Array, isChange: boolean): void {
    for (let i = 0; i < this.#pipes.length; i++)
      this.#pipes.at(i).out.writeCommand(name, data, isChange)
  }

  get waiting(): Waiting {
    return this.#batch?.waiting ?? NOTHING
  }

  flush(): void {
    this.#flushing = false
    this.writeMs = 0
    for (const pipe of this.#shared) this.writeMs += pipe.out.writeMs
    this.seal()
  }

  /**
   * Encodes the open batch and passes it to its pipes. They have already accepted its
   * messages, so an error of an encoder is thrown as an uncaught exception.
   */
  seal(): void {
    const batch = this.#batch
    if (!batch) return
    this.#batch = undefined
    for (const error of this.#deliver(batch)) throwLater(error)
  }

  #share(message: Message): void {
    const bytes = plainLength(message)
    // Parts as they came are encoded apart.
    if (!this.#isShared() || bytes === Number.POSITIVE_INFINITY) {
      this.seal()
      this.#shared = this.#pipes.first(this.#matching)
    }
    const batch = this.#batch
    if (bytes > SHARED_COPIED_MAX_BYTES || (batch && batch.length + bytes > batch.maxBytes)) {
      this.#countShared()
      this.#batch = undefined
      const [error] = this.#deliver(batch, message)
      if (error !== undefined) throw error
      return
    }
    this.#batch ??= this.#openBatch(bytes)
    this.#batch.append(message, bytes)
    this.#countShared()
    if (this.#flushing) return
    this.#flushing = true
    flushSoon(this)
  }

  #countShared(): void {
    const shared = this.#shared
    for (let i = 0; i < shared.length; i++) (shared[i] as Pipe).out.countShared(this)
  }

  /** Whether the open batch is for exactly the pipes that match now. */
  #isShared(): boolean {
    if (this.#shared.length !== this.#matching || !this.#batch) return false
    for (let i = 0; i < this.#matching; i++) if (this.#pipes.at(i).out.shared !== this) return false
    return true
  }

  /** Opens a batch with room for at least `bytes`. */
  #openBatch(bytes: number): Batch {
    const memory = bytes > BATCH_BYTES ? undefined : this.#openMemory()
    return new Batch(plainBelowFor(this.#shared), SHARED_BATCH_BYTES, memory)
  }

  #openMemory(): OpenMemory | undefined {
    const encoder = this.#shared[0]?.out.encoder.common
    if (!encoder?.openMemory || !this.#shared.every(({ out }) => out.queue.isFree)) return undefined
    return encoder.openMemory(this.#shared.map(({ connection }) => connection as object))
  }

  /**
   * Writes the batch, and `message` after it, to the pipes of the open batch. Returns the errors
   * that encoders threw.
   */
  #deliver(batch: Batch | undefined, message?: Message): unknown[] {
    const pipes = this.#shared
    this.#shared = []
    for (const { out } of pipes) out.shared = undefined
    // Before the efforts are chosen for what is shared, which would be measured with these batches.
    for (const { out } of pipes) out.encodeOwn()
    const messages = (batch?.count ?? 0) + (message ? 1 : 0)
    // Decided once for all of them: writing to hundreds takes long itself.
    const mustPoll = isOutdated()
    const errors = encodeForAll(pipes, batch, message, (chunk, members, errors) => {
      const gone = messages - (chunk?.messages ?? 0)
      chunk?.share(members.length)
      for (const { out } of members) {
        if (gone > 0) out.countGone(gone)
        try {
          if (chunk) out.writeChunk(chunk, mustPoll)
        } catch (error) {
          errors.push(error)
        }
      }
    })
    batch?.release()
    return errors
  }
}
