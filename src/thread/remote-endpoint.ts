import { MessageChannel, receiveMessageOnPort } from "node:worker_threads"
import { clearTimeout, setTimeout } from "../base/runtime.js"
import { throwLater } from "../base/throw-later.js"
import { threadError } from "../codec/errors.js"
import type { HostPort } from "../transport/address.js"
import { Backoff } from "../transport/backoff.js"
import { warn } from "../transport/diagnosis.js"
import type {
  Departure,
  DialSpec,
  Ending,
  EndpointEvent,
  OnEvent,
  PeerDialer,
  PeerListener,
} from "../transport/transport.js"
import { openRequest } from "./open-request.js"
import { fromPlain } from "./plain-error.js"
import type {
  EndpointSpec,
  ListenResult,
  OpenedEvent,
  PostedEvent,
  PostedTransportEvent,
} from "./protocol.js"
import { RemoteConnection } from "./remote-connection.js"
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
  /** Whether the end of a connection waits until the program has room for what came over it. */
  protected abstract readonly endsWait: boolean
  protected thread: Thread
  protected number: number
  protected isClosed = false
  /** The timer of the next attempt. */
  protected retry: NodeJS.Timeout | undefined
  readonly #threads: () => Thread
  #hasWarned = false
  protected readonly emit: OnEvent

  constructor(spec: EndpointSpec, threads: () => Thread, onEvent: OnEvent) {
    this.spec = spec
    this.#threads = threads
    this.emit = onEvent
    this.thread = threads()
    this.number = this.#open()
  }

  #open(): number {
    const number = this.thread.add(this)
    this.thread.post(openRequest(number, this.spec))
    return number
  }

  /** Moves to another thread after a pause. Calls `opened`, or `failed` if there is none. */
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

  keepForms(keeps: boolean): void {
    if (keeps === (this.spec.keepsForms ?? false)) return
    this.spec.keepsForms = keeps
    if (!this.isClosed) this.thread.post({ type: "keep", endpoint: this.number, keeps })
  }

  get connections(): Iterable<RemoteConnection> {
    return this.live.values()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    clearTimeout(this.retry)
    this.thread.post({ type: "close", endpoint: this.number })
  }

  onEvent(event: PostedEvent): void {
    switch (event.type) {
      case "opened":
        // The connection may have been made before the worker learned of close().
        if (this.isClosed) this.thread.post({ type: "destroy", connection: event.connection })
        else this.#opened(event)
        break
      case "flushed":
        this.live.get(event.connection)?.flushed()
        break
      case "listening":
        break // only for a listener
      case "threw":
        throw fromPlain(event.error)
      case "unavailable":
        this.thread.remove(this.number)
        this.#warn(fromPlain(event.error))
        if (!this.isClosed) this.revive(fromPlain(event.error))
        break
      case "gone":
        this.thread.remove(this.number)
        break
      default:
        this.#passOn(event)
    }
  }

  /** Warns once that the endpoint waits for memory: connect() has returned. */
  #warn(error: Error): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    warn(threadError(error))
  }

  /** Emits an event of the transport that happened on the worker. */
  #passOn(posted: Exclude<PostedTransportEvent, OpenedEvent>): void {
    if (!("connection" in posted)) {
      if (!this.isClosed) this.emit(fromPosted(posted))
      return
    }
    const connection = this.live.get(posted.connection)
    if (!connection) return
    const event = fromPosted(posted, connection)
    if (event.type === "closed") this.#over(connection, event, this.endsWait)
    else if (event.type !== "ready" && event.type !== "authenticate") this.emit(event)
    else if (!connection.isEnded) {
      if (posted.type === "ready") connection.knowPeer(posted)
      this.#proceed(connection, event)
    }
  }

  /** Emits an event that lets a connection go on, and ends the connection if a handler throws. */
  #proceed(connection: RemoteConnection, event: EndpointEvent): void {
    try {
      this.emit(event)
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  #over(
    connection: RemoteConnection,
    { error, stage, retries, counts }: Ending,
    waits: boolean,
  ): void {
    connection.closing(waits, () => {
      this.live.delete(connection.number)
      try {
        this.emit({ type: "closed", connection, error, stage, retries, counts })
      } finally {
        connection.closed()
      }
    })
  }

  #opened(event: OpenedEvent): void {
    const connection = new RemoteConnection(this.thread, this.spec.credit, event)
    this.live.set(event.connection, connection)
    this.opened()
    this.emit({ type: "opened", connection })
  }

  protected opened(): void {}
  /** The thread died, and the connections with it. */
  protected abstract revive(error: Error): void

  threadDied(error: Error): void {
    for (const connection of this.live.values()) {
      if (connection.isClosing) continue // its end has been told, and waits for room
      const stage = connection.scheme ? "traffic" : "handshaking"
      try {
        this.#over(connection, { error, stage, retries: "soon", counts: connection.counts }, false)
      } catch (thrown) {
        throwLater(thrown) // the other connections must end too
      }
    }
    if (!this.isClosed) this.revive(error)
  }
}

