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

/** What happens to the links of an endpoint. `link` is unique in the process. */
export type TransportEvent = { endpoint: number } & (
  | { type: "connect"; link: number; peer: Peer; counters: CountersPlace }
  | { type: "disconnect"; link: number; error: ErrorInfo | undefined }
  /** Nothing is counted any more: libzmq has taken what came before the disconnect. */
  | { type: "ended"; link: number }
  | { type: "protocolError"; link: number; peer: Peer; error: ErrorInfo }
  /** The endpoint is gone, with all its links. */
  | { type: "released" }
)

/** Numbers of one link in shared memory: both ways, and whether a dictionary is there. */
export interface CountersPlace {
  memory: SharedArrayBuffer
  /** Of its first number. */
  at: number
}

const NUMBERS = 8
/** Links whose numbers share a piece of memory, which costs more than they do. */
const LINKS_PER_MEMORY = 32

let shared: Float64Array<SharedArrayBuffer> | undefined
let used = 0

/** The numbers of one link where they are counted. Their place is never used again. */
export class Counters {
  readonly #numbers: Float64Array<SharedArrayBuffer>
  readonly #at: number

  constructor() {
    if (!shared || used === LINKS_PER_MEMORY) {
      const bytes = LINKS_PER_MEMORY * NUMBERS * Float64Array.BYTES_PER_ELEMENT
      shared = new Float64Array(new SharedArrayBuffer(bytes))
      used = 0
    }
    this.#numbers = shared
    this.#at = used++ * NUMBERS
  }

  get place(): CountersPlace {
    return { memory: this.#numbers.buffer, at: this.#at }
  }

  write(way: "sent" | "received", traffic: Traffic, dictionary: boolean): void {
    const at = this.#at + start(way)
    this.#numbers[at] = traffic.messages
    this.#numbers[at + 1] = traffic.plainBytes
    this.#numbers[at + 2] = traffic.wireBytes
    this.#numbers[at + 3] = dictionary ? 1 : 0
  }
}

/** The numbers of one link where somebody wants to know. */
export function readCounters(
  { memory, at }: CountersPlace,
  way: "sent" | "received",
): Traffic & { dictionary: boolean } {
  const numbers = new Float64Array(memory).subarray(at + start(way))
  const [messages = 0, plainBytes = 0, wireBytes = 0, dictionary] = numbers
  return { messages, plainBytes, wireBytes, dictionary: dictionary === 1 }
}

const start = (way: "sent" | "received") => (way === "sent" ? 0 : NUMBERS / 2)
