/** What the sockets and the thread that links live on tell each other. */
import type { Traffic } from "../codec/codec.js"
import type { Settings } from "../codec/options.js"
import type { Destination, HostPort } from "./endpoint.js"
import type { ErrorInfo } from "./error-info.js"
import type { TcpOptions } from "./tcp-options.js"

/** How the links of one endpoint work. */
export interface LinkOptions {
  settings: Settings
  tcp: TcpOptions
  /** Path of the Unix socket between libzmq and the links. */
  localPath: string
}

export interface ListenSpec extends LinkOptions {
  bind: HostPort
}

export interface DialSpec extends LinkOptions {
  destination: Destination
}

/** Who is at the other end of a link. */
export interface Peer {
  remoteAddress: string
  remotePort: number
}

/** What happens to the links of an endpoint. `link` is unique on the thread. */
export type TransportEvent = { endpoint: number } & (
  | { type: "connect"; link: number; peer: Peer; counters: SharedArrayBuffer }
  | { type: "disconnect"; link: number; error: ErrorInfo | undefined }
  /** Nothing is counted any more: libzmq has taken what came before the disconnect. */
  | { type: "ended"; link: number }
  | { type: "protocolError"; link: number; peer: Peer; error: ErrorInfo }
  /** The endpoint is gone, with all its links. */
  | { type: "released" }
)

/** Numbers of one link in shared memory: both ways, and whether a dictionary is there. */
export class Counters {
  static readonly BYTES: number = 8 * Float64Array.BYTES_PER_ELEMENT
  readonly #numbers: Float64Array

  constructor(memory: SharedArrayBuffer) {
    this.#numbers = new Float64Array(memory)
  }

  write(way: "sent" | "received", traffic: Traffic, dictionary: boolean): void {
    const at = way === "sent" ? 0 : 4
    this.#numbers[at] = traffic.messages
    this.#numbers[at + 1] = traffic.plainBytes
    this.#numbers[at + 2] = traffic.wireBytes
    this.#numbers[at + 3] = dictionary ? 1 : 0
  }

  read(way: "sent" | "received"): Traffic & { dictionary: boolean } {
    const at = way === "sent" ? 0 : 4
    const [messages = 0, plainBytes = 0, wireBytes = 0, dictionary] = this.#numbers.subarray(
      at,
      at + 4,
    )
    return { messages, plainBytes, wireBytes, dictionary: dictionary === 1 }
  }
}
