import type { Chunk } from "../codec/chunk.js"
import { throwLater } from "../transport/throw-later.js"
import type { Encoder, OpenMemory, Waiting } from "../transport/transport.js"
import { BATCH_BYTES, Batch, plainLength, SHARED_BATCH_BYTES } from "./batch.js"
import { type Flushable, flushSoon, Rest } from "./flusher.js"
import type { Message } from "./message.js"
import type { Pipe, SharedBatch } from "./pipe.js"
import { PipeArray } from "./pipe-array.js"

/** Messages of more bytes are encoded at once, from the caller's memory. */
const LARGE_BYTES = 128 * 1024
const NO_FRAMES = new Uint8Array(0)
const NOTHING: Waiting = { messages: 0, bytes: 0 }

/**
 * Sends each message to all pipes that match (libzmq's dist_t).
 *
 * Messages that go to the same pipes share a batch, which is encoded once for each endpoint, and
 * of which all connections get the same bytes.
 */
export class Distribution implements Flushable, SharedBatch {
  /** Those that match come first, then the others with room, then those without, which again match or not. */
  readonly #pipes = new PipeArray("distIndex")
  #matching = 0
  #active = 0
  /** Those that match and have no room. */
  #missing = 0
  /** The pipes of the open batch. */
  #shared: Pipe[] = []
  #batch: Batch | undefined
  #flushing = false
  readonly rest: Rest = new Rest()
  readonly isUrgent = false
  threadMs = 0

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

