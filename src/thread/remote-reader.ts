import { COMMAND, MORE } from "../codec/frames.js"
import { Queue } from "../transport/queue.js"
import { throwLater } from "../transport/throw-later.js"
import type { MessageSink } from "../transport/transport.js"
import { commandName } from "../zmtp/commands.js"
import { FrameReader, type FrameSink } from "../zmtp/frame-reader.js"

// Received messages are never passed on inside a call that passes on others: a socket may receive
// from another connection's pipe, or from the same one, and resume that connection. The connections
// resumed meanwhile continue once the current one is done.
let isReading = false
const resumed = new Set<RemoteReader>()

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
  destroy(): void
}

/** The reading half of a remote connection. It passes the messages in received frames to the sink. */
export class RemoteReader implements FrameSink {
  readonly #connection: ReadConnection
  #frames: FrameReader | undefined
  /** The parts received so far of an incomplete message. */
  #parts: Buffer[] | undefined
  /** Frames that the sink had no room for, and the position in the first of them. */
  #kept: Queue<Piece> | undefined
  #keptAt = 0
  /** Whether the sink has no room for more. */
  #isStopped = false
  #isDiscarding = false
  /** Number of frames read in the current call. */
  #framesRead = 0

  constructor(connection: ReadConnection) {
    this.#connection = connection
  }

  /** Whether received frames are discarded. */
  get isDiscarding(): boolean {
    return this.#isDiscarding
  }

  /** Discards what is received from now on. */
  discard(): void {
    this.#isDiscarding = true
    this.#kept = undefined
  }

  /** Reads a piece of the received frames. */
  read(piece: Piece): void {
    if (this.#isDiscarding) return
    if (this.#kept || this.#isStopped) this.#keep(piece)
    else this.#readAlone(piece)
  }

  /** Stops passing on messages. */
  stop(): void {
    this.#isStopped = true
    resumed.delete(this)
  }

  resume(): void {
    if (isReading) resumed.add(this)
    else this.#readAlone(undefined)
  }

  /** Passes on all that was kept, whether or not the sink has room. */
  readRest(): void {
    while (this.#kept && !this.#isDiscarding) this.#readAlone(undefined)
  }

  #keep(piece: Piece): void {
    this.#kept ??= new Queue()
    this.#kept.push("body" in piece ? piece : piece.slice())
  }

  /** Reads new frames, or the kept ones, and then the kept frames of connections resumed meanwhile. */
  #readAlone(piece: Piece | undefined): void {
    isReading = true
    try {
      if (piece) this.#readNew(piece)
      else this.#readKept()
    } catch (error) {
      this.#breakOff(error)
    }
    for (const one of resumed) {
      resumed.delete(one)
      try {
        one.#readKept()
      } catch (error) {
        one.#breakOff(error)
      }
    }
    isReading = false
  }

  /** Ends a connection after an error of its sink, because some of its frames are lost. */
  #breakOff(error: unknown): void {
    this.#connection.destroy()
    throwLater(error)
  }

  #readNew(frames: Piece): void {
    if ("body" in frames) {
      this.#readLarge(frames)
      return
    }
    const used = this.#read(frames)
    if (used < frames.length && !this.#isDiscarding) this.#keep(frames.subarray(used))
  }

  #readKept(): void {
    this.#isStopped = false
    const kept = this.#kept
    while (kept?.length && !this.#isStopped && !this.#isDiscarding) {
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
  }

  #read(frames: Uint8Array): number {
    this.#frames ??= new FrameReader()
    this.#framesRead = 0
    const used = this.#frames.read(frames, 0, this)
    this.#connection.framesRead(used, this.#framesRead)
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
      parts.push(body)
      this.#parts = flags & MORE ? parts : undefined
      if (flags & MORE) return true
      if (!sink.message(parts)) this.stop()
    }
    return !this.#isStopped && !this.#isDiscarding
  }
}
