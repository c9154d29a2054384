import { connect, type NetConnectOpts, type OnReadOpts, Socket } from "node:net"

/** Bytes read at once at most. More than Node's own reads, as fewer calls carry more. */
const READ_BYTES = 256 * 1024

/** One for all: what is read is used up before the next read. */
const buffer = Buffer.allocUnsafeSlow(READ_BYTES)

/** Events of a channel's socket. */
export interface ChannelHandlers {
  connected?(): void
  /** A chunk was read. It is good for the length of the call only. */
  data?(chunk: Uint8Array, channel: Channel): void
  /** The other side sends nothing more. */
  ended?(channel: Channel): void
  /** There is room to write again. */
  drained?(channel: Channel): void
  /** All that was written is sent, and an end behind it. */
  finished?(channel: Channel): void
  /** It is over; `socket.errored` says why. */
  closed?(channel: Channel): void
}

/** A socket, and who is told what happens to it. */
export class Channel {
  readonly socket: Socket
  handlers: ChannelHandlers = {}

  /** Connects, with options that are changed for it: V8 would make a hidden class for each copy. */
  static connect(options: NetConnectOpts): Channel {
    const channel = new Channel((onread) => {
      options.onread = onread
      return connect(options)
    })
    channel.socket.once("connect", connected)
    return channel
  }

  /**
   * Takes over a socket that a server accepted and has not read from.
   *
   * Node reads into a buffer of ours only for sockets that are told so when they
   * are made, and a server makes them otherwise. So the handle gets a new one;
   * should Node come to hide it, the old one is read in the usual way.
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
    const callback = (length: number) => {
      this.handlers.data?.(buffer.subarray(0, length), this)
      return true
    }
    this.socket = open({ buffer, callback })
    const socket = this.socket as SocketOfChannel
    socket[CHANNEL] = this
    socket.on("end", ended).on("drain", drained).on("finish", finished).on("close", closed)
    socket.on("error", ignored).unref()
  }
}

const CHANNEL = Symbol("channel")
type SocketOfChannel = Socket & { [CHANNEL]: Channel }

// The same for all sockets: functions made for each would take more memory than the rest of it.

function connected(this: SocketOfChannel): void {
  this[CHANNEL].handlers.connected?.()
}

function ended(this: SocketOfChannel): void {
  this[CHANNEL].handlers.ended?.(this[CHANNEL])
}

function drained(this: SocketOfChannel): void {
  this[CHANNEL].handlers.drained?.(this[CHANNEL])
}

function finished(this: SocketOfChannel): void {
  this[CHANNEL].handlers.finished?.(this[CHANNEL])
}

function closed(this: SocketOfChannel): void {
  this[CHANNEL].handlers.closed?.(this[CHANNEL])
}

/** "close" follows. */
function ignored(): void {}
