import { MessageChannel, receiveMessageOnPort } from "node:worker_threads"
import type { ProtocolError } from "../codec/errors.js"
import { threadError } from "../codec/errors.js"
import { Backoff } from "../transport/backoff.js"
import type { HostPort } from "../transport/endpoint.js"
import { throwLater } from "../transport/throw-later.js"
import type {
  ConnectionHandlers,
  Departure,
  DialerHandlers,
  DialSpec,
  Ending,
  ListenerHandlers,
  PeerDialer,
  PeerListener,
} from "../transport/transport.js"
import { fromPlain } from "./plain-error.js"
import {
  type EndpointEvent,
  type EndpointSpec,
  type ListenResult,
  type OpenedEvent,
  toWorker,
} from "./protocol.js"
import { RemoteConnection } from "./remote-connection.js"
import { SharedState } from "./shared-state.js"
import type { Thread, ThreadUser } from "./thread.js"

/**
 * Milliseconds that bindSync() waits for the worker. While it waits, it cannot notice that the
 * worker has died.
 */
const ANSWER_MS = 5000
/** Milliseconds between attempts to listen again on a new worker. */
const REVIVE_FIRST_MS = 100
const REVIVE_MAX_MS = 10_000

/** An endpoint whose connections are on another thread. */
abstract class RemoteEndpoint implements ThreadUser {
  protected readonly spec: EndpointSpec
  protected readonly live: Map<number, RemoteConnection> = new Map()
  protected thread: Thread
  protected number: number
  protected isClosed = false
  /** The timer of the next attempt. */
  protected retry: NodeJS.Timeout | undefined
  readonly #threads: () => Thread
  readonly #handlers: ConnectionHandlers

  constructor(spec: EndpointSpec, threads: () => Thread, handlers: ConnectionHandlers) {
    this.spec = spec
    this.#threads = threads
    this.#handlers = handlers
    this.thread = threads()
    this.number = this.#open()
  }

  #open(): number {
    const number = this.thread.add(this)
    this.thread.post(toWorker.OPEN, number, this.spec)
    return number
  }

  /** Moves to another thread after a pause, and then calls `opened`, or `failed` if there is no thread. */
  protected reopenLater(intervalMs: number, opened: () => void, failed: () => void): void {
    this.retry = setTimeout(() => {
      try {
        this.thread = this.#threads()
        this.number = this.#open()
      } catch {
        failed()
        return
      }
      opened()
    }, intervalMs).unref()
  }

  get connections(): Iterable<RemoteConnection> {
    return this.live.values()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    clearTimeout(this.retry)
    this.thread.post(toWorker.CLOSE, this.number)
  }

  onEvent(event: EndpointEvent): void {
    switch (event.type) {
      case "opened":
        // The connection may have been made before the worker learned of close().
        if (this.isClosed) this.thread.control(event.connection, { type: "destroy" })
        else this.#opened(event)
        break
      case "ready":
        this.#proceed(event.connection, (connection) => {
          connection.peerTakesCommands = event.peerTakesCommands
          connection.peerRevision = event.peerRevision
          connection.scheme = event.scheme
          connection.isReady = true
          this.#handlers.ready(connection, Buffer.from(event.peerRoutingId))
        })
        break
      case "authenticate":
        this.#proceed(event.connection, (connection) =>
          this.#handlers.authenticate(connection, event.credentials),
        )
        break
      case "refused":
        this.on(event.connection, (connection) => this.#handlers.refused(connection, event.status))
        break
      case "failed":
        this.on(event.connection, (connection) => {
          const error = fromPlain(event.error) as ProtocolError
          this.#handlers.failed(
            connection,
            error,
            event.failure && { error, reason: event.failure.reason },
          )
        })
        break
      case "effort":
        this.on(event.connection, (connection) => this.#handlers.effortChanged(connection))
        break
      case "flushed":
        this.on(event.connection, (connection) => connection.flushed())
        break
      case "closed":
        this.on(event.connection, (connection) => {
          const { error, ...ending } = event.ending
          this.#over(connection, { ...ending, error: error && fromPlain(error) })
        })
        break
      case "threw":
        throw fromPlain(event.error)
      case "gone":
        this.thread.remove(this.number)
    }
  }

  protected on(number: number, call: (connection: RemoteConnection) => void): void {
    const connection = this.live.get(number)
    if (connection) call(connection)
  }

  /** Performs a step of a connection, and ends the connection if the step throws. */
  #proceed(number: number, step: (connection: RemoteConnection) => void): void {
    const connection = this.live.get(number)
    if (!connection || connection.isEnded) return
    try {
      step(connection)
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  #over(connection: RemoteConnection, ending: Omit<Ending, "counts">): void {
    connection.closing()
    this.live.delete(connection.number)
    try {
      this.#handlers.closed(connection, { ...ending, counts: connection.counts })
    } finally {
      connection.closed()
    }
  }

  #opened({ connection: number, state, remoteAddress, remotePort }: OpenedEvent): void {
    const connection = new RemoteConnection(
      this.thread,
      number,
      this.spec.credit,
      new SharedState(state),
      remoteAddress,
      remotePort,
    )
    this.live.set(number, connection)
    this.opened(connection)
  }

  protected abstract opened(connection: RemoteConnection): void
  /** The thread died, and the connections with it. */
  protected abstract revive(error: Error): void

  threadDied(error: Error): void {
    for (const connection of this.live.values()) {
      const stage = connection.isReady ? "traffic" : "handshaking"
      try {
        this.#over(connection, { error, stage, final: false })
      } catch (thrown) {
        throwLater(thrown) // the other connections must end too
      }
    }
    if (!this.isClosed) this.revive(error)
  }
}

