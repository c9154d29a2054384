import type { Context, Event, Socket } from "zeromq"
import { boolean, checkEndpointOptions } from "../codec/options.js"
import { Sender } from "../codec/sender.js"
import type { Message } from "../patterns/message.js"
import type { Pipe, PipeOptions } from "../patterns/pipe.js"
import type { Refusal, Routing, SocketType, SocketTypeEvents } from "../patterns/socket-type.js"
import { SOCKET_TYPES } from "../patterns/types.js"
import { ThreadTransport } from "../thread/thread-transport.js"
import { threadsOf } from "../thread/threads.js"
import {
  canonicalEndpoint,
  familyOf,
  formatEndpoint,
  type HostPort,
  parseBind,
  parseConnect,
  withoutScheme,
} from "../transport/endpoint.js"
import { LocalTransport } from "../transport/local-transport.js"
import { caughtUp, fellBehind } from "../transport/read-turns.js"
import { resolveHost, resolveHostSync } from "../transport/tcp.js"
import { explain, explained, mistake, zmqError } from "../transport/zmq-error.js"
import { Authenticator } from "./authenticator.js"
import type { Core, Received } from "./core.js"
import { busy } from "./early-operations.js"
import {
  BoundEndpoint,
  ConnectedEndpoint,
  type EndpointHost,
  type EndpointSettings,
} from "./endpoint.js"
import {
  ENDPOINT_OPTIONS,
  type EndpointOptions,
  OWN_OPTIONS,
  readHighWaterBytes,
  readThread,
} from "./endpoint-options.js"
import { exitsLater } from "./exit.js"
import { flush } from "./flush.js"
import { Hold } from "./hold.js"
import type { Lz4 } from "./lz4.js"
import { copyMessage } from "./message.js"
import { refused, refuseSocketOptions, whyNotBound } from "./mistakes.js"
import type { NativeSide } from "./native-side.js"
import {
  readHandshakeSettings,
  readHeartbeat,
  readPipeOptions,
  readTcpOptions,
} from "./socket-options.js"
import type { SocketState } from "./state.js"
import { turn } from "./turn.js"
import { SOCKET_TYPE_NAMES } from "./zmq-numbers.js"

/** Maximum number of operations before one waits for a turn of the event loop. */
const OPERATIONS_MAX = 512
/**
 * Milliseconds after which the next operation waits too, because 512 large messages take long; the
 * clock is read every `POLL_BYTES`.
 */
const TURN_MAX_MS = 4
const POLL_BYTES = 128 * 1024

/** Maximum number of endpoints that an error names. */
const NAMES_MAX = 10

const RESOLVED = Promise.resolve()

interface Sending {
  message: Message
  routing: Routing
  resolve: () => void
  reject: (error: Error) => void
  timer: NodeJS.Timeout | undefined
}

interface Receiving {
  resolve: (message: Received) => void
  reject: (error: Error) => void
  timer: NodeJS.Timeout | undefined
  /** Whether the operation only waits for its turn. */
  isBehind: boolean
}

type Endpoint = BoundEndpoint | ConnectedEndpoint

/** The `lz4+tcp://` side of a socket. It does not refer to the socket, which may be collected. */
export class SocketCore implements Core, EndpointHost, SocketTypeEvents {
  readonly type: SocketType
  /** Whether the socket has send() and receive(). */
  readonly canSend: boolean
  readonly canReceive: boolean
  pipeOptions: PipeOptions
  immediate = false
  /** libzmq's endpoints, if the socket has any. */
  native: NativeSide | undefined
  lastEndpoint: string | null = null
  /** The latest value of the option, in case the socket is collected. */
  lingerMs: number
  readonly #state: SocketState
  /** Undefined after the socket was closed. */
  #context: Context | undefined
  /** Endpoints by name. Connecting repeatedly may give several with one name. */
  readonly #endpoints = new Map<string, Endpoint[]>()
  /** Endpoints that were released and still have messages to send. */
  readonly #leaving = new Set<Endpoint>()
  readonly #pipes = new Set<Pipe>()
  readonly #hold = new Hold()
  #sending: Sending | undefined
  #receiving: Receiving | undefined
  /** Number of operations since the last one that waited. */
  #operations = 0
  /** Bytes sent and received since the clock was last read. */
  #bytes = 0
  /** The time when the clock was first read after an operation waited. */
  #turnStart: number | undefined
  #turn: Promise<void> | undefined
  #closed = false
  /** The settings of endpoints without options of their own, until an option of the socket changes. */
  #defaultSettings: { settings: EndpointSettings; changes: number } | undefined

