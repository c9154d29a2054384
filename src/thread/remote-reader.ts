import { FRAMES_MAX } from "../base/limits.js"
import { Queue } from "../base/queue.js"
import { throwLater } from "../base/throw-later.js"
import { COMMAND, MORE } from "../codec/frames.js"
import type { MessageSink } from "../transport/transport.js"
import { commandName } from "../zmtp/commands.js"
import { FrameReader, type FrameSink } from "../zmtp/frame-reader.js"
import { type Part, receivedPart } from "../zmtp/part.js"

/** A frame whose large body has memory of its own. */
export interface LargeFrame {
  readonly flags: number
  readonly body: Buffer
}

/** What arrives: a piece of some frames, or a whole large one. */
type Piece = Uint8Array | LargeFrame

/** The connection of a reader. */
export interface ReadConnection {
  readonly sink: MessageSink | undefined
  /** Counts bytes that were read, and the frames that ended in them. */
  framesRead(bytes: number, frames: number): void
  /** Calls `readKept()` soon. Messages are never passed on inside a call that passes on others. */
  readSoon(reader: RemoteReader): void
  destroy(): void
}

/** The reading half of a remote connection. It passes the messages in received frames to the sink. */
export class RemoteReader implements FrameSink {
  readonly #connection: ReadConnection
  #frames: FrameReader | undefined
  /** The parts received so far of an incomplete message. */
  #parts: Part[] | undefined
  /** Frames that the sink had no room for, and the position in the first of them. */
  #kept: Queue<Piece> | undefined
  #keptAt = 0
  /** Whether the sink has no room for more. */
  #isStopped = false
  /** Whether received frames are discarded. */
  isDiscarding = false
  /** Number of frames read in the current call. */
  #framesRead = 0
  /** Called once nothing is left to pass on. */
  #finished: (() => void) | undefined

  constructor(connection: ReadConnection) {
    this.#connection = connection
  }

  /** Discards what is received from now on. */
  discard(): void {
    this.isDiscarding = true
    this.#kept = undefined
    if (this.#finished) this.#connection.readSoon(this)
  }

  /** Calls back once all that has arrived was passed on or discarded. No more arrives. */
  finish(finished: () => void): void {
    this.#finished = finished
    if (!this.#kept) this.#finish()
  }

  #finish(): void {
    const finished = this.#finished
    this.#finished = undefined
    finished?.()
  }

  /** Reads a piece of the received frames. */
  read(piece: Piece): void {
    if (this.isDiscarding) return
    if (this.#kept || this.#isStopped) this.#keep(piece)
    else this.#try(() => this.#readNew(piece))
  }

  /** Stops passing on messages. */
  stop(): void {
    this.#isStopped = true
  }

  resume(): void {
    this.#isStopped = false
    if (this.#kept) this.#connection.readSoon(this)
  }

  /** Passes on all that was kept, whether or not the sink has room. */
  readRest(): void {
    while (this.#kept && !this.isDiscarding) {
      this.#isStopped = false
      this.readKept()
    }
  }

  /** Passes on some of what was kept, until the sink has no room, and the rest later. */
  readKept(): void {
    if (!this.#isStopped) this.#try(() => this.#readSomeKept())
    if (!this.#kept) this.#try(() => this.#finish())
  }

  #keep(piece: Piece): void {
    this.#kept ??= new Queue()
    this.#kept.push("body" in piece ? piece : piece.slice())
  }

  /** Reads, and ends the connection after an error of its sink, because some of its frames are lost. */
  #try(read: () => void): void {
    this.#framesRead = 0
    try {
      read()
    } catch (error) {
      this.#connection.destroy()
      throwLater(error)
    }
  }

  #readNew(frames: Piece): void {
    if ("body" in frames) {
      this.#readLarge(frames)
      return
    }
    const used = this.#read(frames)
    if (used === frames.length || this.isDiscarding) return
    this.#keep(frames.subarray(used))
    if (!this.#isStopped) this.#connection.readSoon(this)
  }

  #readSomeKept(): void {
    const kept = this.#kept
    while (kept?.length && this.#goesOn) {
      const frames = kept.first() as Piece
      if ("body" in frames) {
        kept.shift()
        this.#readLarge(frames)
        continue
      }
      const used = this.#read(this.#keptAt > 0 ? frames.subarray(this.#keptAt) : frames)
      this.#keptAt += used
      if (this.#keptAt < frames.length) break
      kept.shift()
      this.#keptAt = 0
    }
    if (kept?.length === 0) this.#kept = undefined
    else if (kept && !this.#isStopped && !this.isDiscarding) this.#connection.readSoon(this)
  }

  /** Whether to read more in this call: a few bytes may be very many frames. */
  get #goesOn(): boolean {
    return !this.#isStopped && !this.isDiscarding && this.#framesRead < FRAMES_MAX
  }

  #read(frames: Uint8Array): number {
    this.#frames ??= new FrameReader()
    const before = this.#framesRead
    const used = this.#frames.read(frames, 0, this)
    this.#connection.framesRead(used, this.#framesRead - before)
    return used
  }

  #readLarge({ flags, body }: LargeFrame): void {
    this.#connection.framesRead(body.length, 1)
    this.frame(flags, body)
  }

  head(): void {}

  frame(flags: number, body: Buffer): boolean {
    this.#framesRead++
    const sink = this.#connection.sink as MessageSink
    if (flags & COMMAND) {
      const name = commandName(body) as string
      if (!sink.command(name, body.subarray(1 + name.length))) this.stop()
    } else {
      const parts = this.#parts ?? []
      parts.push(receivedPart(flags, body))
      this.#parts = flags & MORE ? parts : undefined
      if (!(flags & MORE) && !sink.message(parts)) this.stop()
    }
    return this.#goesOn
  }
}
