import { AsyncResource } from "node:async_hooks"
import type { Context, Socket } from "zeromq"
import type { Message } from "../patterns/message.js"
import type { Routing, SocketType, TypeOptions } from "../patterns/socket-type.js"
import { warn } from "../transport/diagnosis.js"
import type { Departure } from "../transport/transport.js"
import { zmqError } from "../transport/zmq-error.js"
import { CurveKeys } from "./curve-keys.js"
import type { EarlyOperations } from "./early-operations.js"
import { Lz4 } from "./lz4.js"
import { copyBytes, type Received } from "./message.js"
import type { Monitor } from "./monitor.js"
import { OPTION, TAKE_EFFECT_AT_ONCE } from "./zmq-numbers.js"

const TYPE_FLAGS: Readonly<Record<number, keyof TypeOptions | undefined>> = {
  [OPTION.mandatory]: "mandatory",
  [OPTION.probeRouter]: "probeRouter",
  [OPTION.correlate]: "correlate",
  [OPTION.relaxed]: "relaxed",
  [OPTION.handover]: "handover",
  [OPTION.noDrop]: "noDrop",
  [OPTION.manual]: "manual",
  [OPTION.invertMatching]: "invertMatching",
}

/** A socket core, as its state and the end of the process see it. */
export interface Core {
  readonly type: SocketType
  lingerMs: number
  readonly isClosed: boolean
  readonly operations: {
    send(message: Message, routing: Routing, timeoutMs?: number): Promise<void>
    receive(timeoutMs?: number): Promise<Received>
    sendHeld(): void
  }
  readonly endpoints: {
    readonly context: Context | undefined
    readonly open: Iterable<{ noticeEnds(): void; depart(departure: Departure): void }>
  }
  changeHighWaterMarks(socket: Socket): void
  flush(timeoutMs: number): Promise<void>
  /** Calls `ended` when the socket's messages have been sent, or dropped after `lingerMs`. */
  close(lingerMs: number, ended: () => void): void
}

const states = new WeakMap<Socket, SocketState>()
/** The `lz4` of each socket. */
const lz4Objects = new WeakMap<Socket, Lz4>()

export function stateOf(socket: Socket): SocketState | undefined {
  return states.get(socket)
}

/** Returns the state of a socket, and creates it if there is none. */
export function ensureState(socket: Socket): SocketState {
  let state = states.get(socket)
  if (!state) {
    state = new SocketState()
    states.set(socket, state)
  }
  return state
}

/**
 * What this package keeps for a socket, with the options that cannot be read back. It does not refer to
 * the socket, which may be collected, unless somebody listens to its `lz4`.
 */
export class SocketState {
  readonly typeOptions: TypeOptions = {
    mandatory: false,
    handover: false,
    probeRouter: false,
    correlate: false,
    relaxed: false,
    noDrop: false,
    manual: false,
    invertMatching: false,
    verbosity: "none",
    welcomeMessage: Buffer.alloc(0),
  }
  sendTimeoutMs = -1
  receiveTimeoutMs = -1
  conflate = false
  /** Whether the program has set the option, perhaps to its default. */
  setsBacklog = false
  routingId: Buffer | undefined
  connectRoutingId: Buffer | undefined
  readonly acceptFilters: string[] = []
  readonly curveKeys: CurveKeys = new CurveKeys()
  /** The subscriptions from before there was a core, in order. */
  readonly subscriptions: [subscribe: boolean, topic: Buffer][] = []
  /** Joined groups, as latin1 strings. */
  readonly groups: Set<string> = new Set()
  core: Core | undefined
  monitor: Monitor | undefined
  /** The async context in which the socket was created. `lz4` is created later. */
  readonly #context = new AsyncResource("ZEROMQ_LZ4")
  #lz4: WeakRef<Lz4> | undefined
  /**
   * The same while it has listeners, with the socket, which they keep until it is closed, as those of
   * zeromq.js's `events` do.
   */
  #heard: { lz4: Lz4; socket: Socket } | undefined
  optionChanges = 0
  earlyOperations: EarlyOperations<Core> | undefined
  /** Whose bind, unbind or proxy is in progress, during which nothing else may use the socket. */
  blocked: "own" | "native" | undefined
  /** Whether to close the socket once it is no longer blocked. */
  closing = false
  /** Number of `lz4+tcp://` endpoints. As in zeromq.js, a bind() or unbind() that fails counts. */
  endpointCount = 0
  /** Number of libzmq's endpoints, and whether there has ever been one or an attempt at one. */
  nativeEndpoints = 0
  nativeUsed = false
  /** The addresses of libzmq's endpoints with one peer, and the number of those that hide theirs. */
  readonly #nativeConnects: string[] = []
  #nativeOthers = 0
  /** Whether libzmq's side of a REQ, from before there was a core, awaits a reply. */
  nativeRequest = false

  /** Returns the object that `lz4Of` created, or a new one if the socket was collected. */
  get lz4(): Lz4 {
    return this.#heard?.lz4 ?? this.#lz4?.deref() ?? this.#newLz4()
  }

