/** The behaviour of programs: they send, receive, answer, compute and close. */

import type { Checker } from "./checker.js"
import { curveOptions } from "./curve.js"
import type { Package, Process } from "./engine.js"
import { ANYBODY, type Author, build, type Head, readHead, topicOf } from "./messages.js"
import {
  type Action,
  type BurstSpec,
  type EndpointSpec,
  type Scenario,
  type SocketSpec,
  TOPICS,
  takesParts,
  WELCOME,
} from "./scenario.js"
import type { World } from "./world.js"

type Received = (Buffer | { routingId?: number; group?: Buffer })[]

/** The members that programs use of a socket of any type. */
export interface AnySocket {
  send(message: Buffer | Buffer[], routing?: object): Promise<void>
  receive(): Promise<Received>
  bind(address: string, options: object): Promise<void>
  bindSync(address: string, options: object): void
  connect(address: string, options: object): void
  unbind(address: string): Promise<void>
  disconnect(address: string): void
  close(): void
  subscribe(topic: string): void
  unsubscribe(topic: string): void
  setStringOption(option: number, value: Buffer): void
  join(group: string): void
  leave(group: string): void
  readonly closed: boolean
  readonly readable: boolean
  readonly writable: boolean
  receiveTimeout: number
  sendHighWaterMark: number
  receiveHighWaterMark: number
  readonly lz4: {
    on(name: string, listener: (event: PeerEvent) => void): void
    flush(options: { timeout: number }): Promise<void>
    readonly stats: { sent: Counts; received: Counts; waiting: { messages: number } }
    readonly connections: readonly {
      readonly remotePort: number
      readonly scheme: string | undefined
      readonly sent: Counts
      readonly received: Counts
    }[]
  }
  readonly events: { on(name: string, listener: () => void): void }
  [Symbol.asyncIterator](): AsyncIterator<Received>
}

/** A message, its parts, and the arguments of send(). */
type Posted = [head: Head, parts: Buffer[], args: [Buffer[] | Buffer, object?]]

interface PeerEvent {
  remoteAddress: string
  remotePort: number
  error?: Error
}

export interface Counts {
  messages: number
  plainBytes: number
  wireBytes: number
}

/**
 * Milliseconds between messages that test subscriptions: each is written by then, so that no
 * high-water mark is reached.
 */
const PROBE_MS = 50
const PROBE_BYTES_PER_MS = 150
const PROBE_MAX_MS = 3000
/** Milliseconds in which all that was sent in a burst is flushed, or never. */
const FLUSH_MS = 300
/** Number of messages that any program may send without a wait. */
const UNAWAITED_MAX = 500
/** Milliseconds between the operations of a program that hurries. */
const EAGER_MS = 5
/** Milliseconds after which a program binds again when a thread has ended meanwhile. */
const BIND_AGAIN_MS = 10

/** ZMQ_SUBSCRIBE and its opposite, with which an XPUB with `manual` does what the last peer asked for. */
const SUBSCRIBE = 6
const UNSUBSCRIBE = 7

const REPLY = { maxBytes: 600, maxParts: 2, compressible: 0.5 }

/** Returns the port that a socket binds. */
export const portOf = (socket: number, index: number): number => 10_000 + 10 * socket + index

/** Returns the port in the name of an endpoint. */
export const portIn = (endpoint: string): number =>
  Number(endpoint.slice(endpoint.lastIndexOf(":") + 1))

const schemeOf = (format: EndpointSpec["format"]): string => `${format ?? "lz4"}+tcp://`

/** Returns the address that a socket dials from, which identifies it. */
export const addressOf = (socket: number): string => `127.0.1.${socket + 1}`

/** Returns the author of a socket's messages. */
export function authorOf({ number, type, send }: SocketSpec): Author {
  return { number, send: send ?? REPLY, hasParts: takesParts(type) }
}

/** The error for a message that there is no memory to encode. */
export const OUT_OF_MEMORY = "ERR_LZ4_OUT_OF_MEMORY"

function bytesOf(parts: readonly Buffer[]): number {
  let bytes = 0
  for (const { length } of parts) bytes += length
  return bytes
}

