/**
 * Scenarios that run once over `tcp://` with plain zeromq.js and once over `lz4+tcp://` with this
 * package. Their observations must be equal: libzmq is the reference.
 *
 * Environment variables:
 * - DIFFERENTIAL_PLAIN=binds runs this package on the sockets that bind, with `acceptPlain`, and
 *   libzmq on those that connect; "connects" is the reverse.
 * - DIFFERENTIAL_CURVE=binds makes servers of CURVE of the sockets that bind, and clients of those that
 *   connect, over both transports; "connects" is the reverse.
 * - DIFFERENTIAL_ALL=1 also runs what the gate leaves out with plain peers, with CURVE and with threads.
 * - DIFFERENTIAL_ORACLE=N runs each scenario N times over `tcp://` only, which must give the same
 *   observations each time.
 * - DIFFERENTIAL_SHOW=1 prints the observations over `tcp://`.
 */
import { setImmediate, setTimeout } from "node:timers/promises"
import { expect, test } from "vitest"
import * as zeromq from "zeromq"
import * as zeromqDraft from "zeromq/draft.js"
import * as lz4 from "zeromq-lz4"
import * as lz4Draft from "zeromq-lz4/draft"

import { sleep } from "../support/sleep.js"
import { encrypting, isNotEncrypted } from "./encrypting.js"
import { holdsBytes, ownHost, unusedPort } from "./hosts.js"
import { type Json, Normaliser, withoutExplanations } from "./normalise.js"
import { isLeftOut, meetingPlain, type Side } from "./plain-peers.js"
import { type HandshakeOptions, RawListener, RawPeer } from "./raw-peer.js"

/** The classes of all socket types except the drafts. */
export const SOCKET_TYPES = [
  "Pair",
  "Publisher",
  "Subscriber",
  "XPublisher",
  "XSubscriber",
  "Push",
  "Pull",
  "Request",
  "Reply",
  "Dealer",
  "Router",
] as const

export type Scheme = "tcp" | "lz4+tcp" | "zstd+tcp"
type Zmq = typeof zeromq
type Draft = typeof zeromqDraft

interface Way {
  scheme: Scheme
  zmq: Zmq
  draft: Draft
}

const TCP: Way = { scheme: "tcp", zmq: zeromq, draft: zeromqDraft }
const LZ4: Way = {
  scheme: process.env.DIFFERENTIAL_ZSTD ? "zstd+tcp" : "lz4+tcp",
  zmq: lz4 as unknown as Zmq,
  draft: lz4Draft as unknown as Draft,
}

/** Returns the sockets of a run with plain peers. Raw peers use tcp://, like the peers that they replace. */
const plain = (side: Side): Way => ({
  scheme: "tcp",
  zmq: meetingPlain(LZ4.zmq, side),
  draft: meetingPlain(LZ4.draft, side),
})

const side = process.env.DIFFERENTIAL_PLAIN as Side | undefined
const server = process.env.DIFFERENTIAL_CURVE as Side | undefined
/** Returns the same with CURVE, if that is asked for. */
const encrypted = ({ scheme, zmq, draft }: Way): Way =>
  server
    ? { scheme, zmq: encrypting(zmq, server), draft: encrypting(draft, server) }
    : { scheme, zmq, draft }
const ORACLE = encrypted(TCP)
/** The transport that is compared with tcp://. */
const COMPARED = encrypted(side ? plain(side) : LZ4)

/** Describes the result of a call, and whether an error was thrown or rejected. */
export type Outcome =
  | { returns: unknown }
  | { resolves: unknown }
  | { throws: unknown }
  | { rejects: unknown }

export type Log = Record<string, Json>[]

/** A reconnectInterval that does not end within a scenario. */
export const NEVER_MS = 1_000_000

/** Time limit of a scenario. One that exceeds it is stuck after the last entry of its log. */
const SCENARIO_MS = 200_000
const CONDITION_MS = 120_000

let inprocNames = 0

interface Closable {
  close(): void
}

/** The functions that a scenario may call. Everything that they open is closed after it. */
export class Run {
  readonly scheme: Scheme
  readonly zmq: Zmq
  readonly draft: Draft
  readonly log: Log = []
  readonly #normaliser = new Normaliser()
  readonly #open: Closable[] = []
  readonly #events = new Map<object, zeromq.Event[]>()
  #over = false

  constructor({ scheme, zmq, draft }: Way) {
    this.scheme = scheme
    this.zmq = zmq
    this.draft = draft
  }