  lz4Of(socket: Socket): Lz4 {
    let lz4 = lz4Objects.get(socket)
    if (!lz4) {
      lz4 = this.#newLz4((lz4, areThere) => {
        this.#heard = areThere ? { lz4, socket } : undefined
      })
      lz4Objects.set(socket, lz4)
      this.#lz4 = new WeakRef(lz4)
    }
    return lz4
  }

  #newLz4(onListeners?: (lz4: Lz4, areThere: boolean) => void): Lz4 {
    return new Lz4(this.#context, async (timeoutMs) => this.core?.flush(timeoutMs), onListeners)
  }

  /** @throws Error with code EBUSY while the socket is blocked. */
  checkFree(): void {
    if (this.blocked !== undefined)
      throw zmqError("EBUSY", undefined, "Socket is blocked by a bind or unbind operation")
  }

  /**
   * Blocks the socket during `work`. If that succeeds, calls `finish` when the socket is free again. As
   * in zeromq.js, close() takes effect afterwards.
   */
  async block(
    socket: Socket,
    work: () => Promise<void>,
    finish: () => void = () => {},
  ): Promise<void> {
    this.blocked = "own"
    try {
      try {
        await work()
      } finally {
        this.blocked = undefined
      }
      finish()
    } finally {
      if (this.closing) socket.close()
    }
  }

  /** Records that zeromq.js blocks the socket: no core is created meanwhile, as that reads options. */
  blockNative(work: Promise<void>, done: () => void): Promise<void> {
    this.blocked = "native"
    const free = () => {
      this.blocked = undefined
    }
    work.then(() => {
      free()
      done()
    }, free)
    return work
  }

  /** Records that libzmq gets an endpoint. */
  useNative(): void {
    this.nativeUsed = true
    this.earlyOperations?.begin(this.core)
    this.monitor?.useNative()
  }

  /** The number of libzmq's peers; undefined if libzmq hides some. */
  get nativePeers(): number | undefined {
    return this.#nativeOthers > 0 ? undefined : this.#nativeConnects.length
  }

  /** Records an endpoint of libzmq, with the address at which it has its only peer, if it has one. */
  nativeAdded(peer: string | undefined): void {
    this.nativeEndpoints++
    if (peer === undefined) this.#nativeOthers++
    else this.#nativeConnects.push(peer)
  }

  nativeRemoved(address: string): void {
    this.nativeEndpoints--
    const at = this.#nativeConnects.indexOf(address)
    if (at >= 0) this.#nativeConnects.splice(at, 1)
    else if (this.#nativeOthers > 0) this.#nativeOthers--
  }

  setBoolean(option: number, value: boolean): void {
    const { typeOptions } = this
    const name = TYPE_FLAGS[option]
    if (name) (typeOptions[name] as boolean) = value
    else if (option === OPTION.conflate) this.conflate = value
    else if (option === OPTION.xpubVerbose) typeOptions.verbosity = value ? "allSubs" : "none"
    else if (option === OPTION.xpubVerboser)
      typeOptions.verbosity = value ? "allSubsUnsubs" : "none"
  }

  setNumber(option: number, value: number, socket: Socket): void {
    if (option === OPTION.sendTimeout) this.sendTimeoutMs = value
    else if (option === OPTION.receiveTimeout) this.receiveTimeoutMs = value
    else if (option === OPTION.backlog) this.setsBacklog = true
    else if (option === OPTION.linger) {
      if (this.core) this.core.lingerMs = value
    } else if (option === OPTION.sendHighWaterMark || option === OPTION.receiveHighWaterMark)
      this.core?.changeHighWaterMarks(socket)
  }

  setBytes(option: number, given: string | Buffer | null): void {
    // Keys are copied where they are wiped.
    if (this.curveKeys.set(option, given)) return
    const value = given === null ? given : copyBytes(given)
    const bytes = value ?? Buffer.alloc(0)
    if (option === OPTION.subscribe) this.#subscribe(true, bytes)
    else if (option === OPTION.unsubscribe) this.#subscribe(false, bytes)
    else if (option === OPTION.routingId) this.routingId = bytes
    else if (option === OPTION.connectRoutingId) this.connectRoutingId = bytes
    else if (option === OPTION.welcomeMessage) this.typeOptions.welcomeMessage = bytes
    else if (option === OPTION.tcpAcceptFilter) {
      if (value === null || value.length === 0) this.acceptFilters.length = 0
      else this.acceptFilters.push(bytes.toString())
    }
  }

  joined(group: string): void {
    this.groups.add(group)
    this.core?.type.join(Buffer.from(group, "latin1"))
  }

  left(group: string): void {
    this.groups.delete(group)
    this.core?.type.leave(Buffer.from(group, "latin1"))
  }

  /** Counts a change. Warns, as zeromq.js does, if the option is set too late to take effect. */
  optionChanging(option: number): void {
    this.optionChanges++
    if (TAKE_EFFECT_AT_ONCE.has(option) || this.nativeEndpoints > 0) return
    // While zeromq.js itself blocks the socket, it warns too.
    if (this.blocked === "own" || this.endpointCount !== 0)
      warn("Socket option will not take effect until next connect/bind.")
  }

  #subscribe(subscribe: boolean, topic: Buffer): void {
    if (!this.core) this.subscriptions.push([subscribe, topic])
    else if (subscribe) this.core.type.subscribe(topic)
    else this.core.type.cancel(topic)
  }
}
