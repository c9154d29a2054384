import { clockMs } from "../base/runtime.js"
import { throwLater } from "../base/throw-later.js"
import type { Chunk } from "../codec/chunk.js"
import { TRAINED_MAX } from "../codec/dictionary-groups.js"
import type { Packing } from "../codec/packing.js"
import { isOutdated } from "../transport/last-poll.js"
import type {
  Command,
  Encoding,
  MessageEncoder,
  OpenMemory,
  Waiting,
} from "../transport/transport.js"
import { BATCH_BYTES, Batch, plainLength, SHARED_BATCH_BYTES } from "./batch.js"
import { type Flushable, flushSoon, Rest } from "./flusher.js"
import type { Message } from "./message.js"
import type { SharedBatch } from "./outbound.js"
import type { Pipe } from "./pipe.js"
import { PipeArray } from "./pipe-array.js"

/**
 * The largest message that is copied into a shared batch, in bytes. Larger ones are encoded at once,
 * directly from the caller's memory.
 */
const SHARED_COPIED_MAX_BYTES = 128 * 1024
const NO_FRAMES = new Uint8Array(0)
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
  threadMs = 0

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
    if (pipe.shared === this) this.seal()
    if (this.#pipes.indexOf(pipe) < this.#matching)
      this.#pipes.swap(this.#pipes.indexOf(pipe), --this.#matching)
    if (this.#pipes.indexOf(pipe) < this.#active)
      this.#pipes.swap(this.#pipes.indexOf(pipe), --this.#active)
    this.#pipes.remove(pipe)
  }

  /** Returns whether every matching pipe has room. */
  checkHwm(): boolean {
    for (let i = 0; i < this.#matching; i++) if (!this.#pipes.at(i).hasRoom()) return false
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
    for (let i = this.#active; i < missing; i++) this.#pipes.at(i).countDropped()
    this.#missing = 0
    for (let i = 0; i < this.#matching; ) {
      const pipe = this.#pipes.at(i)
      if (!pipe.checkWrite()) {
        pipe.countDropped()
        this.#pipes.swap(i, --this.#matching)
        this.#pipes.swap(this.#matching, --this.#active)
      } else if (pipe.conflates) {
        // A conflating pipe keeps only its latest message, so it cannot share a batch.
        pipe.write(message)
        this.#pipes.swap(i, --this.#matching)
      } else i++
    }
    if (this.#matching > 0) this.#share(message)
    this.#matching = 0
  }

  /** Sends a command to all pipes, as `Pipe.writeCommand` does. */
  commandToAll(name: Command["name"], data: Uint8Array, isChange: boolean): void {
    for (let i = 0; i < this.#pipes.length; i++)
      this.#pipes.at(i).writeCommand(name, data, isChange)
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
    if (!this.#isShared()) {
      this.seal()
      this.#shared = this.#matchingPipes()
    }
    const bytes = plainLength(message)
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

  #matchingPipes(): Pipe[] {
    const pipes = new Array<Pipe>(this.#matching)
    for (let i = 0; i < pipes.length; i++) pipes[i] = this.#pipes.at(i)
    return pipes
  }

  #countShared(): void {
    const shared = this.#shared
    for (let i = 0; i < shared.length; i++) (shared[i] as Pipe).countShared(this)
  }

  /** Whether the open batch is for exactly the pipes that match now. */
  #isShared(): boolean {
    if (this.#shared.length !== this.#matching || !this.#batch) return false
    for (let i = 0; i < this.#matching; i++) if (this.#pipes.at(i).shared !== this) return false
    return true
  }

  /** Opens a batch with room for at least `bytes`. */
  #openBatch(bytes: number): Batch {
    const memory = bytes > BATCH_BYTES ? undefined : this.#openMemory()
    return new Batch(this.#plainBelow, SHARED_BATCH_BYTES, memory)
  }

  /** The size below which all pipes of the open batch send parts plain. */
  get #plainBelow(): number {
    let below = Number.POSITIVE_INFINITY
    let last: MessageEncoder | undefined
    let effort: number | undefined
    for (const { peerEncoder: encoder, packing, connection } of this.#shared) {
      if (encoder !== last) effort = connection?.encoding?.nextEffort(this.#shared)
      last = encoder
      below = Math.min(below, encoder.plainBelow(connection && packing, effort))
    }
    return below
  }

  #openMemory(): OpenMemory | undefined {
    const encoder = this.#shared[0]?.encoder
    if (!encoder?.openMemory) return undefined
    const connections: object[] = []
    for (const { isFree, connection } of this.#shared) {
      if (!isFree) return undefined
      connections.push(connection as object)
    }
    return encoder.openMemory(connections)
  }

  /**
   * Writes the batch, and `message` after it, to the pipes of the open batch. Returns the errors
   * that encoders threw.
   */
  #deliver(batch: Batch | undefined, message?: Message): unknown[] {
    const errors: unknown[] = []
    const pipes = this.#shared
    this.#shared = []
    for (const pipe of pipes) pipe.shared = undefined
    // Before the efforts are chosen for what is shared, which would be measured with these batches.
    for (const pipe of pipes) pipe.encodeOwn()
    const frames = batch?.seal() ?? NO_FRAMES
    const messages = (batch?.count ?? 0) + (message ? 1 : 0)
    const isPlain = frames.length === 0 && message === undefined && batch && batch.messages > 0
    const groups = isPlain ? [groupOfAll(pipes)] : groupsOf(pipes)
    const efforts = new Map<MessageEncoder, number | undefined>()
    // Decided once for all of them: writing to hundreds takes long itself.
    const mustPoll = isOutdated()
    for (const { encoder, packing, members } of groups) {
      const encoding = members[0]?.connection?.encoding
      // Compressing and plain peers share one effort, although each message is encoded once for each kind.
      const isChosen = efforts.has(encoder)
      if (!isChosen)
        efforts.set(encoder, encoding?.nextEffort(membersWith(encoder, groups), encoder))
      const effort = efforts.get(encoder)
      const begunAt = clockMs()
      const chunk = isPlain
        ? batch.takeChunk()
        : encode(encoder, packing, effort, frames, message, batch, errors)
      if (chunk && !isChosen) encoding?.encoded(chunk, effort as number, begunAt)
      const flushed = messages - (chunk?.messages ?? 0)
      chunk?.share(members.length)
      for (const pipe of members) {
        if (flushed > 0) pipe.countFlushed(flushed)
        try {
          if (chunk) pipe.writeChunk(chunk, mustPoll)
        } catch (error) {
          errors.push(error)
        }
      }
    }
    if (!isPlain && errors.length === 0) sample(pipes, frames, message)
    batch?.release()
    return errors
  }
}

/**
 * Encodes a batch and a message, or the batch alone if that fails. Returns undefined if
 * there is nothing to write.
 */
function encode(
  encoder: MessageEncoder,
  packing: Packing,
  effort: number | undefined,
  frames: Uint8Array,
  message: Message | undefined,
  batch: Batch | undefined,
  errors: unknown[],
): Chunk | undefined {
  if (frames.length === 0 && message === undefined && !batch?.messages) return undefined
  try {
    return encoder.encode(frames, message, batch, packing, effort)
  } catch (error) {
    errors.push(error)
    // The earlier messages were already accepted, so they must not be lost with this one.
    if (message === undefined) return undefined
    return encode(encoder, packing, effort, frames, undefined, batch, errors)
  }
}

/** Pipes that write the same bytes. */
interface Group {
  readonly encoder: MessageEncoder
  readonly packing: Packing
  readonly members: Pipe[]
}

/** Returns one group, for messages that are the same for all encoders and packings. */
function groupOfAll(members: Pipe[]): Group {
  const [{ encoder, packing }] = members as [Pipe]
  return { encoder, packing, members }
}

/**
 * Groups pipes by encoder (one for each endpoint, and one for each dictionary that it has trained)
 * and by the packing that their peers read. If too many have trained dictionaries, the smallest
 * groups are sent the messages without one.
 */
function groupsOf(pipes: Pipe[]): Group[] {
  const groups = groupBy(({ peerEncoder }) => peerEncoder, pipes)
  const trained = groups.filter((group) => group.encoder !== group.members[0]?.encoder)
  if (trained.length <= TRAINED_MAX) return groups
  trained.sort((a, b) => b.members.length - a.members.length)
  const used = new Set(trained.slice(0, TRAINED_MAX).map(({ encoder }) => encoder))
  return groupBy(
    ({ peerEncoder, encoder }) => (used.has(peerEncoder) ? peerEncoder : encoder),
    pipes,
  )
}

function groupBy(encoderOf: (pipe: Pipe) => MessageEncoder, pipes: Pipe[]): Group[] {
  const inParts = new Map<MessageEncoder, Group>()
  const inArenas = new Map<MessageEncoder, Group>()
  const inFrames = new Map<MessageEncoder, Group>()
  const byPacking = { parts: inParts, arenas: inArenas, frames: inFrames }
  for (const pipe of pipes) {
    const encoder = encoderOf(pipe)
    const { packing } = pipe
    const groups = byPacking[packing]
    const group = groups.get(encoder)
    if (group) group.members.push(pipe)
    else groups.set(encoder, { encoder, packing, members: [pipe] })
  }
  // Frames come last, because they are not compressed and so choose no effort.
  return [...inParts.values(), ...inArenas.values(), ...inFrames.values()]
}

/** Returns the pipes that an encoder encodes for, in any packing. */
function membersWith(encoder: MessageEncoder, groups: readonly Group[]): Pipe[] {
  return groups.flatMap((group) => (group.encoder === encoder ? group.members : []))
}

/** Trains dictionaries on messages, for the connections of each endpoint. */
function sample(pipes: Pipe[], frames: Uint8Array, message: Message | undefined): void {
  const byEndpoint = new Map<MessageEncoder, Encoding[]>()
  for (const { encoder, connection } of pipes) {
    const encoding = connection?.encoding
    if (!encoding?.trains) continue
    const encodings = byEndpoint.get(encoder)
    if (encodings) encodings.push(encoding)
    else byEndpoint.set(encoder, [encoding])
  }
  for (const encodings of byEndpoint.values()) encodings[0]?.sampled(encodings, frames, message)
}