  /** Those that do not match now do, and the other way round. */
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
    if (pipe.shared === this) this.seal()
    if (this.#pipes.indexOf(pipe) < this.#matching)
      this.#pipes.swap(this.#pipes.indexOf(pipe), --this.#matching)
    if (this.#pipes.indexOf(pipe) < this.#active)
      this.#pipes.swap(this.#pipes.indexOf(pipe), --this.#active)
    this.#pipes.remove(pipe)
  }

  /** Whether all that match have room. */
  checkHwm(): boolean {
    for (let i = 0; i < this.#matching; i++) if (!this.#pipes.at(i).hasRoom()) return false
    return true
  }

  sendToAll(message: Message): void {
    this.#matching = this.#active
    this.#missing = this.#pipes.length - this.#active
    this.sendToMatching(message)
  }

  /** Sends to those that match and have room; others do not get it. */
  sendToMatching(message: Message): void {
    const missing = this.#active + this.#missing
    for (let i = this.#active; i < missing; i++) this.#pipes.at(i).countDropped()
    this.#missing = 0
    for (let i = 0; i < this.#matching; ) {
      const pipe = this.#pipes.at(i)
      if (!pipe.checkWrite()) {
        pipe.countDropped()
        this.#pipes.swap(i, --this.#matching)
        this.#pipes.swap(this.#matching, --this.#active)
      } else if (pipe.conflates) {
        // Only its latest message waits, so it shares no batch.
        pipe.write(message)
        this.#pipes.swap(i, --this.#matching)
      } else i++
    }
    if (this.#matching > 0) this.#share(message)
    this.#matching = 0
  }

  /** Sends a command to all. */
  commandToAll(name: "SUBSCRIBE" | "CANCEL" | "JOIN" | "LEAVE", data: Uint8Array): void {
    for (let i = this.#active - 1; i >= 0; i--) {
      const pipe = this.#pipes.at(i)
      if (pipe.checkWrite()) pipe.writeCommand(name, data)
      else this.#pipes.swap(i, --this.#active)
    }
  }

  get waiting(): Waiting {
    return this.#batch?.waiting ?? NOTHING
  }

  flush(): void {
    this.#flushing = false
    this.threadMs = 0
    for (const pipe of this.#shared) this.threadMs += pipe.threadMs
    this.seal()
  }

  /**
   * Encodes the open batch and gives it to its pipes. Its messages were taken, so if the encoder
   * throws, the error is an uncaught one.
   */
  seal(): void {
    const batch = this.#batch
    if (!batch) return
    this.#batch = undefined
    for (const error of this.#deliver(batch)) throwLater(error)
  }

  #share(message: Message): void {
    if (!this.#isShared()) {
      this.seal()
      this.#shared = this.#pipes.first(this.#matching)
    }
    const bytes = plainLength(message)
    const batch = this.#batch
    if (bytes > LARGE_BYTES || (batch && batch.length + bytes > batch.maxBytes)) {
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
    for (let i = 0; i < shared.length; i++) (shared[i] as Pipe).countShared(this)
  }

  /** Whether the open batch is for just those that match now. */
  #isShared(): boolean {
    if (this.#shared.length !== this.#matching || !this.#batch) return false
    for (let i = 0; i < this.#matching; i++) if (this.#pipes.at(i).shared !== this) return false
    return true
  }

  /** A batch with room for so many bytes. */
  #openBatch(bytes: number): Batch {
    const memory = bytes > BATCH_BYTES ? undefined : this.#openMemory()
    return new Batch(this.#plainBelow, SHARED_BATCH_BYTES, memory)
  }

  /** Parts of fewer bytes go plain to all pipes of the open batch. */
  get #plainBelow(): number {
    let below = Number.POSITIVE_INFINITY
    let last: Encoder | undefined
    for (const { encoder, connection, peerPacking } of this.#shared) {
      if (encoder !== last) connection?.applyEffort(this.#shared)
      last = encoder
      below = Math.min(below, encoder.plainBelow(peerPacking))
    }
    return below
  }

  #openMemory(): OpenMemory | undefined {
    const pipes = this.#shared
    const [first] = pipes
    if (!first?.connection?.opensMemory) return undefined
    const connections: object[] = []
    for (const pipe of pipes) {
      if (!pipe.isFree) return undefined
      connections.push(pipe.connection as object)
    }
    return first.connection.openMemory(connections)
  }

  /** Gives messages to the pipes of the open batch. Returns the errors of encoders that threw. */
  #deliver(batch: Batch | undefined, message?: Message): unknown[] {
    const errors: unknown[] = []
    const pipes = this.#shared
    this.#shared = []
    for (const pipe of pipes) pipe.shared = undefined
    const frames = batch?.seal() ?? NO_FRAMES
    const messages = (batch?.count ?? 0) + (message ? 1 : 0)
    const isPlain = frames.length === 0 && message === undefined && batch && batch.messages > 0
    const groups = isPlain ? [pipes as Group] : groupsOf(pipes)
    const adapted = new Set<Encoder>()
    for (const group of groups) {
      const [first] = group
      const { encoder, connection } = first
      // Both kinds of peers share one effort, as each message is encoded once for each kind.
      const isAdapted = adapted.has(encoder)
      if (!isAdapted) connection?.applyEffort(pipes.filter((pipe) => pipe.encoder === encoder))
      adapted.add(encoder)
      for (const pipe of group) pipe.encodeOwn()
      const chunk = isPlain ? batch.takeChunk() : encode(first, frames, message, batch, errors)
      if (chunk && !isAdapted) connection?.encoded(chunk)
      const left = messages - (chunk?.messages ?? 0)
      chunk?.share(group.length)
      for (const pipe of group) {
        if (left > 0) pipe.countFlushed(left)
        try {
          if (chunk) pipe.writeChunk(chunk)
        } catch (error) {
          errors.push(error)
        }
      }
    }
    batch?.release()
    return errors
  }
}

/** Encodes a batch and a message for a pipe, or only the batch if that fails; undefined if there is nothing. */
function encode(
  pipe: Pipe,
  frames: Uint8Array,
  message: Message | undefined,
  batch: Batch | undefined,
  errors: unknown[],
): Chunk | undefined {
  if (frames.length === 0 && message === undefined && !batch?.messages) return undefined
  try {
    return pipe.encoder.encode(frames, message, batch, pipe.packing)
  } catch (error) {
    errors.push(error)
    // The messages before it were taken, and are not lost with it.
    return message === undefined ? undefined : encode(pipe, frames, undefined, batch, errors)
  }
}

/** Pipes that get the same bytes. */
type Group = [Pipe, ...Pipe[]]

/** Groups pipes by their endpoint, of which most sockets have one, and by what their peers read. */
function groupsOf(pipes: Pipe[]): Iterable<Group> {
  const inParts = new Map<Encoder, Group>()
  const inArenas = new Map<Encoder, Group>()
  const inFrames = new Map<Encoder, Group>()
  const byPacking = { parts: inParts, arenas: inArenas, frames: inFrames }
  for (const pipe of pipes) {
    const groups = byPacking[pipe.packing]
    const group = groups.get(pipe.encoder)
    if (group) group.push(pipe)
    else groups.set(pipe.encoder, [pipe])
  }
  // Last, as those whose bytes are not compressed choose no effort.
  return [...inParts.values(), ...inArenas.values(), ...inFrames.values()]
}
