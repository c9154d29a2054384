import type { Context, Event, Socket } from "zeromq"
import type { Pipe } from "../../patterns/pipe.js"
import type { SocketType } from "../../patterns/socket-type.js"
import {
  canonicalEndpoint,
  formatEndpoint,
  type HostPort,
  parseBind,
  parseConnect,
  schemeOf,
  withoutScheme,
} from "../../transport/address.js"
import { resolveHost, resolveHostSync } from "../../transport/tcp.js"
import { explain, mistake, type ZmqError, zmqError } from "../../transport/zmq-error.js"
import { exitsLater } from "../event-loop/exit.js"
import type { Hold } from "../event-loop/hold.js"
import { turn } from "../event-loop/turn.js"
import type { Lz4 } from "../lz4.js"
import { bindFailureReason, takenRoutingId, theseEndpoints } from "../mistakes.js"
import { readPipeOptions } from "../socket-options.js"
import type { SocketState } from "../state.js"
import { BoundEndpoint } from "./bound-endpoint.js"
import { ConnectedEndpoint } from "./connected-endpoint.js"
import type { EndpointHost, EndpointSettings } from "./endpoint.js"
import type { EndpointOptions } from "./endpoint-options.js"
import { SettingsReader } from "./endpoint-settings.js"

type Endpoint = BoundEndpoint | ConnectedEndpoint

/** The `lz4+tcp://` endpoints of a socket, and the options and pipes that they share. */
export class EndpointRegistry implements EndpointHost {
  readonly type: SocketType
  lastEndpoint: string | null = null
  readonly #state: SocketState
  /** Undefined after the socket was closed. */
  context: Context | undefined
  readonly #hold: Hold
  readonly #settings: SettingsReader
  /** Endpoints by address. Connecting repeatedly may give several with one address. */
  readonly #endpoints = new Map<string, Endpoint[]>()
  /** Endpoints that were released and still have messages to send. */
  readonly #leaving = new Set<Endpoint>()
  readonly #pipes = new Set<Pipe>()
  /** The callback of `close`. */
  #ended: (() => void) | undefined

  constructor(socket: Socket, type: SocketType, state: SocketState, hold: Hold) {
    this.type = type
    this.#state = state
    this.context = socket.context
    this.#hold = hold
    this.#settings = new SettingsReader(type.name, state)
  }

  get lz4(): Lz4 {
    return this.#state.lz4
  }

  /** The endpoints that were not released. */
  get open(): Endpoint[] {
    return [...this.#endpoints.values()].flat()
  }

  get isConnected(): boolean {
    for (const endpoints of this.#endpoints.values())
      for (const { pipes } of endpoints) if (pipes.size > 0) return true
    return false
  }

  /** The pipes that may have messages to send, including those of released endpoints. */
  get sendingPipes(): Pipe[] {
    return [...this.open, ...this.#leaving].flatMap((endpoint) => [...endpoint.sendingPipes])
  }

  async bind(socket: Socket, address: string, options: EndpointOptions): Promise<void> {
    await turn() // takes as long as in zeromq.js, which binds on another thread
    checkAffinity(socket, address)
    let resolved: HostPort
    try {
      resolved = await resolveHost(parseBind(address, socket.ipv6), socket.ipv6, address)
    } catch (error) {
      throw this.bindError(address, error)
    }
    const endpoint = this.#newBound(socket, address, options)
    this.#hold.ref()
    try {
      await endpoint.listen(resolved)
    } catch (error) {
      throw this.#listenError(address, error)
    } finally {
      this.#hold.unref()
    }
    this.#add(endpoint)
  }

  bindSync(socket: Socket, address: string, options: EndpointOptions): void {
    checkAffinity(socket, address)
    let resolved: HostPort
    try {
      resolved = resolveHostSync(parseBind(address, socket.ipv6), socket.ipv6, address)
    } catch (error) {
      throw this.bindError(address, error)
    }
    const endpoint = this.#newBound(socket, address, options)
    try {
      endpoint.listenSync(resolved)
    } catch (error) {
      throw this.#listenError(address, error)
    }
    this.#add(endpoint)
  }

  #newBound(socket: Socket, address: string, options: EndpointOptions): BoundEndpoint {
    const settings = this.#settings.read(socket, address, options)
    try {
      return madeWith(settings, () => new BoundEndpoint(this, settings))
    } catch (error) {
      throw this.#listenError(address, error)
    }
  }

  #listenError(address: string, error: unknown): Error {
    this.emit({ type: "close" } as Event) // without an address, as libzmq has it
    const why = bindFailureReason(address, (error as { code?: string }).code)
    return this.bindError(address, why === undefined ? error : explain(error as Error, why))
  }

  connect(socket: Socket, address: string, options: EndpointOptions): void {
    checkAffinity(socket, address)
    const destination = parseConnect(address, socket.ipv6)
    this.#checkRoutingId(address)
    const settings = this.#settings.read(socket, address, options)
    if (this.type.connectsOnce && this.#endpoints.has(address)) {
      settings.transport.encoder.close()
      return
    }
    const gaveUp = (isWrongPeer: boolean) => this.#forget(endpoint, isWrongPeer)
    const endpoint = madeWith(
      settings,
      () => new ConnectedEndpoint(this, settings, address, destination, gaveUp),
    )
    this.#add(endpoint)
    const { connectRoutingId } = this.#state
    this.#state.connectRoutingId = undefined
    endpoint.dial(connectRoutingId?.toString("latin1"))
  }

  /** Refuses a routing id for the next peer that another peer has. libzmq would abort the process. */
  #checkRoutingId(address: string): void {
    const { connectRoutingId } = this.#state
    if (!connectRoutingId || !this.type.knows([connectRoutingId], {})) return
    this.#state.connectRoutingId = undefined
    throw takenRoutingId(address, connectRoutingId)
  }