/** A program and its socket. */
export class Program {
  readonly spec: SocketSpec
  readonly author: Author
  readonly process: Process
  readonly socket: AnySocket
  readonly #world: World
  readonly #checkers: readonly Checker[]
  readonly #largeBytes: number
  readonly #lacksMemory: boolean
  /** Number of operations without a wait. */
  readonly #operations: number
  /** Whether some peers may send anything. */
  readonly #hasHostilePeers: boolean
  /** The topics that it is subscribed to, each as often as it subscribed. */
  readonly topics: string[] = []
  /** All topics that it has ever subscribed to. */
  readonly everyTopic = new Set<string>()
  /** The names of its bound endpoints. */
  readonly #bound: string[] = []
  /** The names of the endpoints that it connects to, and has not disconnected from. */
  readonly connected: string[] = []
  /** When it connected for the last time after a pause, in milliseconds. */
  connectedAgainMs = Number.NEGATIVE_INFINITY
  /** The names that a ROUTER has given to the peers that it connects to, by endpoint. */
  readonly #names = new Map<string, Buffer>()
  /** The ports of peers that have refused it. */
  readonly #refusing = new Set<number>()
  #sequence = 0
  /** Whether an endpoint is being unbound: the socket is busy then. */
  #isUnbinding = false
  #waiting = new Set<() => void>()
  /** Whether it no longer pauses and computes. */
  isEager = false
  isClosed = false
  #marksChanged = false
  /** Number of pending send() calls, and the time since when there are any. */
  #sends = 0
  #sendsSinceMs = 0
  /** Whether a receive() is pending. */
  isReceiving = false
  hasSent = false
  /** Number of messages that send() accepted, and that receive() returned. */
  accepted = 0
  received = 0
  /** Number of welcome messages that it received. */
  welcomes = 0
  acceptedBytes = 0
  receivedBytes = 0
  #proxy: Package["Proxy"]["prototype"] | undefined
  /** The other socket of the proxy, if this one belongs to a proxy. */
  #other: Program | undefined
  /** The last request of a REQ. */
  #asked: Head | undefined

  constructor(
    spec: SocketSpec,
    process: Process,
    world: World,
    checkers: readonly Checker[],
    scenario: Scenario,
  ) {
    this.#lacksMemory = scenario.memoryShare > 0
    this.#largeBytes = scenario.limits.largeBytes ?? 65_536
    this.#operations = scenario.limits.operations
    this.#hasHostilePeers = scenario.hostile.length > 0
    this.spec = spec
    this.author = authorOf(spec)
    this.process = process
    this.#world = world
    this.#checkers = checkers
    const Type = process.package[spec.type] as unknown as new (options: object) => AnySocket
    const { curve } = scenario
    this.socket = new Type({ ...spec.options, ...(curve && curveOptions(curve, spec)) })
    if (spec.receive?.how === "poll") this.socket.receiveTimeout = 0
    for (const topic of spec.topics) this.#subscribe(topic)
    this.#listen()
  }

  #subscribe(topic: string): void {
    if (!this.#changeTopic("subscribe", topic)) return
    this.topics.push(topic)
    this.everyTopic.add(topic)
  }

  #unsubscribe(topic: string): void {
    if (!this.#changeTopic("unsubscribe", topic)) return
    const at = this.topics.indexOf(topic)
    if (at >= 0) this.topics.splice(at, 1)
  }

