import { threadId } from "node:worker_threads"
import { ProtocolError } from "../codec/errors.js"
import type { Instance } from "../codec/instance.js"
import { Trainer } from "../codec/trainer.js"
import type { Channel } from "./channel.js"
import { errorInfo } from "./error-info.js"
import { type End, Link, type LinkHandlers, type Side } from "./link.js"
import type { LinkOptions, TransportEvent } from "./protocol.js"

/** What bytes that libzmq has handed over may take to leave, however short `linger` is. */
const FLUSH_MS = 1000

/** Ids of links differ between threads, too. */
let nextLink = threadId * 2 ** 32

export interface LinksHandlers {
  /** A link is over, and no longer among them. */
  linkEnded(end: End): void
}

/** The links of one endpoint, and how they are reported. */
export class Links implements LinkHandlers {
  readonly #endpoint: number
  readonly #instance: Instance
  readonly #options: LinkOptions
  readonly #emit: (event: TransportEvent) => void
  readonly #handlers: LinksHandlers
  /** With the number of each. */
  readonly #links = new Map<Link, number>()
  /** One for all links, and for those that come after them. */
  #trainer: Trainer | undefined

  constructor(
    endpoint: number,
    instance: Instance,
    options: LinkOptions,
    emit: (event: TransportEvent) => void,
    handlers: LinksHandlers,
  ) {
    this.#endpoint = endpoint
    this.#instance = instance
    this.#options = options
    this.#emit = emit
    this.#handlers = handlers
  }

  get size(): number {
    return this.#links.size
  }

  /** Joins two channels; `early` was read from the local one. */
  add(remote: Channel, local: Channel, early: readonly Uint8Array[]): void {
    const { settings } = this.#options
    if (settings.training) this.#trainer ??= new Trainer(this.#instance, settings.training)
    const link = new Link(remote, local, this.#instance, settings, this.#trainer, this)
    this.#links.set(link, nextLink++)
    this.#report(link, { type: "connect", peer: link.peer, counters: link.counters.place })
    link.start(early)
  }

  failed(error: Error, _side: Side, link: Link): void {
    if (error instanceof ProtocolError)
      this.#report(link, { type: "protocolError", peer: link.peer, error: errorInfo(error) })
  }

  disconnected(error: Error | undefined, link: Link): void {
    // What the peer did wrong was told when it did.
    const news = error && !(error instanceof ProtocolError) ? errorInfo(error) : undefined
    this.#report(link, { type: "disconnect", error: news })
  }

  ended(end: End, link: Link): void {
    this.#report(link, { type: "ended" })
    this.#links.delete(link)
    this.#handlers.linkEnded(end)
  }

  /** There are no links any more, and there will be none: the endpoint is gone. */
  close(): void {
    this.#trainer?.close()
    this.#trainer = undefined
    this.#emit({ endpoint: this.#endpoint, type: "released" })
  }

  /** Gives what is left `lingerMs` to leave; -1 is no limit. */
  limit(lingerMs: number): void {
    if (lingerMs < 0) return
    setTimeout(
      () => {
        for (const link of this.#links.keys()) link.destroy()
      },
      Math.max(lingerMs, FLUSH_MS),
    ).unref()
  }

  #report(link: Link, event: EventOfLink): void {
    this.#emit({ endpoint: this.#endpoint, link: this.#links.get(link) as number, ...event })
  }
}

type OneOf<T> = T extends { endpoint: number; link: number } ? Omit<T, "endpoint" | "link"> : never
type EventOfLink = OneOf<TransportEvent>
