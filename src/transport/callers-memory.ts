/**
 * Writes parts from the caller's memory, which those of `REFERRED_MIN_BYTES` (codec/limits.ts) stay in. A program may change it meanwhile, which changes the message,
 * or detach it, which must not change where the message ends: neither fewer bytes than were announced
 * may follow, nor bytes of other memory.
 */
import { Socket } from "node:net"
import type { Reference } from "../codec/chunk.js"
import { partDetached } from "../codec/errors.js"

export interface Write {
  chunk: unknown
  encoding: BufferEncoding
}
export type WriteCallback = (error?: Error | null) => void

/**
 * The last bytes of a part, which are copied and written after the others: if the memory is detached
 * while the system waits to read those, no peer takes the part for complete.
 */
const TAIL_BYTES = 1024

const BYTES = "buffer" as BufferEncoding

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

const LATER_BYTES: unique symbol = Symbol(
  "bytes of a write that the system is not asked to take yet",
)
type Writer = Socket & { [LATER_BYTES]?: number }

/** Bytes of the write in progress that the system has not been asked to take yet. */
export function laterBytes(socket: Socket): number {
  return (socket as Writer)[LATER_BYTES] ?? 0
}

/** Writes buffers to a socket, some of which are watched, and calls back once all are written. */
export function writeWatched(
  socket: Writer,
  writes: readonly Write[],
  callback: WriteCallback,
): void {
  let next = 0
  let last: Watched | undefined
  let left = 0
  for (const { chunk } of writes)
    left += isWatched(chunk) ? chunk[LENGTH] : (chunk as Buffer).length

  const writeOn = (error?: Error | null) => {
    socket[LATER_BYTES] = 0
    if (socket.destroyed) return callback(error)
    // If the memory has shrunk, the system may not have been able to read it.
    if (last && !isThere(last)) return callback(partDetached(last[LENGTH]))
    if (error) return callback(error)
    const group: Write[] = []
    const add = (chunk: Buffer) => {
      left -= chunk.length
      group.push({ chunk, encoding: BYTES })
    }
    if (last) add(Buffer.from(last.subarray(-TAIL_BYTES)))
    last = undefined
    while (next < writes.length && !last) {
      const { chunk } = writes[next++] as { chunk: Buffer }
      if (!isWatched(chunk)) add(chunk)
      else if (isThere(chunk)) {
        add(chunk.subarray(0, -TAIL_BYTES))
        last = chunk
      } else return callback(partDetached(chunk[LENGTH]))
    }
    socket[LATER_BYTES] = left
    Socket.prototype._writev?.call(socket, group, last ? writeOn : callback)
  }
  writeOn()
}

function isThere(bytes: Watched): boolean {
  return bytes.length === bytes[LENGTH]
}
