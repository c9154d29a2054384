import type { Socket } from "node:net"
import { isShared } from "../base/is-shared.js"
import { clockMs } from "../base/runtime.js"
import { Chunk } from "../codec/chunk.js"
import { partDetached } from "../codec/errors.js"
import { FrameHead } from "../codec/frames.js"
import type { Settings } from "../codec/options.js"
import type { Sender } from "../codec/sender.js"
import type { Traffic } from "../codec/traffic.js"
import { descriptorOf } from "./by-descriptor.js"
import { watched } from "./callers-memory.js"
import type { ConnectionCipher } from "./connection-cipher.js"
import { ConnectionEncoding } from "./connection-encoding.js"
import { hasEnded, Remainder, untakenBytes } from "./remainder.js"
import type {
  ConnectionOptions,
  Departing,
  Departure,
  DirectionCounts,
  Waiting,
} from "./transport.js"

/** The shared value of writers that are not writing anything. */
const NOTHING: (Chunk | Uint8Array)[] = []
const NO_BYTES = new Uint8Array(0)
/** Codes of write errors after which what the peer has sent before may still be unread. */
const PEER_HAS_GONE: ReadonlySet<string | undefined> = new Set([
  "EPIPE",
  "ECONNRESET",
  "ECONNABORTED",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
])

interface WriterEvents {
  /** The effort for the peer has changed. */
  effortChanged(): void
  /** A message cannot be written, and the peer would miss it. */
  failed(error: Error): void
}

/**
 * The writing half of a connection. Sends the dictionary that a chunk needs, seals, counts, and writes.
 * Chunks keep their memory until the stream has written them.
 */
export class SocketWriter implements Departing {
  /** Undefined from the end of the handshake on for a peer that is served as over tcp://. */
  encoding: ConnectionEncoding | undefined
  readonly #socket: Socket
  readonly #connection: WriterEvents
  /** Seals all that follows the handshake, with CURVE. */
  #cipher: ConnectionCipher | undefined
  readonly #sent: Traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }
  /** Whether the network has no room. */
  #isFull = false
  /** Whether nothing can be written any more, because one of the sides has ended the connection. */
  #isOver = false
  #hasFailed = false
  #isClosed = false
  /**
   * Chunks and frames passed to the stream whose bytes it may still hold. Bytes that the stream has
   * not written are at the end.
   */
  #writing: (Chunk | Uint8Array)[] = NOTHING
  /** Callbacks of `flush()`. */
  #flushes: Set<() => void> | undefined
  /** The bytes left to write after the event loop has stopped. */
  #remainder: Remainder | undefined

  constructor(socket: Socket, options: ConnectionOptions, connection: WriterEvents) {
    this.#socket = socket
    this.#connection = connection
    this.encoding = new ConnectionEncoding(options.sender, options.settings, connection)
  }

