import { closeSync, openSync, unlinkSync } from "node:fs"
import { createServer, type Server, type Socket } from "node:net"
import type { Instance } from "../codec/instance.js"
import { Backoff } from "./backoff.js"
import { Channel } from "./channel.js"
import { formatEndpoint } from "./endpoint.js"
import type { End } from "./link.js"
import { Links, type LinksHandlers } from "./links.js"
import type { DialSpec, TransportEvent } from "./protocol.js"
import { connectTcp } from "./tcp.js"
import { zmqError } from "./zmq-error.js"

/** What libzmq may be late, in milliseconds. */
const SETTLE_MS = 250

/**
 * A connected endpoint: accepts libzmq's private connections and dials the peer
 * for each. libzmq takes the private connection for the real one, so the pauses
 * between attempts are kept here.
 */
export class Dialer implements LinksHandlers {
  readonly #spec: DialSpec
  readonly #server: Server
  readonly #links: Links
  readonly #backoff: Backoff
  /** Private connections that are still without a peer. */
  #dialling = 0
  /** Since `release`: how long libzmq may take to come back. */
  #graceMs: number | undefined
  #grace: NodeJS.Timeout | undefined

  /** @throws Error in the form of zeromq.js. */
  constructor(
    endpoint: number,
    spec: DialSpec,
    instance: Instance,
    emit: (event: TransportEvent) => void,
  ) {
    this.#spec = spec
    this.#links = new Links(endpoint, instance, spec, emit, this)
    this.#backoff = new Backoff(spec.tcp.reconnectMs, spec.tcp.reconnectMaxMs)
    this.#server = createServer({ pauseOnConnect: true }, (local) => this.#accept(local))
    this.#server.on("error", ignored).unref()
    // Node binds a path at once, unless it is for all processes of a cluster; and says later what failed.
    this.#server.listen({ path: spec.localPath, exclusive: true })
    if (this.#server.listening) return
    const { code, message } = refusal(spec.localPath)
    throw zmqError(
      code as "EMFILE",
      `cannot listen for libzmq: ${message}`,
      formatEndpoint(spec.destination),
    )
  }

  release(lingerMs: number): void {
    this.#graceMs = this.#backoff.longestMs + SETTLE_MS
    if (lingerMs >= 0) this.#graceMs = Math.min(this.#graceMs, lingerMs)
    this.#links.limit(lingerMs)
    this.#checkReleased(false)
  }

  /** Dials until there is a connection to join with, or libzmq closes its side. */
  #accept(accepted: Socket): void {
    const early: Uint8Array[] = []
    const local = Channel.adopt(accepted)
    let remote: Channel
    let pause: NodeJS.Timeout | undefined

    const giveUp = () => {
      clearTimeout(pause)
      remote.socket.destroy()
      local.socket.destroy()
    }
    const closed = () => {
      giveUp()
      this.#dialling--
      this.#checkReleased(true)
    }
    const connected = () => {
      this.#backoff.reset()
      this.#dialling--
      this.#links.add(remote, local, early)
    }
    const failed = () => {
      const pauseMs = this.#backoff.next()
      if (local.socket.destroyed) return
      // Without another attempt libzmq still queues messages, as long as its connection is there.
      if (pauseMs !== undefined) pause = setTimeout(attempt, pauseMs).unref()
    }
    const attempt = () => {
      remote = connectTcp(this.#spec.destination, this.#spec.tcp)
      remote.handlers = { connected, closed: failed }
    }

    this.#dialling++
    // libzmq sends its greeting, and nothing more before the peer's.
    const received = (chunk: Uint8Array) => early.push(new Uint8Array(chunk))
    local.handlers = { received, ended: giveUp, closed }
    local.socket.resume()
    attempt()
  }

  linkEnded({ byLibzmq }: End): void {
    this.#checkReleased(byLibzmq)
  }

  /**
   * After `release`, ends when there is no connection left. One that libzmq did
   * not close itself, or has yet to make, it may be about to make (again).
   */
  #checkReleased(byLibzmq: boolean): void {
    if (this.#graceMs === undefined || this.#links.size > 0 || this.#dialling > 0) return
    const end = () => {
      if (this.#links.size > 0 || this.#dialling > 0) return
      this.#server.close()
      this.#links.close()
    }
    clearTimeout(this.#grace)
    // A connection may have come while this thread was busy; it is accepted before setImmediate.
    this.#grace = setTimeout(() => setImmediate(end), byLibzmq ? 0 : this.#graceMs).unref()
  }
}

/** A connection could not be accepted; or none ever will, of which the constructor tells. */
function ignored(): void {}

/** Why there can be no Unix socket at a path: a file meets the same error. */
function refusal(path: string): NodeJS.ErrnoException {
  try {
    closeSync(openSync(path, "wx"))
    unlinkSync(path)
    return zmqError("EAGAIN", "the system refused, and does no more")
  } catch (error) {
    return error as NodeJS.ErrnoException
  }
}