/** A bound endpoint whose listener is on another thread. */
export class RemoteListener extends RemoteEndpoint implements PeerListener {
  readonly #handlers: ListenerHandlers
  readonly #backoff = new Backoff(REVIVE_FIRST_MS, REVIVE_MAX_MS)
  #address: HostPort | undefined
  #listening: { resolve(address: HostPort): void; reject(error: Error): void } | undefined

  constructor(spec: EndpointSpec, threads: () => Thread, handlers: ListenerHandlers) {
    super(spec, threads, handlers)
    this.#handlers = handlers
  }

  listen(address: HostPort): Promise<HostPort> {
    return new Promise((resolve, reject) => {
      this.#listening = { resolve, reject }
      this.#listenAt(address)
    })
  }

  /** Listens at an address; the event "listening" follows. */
  #listenAt(address: HostPort): void {
    this.thread.post(toWorker.LISTEN, this.number, address, undefined, undefined)
  }

  listenSync(address: HostPort): HostPort {
    const signal = new Int32Array(new SharedArrayBuffer(4))
    const { port1, port2 } = new MessageChannel()
    this.thread.postNow([toWorker.LISTEN, this.number, address, port2, signal], [port2])
    Atomics.wait(signal, 0, 0, ANSWER_MS)
    const answer = receiveMessageOnPort(port1) as { message: ListenResult } | undefined
    port1.close()
    if (!answer) throw threadError(new Error(`it did not answer within ${ANSWER_MS} ms`))
    return this.#result(answer.message)
  }

  #result(result: ListenResult): HostPort {
    if ("error" in result) throw fromPlain(result.error)
    this.#address = result.address
    return result.address
  }

  override onEvent(event: EndpointEvent): void {
    if (event.type === "listening") this.#listens(event.result)
    else if (event.type === "acceptFailed") this.#handlers.acceptFailed(fromPlain(event.error))
    else super.onEvent(event)
  }

  #listens(result: ListenResult): void {
    const listening = this.#listening
    this.#listening = undefined
    try {
      const address = this.#result(result)
      this.#backoff.reset()
      listening?.resolve(address)
    } catch (error) {
      if (listening) listening.reject(error as Error)
      else this.#listenLater(error as Error)
    }
  }

  protected opened(connection: RemoteConnection): void {
    this.#handlers.accepted(connection)
  }

  protected revive(error: Error): void {
    const listening = this.#listening
    this.#listening = undefined
    if (listening) {
      this.isClosed = true
      listening.reject(error)
    } else this.#reviveLater()
  }

  /** Listens again at the same address, after a pause. */
  #reviveLater(): void {
    const listen = () => this.#listenAt(this.#address as HostPort)
    this.reopenLater(this.#backoff.next() as number, listen, () => this.#reviveLater())
  }

  /** Tries again later, because the address is still in use. */
  #listenLater(error: Error): void {
    this.#handlers.acceptFailed(error)
    this.retry = setTimeout(
      () => this.#listenAt(this.#address as HostPort),
      this.#backoff.next(),
    ).unref()
  }
}

/** Events of an attempt to connect, which do not belong to a connection. */
const DIALING: ReadonlySet<EndpointEvent["type"]> = new Set([
  "delayed",
  "attemptFailed",
  "retried",
  "gaveUp",
])

/** A connected endpoint whose connections are on another thread. */
export class RemoteDialer extends RemoteEndpoint implements PeerDialer {
  readonly #handlers: DialerHandlers
  readonly #backoff: Backoff

  constructor(spec: EndpointSpec, threads: () => Thread, handlers: DialerHandlers) {
    super(spec, threads, handlers)
    this.#handlers = handlers
    this.#backoff = new Backoff(spec.tcp.reconnectMs, spec.tcp.reconnectMaxMs)
  }

  get connection(): RemoteConnection | undefined {
    const [connection] = this.live.values()
    return connection
  }

  dial(): void {
    this.thread.post(toWorker.DIAL, this.number)
  }

  handOver(frames: Uint8Array[], departure: Departure): void {
    if (this.thread.isDead) {
      departure.deliver(this.spec as DialSpec, frames)
      return
    }
    this.thread.deliver(this.number, frames)
    departure.addThread(this.thread)
  }

  override onEvent(event: EndpointEvent): void {
    if (DIALING.has(event.type)) {
      if (!this.isClosed) this.#dials(event)
    } else super.onEvent(event)
  }

  #dials(event: EndpointEvent): void {
    if (event.type === "delayed") this.#handlers.delayed()
    else if (event.type === "attemptFailed") this.#handlers.attemptFailed()
    else if (event.type === "retried") this.#handlers.retried(event.intervalMs)
    else if (event.type === "gaveUp") this.#handlers.gaveUp(event.isWrongPeer)
  }

  protected opened(connection: RemoteConnection): void {
    this.#backoff.reset()
    this.#handlers.connected(connection)
  }

  protected revive(): void {
    const intervalMs = this.#backoff.next()
    if (intervalMs === undefined) {
      this.isClosed = true
      this.#handlers.gaveUp(false)
      return
    }
    this.#handlers.retried(intervalMs)
    this.reopenLater(
      intervalMs,
      () => this.dial(),
      () => this.revive(),
    )
  }
}