  /** Encodes what follows the handshake in another format. */
  encodeWith(sender: Sender, settings: Settings): void {
    this.encoding?.close()
    this.encoding = new ConnectionEncoding(sender, settings, this.#connection)
  }

  /** Seals all that follows the handshake with `cipher`. */
  encrypt(cipher: ConnectionCipher): void {
    this.#cipher = cipher
  }

  /** Encodes nothing that follows the handshake, which has shown that the peer is a plain one. */
  sendPlain(): void {
    this.encoding?.close()
    this.encoding = undefined
  }

  get counts(): DirectionCounts {
    return { ...this.#sent, dictionary: this.encoding?.shipped !== undefined }
  }

  /** Whether a write failed. The stream waits for it, so that it cannot end by itself. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /**
   * Whether a write would be queued or lost. Messages that are not written can go to the next
   * connection.
   */
  get blocked(): boolean {
    // A stream that failed reports it one turn of the event loop later.
    return this.#isFull || this.#isOver || this.#socket.destroyed
  }

  get waiting(): Waiting {
    // Written chunks are kept until the stream is empty, and released with the next write after that.
    const bytes = this.#socket.writableLength
    let messages = 0
    if (bytes > 0)
      for (const written of this.#writing)
        if (written instanceof Chunk) messages += written.messages
    return { messages, bytes }
  }

  /** Bytes that the system has not accepted yet. */
  get untakenBytes(): number {
    return untakenBytes(this.#socket)
  }

  /** Writes a chunk of encoded messages, after the dictionary if the chunk needs it. */
  write(chunk: Chunk): void {
    const { detached } = chunk
    if (this.#isClosed || detached) {
      if (detached) this.#connection.failed(partDetached(detached.length))
      chunk.release()
      return
    }
    const { encoding } = this
    if (encoding && chunk.dictionary) this.#shipOnce(chunk.dictionary, encoding)
    const sent = this.#sent
    sent.messages += chunk.messages
    sent.plainBytes += chunk.plainBytes
    sent.wireBytes += chunk.wireBytes
    const begunAt = encoding?.isMeasured ? clockMs() : 0
    this.#seal(chunk)
    encoding?.wrote(chunk, begunAt, this.#isFull)
  }

  /** Sends a dictionary, unless the peer has it. `frame` is the message with it. */
  #shipOnce(frame: Uint8Array, encoding: ConnectionEncoding): void {
    if (encoding.shipped === frame) return
    // The peer would decode the chunk to other bytes.
    if (encoding.shipped) throw new Error("a chunk was encoded for another connection")
    encoding.shipped = frame
    this.send(frame)
    this.#sent.wireBytes += frame.length - new FrameHead().read(frame, 0)
  }

  /** Writes a frame that is not part of a message. */
  send(frame: Uint8Array): void {
    if (!this.#isClosed) this.#seal(frame)
  }

  /**
   * Writes bytes, sealed if the connection is encrypted. It ends if that fails, for want of memory or
   * counters: the peer would miss a message.
   */
  #seal(item: Chunk | Uint8Array): void {
    let sealed = item
    try {
      if (this.#cipher) sealed = this.#cipher.seal(item)
    } catch (error) {
      if (item instanceof Chunk) item.release()
      this.#connection.failed(error as Error)
      return
    }
    this.#write(sealed)
  }

  /** Writes what is released once written. Writing the dictionary before a chunk may have failed. */
  #write(item: Chunk | Uint8Array): void {
    if (this.#isOver) {
      if (item instanceof Chunk) item.release()
      return
    }
    if (!(item instanceof Chunk)) this.#socket.write(item)
    else if (item.references.length === 0) this.#socket.write(item.bytes)
    else this.#writePieces(item)
    const isWriting = this.#socket.writableLength > 0
    // The stream also asks for a pause when the system took everything at once.
    this.#isFull = isWriting && this.#socket.writableNeedDrain
    if (isWriting) {
      if (this.#writing === NOTHING) this.#writing = []
      this.#writing.push(item)
    } else {
      if (item instanceof Chunk) item.release()
      if (this.#writing !== NOTHING) this.#release()
    }
  }

  /** Writes a chunk with parts in the program's memory. What threads share cannot be detached. */
  #writePieces(chunk: Chunk): void {
    const socket = this.#socket
    socket.cork()
    for (const piece of chunk.pieces) {
      if (!("part" in piece)) socket.write(piece)
      else if (isShared(piece.part.buffer)) socket.write(piece.part)
      else socket.write(watched(piece))
    }
    socket.uncork()
  }

  #release(): void {
    for (const written of this.#writing) if (written instanceof Chunk) written.release()
    this.#writing = NOTHING
  }

  /** The stream has passed everything to the system. */
  drained(): void {
    if (this.#socket.writableLength === 0) this.#release()
    this.#isFull = false
    if (!this.#isOver) this.encoding?.drained()
  }

  flush(done: () => void): void {
    if (this.#isClosed || this.#hasFailed || this.untakenBytes === 0) {
      done()
      return
    }
    this.#flushes ??= new Set()
    this.#flushes.add(done)
    if (this.#socket.writableEnded) return
    this.#socket.write(NO_BYTES, () => {
      if (this.#flushes?.delete(done)) done()
    })
  }

  /** Everything was written, or never will be. */
  flushed(): void {
    const flushes = this.#flushes ?? []
    this.#flushes = undefined
    for (const done of flushes) done()
  }

  /** Ends the stream once everything written is sent, or at once if a write has failed. */
  end(): void {
    this.#isOver = true
    if (this.#hasFailed) this.#socket.destroy()
    else this.#socket.end()
  }

  /** A write failed. Returns whether the peer has gone, whose bytes may still be read. */
  failed(error: NodeJS.ErrnoException): boolean {
    if (this.#isOver || !PEER_HAS_GONE.has(error.code)) return false
    this.#hasFailed = true
    this.#isOver = true
    this.flushed()
    return true
  }

  destroy(): void {
    this.#isOver = true
    this.#socket.destroy()
  }

  /** The socket was closed. `flushed()` follows. */
  closed(): void {
    this.#isClosed = true
    this.#isOver = true
    this.#release()
  }

  // -- The exit of the process -----------------------------------------------------

  /**
   * Whether the peer has ended the connection, as far as that can be known after the event loop has
   * stopped.
   */
  get hasPeerEnded(): boolean {
    const descriptor = descriptorOf(this.#socket)
    return descriptor !== undefined && hasEnded(descriptor)
  }

  depart(departure: Departure): boolean {
    if (descriptorOf(this.#socket) === undefined) return false
    departure.add(this)
    return !this.#isOver
  }

  writeOn(): number {
    if (!this.#remainder && this.untakenBytes === 0) return 0
    this.#remainder ??= new Remainder(
      descriptorOf(this.#socket) as number,
      this.#writing.flatMap((written) => (written instanceof Chunk ? written.pieces : written)),
      this.untakenBytes,
    )
    return this.#remainder.write()
  }
}