  constructor(socket: Socket, state: SocketState) {
    this.#state = state
    this.#context = socket.context
    this.lingerMs = socket.linger
    const typeName = SOCKET_TYPE_NAMES[socket.type]
    if (!typeName) throw explained("ENOTSUP", "STREAM sockets do not speak ZMTP")
    this.type = new SOCKET_TYPES[typeName](this, state.typeOptions)
    this.canSend = "send" in socket
    this.canReceive = "receive" in socket
    this.pipeOptions = readPipeOptions(socket, typeName, state)
    for (const [subscribe, topic] of state.subscriptions)
      if (subscribe) this.type.subscribe(topic)
      else this.type.cancel(topic)
    state.subscriptions.length = 0
    for (const group of state.groups) this.type.join(Buffer.from(group, "latin1"))
  }

  get lz4(): Lz4 {
    return this.#state.lz4
  }

  get context(): Context | undefined {
    return this.#context
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** The number of endpoints. */
  get endpoints(): number {
    return this.#endpoints.size
  }

  // -- Endpoints -------------------------------------------------------------------

  async bind(socket: Socket, address: string, options: EndpointOptions): Promise<void> {
    const where = this.#orBindError(address, () => parseBind(address, socket.ipv6))
    const resolved = await resolveHost(where, socket.ipv6, address).catch((error) =>
      this.#orBindError(address, () => {
        throw error
      }),
    )
    await turn() // takes as long as in zeromq.js, which binds on another thread
    const endpoint = new BoundEndpoint(this, this.#settings(socket, address, options))
    this.#hold.ref()
    try {
      await endpoint.listen(resolved)
    } catch (error) {
      this.#cannotListen(address, error)
    } finally {
      this.#hold.unref()
    }
    this.#listens(endpoint)
  }

  bindSync(socket: Socket, address: string, options: EndpointOptions): void {
    const resolved = this.#orBindError(address, () =>
      resolveHostSync(parseBind(address, socket.ipv6), socket.ipv6, address),
    )
    const endpoint = new BoundEndpoint(this, this.#settings(socket, address, options))
    try {
      endpoint.listenSync(resolved)
    } catch (error) {
      this.#cannotListen(address, error)
    }
    this.#listens(endpoint)
  }