  readonly observe = (label: string, value: unknown): void => {
    if (!this.#over) this.log.push({ [label]: this.#normaliser.of(value) })
  }

  /** Creates a socket whose events are collected. */
  readonly make = <S extends zeromq.Socket, O>(
    Class: new (options?: O) => S,
    options?: NoInfer<O>,
  ): S => {
    const socket = this.plain(Class, options)
    this.#collect(socket)
    return socket
  }

  /** Creates a socket whose events are not requested. */
  readonly plain = <S extends zeromq.Socket, O>(
    Class: new (options?: O) => S,
    options?: NoInfer<O>,
  ): S => this.use(new Class(options))

  readonly use = <C extends Closable>(closable: C): C => {
    this.#open.push(closable)
    return closable
  }

  /** Binds to an address that nobody else uses, or to any port of `host`, and returns the endpoint. */
  readonly bind = async (socket: zeromq.Socket, host?: string): Promise<string> => {
    await socket.bind(host ? this.at(`${host}:*`) : await this.unused())
    return socket.lastEndpoint as string
  }

  /** Returns an endpoint at which nobody listens, and that nobody else binds or connects to. */
  readonly unused = async (): Promise<string> => this.at(`${ownHost}:${await unusedPort()}`)

  /** Returns an endpoint of this scheme. */
  readonly at = (rest: string): string => `${this.scheme}://${rest}`

  /** Returns a unique inproc name. */
  readonly inproc = (): string => `inproc://differential-${++inprocNames}`

  readonly attempt = async (call: () => unknown): Promise<Outcome> => {
    let result: unknown
    try {
      result = call()
    } catch (error) {
      return { throws: error }
    }
    if (!(result instanceof Promise)) return { returns: result }
    try {
      return { resolves: await result }
    } catch (error) {
      return { rejects: error }
    }
  }

  /** Waits for a call, and logs its result. */
  readonly attempted = async (label: string, call: () => unknown): Promise<void> => {
    this.observe(label, await this.attempt(call))
  }

  readonly until = async (condition: () => unknown): Promise<void> => {
    const deadline = performance.now() + CONDITION_MS
    while (!(await condition())) {
      if (performance.now() > deadline) throw new Error(`still not: ${condition}`)
      await sleep(2)
    }
  }

  /** Returns the events of a socket that `make` created. */
  readonly events = (socket: zeromq.Socket): readonly zeromq.Event[] =>
    this.#events.get(socket) as zeromq.Event[]

  readonly eventTypes = (socket: zeromq.Socket): string[] =>
    this.events(socket).map(({ type }) => type)

  readonly happened = (socket: zeromq.Socket, type: zeromq.EventType, count = 1): Promise<void> =>
    this.until(() => this.eventTypes(socket).filter((one) => one === type).length >= count)

  /** Waits until the socket has noticed the completed handshakes of `peers` peers. */
  readonly joined = async (socket: zeromq.Socket, peers = 1): Promise<void> => {
    await this.happened(socket, "handshake", peers)
    // Reading an option makes libzmq process commands of its other threads.
    void socket.writable
  }

  /**
   * Disconnects, and waits until the bound side has seen it. libzmq ends the connection only when
   * the socket is used again.
   */
  readonly disconnect = async (
    socket: zeromq.Socket,
    endpoint: string,
    bound: zeromq.Socket,
  ): Promise<void> => {
    const before = this.eventTypes(bound).filter((type) => type === "disconnect").length
    socket.disconnect(endpoint)
    await this.until(() => {
      void [socket.writable, socket.readable]
      return this.eventTypes(bound).filter((type) => type === "disconnect").length > before
    })
    void [bound.writable, bound.readable]
  }

  /**
   * Waits until sockets that connect again have done so: until a socket that began later has failed to
   * three times.
   */
  readonly reconnected = async (): Promise<void> => {
    const push = this.make(this.zmq.Push, { reconnectInterval: 50, linger: 0 })
    push.connect(await this.unused())
    await this.happened(push, "connect:retry", 3)
    push.close()
  }

  /**
   * Waits until all that was sent before has arrived, and all that follows from calls and events before
   * has happened, as nothing reports either. Other sockets connect, exchange messages and close
   * meanwhile, one after the other, for which the same threads have to do more, and do it later.
   */
  readonly settled = (context?: zeromq.Context): Promise<void> =>
    this.#exchange((socket) => this.bind(socket), context)

  /** As `settled`, for sockets of a scenario that are libzmq's over both transports. */
  readonly settledNative = (): Promise<void> =>
    this.#exchange(async (socket) => {
      await socket.bind(`tcp://${ownHost}:*`)
      return socket.lastEndpoint as string
    })

  async #exchange(
    bind: (socket: zeromq.Reply) => Promise<string>,
    context?: zeromq.Context,
  ): Promise<void> {
    const options = { linger: 0, ...(context && { context }) }
    for (let i = 0; i < 3; i++) {
      const reply = this.make(this.zmq.Reply, options)
      const request = this.make(this.zmq.Request, options)
      request.connect(await bind(reply))
      for (let j = 0; j < 3; j++) {
        await request.send("request")
        await reply.send(await reply.receive())
        await request.receive()
      }
      for (const socket of [request, reply]) {
        socket.close()
        await this.happened(socket, "end")
      }
    }
    for (let turns = 0; turns < 3; turns++) await setImmediate()
  }

  /**
   * As `settled`, but also waits for bytes that the system still holds: on a busy machine it may pass on those
   * of one connection later than those of others that were sent after them. Every peer has to read.
   */
  readonly arrived = async (): Promise<void> => {
    await this.settled()
    while (await holdsBytes()) await setImmediate()
    await this.settled()
  }

  /** As `settled`, for what libzmq does in several steps, and only if the socket is used between them. */
  readonly settledUsing = async (socket: zeromq.Socket): Promise<void> => {
    for (let steps = 0; steps < 3; steps++) {
      void [socket.readable, socket.writable]
      await this.settled()
    }
    void [socket.readable, socket.writable]
  }

  /** Receives `count` messages. */
  readonly take = async <M>(socket: { receive(): Promise<M> }, count: number): Promise<M[]> => {
    const messages: M[] = []
    while (messages.length < count) messages.push(await socket.receive())
    return messages
  }

  /** Receives a message. zeromq.js may reject with EAGAIN if libzmq skips a message, so that is tried again. */
  readonly receiveAtLast = async <M>(socket: { receive(): Promise<M> }): Promise<M> => {
    for (;;) {
      try {
        return await socket.receive()
      } catch (error) {
        if ((error as { code?: string }).code !== "EAGAIN") throw error
      }
    }
  }

  /** Receives the messages before one that ends with the part `last`. */
  readonly takeUntil = async (
    socket: { receive(): Promise<unknown[]> },
    last: string,
  ): Promise<unknown[][]> => {
    const messages: unknown[][] = []
    for (;;) {
      const message = await socket.receive()
      if (String(message.at(-1)) === last) return messages
      messages.push(message)
    }
  }

  /**
   * Waits until a subscription has arrived at a publisher that does not report it: sends probes
   * until the first arrives, and receives all of them.
   */
  readonly subscribed = async (
    publisher: { send(message: string): Promise<void> },
    subscriber: { receive(): Promise<unknown[]> },
    topic = "",
  ): Promise<void> => {
    const first = subscriber.receive()
    let arrived = false
    first.then(
      () => {
        arrived = true
      },
      () => {},
    )
    await this.until(async () => {
      if (!arrived) await publisher.send(`${topic}probe`)
      return arrived
    })
    await publisher.send(`${topic}last probe`)
    await this.takeUntil(subscriber, `${topic}last probe`)
  }

  /** Connects a peer, without a handshake. */
  readonly rawConnection = async (endpoint: string): Promise<RawPeer> =>
    this.use(await RawPeer.connect(endpoint, this.scheme))

  /** Connects a peer, and completes the handshake. */
  readonly rawPeer = async (endpoint: string, options: HandshakeOptions): Promise<RawPeer> => {
    const peer = await this.rawConnection(endpoint)
    peer.greet(options)
    peer.ready(options)
    await this.until(() => peer.frames.includes("command READY"))
    return peer
  }

  readonly rawListener = async (): Promise<RawListener> =>
    this.use(await RawListener.start(this.scheme, await unusedPort()))

  readonly sleep: (ms: number) => Promise<void> = sleep

  end(): void {
    this.#over = true
    for (const one of this.#open.splice(0).reverse()) {
      try {
        if ("linger" in one) one.linger = 0
      } catch {
        // closed already, or blocked
      }
      try {
        one.close()
      } catch {
        // closed already
      }
    }
  }

  #collect(socket: zeromq.Socket): void {
    const events: zeromq.Event[] = []
    this.#events.set(socket, events)
    const collect = async () => {
      for await (const event of socket.events) events.push(event as zeromq.Event)
    }
    collect().catch(() => {})
  }
}

