import { unlink } from "node:fs"
import { createServer, type Server, type Socket } from "node:net"
import type { Instance } from "../codec/instance.js"
import { admit, hasRoom, settle } from "./admission.js"
import { Channel } from "./channel.js"
import { formatEndpoint, type HostPort } from "./endpoint.js"
import { Links, type LinksHandlers } from "./links.js"
import type { ListenSpec, TransportEvent } from "./protocol.js"
import { listenTcp, serverOptions } from "./tcp.js"
import { zmqError } from "./zmq-error.js"

/** How long to wait for libzmq when its queue of connections is full, in milliseconds. */
const QUEUE_FULL_MS = 2

/** A bound endpoint: accepts TCP connections and dials libzmq's private one for each. */
export class Listener implements LinksHandlers {
  readonly #spec: ListenSpec
  readonly #server: Server
  readonly #links: Links
  /** Connections that came before libzmq was ready; undefined since. */
  #waiting: Socket[] | undefined = []
  #closing = false

  constructor(
    endpoint: number,
    spec: ListenSpec,
    instance: Instance,
    emit: (event: TransportEvent) => void,
  ) {
    this.#spec = spec
    this.#links = new Links(endpoint, instance, spec, emit, this)
    this.#server = createServer(serverOptions(spec.tcp), (remote) => this.#accept(remote))
    this.#server.unref()
  }

  /** Starts to listen. Rejects with an error in the form of zeromq.js. */
  async start(): Promise<HostPort> {
    const { bind, tcp } = this.#spec
    try {
      return await listenTcp(this.#server, bind, tcp)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      throw zmqError((code ?? "EINVAL") as "EINVAL", message, formatEndpoint(bind))
    }
  }

  activate(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const remote of waiting) this.#join(remote, true)
  }

  release(lingerMs: number): void {
    this.#closing = true
    this.#server.close()
    unlink(this.#spec.localPath, () => {}) // libzmq leaves it
    for (const remote of this.#waiting ?? []) remote.destroy()
    this.#links.limit(lingerMs)
    this.#checkReleased()
  }

  #accept(remote: Socket): void {
    if (!this.#waiting) {
      this.#join(remote)
    } else if (hasRoom()) {
      remote.on("error", () => {}) // until there is a link to mind it
      this.#waiting.push(remote)
    } else {
      remote.destroy()
    }
  }

  /** Joins a peer with libzmq now, or later if it may wait; `waited` says that it does already. */
  #join(remote: Socket, waited = false): void {
    const admission = this.#closing ? "refused" : admit()
    if (admission === "granted") this.#dial(remote)
    else if (admission === "later" && (waited || hasRoom())) this.#joinSoon(remote)
    else remote.destroy()
  }

  #joinSoon(remote: Socket): void {
    setTimeout(() => this.#join(remote, true), QUEUE_FULL_MS).unref()
  }

  /** Joins a peer with libzmq, once that has accepted and said so by its first bytes. */
  #dial(remote: Socket): void {
    const local = Channel.connect({ path: this.#spec.localPath })
    local.handlers = {
      received: (greeting) => {
        settle()
        this.#links.add(Channel.adopt(remote), local, [new Uint8Array(greeting)])
      },
      ended: ({ socket }) => socket.destroy(),
      closed: ({ socket }) => {
        settle()
        // TCP makes a peer wait when the queue is full; a Unix socket refuses at once.
        const { code } = (socket.errored ?? {}) as NodeJS.ErrnoException
        if (code === "EAGAIN") this.#joinSoon(remote)
        else remote.destroy()
      },
    }
    local.socket.resume()
  }

  linkEnded(): void {
    this.#checkReleased()
  }

  #checkReleased(): void {
    if (this.#closing && this.#links.size === 0) this.#links.close()
  }
}