  #listens(endpoint: BoundEndpoint): void {
    this.lastEndpoint = endpoint.address
    this.#add(endpoint.address, endpoint)
  }

  #cannotListen(address: string, error: unknown): never {
    this.emit({ type: "close" } as Event) // without an address, as libzmq has it
    const why = whyNotBound(address, (error as { code?: string }).code)
    return this.bindError(address, why === undefined ? error : explain(error as Error, why))
  }

  connect(socket: Socket, address: string, options: EndpointOptions): void {
    const destination = parseConnect(address, socket.ipv6)
    const settings = this.#settings(socket, address, options)
    if (this.type.connectsOnce && this.#endpoints.has(address)) {
      settings.transport.encoder.close()
      return
    }
    this.immediate = socket.immediate
    const gone = (isWrongPeer: boolean) => this.#forget(address, endpoint, isWrongPeer)
    const endpoint = new ConnectedEndpoint(this, settings, address, destination, gone)
    this.#add(address, endpoint)
    this.lastEndpoint = address
    const { connectRoutingId } = this.#state
    this.#state.connectRoutingId = undefined
    endpoint.dial(connectRoutingId?.toString("latin1"))
  }

  /**
   * Releases the endpoints with this name. As in libzmq, unbind() and disconnect() both do this.
   *
   * @throws Error with code ENOENT.
   */
  disconnect(socket: Socket, address: string): void {
    if (withoutScheme(address) === "")
      throw mistake("EINVAL", address, "has neither host nor port", this.#names())
    const name = this.#endpoints.has(address) ? address : canonicalEndpoint(address, socket.ipv6)
    const endpoints = this.#endpoints.get(name)
    if (!endpoints) throw mistake("ENOENT", address, "is not bound or connected", this.#names())
    this.#endpoints.delete(name)
    const { linger } = socket
    for (const endpoint of endpoints) this.#release(endpoint, linger, true)
  }

  /** Returns the names of the endpoints, for use in errors. */
  #names(): string {
    const names = [...this.#endpoints.keys()]
    if (names.length === 0) return "the socket has no lz4+tcp:// endpoint"
    const more = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : ""
    return `the socket has ${names.slice(0, NAMES_MAX).join(", ")}${more}`
  }

  close(lingerMs: number): void {
    if (this.#closed) return
    // As in zeromq.js, pending calls get one last try.
    if (this.#receiving) this.#finishReceiving()
    if (this.#sending) this.#finishSending()
    this.native?.close()
    this.#closed = true
    for (const endpoints of this.#endpoints.values())
      for (const endpoint of endpoints) this.#release(endpoint, lingerMs, false)
    this.#endpoints.clear()
    this.type.close()
    this.#context = undefined
    this.#closeDefaultSettings()
  }

  #release(endpoint: Endpoint, lingerMs: number, keepsReceived: boolean): void {
    const gone = exitsLater(endpoint, this.#context)
    this.#leaving.add(endpoint)
    const released = () => {
      this.#leaving.delete(endpoint)
      gone()
    }
    endpoint.release(lingerMs, released, keepsReceived)
  }

  /** The endpoints that were not released. */
  get openEndpoints(): Endpoint[] {
    return [...this.#endpoints.values()].flat()
  }

  /**
   * Waits until all messages sent so far have been written, or never will be.
   *
   * @throws Error with code EAGAIN after `timeoutMs`; -1 is no limit.
   */
  flush(timeoutMs: number): Promise<void> {
    const pipes: Pipe[] = []
    for (const endpoint of [...this.openEndpoints, ...this.#leaving])
      pipes.push(...endpoint.sendingPipes)
    return flush(pipes, timeoutMs, this.#hold)
  }

  #closeDefaultSettings(): void {
    this.#defaultSettings?.settings.transport.encoder.close()
    this.#defaultSettings = undefined
  }

  #add(name: string, endpoint: Endpoint): void {
    const endpoints = this.#endpoints.get(name)
    if (endpoints) endpoints.push(endpoint)
    else this.#endpoints.set(name, [endpoint])
  }

  /** Removes an endpoint that gave up. As with libzmq, its name may stay until it is disconnected. */
  #forget(name: string, endpoint: Endpoint, keepsName: boolean): void {
    const rest = (this.#endpoints.get(name) ?? []).filter((other) => other !== endpoint)
    if (rest.length > 0 || keepsName) this.#endpoints.set(name, rest)
    else this.#endpoints.delete(name)
    endpoint.release(0, () => {}, false)
  }

  /** Returns the settings of an endpoint. Endpoints without options of their own share them. */
  #settings(socket: Socket, address: string, options: EndpointOptions): EndpointSettings {
    refuseSocketOptions(options, ENDPOINT_OPTIONS, socket)
    const hasNoOptions = Object.keys(options ?? {}).length === 0
    if (hasNoOptions && this.#defaultSettings?.changes === this.#state.changes) {
      const { settings } = this.#defaultSettings
      settings.transport.encoder.share()
      return settings
    }
    const settings = this.#readSettings(socket, address, options)
    if (hasNoOptions) {
      this.#closeDefaultSettings()
      settings.transport.encoder.share()
      this.#defaultSettings = { settings, changes: this.#state.changes }
    }
    return settings
  }

  #readSettings(socket: Socket, address: string, options: EndpointOptions): EndpointSettings {
    const settings = checkEndpointOptions(options, socket.maxMessageSize, OWN_OPTIONS)
    const thread = readThread(options)
    const { acceptPlain = false } = options
    const acceptsPlain = boolean("acceptPlain", acceptPlain)
    const pipeOptions = readPipeOptions(socket, this.type.name, this.#state)
    const { conflate, receiveHighWaterMark } = pipeOptions
    const receiveHighWaterBytes = readHighWaterBytes(options, receiveHighWaterMark)
    const tcp = readTcpOptions(socket, this.#state, address)
    const { name } = this.type
    const handshake = readHandshakeSettings(socket, name, this.#state, address, settings.revision)
    this.pipeOptions = pipeOptions
    const { zapDomain, zapEnforceDomain } = socket
    const connection = {
      settings,
      handshake,
      handshakeMs: socket.handshakeInterval,
      heartbeat: readHeartbeat(socket),
      acceptsPlain,
    }
    const context = this.#context as Context
    const credit = conflate ? 0 : receiveHighWaterMark
    return {
      transport: thread
        ? new ThreadTransport(threadsOf(context), connection, tcp, credit)
        : new LocalTransport(
            { ...connection, sender: new Sender(settings, acceptsPlain), relays: false },
            tcp,
          ),
      authenticator: new Authenticator(
        context,
        zapDomain ?? "",
        zapEnforceDomain,
        handshake.routingId,
      ),
      authenticates: handshake.plainServer || handshake.authenticate,
      receiveHighWaterBytes,
    }
  }

  /**
   * Returns one of libzmq's endpoints with its host name resolved, because libzmq would resolve it
   * on this thread and block.
   *
   * @throws Error with code ENODEV.
   */
  async resolveNative(socket: Socket, address: string): Promise<string> {
    if (!address.startsWith("tcp://")) return address
    let where: HostPort
    try {
      where = parseBind(address, socket.ipv6)
    } catch {
      return address // libzmq reports the error
    }
    if (familyOf(where.host) !== 0) return address
    return formatEndpoint(await resolveHost(where, socket.ipv6, address), "tcp://")
  }

  #orBindError<T>(address: string, call: () => T): T {
    try {
      return call()
    } catch (error) {
      return this.bindError(address, error)
    }
  }

  /** Emits the event for an endpoint that cannot be bound, and throws. */
  bindError(address: string, error: unknown): never {
    const told = zmqError((error as { code: "EINVAL" }).code)
    this.emit({ type: "bind:error", address: withoutScheme(address), error: told })
    // Under the name that the program gave.
    throw Object.assign(error as Error, { address })
  }

  // -- Events of endpoints and of the socket type ----------------------------------

  emit(event: Event): void {
    this.#state.monitor?.emit(event)
  }

  added(pipe: Pipe): void {
    this.#pipes.add(pipe)
  }

  removed(pipe: Pipe): void {
    this.#pipes.delete(pipe)
  }

  readable(): void {
    if (this.#receiving && this.#hasIn()) this.#finishReceiving()
  }

  writable(): void {
    if (this.#sending && this.#hasOut()) this.#finishSending()
  }

  optionChanged(): void {
    // A REQ that became relaxed can send now, and so can a ROUTER that is no longer mandatory.
    this.writable()
  }

  changeHighWaterMarks(socket: Socket): void {
    this.pipeOptions = readPipeOptions(socket, this.type.name, this.#state)
    for (const pipe of this.#pipes) pipe.options = this.pipeOptions
  }

  // -- Sending ---------------------------------------------------------------------

  get isWritable(): boolean {
    return !this.#closed && this.#hasOut()
  }

  get isReadable(): boolean {
    if (this.#closed) return false
    return this.native ? this.native.isReadable : this.type.hasIn()
  }

  #hasOut(): boolean {
    return this.native ? this.native.hasOut() : this.type.hasOut()
  }

  #hasIn(): boolean {
    return this.native ? this.native.hasIn() : this.type.hasIn()
  }

  #trySend(message: Message, routing: Routing): Refusal | Promise<void> | undefined {
    if (message.length === 0) return undefined
    return this.native ? this.native.send(message, routing) : this.type.send(message, routing)
  }

  #tryReceive(): Received | Refusal {
    if (this.native) return this.native.receive()
    const message = this.type.receive()
    if (typeof message === "string") return message
    const { routing } = this.type
    return routing === undefined ? message : [...message, routing]
  }

  /** @throws Error with code EBUSY or EBADF if the socket can neither send nor receive now. */
  checkUsable(): void {
    checkFree(this.#state)
    if (this.#closed) throw zmqError("EBADF")
  }

  send(message: Message, routing: Routing): Promise<void> {
    if (this.#sending) throw busy("send")
    const { sendTimeoutMs } = this.#state
    if (sendTimeoutMs === 0 || this.#hasOut()) {
      if (sendTimeoutMs === 0 || this.#operations++ < OPERATIONS_MAX) {
        const refusal = this.#trySend(message, routing)
        if (this.#receiving !== undefined) this.readable()
        if (typeof refusal === "string") return this.#refuse(refused(refusal, this.type.name))
        if (refusal) return refusal.catch((error) => this.#refuse(error))
        return this.#turnAfter(message) ?? RESOLVED
      }
      return this.#waitToSend(message, routing, undefined)
    }
    return this.#waitToSend(message, routing, sendTimeoutMs)
  }

  /** Returns the turn of the event loop that is due after a message; undefined if none is. */
  #turnAfter(message: Received): Promise<void> | undefined {
    for (let i = 0; i < message.length; i++)
      this.#bytes += (message[i] as Partial<Buffer>).length ?? 0
    if (this.#bytes < POLL_BYTES) return this.#turn
    this.#bytes = 0
    const now = performance.now()
    this.#turnStart ??= now
    return now - this.#turnStart < TURN_MAX_MS ? this.#turn : this.#nextTurn()
  }

  /** Resets the counts, because an operation has waited for the event loop. */
  #beginTurn(): void {
    this.#operations = 0
    this.#turnStart = undefined
  }

  #nextTurn(): Promise<void> {
    this.#turn ??= turn().then(() => {
      this.#beginTurn()
      this.#turn = undefined
    })
    return this.#turn
  }

  /** Rejects. From time to time it does so a turn later, for programs that try again at once. */
  #refuse(error: Error): Promise<never> {
    if (this.#operations++ < OPERATIONS_MAX) return Promise.reject(error)
    return this.#nextTurn().then(() => {
      throw error
    })
  }

  /** Sends a message of a proxy, however long that takes. */
  sendForProxy(message: Message, routing: Routing): Promise<void> {
    if (!this.#hasOut()) return this.#sendForProxyLater(message, routing)
    const refusal = this.#trySend(message, routing)
    // Any other refusal means that the message has no destination.
    if (refusal === "EAGAIN") return this.#sendForProxyLater(message, routing)
    if (typeof refusal === "object")
      return refusal.catch((error) => {
        if (error.code === "EAGAIN") return this.#sendForProxyLater(message, routing)
      })
    if (this.#operations++ >= OPERATIONS_MAX) return this.#nextTurn()
    return this.#turnAfter(message) ?? RESOLVED
  }

  /** Tries again each time there is room, which may be in the pipes of other peers. */
  async #sendForProxyLater(message: Message, routing: Routing): Promise<void> {
    for (;;) {
      try {
        return await this.#waitToSend(message, routing, -1)
      } catch (error) {
        if ((error as { code?: string }).code !== "EAGAIN" || this.#closed) throw error
      }
    }
  }

  /** Waits until there is room, or for a turn of the event loop if `timeoutMs` is undefined. */
  #waitToSend(message: Message, routing: Routing, timeoutMs: number | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const copied = copyMessage(message)
      const sending: Sending = { message: copied, routing, resolve, reject, timer: undefined }
      this.#sending = sending
      this.#hold.ref()
      if (timeoutMs === undefined) setImmediate(sendNow, this, sending)
      else if (timeoutMs > 0) sending.timer = setTimeout(sendNow, timeoutMs, this, sending)
      this.native?.wantRoom(true)
    })
  }

  #finishSending(): void {
    const sending = this.#sending as Sending
    this.#sending = undefined
    this.#beginTurn()
    clearTimeout(sending.timer)
    this.#hold.unref()
    this.native?.wantRoom(false)
    try {
      const refusal = this.#trySend(sending.message, sending.routing)
      if (refusal === undefined) sending.resolve()
      else outcome(refusal, this.type.name).then(sending.resolve, sending.reject)
    } catch (error) {
      sending.reject(error as Error)
    }
    if (this.#receiving !== undefined) this.readable()
  }

  sendNow(sending: Sending): void {
    if (this.#sending !== sending) return
    const { sendTimeoutMs } = this.#state
    // Room that there was before the turn may have gone with its peer.
    if (sending.timer !== undefined || sendTimeoutMs === 0 || this.#hasOut()) this.#finishSending()
    else if (sendTimeoutMs > 0) sending.timer = setTimeout(sendNow, sendTimeoutMs, this, sending)
  }

  // -- Receiving -------------------------------------------------------------------

  receive(): Promise<Received> {
    if (this.#receiving) throw busy("receive")
    const { receiveTimeoutMs } = this.#state
    if (receiveTimeoutMs === 0 || this.#hasIn()) {
      if (receiveTimeoutMs === 0 || this.#operations++ < OPERATIONS_MAX) {
        const message = this.#tryReceive()
        if (typeof message === "string") return this.#refuse(refused(message, this.type.name))
        if (this.#sending !== undefined) this.writable()
        return this.#turnAfter(message)?.then(() => message) ?? Promise.resolve(message)
      }
      return this.#waitToReceive(undefined)
    }
    return this.#waitToReceive(receiveTimeoutMs)
  }

  /** Receives a message for a proxy, however long that takes. */
  receiveForProxy(): Promise<Received> {
    const message = this.#hasIn() ? this.#tryReceive() : "EAGAIN"
    return typeof message === "string" ? this.#waitToReceive(-1) : Promise.resolve(message)
  }

  #waitToReceive(timeoutMs: number | undefined): Promise<Received> {
    return new Promise((resolve, reject) => {
      const receiving: Receiving = {
        resolve,
        reject,
        timer: undefined,
        isBehind: timeoutMs === undefined,
      }
      this.#receiving = receiving
      this.#hold.ref()
      if (timeoutMs === undefined) {
        fellBehind()
        setImmediate(receiveNow, this, receiving)
      } else if (timeoutMs > 0) receiving.timer = setTimeout(receiveNow, timeoutMs, this, receiving)
      this.native?.want(true)
    })
  }

  #finishReceiving(): void {
    const receiving = this.#receiving as Receiving
    this.#receiving = undefined
    hadTurn(receiving)
    this.#beginTurn()
    if (receiving.timer) clearTimeout(receiving.timer)
    this.#hold.unref()
    this.native?.want(false)
    const message = this.#tryReceive()
    if (typeof message === "string") receiving.reject(refused(message, this.type.name))
    else receiving.resolve(message)
    if (this.#sending !== undefined) this.writable()
  }

  receiveNow(receiving: Receiving): void {
    if (this.#receiving !== receiving) return
    hadTurn(receiving)
    const { receiveTimeoutMs } = this.#state
    // A message that there was before the turn may have gone with its peer.
    if (receiving.timer !== undefined || receiveTimeoutMs === 0 || this.#hasIn())
      this.#finishReceiving()
    else if (receiveTimeoutMs > 0)
      receiving.timer = setTimeout(receiveNow, receiveTimeoutMs, this, receiving)
  }
}

/** @throws Error with code EBUSY while an operation needs the socket for itself. */
export function checkFree(state: SocketState): void {
  if (state.blocked !== undefined)
    throw zmqError("EBUSY", undefined, "Socket is blocked by a bind or unbind operation")
}

/** Returns the result of a send that was refused, or that libzmq carries out. */
function outcome(refusal: Refusal | Promise<void>, type: string): Promise<void> {
  return typeof refusal === "string" ? Promise.reject(refused(refusal, type)) : refusal
}

function sendNow(core: SocketCore, sending: Sending): void {
  core.sendNow(sending)
}

/** Records that the turn which a program waited for is over. */
function hadTurn(receiving: Receiving): void {
  if (receiving.isBehind) caughtUp()
  receiving.isBehind = false
}

function receiveNow(core: SocketCore, receiving: Receiving): void {
  core.receiveNow(receiving)
}
