import { loadFormatSync } from "../codec/formats.js"
import { receivingInstance } from "../codec/module.js"
import type { Destination } from "./address.js"
import type { Connection } from "./connection.js"
import { Dialer } from "./dialer.js"
import { Listener } from "./listener.js"
import { checkMayConnect } from "./tcp.js"
import type { TcpOptions } from "./tcp-options.js"
import type { ConnectionOptions, MessageEncoder, OnEvent, Transport } from "./transport.js"

/** The transport whose connections are on this thread. */
export class LocalTransport implements Transport {
  readonly #options: ConnectionOptions
  readonly #tcp: TcpOptions

  constructor(options: ConnectionOptions, tcp: TcpOptions) {
    this.#options = options
    this.#tcp = tcp
  }

  get encoder(): MessageEncoder {
    return this.#options.sender
  }

  listener(onEvent: OnEvent<Connection>): Listener {
    return new Listener(this.#options, this.#tcp, onEvent)
  }

  dialer(destination: Destination, onEvent: OnEvent<Connection>): Dialer {
    checkMayConnect()
    // Made on first use, and here rather than while a peer waits.
    receivingInstance(loadFormatSync(this.#options.settings.format))
    return new Dialer(destination, this.#options, this.#tcp, onEvent)
  }
}
