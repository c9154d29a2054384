import { clearTimeout, nextTick, setTimeout } from "../base/runtime.js"
import { type Destination, familyOf } from "./address.js"
import { Backoff, LATER_MS } from "./backoff.js"
import type { Channel } from "./channel.js"
import { Connection } from "./connection.js"
import { type Attempt, attemptBegan, attemptEnded } from "./pending-attempts.js"
import { ADDRESS_MS, connectError, connectTcp, nextAddressMs } from "./tcp.js"
import type { TcpOptions } from "./tcp-options.js"
import type {
  ConnectionEvent,
  ConnectionOptions,
  Departure,
  Ending,
  OnEvent,
  PeerDialer,
} from "./transport.js"
import { explained } from "./zmq-error.js"

/** A connected endpoint: keeps one connection, and makes it again when it is lost. */
export class Dialer implements PeerDialer, Attempt {
  connection: Connection | undefined
  readonly #destination: Destination
  readonly #options: ConnectionOptions
  readonly #tcp: TcpOptions
  readonly #emit: OnEvent<Connection>
  readonly #backoff: Backoff
  #attempt: Channel | undefined
  #pause: NodeJS.Timeout | undefined
  #addressMs = ADDRESS_MS
  #closed = false

  constructor(
    destination: Destination,
    options: ConnectionOptions,
    tcp: TcpOptions,
    onEvent: OnEvent<Connection>,
  ) {
    this.#destination = destination
    this.#options = options
    this.#tcp = tcp
    this.#emit = onEvent
    this.#backoff = new Backoff(tcp.reconnectMs, tcp.reconnectMaxMs)
  }

  dial(): void {
    this.#pause = undefined
    if (this.#closed) return
    const { host } = this.#destination
    const family = familyOf(host)
    if (host === "" || (family === 6 && !this.#tcp.ipv6)) {
      this.#retry(
        explained("ENODEV", "the address needs a host, and the option ipv6 if it is an IPv6 one"),
      )
      return
    }
    const channel = connectTcp(this.#destination, this.#tcp, this.#addressMs)
    this.#attempt = channel
    attemptBegan(this)
    let isResolved = false
    const begin = () => {
      isResolved = true
      // Node connects in a tick of its own, and may fail there.
      nextTick(() => {
        if (this.#attempt === channel && !channel.socket.destroyed) this.#emit({ type: "delayed" })
      })
    }
    if (family !== 0) begin()
    else
      channel.socket.once("lookup", (error) => {
        if (!error) begin()
      })
    channel.handlers = {
      connected: () => {
        let connection: Connection
        try {
          connection = new Connection(channel, this.#options, this.#onConnectionEvent)
        } catch (error) {
          channel.socket.destroy(error as Error) // there is no memory for it: a failed attempt
          return
        }
        this.#attemptEnded()
        this.#backoff.reset()
        // Report it first: the handshake may end as soon as it begins.
        this.connection = connection
        this.#emit({ type: "opened", connection })
      },
      closed: () => {
        this.#attemptEnded()
        if (this.#closed) return
        // As with libzmq, there is no socket to close before the address is known.
        this.#addressMs = nextAddressMs(this.#addressMs, channel.socket, this.#tcp)
        const error = connectError(channel.socket)
        if (isResolved) this.#emit({ type: "attemptFailed", error })
        this.#retry(error)
      },
    }
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
    this.interrupt()
    attemptEnded(this)
  }

  #attemptEnded(): void {
    this.#attempt = undefined
    attemptEnded(this)
  }

  interrupt(): void {
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

  #retry(error: Error | undefined): void {
    const intervalMs = this.#backoff.next()
    if (intervalMs === undefined) return
    this.#pause = setTimeout(dialAgain, intervalMs, this).unref()
    this.#emit({ type: "retried", intervalMs, error })
  }

  readonly #onConnectionEvent = (event: ConnectionEvent<Connection>): void => {
    if (event.type === "closed") this.connection = undefined
    this.#emit(event)
    if (event.type === "closed" && !this.#closed) this.#goOn(event)
  }

  #goOn(ending: Ending): void {
    const { retries, error } = ending
    const isWrongPeer = retries === "never"
    if (isWrongPeer || this.#tcp.reconnectMs <= 0) {
      this.#closed = true
      this.#emit({ type: "gaveUp", isWrongPeer })
    } else if (retries === "later") {
      this.#pause = setTimeout(() => this.#retry(error), LATER_MS).unref()
    } else {
      this.#retry(error ?? unfinished(ending))
    }
  }
}

/** Returns an error if the peer closed the connection during the handshake. */
function unfinished({ stage }: Ending): Error | undefined {
  return stage === "handshaking"
    ? explained("EPIPE", "the peer closed the connection during the handshake")
    : undefined
}

function dialAgain(dialer: Dialer): void {
  dialer.dial()
}
