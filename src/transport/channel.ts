import { connect, type NetConnectOpts, type OnReadOpts, Socket } from "node:net"

/** Bytes read at once at most. More than Node's own reads, as fewer calls carry more. */
const READ_BYTES = 256 * 1024

/** One for all: what is read is used up before the next read. */
const buffer = Buffer.allocUnsafeSlow(READ_BYTES)

/** A socket, and who gets what is read from it. A chunk is good for the length of the call only. */
export class Channel {
  readonly socket: Socket
  receive: (chunk: Uint8Array) => void = () => {}

  /** Connects. */
  static connect(options: NetConnectOpts): Channel {
    return new Channel((onread) => connect({ ...options, allowHalfOpen: true, onread }))
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
    return new Channel((onread, receive) => {
      if (!handle) return accepted.on("data", receive)
      inner._handle = null
      return new Socket({ handle, allowHalfOpen: true, onread } as object)
    })
  }

  private constructor(open: (onread: OnReadOpts, receive: (chunk: Uint8Array) => void) => Socket) {
    const callback = (length: number) => {
      this.receive(buffer.subarray(0, length))
      return true
    }
    this.socket = open({ buffer, callback }, (chunk) => this.receive(chunk))
    this.socket.on("error", ignored).unref()
  }
}

/** "close" follows. One for all: a function made on the spot would keep what is around it in memory. */
const ignored = () => {}