  /**
   * Releases the endpoints with this name. As in libzmq, unbind() and disconnect() both do this.
   *
   * @throws Error with code ENOENT.
   */
  disconnect(socket: Socket, address: string): void {
    if (withoutScheme(address) === "")
      throw this.#unknown("EINVAL", address, "has neither host nor port")
    const name = this.#endpoints.has(address) ? address : canonicalEndpoint(address, socket.ipv6)
    const endpoints = this.#endpoints.get(name)
    if (!endpoints) throw this.#unknown("ENOENT", address, "is not bound or connected")
    this.#endpoints.delete(name)
    const { linger } = socket
    for (const endpoint of endpoints) this.#release(endpoint, linger, true)
  }

  #unknown(code: "EINVAL" | "ENOENT", address: string, wrong: string): ZmqError {
    return mistake(code, address, wrong, theseEndpoints([...this.#endpoints.keys()]))
  }

  /** Resolves the host name in an address if an endpoint is bound there. */
  async resolve(socket: Socket, address: string): Promise<string> {
    if (this.#endpoints.has(address)) return address
    try {
      const given = parseConnect(address, socket.ipv6)
      if (given.host === "") return address
      const resolved = formatEndpoint(
        await resolveHost(given, socket.ipv6, address),
        schemeOf(address),
      )
      return this.#endpoints.has(resolved) ? resolved : address
    } catch {
      return address
    }
  }

  /** Releases all endpoints. Calls `ended` when none has messages to send any more. */
  close(lingerMs: number, ended: () => void): void {
    for (const endpoint of this.open) this.#release(endpoint, lingerMs, false)
    this.#endpoints.clear()
    this.context = undefined
    this.#settings.close()
    if (this.#leaving.size > 0) this.#ended = ended
    else ended()
  }

  #release(endpoint: Endpoint, lingerMs: number, keepsReceived: boolean): void {
    const gone = exitsLater(endpoint, this.context)
    this.#leaving.add(endpoint)
    const released = () => {
      // Once the process may end, and again when the last connection has ended.
      if (!this.#leaving.delete(endpoint)) return
      gone()
      if (this.#leaving.size === 0) this.#ended?.()
    }
    endpoint.release(lingerMs, released, keepsReceived)
  }

  #add(endpoint: Endpoint): void {
    const { address } = endpoint
    this.lastEndpoint = address
    endpoint.keepForms(this.type.keepsForms)
    this.#endpoints.set(address, [...(this.#endpoints.get(address) ?? []), endpoint])
  }

  /** Removes an endpoint that gave up. As with libzmq, its address may stay until it is disconnected. */
  #forget(endpoint: Endpoint, keepsAddress: boolean): void {
    const { address } = endpoint
    const rest = (this.#endpoints.get(address) ?? []).filter((other) => other !== endpoint)
    if (rest.length > 0 || keepsAddress) this.#endpoints.set(address, rest)
    else this.#endpoints.delete(address)
    endpoint.release(0, () => {}, false)
  }

  /** Emits the event for an endpoint that cannot be bound, and returns the error to throw. */
  bindError(address: string, error: unknown): Error {
    const { code, message } = error as Error & { code: string }
    // zeromq.js has no errors like those of this package.
    const reported = code.startsWith("ERR_")
      ? (Object.assign(new Error(message), { code }) as ZmqError)
      : zmqError(code as "EINVAL")
    this.emit({ type: "bind:error", address: withoutScheme(address), error: reported })
    // The address as the program gave it.
    return Object.assign(error as Error, { address })
  }

  changeHighWaterMarks(socket: Socket): void {
    const options = readPipeOptions(socket, this.type.name, this.#state)
    for (const pipe of this.#pipes) pipe.options = options
  }

  // -- Events of endpoints ---------------------------------------------------------

  emit(event: Event): void {
    this.#state.monitor?.emit(event)
  }

  added(pipe: Pipe): void {
    this.#pipes.add(pipe)
  }

  removed(pipe: Pipe): void {
    this.#pipes.delete(pipe)
  }
}

/** Checks that the affinity of a socket names one of its context's I/O threads, as libzmq does. */
function checkAffinity({ affinity, context }: Socket, address: string): void {
  if (affinity === 0) return
  const threads = (1n << BigInt(Math.max(1, context.ioThreads))) - 1n
  if ((BigInt(affinity) & threads) === 0n) throw zmqError("EMTHREAD", address)
}

/** Makes an endpoint. Releases its settings if that fails, because no thread can start. */
function madeWith<T>(settings: EndpointSettings, make: () => T): T {
  try {
    return make()
  } catch (error) {
    settings.transport.encoder.close()
    throw error
  }
}
