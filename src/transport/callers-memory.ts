/**
 * Writes parts from the caller's memory, which those of `REFERRED_MIN_BYTES` (base/limits.ts) stay in.
 * A program may change it meanwhile, which changes the message. Or it may detach it, and then it may
 * soon be freed, or hold something else. So libuv is never given this memory, which it would read
 * until the network has taken all: the system reads it during a call, and once the network is full, a
 * piece is copied. If a part is detached before all of it was read, the connection ends in its middle.
 */
import { Socket } from "node:net"
import { copyShared } from "../base/copy-shared.js"
import { ALL_COPIED_BYTES, COPIED_BYTES } from "../base/limits.js"
import type { Reference } from "../codec/chunk.js"
import { partDetached } from "../codec/errors.js"
import { writeNow } from "./by-descriptor.js"

export interface Write {
  chunk: unknown
  encoding: BufferEncoding
}
export type WriteCallback = (error?: Error | null) => void

const BYTES = "buffer" as BufferEncoding
/** Maximum number of buffers in a call. The list is made again for each. */
const BUFFERS_MAX = 128

const LENGTH: unique symbol = Symbol("announced length")
type Watched = Buffer & { readonly [LENGTH]: number }

/** Returns a view of a part that is still there, for `writeWatched`. */
export function watched({ part, length }: Reference): Buffer {
  const view = Buffer.from(part.buffer, part.byteOffset, length)
  return Object.assign(view, { [LENGTH]: length })
}

export function isWatched(bytes: unknown): bytes is Watched {
  return (bytes as Watched)[LENGTH] !== undefined
}

function lengthOf(buffer: Buffer): number {
  return isWatched(buffer) ? buffer[LENGTH] : buffer.length
}

const LATER_BYTES: unique symbol = Symbol("bytes of a write that libuv has not been given yet")
type Writer = Socket & { [LATER_BYTES]?: number }

/** Bytes of the write in progress that libuv has not been given yet. */
export function laterBytes(socket: Socket): number {
  return (socket as Writer)[LATER_BYTES] ?? 0
}

/** Memory for copies that is not in use. New memory costs more than a copy. */
let spare: Buffer | undefined

/** Writes buffers to a socket, some of which are watched, and calls back once all are written. */
export function writeWatched(
  socket: Writer,
  writes: readonly Write[],
  callback: WriteCallback,
): void {
  const rest = new Rest(writes.map(({ chunk }) => chunk as Buffer))
  const end = (error?: Error | null) => {
    socket[LATER_BYTES] = 0
    callback(error)
  }
  const writeOn = () => {
    for (let hasRoom = true; hasRoom; ) {
      const { lost } = rest
      if (lost || rest.bytes === 0) return end(lost && partDetached(lengthOf(lost)))
      const { buffers, bytes } = rest.next
      const taken = writeNow(socket, buffers)
      rest.skip(taken ?? 0)
      if (taken === bytes) continue

      const memory = spare ?? Buffer.allocUnsafeSlow(ALL_COPIED_BYTES)
      spare = undefined
      const copy = rest.takeCopy(memory, taken === undefined ? ALL_COPIED_BYTES : COPIED_BYTES)
      socket[LATER_BYTES] = rest.bytes
      hasRoom = false
      let isNow = true
      Socket.prototype._write.call(socket, copy, BYTES, (error) => {
        spare = memory
        if (error || socket.destroyed) end(error)
        else if (isNow) hasRoom = true
        else writeOn()
      })
      isNow = false
    }
  }
  writeOn()
}

/** The rest of the buffers of a write. */
class Rest {
  readonly #buffers: readonly Buffer[]
  /** The index of the first buffer that is left, and the position in it. */
  #first = 0
  #at = 0
  /** Number of bytes left, including those of memory that has gone. */
  bytes = 0

  constructor(buffers: readonly Buffer[]) {
    this.#buffers = buffers
    for (const buffer of buffers) this.bytes += lengthOf(buffer)
  }

  /** The first buffer that is left, if its memory has gone. */
  get lost(): Buffer | undefined {
    const first = this.#buffers[this.#first]
    return first && first.length < lengthOf(first) ? first : undefined
  }

  /** The first buffers that are left, up to one whose memory has gone. */
  get next(): { buffers: Buffer[]; bytes: number } {
    const buffers: Buffer[] = []
    let bytes = 0
    for (const buffer of this.#buffers.slice(this.#first, this.#first + BUFFERS_MAX)) {
      if (buffer.length < lengthOf(buffer)) break
      const left = buffers.length === 0 ? buffer.subarray(this.#at) : buffer
      buffers.push(left)
      bytes += left.length
    }
    return { buffers, bytes }
  }

  skip(bytes: number): void {
    this.bytes -= bytes
    this.#at += bytes
    for (; this.#first < this.#buffers.length; this.#first++) {
      const length = lengthOf(this.#buffers[this.#first] as Buffer)
      if (this.#at < length) break
      this.#at -= length
    }
  }

  /** Copies the next bytes, up to a number of them, and skips them. */
  takeCopy(memory: Buffer, limit: number): Buffer {
    let length = 0
    for (const buffer of this.next.buffers) {
      const piece = buffer.subarray(0, limit - length)
      copyShared(memory, length, piece)
      length += piece.length
    }
    this.skip(length)
    return memory.subarray(0, length)
  }
}
