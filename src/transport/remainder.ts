/** Writes to a socket after the event loop has stopped, by its file descriptor. */
import { readSync, writeSync } from "node:fs"
import type { Socket } from "node:net"

/** Bytes read at once, and how often at most, before it is written again. */
const READ_BYTES = 64 * 1024
const READS_MAX = 16

/** Errors after which it may be tried again. */
const PASSING: ReadonlySet<string | undefined> = new Set(["EAGAIN", "EINTR"])

let readBuffer: Uint8Array | undefined

/** What a net.Socket keeps to itself. There is no descriptor in Windows, where handles are others. */
interface InnerSocket {
  _handle?: { fd?: number; writeQueueSize?: number } | null
  _writableState: { writelen?: number }
}

/** Bytes that were written to a socket and that the system has not taken. */
export function untakenBytes(socket: Socket): number {
  const { writableLength } = socket
  if (writableLength === 0 || socket.destroyed) return 0
  const { _handle, _writableState } = socket as unknown as InnerSocket
  // Of the write that is under way, the system may have taken a part.
  return writableLength - (_writableState.writelen ?? 0) + (_handle?.writeQueueSize ?? 0)
}

/** The file descriptor of a socket; undefined where there is none, or it is not known what is left. */
export function descriptorOf(socket: Socket): number | undefined {
  const { _handle, _writableState } = socket as unknown as InnerSocket
  if (socket.destroyed || !_handle) return undefined
  const { fd, writeQueueSize } = _handle
  const isKnown = writeQueueSize !== undefined && _writableState.writelen !== undefined
  return isKnown && fd !== undefined && fd >= 0 ? fd : undefined
}

/** The bytes at the end of what was written to a socket. */
export class Remainder {
  readonly #descriptor: number
  readonly #pieces: Uint8Array[]
  #at: number
  #left: number

  /** @param pieces end with the bytes that are left. */
  constructor(descriptor: number, pieces: Uint8Array[], leftBytes: number) {
    this.#descriptor = descriptor
    this.#pieces = pieces
    this.#left = leftBytes
    this.#at = -leftBytes
    for (const piece of pieces) this.#at += piece.length
  }

  /** Writes what the system takes at once. Returns the bytes that are left; 0 where the peer has gone. */
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
    const piece = this.#pieces[0] as Uint8Array
    if (this.#at < piece.length) {
      const written = writeSync(this.#descriptor, piece, this.#at)
      this.#at += written
      this.#left -= written
    }
    if (this.#at < piece.length) return
    this.#at -= piece.length
    this.#pieces.shift()
  }

  /** Reads what has come: where that is left unread, a close is a reset, and what was sent may be lost. */
  #readAll(): void {
    readBuffer ??= new Uint8Array(READ_BYTES)
    for (let i = 0; i < READS_MAX; i++) if (readSync(this.#descriptor, readBuffer) === 0) return
  }
}
