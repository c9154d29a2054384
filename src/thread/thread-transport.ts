import type { Destination } from "../transport/address.js"
import type { TcpOptions } from "../transport/tcp-options.js"
import type {
  MessageEncoder,
  OnEvent,
  PeerDialer,
  PeerListener,
  PlainConnectionOptions,
  Transport,
} from "../transport/transport.js"
import { framer } from "./framer.js"
import type { EndpointSpec } from "./protocol.js"
import { RemoteDialer, RemoteListener } from "./remote-endpoint.js"
import type { Thread } from "./thread.js"

/** The transport whose connections are on worker threads. */
export class ThreadTransport implements Transport {
  readonly #threads: () => Thread
  readonly #options: PlainConnectionOptions
  readonly #tcp: TcpOptions
  readonly #credit: number

  /**
   * @param threads returns the thread for another endpoint.
   * @param credit number of messages that a new connection may post before the sink sets its mark.
   */
  constructor(
    threads: () => Thread,
    options: PlainConnectionOptions,
    tcp: TcpOptions,
    credit: number,
  ) {
    this.#threads = threads
    this.#options = options
    this.#tcp = tcp
    this.#credit = credit
  }

  get encoder(): MessageEncoder {
    return framer
  }

  listener(onEvent: OnEvent): PeerListener {
    return new RemoteListener(this.#spec(undefined), this.#threads, onEvent)
  }

  dialer(destination: Destination, onEvent: OnEvent): PeerDialer {
    return new RemoteDialer(this.#spec(destination), this.#threads, onEvent)
  }

  #spec(destination: Destination | undefined): EndpointSpec {
    return { options: this.#options, tcp: this.#tcp, credit: this.#credit, destination }
  }
}
