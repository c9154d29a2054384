import type { Socket } from "node:net"
import { isShared } from "../base/is-shared.js"
import { Chunk } from "../codec/chunk.js"
import { descriptorOf } from "./by-descriptor.js"
import { watched } from "./callers-memory.js"
import { hasEnded, Remainder, untakenBytes } from "./remainder.js"
import type { Departing, Departure, Waiting } from "./transport.js"

/** The shared value of writers that are not writing anything. */
const NOTHING: (Chunk | Uint8Array)[] = []
const NO_BYTES = new Uint8Array(0)

/** The writing half of a connection. Chunks keep their memory until the stream has written them. */
export class SocketWriter implements Departing {
  readonly #socket: Socket
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

  constructor(socket: Socket) {
    this.#socket = socket
  }

  get isFull(): boolean {
    return this.#isFull
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

  /**
   * Writes a chunk, which is released later, or the bytes of a frame. They are lost if the connection
   * is over: writing the dictionary before the chunk may have failed.
   */
  write(item: Chunk | Uint8Array): void {
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

  /**
   * Writes a chunk with parts in the caller's memory, or on a worker in the program's, all of which is
   * still there. Memory that threads share cannot be detached.
   */
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

  /** A write failed. */
  failed(): void {
    this.#hasFailed = true
    this.#isOver = true
    this.flushed()
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
