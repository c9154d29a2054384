import { describeGreeting } from "../codec/describe-greeting.js"
import { ProtocolError } from "../codec/errors.js"
import {
  bufferOf,
  type Channel,
  type ChannelHandlers,
  HANDSHAKE_READ_BYTES,
} from "../transport/channel.js"
import { Deadline } from "../transport/deadline.js"
import { zmqError } from "../transport/zmq-error.js"
import { GREETING_BYTES, mayGreet, SIGNATURE_BYTES } from "../zmtp/greeting.js"
import type { CurveEnd } from "./curve-end.js"
import { HANDSHAKE_MS } from "./link.js"

const NOTHING = new Uint8Array(0)

export interface IncomingHandlers {
  /**
   * The other endpoint was reached. Whoever takes the two channels sets their handlers, and passes on
   * `start`: what the peer has sent so far, without encryption.
   */
  dialled(dialled: Channel, start: Uint8Array): void
  /** The peer was silent, or sent what no peer sends. The connection is closed. */
  refused(error: Error): void
  /** The other endpoint could not be reached. The connection is closed. */
  unreachable(error: Error): void
  /** The connection was closed before another one was there, whatever the reason. */
  closed(): void
}

/**
 * A connection that was accepted, until there is another one to join it to. That is dialled only once
 * the peer has sent the signature of a greeting, as libzmq does before it waits for the other side's.
 * With the bridge as CURVE's server, it is dialled once the client has shown that it may connect.
 */
export class Incoming implements ChannelHandlers {
  /** The address of the peer. */
  readonly from: string
  readonly channel: Channel
  readonly #curve: CurveEnd | undefined
  readonly #dial: () => Channel
  readonly #handlers: IncomingHandlers
  readonly #limit: Deadline
  /** Bytes received so far, without encryption. */
  #start: Uint8Array = NOTHING
  #dialled: Channel | undefined

  constructor(
    from: string,
    channel: Channel,
    curve: CurveEnd | undefined,
    dial: () => Channel,
    handlers: IncomingHandlers,
  ) {
    this.from = from
    this.channel = channel
    this.#curve = curve
    this.#dial = dial
    this.#handlers = handlers
    this.#limit = new Deadline(HANDSHAKE_MS, () => this.#timedOut())
    channel.handlers = this
    if (curve?.isServer) curve.greet()
    channel.socket.resume()
  }

  /** Closes both connections. */
  close(): void {
    this.#limit.clear()
    for (const channel of [this.channel, this.#dialled]) {
      if (!channel) continue
      channel.handlers = {}
      channel.socket.destroy()
    }
    this.#curve?.close()
    this.#handlers.closed()
  }

  landing(): Uint8Array {
    return bufferOf(HANDSHAKE_READ_BYTES)
  }

  data(chunk: Uint8Array): void {
    try {
      if (!this.#hasArrived(chunk)) return
    } catch (error) {
      this.#refuse(error as Error)
      return
    }
    this.#limit.clear()
    this.channel.socket.pause()
    this.#dialOther()
  }

  ended(): void {
    this.close()
  }

  closed(): void {
    this.close()
  }

  /** @throws ProtocolError if the peer breaks a rule. */
  #hasArrived(chunk: Uint8Array): boolean {
    const opened = this.#curve ? this.#curve.open(chunk) : chunk
    const start = Buffer.concat([this.#start, opened])
    this.#start = start
    // A client's metadata follows its greeting once its keys are accepted.
    if (this.#curve?.isServer) return start.length > GREETING_BYTES
    if (mayGreet(start)) return start.length >= SIGNATURE_BYTES
    throw new ProtocolError("ERR_ZMTP_GREETING", `the greeting ${describeGreeting(start)}`)
  }

  #dialOther(): void {
    const dialled = this.#dial()
    this.#dialled = dialled
    dialled.handlers = {
      connected: () => {
        const start = this.#start
        this.#start = NOTHING
        this.#handlers.dialled(dialled, start)
      },
      closed: ({ socket }) => {
        this.close()
        this.#handlers.unreachable(socket.errored ?? zmqError("ETIMEDOUT"))
      },
    }
  }

  #timedOut(): void {
    const isGreeted = this.#start.length >= GREETING_BYTES
    const what = isGreeted
      ? "the handshake of CURVE was not over after"
      : "no whole greeting came in"
    const message = `${what} ${HANDSHAKE_MS / 1000} seconds`
    this.#refuse(zmqError("ETIMEDOUT", undefined, message))
  }

  #refuse(error: Error): void {
    this.close()
    this.#handlers.refused(error)
  }
}
