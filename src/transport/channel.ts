import { connect, type NetConnectOpts, type OnReadOpts, Socket } from "node:net"
import { isWatched, type Write, type WriteCallback, writeWatched } from "./callers-memory.js"
import { heard, heardBytes } from "./last-poll.js"

/** Size of the read buffer. It is larger than Node's, because fewer calls carry more. */
const READ_BYTES = 256 * 1024

/** The read buffer of all sockets: each chunk is consumed before the next read. */
const buffer = Buffer.allocUnsafeSlow(READ_BYTES)

/** Returns the beginning of that buffer, for a read of at most `bytes`. */
export function bufferOf(bytes: number): Uint8Array {
  return bytes < READ_BYTES ? buffer.subarray(0, bytes) : buffer
}

/**
 * Bytes to read at once of a handshake, the first read included: its commands are short, and one that
 * waits for its turn is kept until then.
 */
export const HANDSHAKE_READ_BYTES = 4096

export interface ChannelHandlers {
  connected?(): void
  /** A chunk was read. It is valid during the call only. */
  data?(chunk: Uint8Array, channel: Channel): void
  /** Returns the memory into which the next bytes are read; undefined for the buffer of all sockets. */
  landing?(): Uint8Array | undefined
  /** Bytes were read into the memory that `landing` returned. */
  landed?(bytes: number): void
  /** The peer closed its sending side. */
  ended?(channel: Channel): void
  drained?(channel: Channel): void
  /**
   * A write failed. Returns whether to keep the socket open, to be read to its end. It can no longer
   * be written to then, and has to be destroyed.
   */
  writeFailed?(error: Error): boolean
  /** All writes and the end of the stream were sent. */
  finished?(channel: Channel): void
  /** The socket was closed; `socket.errored` has the reason. */
  closed?(channel: Channel): void
}

/** The handlers of a socket that is being made, which asks where to read to. */
const AT_FIRST: ChannelHandlers = { landing: () => bufferOf(HANDSHAKE_READ_BYTES) }

export class Channel {
  readonly socket: Socket
  handlers: ChannelHandlers = AT_FIRST

  /** Connects a socket. `options` is modified, because V8 would make a hidden class for each copy. */
  static connect(options: NetConnectOpts): Channel {
    const channel = new Channel((onread) => {
      options.onread = onread
      return connect(options)
    })
    channel.socket.once("connect", connected)
    return channel
  }

  /**
   * Takes over a socket that a server accepted and nobody has read from.
   *
   * Node reads into a buffer of this package only if the socket was created with one, and a server
   * creates its sockets without. So a new socket gets the accepted one's handle. If a future version of
   * Node hides the handle, the accepted socket is read in the usual way.
   */
  static adopt(accepted: Socket): Channel {
    const inner = accepted as unknown as { _handle?: object | null }
    const handle = inner._handle
    if (handle) {
      inner._handle = null
      return new Channel((onread) => new Socket({ handle, allowHalfOpen: true, onread } as object))
    }
    const channel = new Channel(() => accepted)
    accepted.on("data", (chunk) => channel.handlers.data?.(chunk as Buffer, channel))
    return channel
  }

  private constructor(open: (onread: OnReadOpts) => Socket) {
    this.socket = open({
      buffer: () => this.handlers.landing?.() ?? buffer,
      callback: (length, read) => {
        heardBytes()
        if (read.buffer === buffer.buffer) this.handlers.data?.(read.subarray(0, length), this)
        else this.handlers.landed?.(length)
        return true
      },
    })
    const socket = this.socket as SocketOfChannel
    socket[CHANNEL] = this
    socket._write = write
    socket._writev = writev
    socket.on("end", ended).on("drain", drained).on("finish", finished).on("close", closed)
    socket.on("error", ignored).unref()
  }
}

const CHANNEL = Symbol("channel")
type SocketOfChannel = Socket & { [CHANNEL]: Channel }

// Functions that all sockets share: separate ones for each would take more memory than the rest of a
// channel.

// Node destroys a socket when a write fails, with all received bytes that it has not read yet. So
// the stream is not told of an error if the connection goes on reading, and waits for that write.

function write(
  this: SocketOfChannel,
  bytes: unknown,
  encoding: BufferEncoding,
  callback: WriteCallback,
) {
  if (isWatched(bytes)) writev.call(this, [{ chunk: bytes, encoding }], callback)
  else Socket.prototype._write.call(this, bytes, encoding, unlessFailed(this, callback))
}

function writev(this: SocketOfChannel, writes: Write[], callback: WriteCallback) {
  const done = unlessFailed(this, callback)
  if (writes.some(({ chunk }) => isWatched(chunk))) writeWatched(this, writes, done)
  else Socket.prototype._writev?.call(this, writes, done)
}

function unlessFailed(socket: SocketOfChannel, callback: WriteCallback): WriteCallback {
  return (error) => {
    const isRead = error && !socket.destroyed && socket[CHANNEL].handlers.writeFailed?.(error)
    if (!isRead) callback(error)
  }
}

function connected(this: SocketOfChannel): void {
  heard()
  this[CHANNEL].handlers.connected?.()
}

function ended(this: SocketOfChannel): void {
  heard()
  this[CHANNEL].handlers.ended?.(this[CHANNEL])
}

function drained(this: SocketOfChannel): void {
  this[CHANNEL].handlers.drained?.(this[CHANNEL])
}

function finished(this: SocketOfChannel): void {
  this[CHANNEL].handlers.finished?.(this[CHANNEL])
}

function closed(this: SocketOfChannel): void {
  heard()
  this[CHANNEL].handlers.closed?.(this[CHANNEL])
}

/** Does no more with an error than to hear of it: "close" follows, after the immediates. */
function ignored(): void {
  heard()
}
