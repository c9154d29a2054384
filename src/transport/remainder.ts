/** Writes to a socket by its file descriptor, after the event loop has stopped. */
import { readSync, writeSync } from "node:fs"
import type { Socket } from "node:net"
import type { Reference } from "../codec/chunk.js"
import { partDetached } from "../codec/errors.js"
import { laterBytes } from "./callers-memory.js"

/** Bytes to read at once, and the maximum number of reads before the next write. */
const READ_BYTES = 64 * 1024
const READS_MAX = 16

/** Errors after which the call can be repeated. */
const PASSING: ReadonlySet<string | undefined> = new Set(["EAGAIN", "EINTR"])

let readBuffer: Uint8Array | undefined

interface InnerSocket {
  _handle?: { writeQueueSize?: number } | null
  _writableState: { writelen?: number }
}

/** Returns the number of bytes written to a socket that the system has not accepted yet. */
export function untakenBytes(socket: Socket): number {
  const { writableLength } = socket
  if (writableLength === 0 || socket.destroyed) return 0
  const { _handle, _writableState } = socket as unknown as InnerSocket
  // The system may have accepted a part of the write in progress.
  const ofWrite = (_handle?.writeQueueSize ?? 0) + laterBytes(socket)
  return writableLength - (_writableState.writelen ?? 0) + ofWrite
}

/**
 * Returns whether the peer has ended the connection, which the event loop has not learned before it
 * stopped. Bytes received before the end are lost: nobody reads them any more.
 */
export function hasEnded(descriptor: number): boolean {
  readBuffer ??= new Uint8Array(READ_BYTES)
  try {
    for (let i = 0; i < READS_MAX; i++) if (readSync(descriptor, readBuffer) === 0) return true
    return false
  } catch (error) {
    return !PASSING.has((error as NodeJS.ErrnoException).code)
  }
}

/** The last bytes written to a socket, which the system has not accepted yet. */
export class Remainder {
  readonly #descriptor: number
  readonly #pieces: readonly (Uint8Array | Reference)[]
  /** The index of the piece to write next, and the position in it. */
  #next = 0
  #at: number
  #left: number

  /** @param pieces pieces whose last `leftBytes` bytes are still to be written. */
  constructor(descriptor: number, pieces: readonly (Uint8Array | Reference)[], leftBytes: number) {
    this.#descriptor = descriptor
    this.#pieces = pieces
    this.#left = leftBytes
    this.#at = -leftBytes
    for (const piece of pieces) this.#at += piece.length
  }

  /** Writes as much as the system accepts at once. Returns the bytes left; 0 if the peer has gone. */
  write(): number {
    try {
      while (this.#left > 0) this.#writeOnce()
      this.#readAll()
    } catch (error) {
      if (!PASSING.has((error as NodeJS.ErrnoException).code)) this.#left = 0
    }
    return this.#left
  }

  #writeOnce(): void {
    const piece = this.#pieces[this.#next] as Uint8Array | Reference
    if (this.#at < piece.length) {
      const bytes = "part" in piece ? piece.part : piece
      if (bytes.length < piece.length) throw partDetached(piece.length)
      const written = writeSync(this.#descriptor, bytes, this.#at)
      this.#at += written
      this.#left -= written
    }
    if (this.#at < piece.length) return
    this.#at -= piece.length
    this.#next++
  }

  /**
   * Reads all received bytes. A close with unread bytes becomes a reset, which can lose bytes
   * already sent.
   */
  #readAll(): void {
    readBuffer ??= new Uint8Array(READ_BYTES)
    for (let i = 0; i < READS_MAX; i++) if (readSync(this.#descriptor, readBuffer) === 0) return
  }
}
