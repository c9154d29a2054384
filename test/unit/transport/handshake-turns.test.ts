/** Handshakes of CURVE, whose keys take long: they are read in turn with all else that the thread receives. */
import type { Socket } from "node:net"
import { setImmediate as turn } from "node:timers/promises"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { checkLz4Options } from "../../../src/codec/options.js"
import { Sender } from "../../../src/codec/sender.js"
import { Curve } from "../../../src/curve/curve.js"
import type { Channel } from "../../../src/transport/channel.js"
import { Connection } from "../../../src/transport/connection.js"
import { isIdle, TURN_MAX_MS } from "../../../src/transport/read-turns.js"
import type { MessageSink } from "../../../src/transport/transport.js"
import { Session } from "../../../src/zmtp/session.js"
import { curveSettings, pair } from "../../support/curve.js"
import { concat } from "../../support/wire.js"
import { greeting } from "../../support/zmtp.js"

/** Milliseconds that a key takes, by a clock that stands still otherwise. */
const KEY_MS = TURN_MAX_MS / 4
/** Keys that are begun within a turn. */
const KEYS_OF_TURN = 4
let keys = 0

beforeEach(async () => {
  let nowMs = Math.ceil(performance.now())
  vi.spyOn(performance, "now").mockImplementation(() => nowMs)
  const { sharedKey } = Curve.prototype
  vi.spyOn(Curve.prototype, "sharedKey").mockImplementation(function (this: Curve, ...of) {
    nowMs += KEY_MS
    keys++
    return sharedKey.apply(this, of)
  })
  while (!isIdle()) await turn()
})

afterEach(() => {
  vi.restoreAllMocks()
})

const server = pair(1)
const client = pair(2)
const settings = checkLz4Options({}, -1)

/** A server's connection and its peer, between which bytes pass when they are told to. */
class Pair implements MessageSink {
  readonly waitsToSend = false
  readonly isBehind = false
  readonly #toServer: Uint8Array[] = []
  readonly #toClient: Uint8Array[] = []
  readonly #connection: Connection
  readonly #session: Session
  isPaused = false
  isReady = false

  constructor() {
    const socket = {
      write: (bytes: Uint8Array) => this.#toClient.push(new Uint8Array(bytes)),
      pause: () => {
        this.isPaused = true
      },
      resume: () => {
        this.isPaused = false
      },
      isPaused: () => this.isPaused,
      writableLength: 0,
    }
    const options = {
      settings,
      sender: new Sender(settings, false),
      handshake: curveSettings({ ...server, isServer: true }, { socketType: "PULL" }),
      handshakeMs: 0,
      heartbeat: { intervalMs: 0, timeoutMs: 0, timeToLive: 0 },
      relays: false,
      acceptsPlain: false,
    }
    const channel = { socket: socket as unknown as Socket, handlers: {} }
    this.#connection = new Connection(channel as unknown as Channel, options, (event) => {
      if (event.type === "authenticate") event.connection.authenticated(undefined)
      else if (event.type === "ready") {
        event.connection.sink = this
        this.isReady = true
      } else throw new Error(`unexpected: ${event.type}`)
    })
    const theirs = { ...client, serverKey: server.publicKey }
    this.#session = new Session(curveSettings(theirs, { socketType: "PUSH" }), {
      send: (bytes) => this.#toServer.push(bytes),
      onEvent: () => {},
      message: () => true,
      command: () => true,
    })
    this.#session.start()
    this.#session.greet(greeting({ mechanism: "CURVE" }))
    this.#toClient.length = 0
  }

  /** The peer reads what the server has sent. */
  answer(): void {
    this.#session.receive(concat(...this.#toClient.splice(0)))
  }

  /** Whether the server has sent something that the peer has not read. */
  get hasAnswer(): boolean {
    return this.#toClient.length > 0
  }

  /** The server receives what the peer has sent. */
  deliver(): void {
    this.#connection.data(concat(...this.#toServer.splice(0)))
  }

  message(): boolean {
    return true
  }
  command(): boolean {
    return true
  }
  drained(): void {}
}

/** Lets bytes arrive for all pairs at the same time. Returns the number of keys of each turn. */
async function deliver(pairs: readonly Pair[], isDone: (one: Pair) => boolean): Promise<number[]> {
  keys = 0
  for (const one of pairs) one.deliver()
  const turns = [keys]
  expect(pairs.map((one) => one.isPaused)).toEqual(pairs.map((one) => !isDone(one)))
  while (!pairs.every(isDone)) {
    keys = 0
    await turn()
    turns.push(keys)
  }
  expect(pairs.some(({ isPaused }) => isPaused)).toBe(false)
  return turns
}

test("handshakes that arrive together take no more than the time of a turn in each", async () => {
  const pairs = Array.from({ length: 50 }, () => new Pair())
  const hellos = await deliver(pairs, ({ hasAnswer }) => hasAnswer)
  for (const one of pairs) one.answer()
  const initiates = await deliver(pairs, ({ isReady }) => isReady)
  for (const [turns, each] of [
    [hellos, 1],
    [initiates, 2],
  ] as const) {
    // The first time is free if the event loop was idle before.
    expect(turns[0]).toBeLessThanOrEqual(2 * KEYS_OF_TURN)
    expect(Math.max(...turns.slice(1))).toBeLessThanOrEqual(KEYS_OF_TURN)
    expect(turns.reduce((sum, count) => sum + count)).toBe(each * pairs.length)
  }
})

test("a handshake alone is read at once", () => {
  const one = new Pair()
  one.deliver()
  expect(one.hasAnswer).toBe(true)
})
