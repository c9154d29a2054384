import type { ProtocolError } from "../codec/errors.js"
import type { Credentials, HandshakeFailure } from "../zmtp/handshake.js"
import { Backoff } from "./backoff.js"
import type { Channel } from "./channel.js"
import { Connection } from "./connection.js"
import { type Destination, familyOf } from "./endpoint.js"
import { connectTcp } from "./tcp.js"
import type { TcpOptions } from "./tcp-options.js"
import type {
  ConnectionHandlers,
  ConnectionOptions,
  Departure,
  DialerHandlers,
  Ending,
  PeerDialer,
} from "./transport.js"

export class Dialer implements PeerDialer, ConnectionHandlers {
  connection: Connection | undefined
  readonly #destination: Destination
  readonly #options: ConnectionOptions
  readonly #tcp: TcpOptions
  readonly #handlers: DialerHandlers
  readonly #backoff: Backoff
  #attempt: Channel | undefined
  #pause: NodeJS.Timeout | undefined
  #closed = false

  constructor(
    destination: Destination,
    options: ConnectionOptions,
    tcp: TcpOptions,
    handlers: DialerHandlers,
  ) {
    this.#destination = destination
    this.#options = options
    this.#tcp = tcp
    this.#handlers = handlers
    this.#backoff = new Backoff(tcp.reconnectMs, tcp.reconnectMaxMs)
  }

  dial(): void {
    this.#pause = undefined
    if (this.#closed) return
    const { host } = this.#destination
    if (familyOf(host) === 6 && !this.#tcp.ipv6) {
      this.#retry()
      return
    }
    const channel = connectTcp(this.#destination, this.#tcp)
    this.#attempt = channel
    channel.handlers = {
      connected: () => {
        this.#attempt = undefined
        this.#backoff.reset()
        // Report it first: the handshake may end as soon as it begins.
        const connection = new Connection(channel, this.#options, this)
        this.connection = connection
        this.#handlers.connected(connection)
      },
      closed: () => {
        this.#attempt = undefined
        if (this.#closed) return
        this.#handlers.attemptFailed()
        this.#retry()
      },
    }
    this.#handlers.delayed()
  }

  /** Makes the next attempt at once, without the rest of the pause. */
  hurry(): void {
    if (this.#pause === undefined) return
    clearTimeout(this.#pause)
    this.dial()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#pause)
    if (!this.#attempt) return
    this.#attempt.handlers = {}
    this.#attempt.socket.destroy()
    this.#attempt = undefined
  }

  handOver(frames: Uint8Array[], departure: Departure): void {
    this.close()
    // A peer refuses a second connection with the routing id of this one.
    if (!this.connection?.sink) this.connection?.destroy()
    const { sender: _, relays: __, ...options } = this.#options
    departure.deliver({ options, tcp: this.#tcp, destination: this.#destination }, frames)
  }

  #retry(): void {
    const intervalMs = this.#backoff.next()
    if (intervalMs === undefined) return
    this.#pause = setTimeout(dialAgain, intervalMs, this).unref()
    this.#handlers.retried(intervalMs)
  }

  effortChanged(connection: Connection): void {
    this.#handlers.effortChanged(connection)
  }

  closed(connection: Connection, ending: Ending): void {
    this.connection = undefined
    this.#handlers.closed(connection, ending)
    if (this.#closed) return
    if (ending.final || this.#tcp.reconnectMs <= 0) {
      this.#closed = true
      this.#handlers.gaveUp(ending.final)
    } else {
      this.#retry()
    }
  }

  ready(connection: Connection, peerRoutingId: Buffer): void {
    this.#handlers.ready(connection, peerRoutingId)
  }

  authenticate(connection: Connection, credentials: Credentials): void {
    this.#handlers.authenticate(connection, credentials)
  }

  refused(connection: Connection, status: number): void {
    this.#handlers.refused(connection, status)
  }

  failed(connection: Connection, error: ProtocolError, failure?: HandshakeFailure): void {
    this.#handlers.failed(connection, error, failure)
  }
}

function dialAgain(dialer: Dialer): void {
  dialer.dial()
}