async function logOf(way: Way, body: (run: Run) => Promise<void>): Promise<Log> {
  const run = new Run(way)
  const clock = new AbortController()
  const unfinished = setTimeout(SCENARIO_MS, undefined, { signal: clock.signal }).then(
    () => {
      throw new Error(`not finished after ${SCENARIO_MS} ms`)
    },
    () => {},
  )
  const running = body(run)
  try {
    await Promise.race([running, unfinished])
  } catch (error) {
    // Over tcp:// the scenario itself is wrong; over lz4+tcp:// this is the difference.
    if (way === ORACLE) {
      console.log(`so far:\n${shown(run.log)}`)
      throw error
    }
    run.observe("failed", error)
  } finally {
    clock.abort()
    run.end()
    running.catch(() => {})
  }
  return run.log
}

/**
 * Tests that a scenario gives the same observations over both transports.
 *
 * @param facts observations that the log must contain, by label, as for `toMatchObject`: two empty
 *   logs would be equal.
 */
export function scenario(
  name: string,
  body: (run: Run) => Promise<void>,
  facts: Record<string, unknown>,
): void {
  if (isLeftOut(name, side) || (server && isNotEncrypted(name))) return
  test(name, async () => {
    const tcp = await logOf(ORACLE, body)
    if (process.env.DIFFERENTIAL_SHOW) console.log(`## ${name}\n${shown(tcp)}`)
    expect(Object.assign({}, ...tcp)).toMatchObject(facts)
    const times = Number(process.env.DIFFERENTIAL_ORACLE ?? 0)
    for (let i = 1; i < times; i++) expect(await logOf(ORACLE, body)).toEqual(tcp)
    if (!times) expect(withoutExplanations(await logOf(COMPARED, body), tcp)).toEqual(tcp)
  })
}

const shown = (log: Log): string => log.map((entry) => JSON.stringify(entry)).join("\n")
