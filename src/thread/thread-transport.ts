import type { Destination } from "../transport/address.js"
import type {
  MessageEncoder,
  OnEvent,
  PeerDialer,
  PeerListener,
  Transport,
} from "../transport/transport.js"
import { framerFor } from "./framer.js"
import type { EndpointSpec } from "./protocol.js"
import { RemoteDialer, RemoteListener } from "./remote-endpoint.js"
import type { Thread } from "./thread.js"

/** The transport whose connections are on worker threads. */
export class ThreadTransport implements Transport {
  readonly encoder: MessageEncoder
  readonly #threads: () => Thread
  readonly #spec: Omit<EndpointSpec, "destination">

  /** @param threads returns the thread for another endpoint. */
  constructor(threads: () => Thread, spec: Omit<EndpointSpec, "destination">) {
    this.#threads = threads
    this.#spec = spec
    this.encoder = framerFor(spec.options.settings)
  }

  listener(onEvent: OnEvent): PeerListener {
    return new RemoteListener({ ...this.#spec, destination: undefined }, this.#threads, onEvent)
  }

  dialer(destination: Destination, onEvent: OnEvent): PeerDialer {
    return new RemoteDialer({ ...this.#spec, destination }, this.#threads, onEvent)
  }
}