/** A bound endpoint whose listener is on another thread. */
export class RemoteListener extends RemoteEndpoint implements PeerListener {
  protected readonly endsWait = true
  readonly #backoff = new Backoff(REVIVE_FIRST_MS, REVIVE_MAX_MS)
  #address: HostPort | undefined
  #listening: { resolve(address: HostPort): void; reject(error: Error): void } | undefined

  listen(address: HostPort): Promise<HostPort> {
    return new Promise((resolve, reject) => {
      this.#listening = { resolve, reject }
      this.#listenAt(address)
    })
  }

  /** Listens at an address; the event "listening" follows. */
  #listenAt(address: HostPort): void {
    this.thread.post({ type: "listen", endpoint: this.number, address })
  }

  listenSync(address: HostPort): HostPort {
    const signal = new Int32Array(new SharedArrayBuffer(4))
    const { port1, port2: port } = new MessageChannel()
    this.thread.postNow({ type: "listen", endpoint: this.number, address, port, signal }, [port])
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

  override onEvent(event: PostedEvent): void {
    if (event.type === "listening") this.#listens(event.result)
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
    this.emit({ type: "acceptFailed", error })
    this.retry = setTimeout(
      () => this.#listenAt(this.#address as HostPort),
      this.#backoff.next(),
    ).unref()
  }
}

/** A connected endpoint whose connections are on another thread. */
export class RemoteDialer extends RemoteEndpoint implements PeerDialer {
  /** The next connection has begun, and needs the pipe. */
  protected readonly endsWait = false
  readonly #backoff: Backoff

  constructor(spec: EndpointSpec, threads: () => Thread, onEvent: OnEvent) {
    super(spec, threads, onEvent)
    this.#backoff = new Backoff(spec.tcp.reconnectMs, spec.tcp.reconnectMaxMs)
  }

  get connection(): RemoteConnection | undefined {
    const [connection] = this.live.values()
    return connection
  }

  dial(): void {
    this.thread.post({ type: "dial", endpoint: this.number })
  }

  handOver(frames: Uint8Array[], departure: Departure): void {
    if (this.thread.isDead) {
      departure.deliver(this.spec as DialSpec, frames)
      return
    }
    this.thread.post({ type: "deliver", endpoint: this.number, frames })
    departure.addThread(this.thread)
  }

  protected override opened(): void {
    this.#backoff.reset()
  }

  protected revive(error: Error): void {
    const intervalMs = this.#backoff.next()
    if (intervalMs === undefined) {
      this.isClosed = true
      this.emit({ type: "gaveUp", isWrongPeer: false })
      return
    }
    this.emit({ type: "retried", intervalMs, error })
    this.reopenLater(
      intervalMs,
      () => this.dial(),
      () => this.revive(error),
    )
  }
}

/** Returns an event of the transport as its own thread has emitted it. */
function fromPosted(
  posted: Exclude<PostedTransportEvent, OpenedEvent>,
  connection?: RemoteConnection,
): EndpointEvent {
  const error = "error" in posted && posted.error && fromPlain(posted.error)
  return { ...posted, ...(connection && { connection }), ...(error && { error }) } as EndpointEvent
}