  /** Returns false if the socket is busy with a bind() or unbind(). */
  #changeTopic(how: "subscribe" | "unsubscribe", topic: string): boolean {
    const subscribes = how === "subscribe"
    const { type } = this.spec
    try {
      if (type === "Subscriber") this.socket[how](topic)
      else if (type === "Dish") this.socket[subscribes ? "join" : "leave"](topic)
      else if (type === "XSubscriber") this.#command(subscribes ? 1 : 0, topic)
      return true
    } catch (error) {
      this.#unless(["EBUSY"], error)
      return false
    }
  }

  /** Subscribes or unsubscribes with a message, as an XSUB must. */
  #command(first: number, topic: string): void {
    this.socket.send(Buffer.concat([Buffer.of(first), Buffer.from(topic)])).catch(() => {})
  }

  #listen(): void {
    const { lz4 } = this.socket
    lz4.on("protocolError", (event) => {
      for (const checker of this.#checkers)
        checker.protocolError?.(this.spec, event, event.error as Error)
      if ((event.error as { code?: string }).code === "ERR_ZMTP_HANDSHAKE")
        this.#refusing.add(event.remotePort)
    })
    if (!this.spec.listens) return
    const use = () => {
      // Otherwise it would have something to send with each attempt to connect at the end.
      if (this.isClosed || this.isEager) return
      void lz4.stats.sent.messages
      void lz4.connections.length
      void this.socket.writable
      void this.socket.readable
      if (this.spec.send && this.spec.type !== "Request" && !this.isSending && this.socket.writable)
        this.#sendNow()
    }
    lz4.on("connect", use)
    lz4.on("disconnect", use)
    this.socket.events.on("handshake", use)
    this.socket.events.on("disconnect", use)
  }

  get isSending(): boolean {
    return this.#sends > 0
  }

  /** Milliseconds for which send() calls have been pending. */
  get sendingMs(): number {
    return this.isSending ? this.#world.now - this.#sendsSinceMs : 0
  }

  // -- Endpoints -------------------------------------------------------------------

  /** Binds and connects, and begins to send and to receive. */
  async start(): Promise<void> {
    const { endpoints, send, receive, type } = this.spec
    let bound = 0
    for (const endpoint of endpoints) {
      if (endpoint.kind === "connect") this.#after(endpoint.atMs, () => this.#connect(endpoint))
      else if (endpoint.isSync) this.#bind(bound++, endpoint)
      else await this.#bindLater(bound++, endpoint)
    }
    if (type === "Request") this.#after(send?.startMs ?? 0, () => this.#ask())
    else {
      if (send) this.#after(send.startMs, () => this.#send())
      if (receive) this.#after(receive.startMs, () => this.#receive())
    }
  }

  /** Forwards messages between this socket and another one, in both directions. */
  forward(back: Program): void {
    const { Proxy: Forwarding } = this.process.package
    type Socket = ConstructorParameters<typeof Forwarding>[0]
    this.#proxy = new Forwarding(this.socket as unknown as Socket, back.socket as unknown as Socket)
    back.#other = this
    this.#other = back
    this.#proxy.run().catch((error) => this.#unless([], error))
  }

  #after(ms: number, call: () => void): void {
    if (ms === 0) call()
    else this.process.loop.setTimeout(call, ms)
  }

  #connect({ to, index, format, options }: EndpointSpec): void {
    if (this.isClosed) return
    const port = portOf(to as number, index as number)
    const address = `${schemeOf(format)}${addressOf(this.spec.number)}:0;127.0.0.1:${port}`
    const { type, partner } = this.spec
    const named = type === "Router" && partner === "Router" && { routingId: `name ${port}` }
    try {
      this.socket.connect(address, { ...options, ...named })
      this.connected.push(address)
      if (named) this.#names.set(address, Buffer.from(named.routingId))
    } catch (error) {
      this.#unless(["EBUSY"], error)
    }
  }

  #bind(index: number, { format, options }: EndpointSpec): void {
    const address = `${schemeOf(format)}127.0.0.1:${portOf(this.spec.number, index)}`
    this.#bound.push(address)
    this.socket.bindSync(address, options)
  }

  async #bindLater(index: number, { format, options }: EndpointSpec): Promise<void> {
    if (this.isClosed) return
    const address = `${schemeOf(format)}127.0.0.1:${portOf(this.spec.number, index)}`
    this.#bound.push(address)
    // An action that unbinds the address takes it, and whatever it binds afterwards.
    const isWanted = () => this.#bound.includes(address) && !this.isClosed
    while (isWanted() && !(await this.#tryToBind(address, options)))
      await this.#sleep(BIND_AGAIN_MS)
  }

  /** Binds. Returns false if the thread has ended meanwhile: who connects dials until there is a listener. */
  async #tryToBind(address: string, options: object): Promise<boolean> {
    try {
      await this.socket.bind(address, options)
    } catch (error) {
      this.#unless(["EBADF", "EBUSY", "ERR_LZ4_THREAD"], error)
      return (error as { code?: string }).code !== "ERR_LZ4_THREAD"
    }
    return true
  }

  /** Ignores errors that a program may see. Any other error is a fault. */
  #unless(codes: readonly string[], error: unknown): void {
    const { code } = error as { code?: string }
    if (code !== undefined && codes.includes(code)) return
    const { stack } = error as Error // takes long to make
    this.#world.fail("errors are those that are documented", `${this.spec.type}: ${stack}`)
  }

  // -- Sending ---------------------------------------------------------------------

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake)
        resolve()
      }
      this.#waiting.add(wake)
      if (this.isEager && ms > 0) ms = EAGER_MS
      if (ms === 0) this.process.loop.setImmediate(wake)
      else this.process.loop.setTimeout(wake, ms)
    })
  }

  /** Makes the program receive all messages without pauses from now on. */
  hurry(): void {
    this.isEager = true
    for (const wake of [...this.#waiting]) wake()
  }

  /** Publishes a message with each topic, with pauses in which it is written. */
  async probe(): Promise<Head[]> {
    const heads: Head[] = []
    const { maxBytes, maxParts } = this.author.send
    const ms = Math.min(PROBE_MS + (maxBytes * maxParts) / PROBE_BYTES_PER_MS, PROBE_MAX_MS)
    for (let i = 0; i < TOPICS.length && !this.isSending && !this.isClosed; i++) {
      const head = this.#next()
      const parts = this.#build(head)
      heads.push(head)
      await this.#post(head, parts, this.#arguments(head, parts))
      await this.#pass(ms)
      for (let passed = ms; passed < PROBE_MAX_MS && this.#isWriting; passed += PROBE_MS)
        await this.#pass(PROBE_MS)
    }
    return heads
  }

  /** Whether the system has not accepted all messages: with a slow clock, few bytes are decoded in a turn. */
  get #isWriting(): boolean {
    return this.socket.lz4.stats.waiting.messages > 0
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.process.loop.setTimeout(() => resolve(), ms)
    })
  }

  /** Builds a message, in memory of its own if the program overwrites it. */
  #build(head: Head): Buffer[] {
    const parts = build(this.author, head)
    return this.spec.send?.scribbles ? parts.map((part) => Buffer.from(part)) : parts
  }

  #next(to = ANYBODY): Head {
    return { sender: this.spec.number, sequence: this.#sequence++, to }
  }

  /** Returns the arguments of send() for a message. */
  #arguments(head: Head, parts: Buffer[]): [Buffer[] | Buffer, object?] {
    const [message, options] = this.#message(head, parts)
    const { compress } = this.spec.send ?? {}
    if (compress === undefined) return options ? [message, options] : [message]
    return [message, { ...options, compress }]
  }

  #message(head: Head, parts: Buffer[]): [Buffer[] | Buffer, object?] {
    switch (this.spec.type) {
      case "Radio":
        return [parts[0] as Buffer, { group: topicOf(head) }]
      case "Router": {
        const names = [...this.#names.values()]
        return [[names[head.sequence % names.length] ?? Buffer.from("nobody"), ...parts]]
      }
      case "Dealer":
        return this.spec.partner === "Reply" ? [[Buffer.alloc(0), ...parts]] : [parts]
      default:
        return [parts]
    }
  }

  /** Sends a message. Resolves when the call has settled: with the code of its error, or "". */
  #post(head: Head, parts: Buffer[], args: [Buffer[] | Buffer, object?]): Promise<string> {
    for (const checker of this.#checkers) checker.sending?.(this.spec, head, parts)
    const bytes = bytesOf(parts)
    const hasName = this.#hasName(args)
    let promise: Promise<void>
    try {
      promise = this.socket.send(...args)
    } catch (error) {
      promise = Promise.reject(error)
    }
    // Larger parts are the socket's until they are sent.
    if (this.spec.send?.scribbles)
      for (const part of parts) if (part.length < this.#largeBytes) part.fill(0xee)
    if (this.#sends++ === 0) this.#sendsSinceMs = this.#world.now
    return promise.then(
      () => {
        this.#sends--
        this.accepted++
        this.acceptedBytes += bytes
        for (const checker of this.#checkers) checker.accepted?.(this.spec, head)
        return ""
      },
      (error) => {
        this.#sends--
        const { code = "" } = error as { code?: string }
        const { type } = this.spec
        const codes = ["EAGAIN", "EBADF", "EBUSY", ...(this.#lacksMemory ? [OUT_OF_MEMORY] : [])]
        if (type === "Router" || type === "Server") codes.push("EHOSTUNREACH")
        this.#unless(codes, error)
        if (code === "EHOSTUNREACH" && hasName) this.#checkReachable(head, args)
        for (const checker of this.#checkers) checker.refused?.(this.spec, head, code)
        return code
      },
    )
  }

  /** Returns whether a message is for a peer that it connects to and that has not refused it. */
  #hasName([message]: [Buffer[] | Buffer, object?]): boolean {
    for (const [address, name] of this.#names)
      if (name === (message as Buffer[])[0]) return !this.#refusing.has(portIn(address))
    return false
  }

  /**
   * A peer that was given a name can be reached by it, connected or not. As in libzmq, a peer that
   * refuses the handshake is not dialled again, and its name is unknown from then on.
   */
  #checkReachable({ sequence }: Head, args: [Buffer[] | Buffer, object?]): void {
    // As in libzmq, a pipe that was full under another mark is taken for one that has gone.
    if (!this.#hasName(args) || this.#lacksMemory || this.isClosed || this.#marksChanged) return
    if (this.spec.options.immediate !== true)
      this.#world.fail("who has a name is reachable", `Router ${this.spec.number}: ${sequence}`)
  }

  async #sendNow(): Promise<boolean> {
    const head = this.#next()
    const parts = this.#build(head)
    return (await this.#post(head, parts, this.#arguments(head, parts))) === ""
  }

  async #send(): Promise<void> {
    const { count, burst, pauseMs, eager } = this.spec.send as NonNullable<SocketSpec["send"]>
    for (let i = 0; i < count && !this.isClosed; i++) {
      if (this.isSending) await this.#sleep(1)
      if (this.isSending) continue
      if (eager && this.socket.writable && this.spec.type !== "Dealer") {
        // The promises of messages that are accepted at once need not be awaited.
        void this.#sendNow()
        if (this.isSending && !this.socket.writable) await this.#sleep(0)
        else if ((i + 1) % burst === 0) await this.#sleep(pauseMs)
        continue
      }
      const taken = await this.#sendNow()
      if (!taken && !this.isClosed) await this.#sleep(1)
      if ((i + 1) % burst === 0) await this.#sleep(pauseMs)
    }
    this.hasSent = true
  }

  /** Sends a request and waits for its reply, as a REQ must. */
  async #ask(): Promise<void> {
    const { count, burst, pauseMs } = this.spec.send as NonNullable<SocketSpec["send"]>
    for (let i = 0; i < count && !this.isClosed; i++) {
      if (!(await this.#request())) {
        await this.#sleep(1)
        continue
      }
      if (!(await this.#receiveOne())) break
      if ((i + 1) % burst === 0) await this.#sleep(pauseMs)
    }
    this.hasSent = true
  }

  #request(): Promise<boolean> {
    this.#asked = { sender: this.spec.number, sequence: this.#sequence, to: ANYBODY }
    return this.#sendNow()
  }

  // -- Bursts ----------------------------------------------------------------------

  /** Computes, and then sends before the event loop polls. */
  async #burst(ms: number, burst: BurstSpec): Promise<void> {
    this.process.loop.pause(ms)
    // A REQ that has asked may not ask again.
    if (this.spec.type === "Request" && !this.hasSent) return
    const heads: Head[] = []
    const isFree = !this.isSending && !this.#isUnbinding
    for (let i = 0; i < burst.count && !this.isClosed; i++) {
      if (this.spec.type === "Request") {
        if (!(await this.#request()) || !(await this.#receiveOne())) return
        continue
      }
      if (!burst.awaits && !this.socket.writable) break
      const next = this.#nextOfBurst(i)
      if (!next) break
      heads.push(next[0])
      const settled = this.#post(...next)
      if (burst.awaits) await settled
      else if (isFree) settled.then((code) => this.#checkTaken(next[0], code))
    }
    if (burst.then === "close") this.close()
    else if (burst.then === "flush") await this.#flush(heads)
    else if (burst.then === "receive") await this.#poll()
  }

  /** Returns what to send next: a ROUTER or SERVER sends to each peer in turn. */
  #nextOfBurst(i: number): Posted | undefined {
    const { type } = this.spec
    const isNamed = type === "Server" || (type === "Router" && this.#names.size === 0)
    if (!isNamed) {
      const head = this.#next()
      const parts = this.#build(head)
      return [head, parts, this.#arguments(head, parts)]
    }
    const peers = [...this.#ids]
    // A REQ accepts only replies.
    if (peers.length === 0 || this.spec.partner === "Request") return undefined
    const [id, number] = peers[i % peers.length] as [string, number]
    const head = this.#next(number)
    const parts = this.#build(head)
    if (type === "Server") return [head, parts, [parts, { routingId: Number(id) }]]
    return [head, parts, [[Buffer.from(id, "latin1"), ...parts]]]
  }

  /** Who may write, and sends nothing else, is not told that it is busy. */
  #checkTaken({ sequence }: Head, code: string): void {
    if (code !== "EBUSY" || this.#operations < UNAWAITED_MAX || sequence > UNAWAITED_MAX) return
    const name = `${this.spec.type} ${this.spec.number}: ${sequence}`
    if (!this.isClosed) this.#world.fail("who is writable is not busy", name)
  }

  async #flush(heads: readonly Head[]): Promise<void> {
    try {
      await this.socket.lz4.flush({ timeout: FLUSH_MS })
    } catch (error) {
      this.#unless(["EAGAIN", "EBADF"], error)
      return
    }
    for (const checker of this.#checkers) checker.flushed?.(this.spec, heads)
  }

  /** Receives what there is. */
  async #poll(): Promise<void> {
    if (!this.spec.receive || this.isReceiving || this.isClosed) return
    const { receiveTimeout } = this.socket
    try {
      this.socket.receiveTimeout = 0
      const received = this.socket.receive()
      this.socket.receiveTimeout = receiveTimeout
      await this.#took(await received)
    } catch (error) {
      this.#unless(["EAGAIN", "EBUSY", "EBADF", "EFSM"], error)
    }
  }

  // -- Receiving -------------------------------------------------------------------

  async #receive(): Promise<void> {
    const { how } = this.spec.receive as NonNullable<SocketSpec["receive"]>
    if (how === "iterate") {
      this.isReceiving = true
      try {
        for await (const message of this.socket) {
          this.isReceiving = false
          await this.#took(message as Received)
          this.isReceiving = true
        }
      } catch (error) {
        this.#unless(["EBADF", "EAGAIN", "EBUSY", "EFSM"], error)
        this.isReceiving = false
        if (this.isClosed || !this.#isTriedAgain(error)) return
        await this.#sleep(1)
        await this.#receive()
      }
      this.isReceiving = false
      return
    }
    while (!this.isClosed) if (!(await this.#receiveOne())) return
  }

  /** Receives a message, if there is one. Returns false if there will be no more. */
  async #receiveOne(): Promise<boolean> {
    let message: Received
    const polls = this.spec.receive?.how === "poll"
    try {
      const promise = this.socket.receive()
      this.isReceiving = !polls
      message = await promise
    } catch (error) {
      this.isReceiving = false
      // EFSM is the error of a REP that is closed before it has replied.
      this.#unless(["EBADF", "EBUSY", "EFSM", ...(this.#mayFindNothing ? ["EAGAIN"] : [])], error)
      const { code } = error as { code?: string }
      if (code === "EBADF" || this.isClosed || !(polls || this.#isTriedAgain(error))) return false
      await this.#sleep(1)
      return this.spec.type === "Request" ? this.#receiveOne() : true
    }
    this.isReceiving = false
    await this.#took(message)
    return true
  }

  /** Whether a receive() may end although there is no message. A REQ is woken up by late replies. */
  get #mayFindNothing(): boolean {
    const { type, receive } = this.spec
    const polls = receive?.how === "poll"
    return polls || this.isClosed || this.#hasHostilePeers || type === "Request"
  }

  /** As in libzmq, a request without a delimiter wakes up a receive() that then has nothing to return. */
  #isTriedAgain(error: unknown): boolean {
    const { code } = error as { code?: string }
    return code === "EBUSY" || (code === "EAGAIN" && this.#hasHostilePeers)
  }

  async #took(message: Received): Promise<void> {
    this.received++
    await this.#read(message)
    const { every, pauseMs, computeMs } = this.spec.receive as NonNullable<SocketSpec["receive"]>
    if (this.received % every !== 0 || this.isEager) return
    if (computeMs > 0) this.process.loop.compute(computeMs)
    if (pauseMs >= 0) await this.#sleep(pauseMs)
  }

  #tell(parts: readonly Buffer[]): void {
    this.receivedBytes += bytesOf(parts)
    for (const checker of this.#checkers) checker.received?.(this.spec, parts)
  }

  async #read(message: Received): Promise<void> {
    const { type, partner } = this.spec
    switch (type) {
      case "Router": {
        const [id, ...rest] = message as Buffer[]
        // The request id may come before the delimiter.
        const delimiter = partner === "Request" ? rest.findIndex(({ length }) => length === 0) : -1
        const parts = rest.slice(delimiter + 1)
        if (partner === "Request" && delimiter < 0 && !this.#hasHostilePeers)
          this.#world.fail("content", "a request at a ROUTER has no delimiter")
        this.#checkId((id as Buffer).toString("latin1"), parts)
        this.#tell(parts)
        const head = readHead(parts)
        // Only messages that are not meant for a particular socket are answered.
        if (!head || head.to !== ANYBODY) return
        if (partner !== "Request" && head.sequence % 3 !== 0) return
        const reply = this.#next(head.sender)
        const answer = this.#build(reply)
        const envelope = rest.slice(0, delimiter + 1)
        await this.#post(reply, answer, [[id as Buffer, ...envelope, ...answer]])
        return
      }
      case "Reply": {
        this.#tell(message as Buffer[])
        const head = readHead(message as Buffer[])
        const answerNow = () => {
          const reply = this.#next(head?.sender)
          const answer = this.#build(reply)
          return this.#post(reply, answer, [answer])
        }
        // Nothing can be sent during unbind(), and no request be received before the reply.
        while ((await answerNow()) === "EBUSY") await this.#sleep(1)
        return
      }
      case "Server": {
        const [body, routing] = message as [Buffer, { routingId: number }]
        this.#checkId(String(routing.routingId), [body])
        this.#tell([body])
        const head = readHead([body])
        if (!head || head.sequence % 3 !== 0) return
        const reply = this.#next(head.sender)
        const answer = this.#build(reply)
        await this.#post(reply, answer, [answer, routing])
        return
      }
      case "Dish": {
        const [body, routing] = message as [Buffer, { group: Buffer }]
        const head = readHead([body])
        if (head && topicOf(head) !== String(routing.group))
          this.#world.fail("content", `a message came for the group ${routing.group}`)
        this.#tell([body])
        return
      }
      case "Dealer":
        if (partner === "Reply") {
          if ((message[0] as Buffer).length !== 0 && !this.#hasHostilePeers)
            this.#world.fail("content", "a reply at a DEALER has no delimiter")
          this.#tell(message.slice(1) as Buffer[])
        } else this.#tell(message as Buffer[])
        return
      case "XPublisher": {
        const [first] = message as [Buffer]
        // Subscriptions are not messages of programs.
        if (first.length > 0 && (first[0] as number) > 1) this.#tell(message as Buffer[])
        else if (this.spec.options.manual === true && first.length > 0)
          this.socket.setStringOption(first[0] === 1 ? SUBSCRIBE : UNSUBSCRIBE, first.subarray(1))
        return
      }
      case "Subscriber":
      case "XSubscriber":
        if (message.length === 1 && WELCOME.equals(message[0] as Buffer)) this.welcomes++
        else this.#tell(message as Buffer[])
        return
      case "Request": {
        const head = readHead(message as Buffer[])
        if (head && head.to !== this.#asked?.sender)
          this.#world.fail("replies go to who asked", `${this.spec.number} got that of ${head.to}`)
        this.#tell(message as Buffer[])
        return
      }
      default:
        this.#tell(message as Buffer[])
    }
  }

  /** The socket that a routing id stands for. */
  readonly #ids = new Map<string, number>()

  /** Checks that a routing id stands for a single peer. */
  #checkId(id: string, parts: readonly Buffer[]): void {
    const head = readHead(parts)
    if (!head) return
    const known = this.#ids.get(id)
    if (known === undefined) this.#ids.set(id, head.sender)
    else if (known !== head.sender)
      this.#world.fail(
        "a routing id stands for one peer",
        `a message of ${head.sender} came under the id of ${known}`,
      )
  }

  // -- Actions ---------------------------------------------------------------------

  act({ kind, value, burst }: Action): void {
    if (this.isClosed) return
    this.#world.log(40, value, () => `${this.spec.type} ${this.spec.number}: ${kind}`)
    switch (kind) {
      case "close":
        this.close()
        break
      case "disconnect": {
        const address = this.connected.shift()
        if (address) this.#ended(address)
        break
      }
      case "unbind": {
        const address = this.#bound.shift()
        if (address) void this.#unbind(address)
        break
      }
      case "rebind": {
        const endpoint = this.spec.endpoints.find(({ kind }) => kind === "bind")
        const address = this.#bound.shift()
        if (address && endpoint) void this.#rebind(address, endpoint, value)
        break
      }
      case "reconnect": {
        const address = this.connected.shift()
        if (!address) break
        this.#ended(address)
        this.process.loop.setTimeout(() => {
          this.#connectAgain(address)
        }, value)
        break
      }
      case "topic":
        if (value > 2) this.#subscribe(value > 10 ? "a" : "b")
        else this.#unsubscribe(this.topics.at(value === 1 ? 0 : -1) ?? "a")
        break
      case "pause":
        this.#proxy?.pause()
        this.process.loop.setTimeout(() => {
          if (!this.isClosed) this.#proxy?.resume()
        }, value)
        break
      case "kill":
        this.process.killThreads()
        break
      case "burst":
        if (burst) void this.#burst(value, burst)
        break
      case "compute":
        this.process.loop.compute(value)
        break
      case "marks":
        this.#marksChanged = true
        if (this.spec.options.sendHighWaterMark !== undefined) this.socket.sendHighWaterMark = value
        if (this.spec.options.receiveHighWaterMark !== undefined)
          this.socket.receiveHighWaterMark = value
    }
  }

  #connectAgain(address: string): void {
    if (this.isClosed) return
    try {
      const acceptPlain = this.spec.endpoints.some(({ options }) => options.acceptPlain)
      this.socket.connect(address, acceptPlain ? { acceptPlain } : {})
      this.connected.push(address)
      this.connectedAgainMs = this.#world.now
    } catch (error) {
      this.#unless(["EBUSY"], error)
    }
  }

  async #unbind(address: string): Promise<void> {
    this.#isUnbinding = true
    try {
      await this.socket.unbind(address)
    } catch (error) {
      this.#unless(["ENOENT", "EBUSY", "EBADF"], error)
    }
    this.#isUnbinding = false
  }

  /** Binds the address again, with the opposite setting for arenas if peers have different ones. */
  async #rebind(
    address: string,
    { formatAgain, options: given }: EndpointSpec,
    afterMs: number,
  ): Promise<void> {
    await this.#unbind(address)
    const { level, acceleration, dictionary, ...others } = given
    // A level and a dictionary are those of one format.
    const options: EndpointSpec["options"] = formatAgain ? others : given
    const next = formatAgain ? address.replace(/^[a-z0-9]+/, formatAgain) : address
    this.process.loop.setTimeout(() => {
      if (this.isClosed) return
      try {
        const revision = options.revision && { revision: options.revision === 1 ? 2 : 1 }
        this.socket.bindSync(next, { ...options, ...revision })
      } catch (error) {
        this.#unless(["EADDRINUSE", "EBUSY", "ERR_LZ4_THREAD"], error)
      }
    }, afterMs)
  }

  #ended(address: string): void {
    this.#names.delete(address)
    try {
      this.socket.disconnect(address)
    } catch (error) {
      this.#unless(["ENOENT", "EBUSY"], error)
    }
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#other?.close()
    if (!this.#other) this.socket.close()
    // This closes both sockets.
    else this.#proxy?.terminate()
  }
}
