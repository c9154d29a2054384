import { threadId } from "node:worker_threads"
import { ProtocolError } from "../codec/errors.js"
import type { Instance } from "../codec/instance.js"
import { Trainer } from "../codec/trainer.js"
import type { Channel } from "./channel.js"
import { errorInfo } from "./error-info.js"
import { type End, Link } from "./link.js"
import type { LinkOptions, Peer, TransportEvent } from "./protocol.js"

/** What bytes that libzmq has handed over may take to leave, however short `linger` is. */
const FLUSH_MS = 1000

/** Ids of links differ between threads, too. */
let nextLink = threadId * 2 ** 32

/** The links of one endpoint, and how they are reported. */
export class Links {
  readonly #endpoint: number
  readonly #instance: Instance
  readonly #options: LinkOptions
  readonly #emit: (event: TransportEvent) => void
  readonly #links = new Set<Link>()
  /** One for all links, and for those that come after them. */
  #trainer: Trainer | undefined

  constructor(
    endpoint: number,
    instance: Instance,
    options: LinkOptions,
    emit: (event: TransportEvent) => void,
  ) {
    this.#endpoint = endpoint
    this.#instance = instance
    this.#options = options
    this.#emit = emit
  }

  get size(): number {
    return this.#links.size
  }

  /** Joins two channels; `early` was read from the local one, `ended` is called when it is over. */
  add(
    remote: Channel,
    local: Channel,
    early: readonly Uint8Array[],
    ended: (end: End) => void,
  ): void {
    const id = nextLink++
    const peer: Peer = {
      remoteAddress: remote.socket.remoteAddress ?? "unknown", // it may have gone already
      remotePort: remote.socket.remotePort ?? 0,
    }
    const report = (event: EventOfLink) =>
      this.#emit({ endpoint: this.#endpoint, link: id, ...event })
    let reported: Error | undefined
    const { settings } = this.#options
    if (settings.training) this.#trainer ??= new Trainer(this.#instance, settings.training)
    const link = new Link(remote, local, early, this.#instance, settings, this.#trainer, {
      failed: (error) => {
        if (!(error instanceof ProtocolError)) return
        reported = error
        report({ type: "protocolError", peer, error: errorInfo(error) })
      },
      disconnected: (error) =>
        report({
          type: "disconnect",
          error: error && error !== reported ? errorInfo(error) : undefined,
        }),
      ended: (end) => {
        this.#links.delete(link)
        report({ type: "ended" })
        ended(end)
      },
    })
    this.#links.add(link)
    report({ type: "connect", peer, counters: link.counters.place })
  }

  /** There are no links any more, and there will be none. */
  close(): void {
    this.#trainer?.close()
    this.#trainer = undefined
  }

  /** Gives what is left `lingerMs` to leave; -1 is no limit. */
  limit(lingerMs: number): void {
    if (lingerMs < 0) return
    setTimeout(
      () => {
        for (const link of this.#links) link.destroy()
      },
      Math.max(lingerMs, FLUSH_MS),
    ).unref()
  }
}

type OneOf<T> = T extends { endpoint: number; link: number } ? Omit<T, "endpoint" | "link"> : never
type EventOfLink = OneOf<TransportEvent>
