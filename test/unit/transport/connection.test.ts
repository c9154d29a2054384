/** Connections that share one module: one decodes at a time, and for a limited time. */
import type { Socket } from "node:net"
import { setImmediate as turn } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest"

import { Codec } from "../../../src/codec/codec.js"
import { checkLz4Options } from "../../../src/codec/options.js"
import { Sender } from "../../../src/codec/sender.js"
import type { Channel } from "../../../src/transport/channel.js"
import { Connection } from "../../../src/transport/connection.js"
import { knownGroupMeter } from "../../../src/transport/effort-meter.js"
import { isIdle } from "../../../src/transport/read-turns.js"
import type { MessageSink } from "../../../src/transport/transport.js"
import { concat, plainPart } from "../../support/wire.js"
import { frame, handshake, MORE, message } from "../../support/zmtp.js"

/** Milliseconds that pass each time the clock is read: with 0, no slice uses up its turn. */
let tickMs = 0

beforeEach(async () => {
  let nowMs = performance.now()
  vi.spyOn(performance, "now").mockImplementation(() => (nowMs += tickMs))
  // The previous test may have used up the time of a turn.
  while (!isIdle()) await turn()
})

afterEach(() => {
  tickMs = 0
  vi.restoreAllMocks()
})

/** Makes each slice use up its turn. */
function slicesAreSlow(): void {
  tickMs = 10
}

const codec = Codec.createSync()
const settings = checkLz4Options({}, -1)

/** A socket that accepts writes while it has room, and does not read by itself. */
class FakeSocket {
  readonly written: Uint8Array[] = []
  paused = false
  ended = false
  destroyed = false
  writableNeedDrain = false
  writableLength = 0
  readonly _writableState = {}

  write(bytes: Uint8Array): void {
    this.written.push(bytes)
  }
  pause(): void {
    this.paused = true
  }
  resume(): void {
    this.paused = false
  }
  isPaused(): boolean {
    return this.paused
  }
  end(): void {
    this.ended = true
  }
  destroy(): void {
    this.destroyed = true
  }
}

class Peer implements MessageSink {
  waitsToSend = false
  isBehind = false
  readonly socket = new FakeSocket()
  readonly connection: Connection
  readonly received: string[] = []
  readonly errors: string[] = []
  /** The codes of the errors that ended the connection. */
  readonly endings: (string | undefined)[] = []
  drains = 0
  /** What is reported once everything was written. */
  readonly farewells: string[] = []
  /** Called for each message; returns whether it wants the next one now. */
  wants: () => boolean = () => true

  constructor({
    isFull = false,
    firstBytes = Buffer.alloc(0) as Uint8Array,
    intervalMs = 0,
    adaptive = false,
    acceptsPlain = false,
    sender = new Sender(settings, acceptsPlain),
  } = {}) {
    const options = {
      settings: { ...settings, adaptive },
      sender,
      handshake: {
        socketType: "PULL" as const,
        mechanism: "NULL" as const,
        plainServer: false,
        username: new Uint8Array(),
        password: new Uint8Array(),
        routingId: new Uint8Array(),
        authenticate: false,
        formats: ["lz4"] as const,
        revision: 2,
      },
      handshakeMs: 0,
      heartbeat: { intervalMs, timeoutMs: 0, timeToLive: 0 },
      relays: false,
      acceptsPlain,
    }
    const channel = { socket: this.socket as unknown as Socket, handlers: {} }
    this.connection = new Connection(channel as unknown as Channel, options, (event) => {
      if (event.type === "ready") {
        event.connection.sink = this
        if (isFull) event.connection.stop()
      } else if (event.type === "failed") this.errors.push(event.error.code)
      else if (event.type === "closed")
        this.endings.push((event.error as NodeJS.ErrnoException | undefined)?.code)
      else if (event.type === "sent") this.farewells.push(event.isQuiet ? "quiet" : "sent")
      else throw new Error(`unexpected: ${event.type}`)
    })
    this.connection.data(concat(handshake("PUSH"), firstBytes))
  }

  message([part]: Buffer[]): boolean {
    this.received.push(`${part?.toString("latin1", 0, 8)} × ${part?.length}`)
    return this.wants()
  }
  command(): boolean {
    return true
  }
  drained(): void {
    this.drains++
  }
}

/** Parts that compress, as a peer sends them. */
const stream = (name: string, count: number, bytes = 5000): Uint8Array =>
  concat(
    ...Array.from({ length: count }, (_, i) =>
      message(codec.encodePart(Buffer.alloc(bytes, `${name}-${`${i}`.padStart(5, "0")}-`))),
    ),
  )
const names = (name: string, count: number, bytes = 5000) =>
  Array.from({ length: count }, (_, i) => `${name}-${`${i}`.padStart(5, "0")}-` + ` × ${bytes}`)

/** A part whose block does not decode. */
const corrupt = stream("x", 1).fill(0xff, -20)

test("a connection that resumes while another delivers messages decodes after those", async () => {
  const a = new Peer()
  const b = new Peer()
  b.wants = () => b.received.length !== 1
  b.connection.data(stream("b", 60))
  while (b.received.length < 1) await turn()
  a.wants = () => {
    const before = b.received.length
    b.connection.resume()
    expect(b.received).toHaveLength(before)
    return true
  }
  a.connection.data(stream("a", 60))
  while (a.received.length < 60 || b.received.length < 60) await turn()
  expect(a.received).toEqual(names("a", 60))
  expect(b.received).toEqual(names("b", 60))
  expect(b.socket.paused).toBe(false)
})

test("a connection that resumes within its own message continues after it", async () => {
  const peer = new Peer()
  peer.wants = () => {
    queueMicrotask(() => peer.connection.resume())
    return false
  }
  peer.connection.data(stream("x", 60))
  while (peer.received.length < 60) await turn()
  expect(peer.received).toEqual(names("x", 60))
})

test("a connection that decodes for long lets others take turns, and does not read meanwhile", async () => {
  slicesAreSlow()
  const mib = 2 ** 20
  const flood = new Peer()
  const small = new Peer()
  const bombs = stream("f", 60, mib)
  flood.connection.data(bombs)
  expect(flood.received.length).toBeLessThan(60)
  expect(flood.socket.paused).toBe(true)
  small.connection.data(stream("s", 1))
  while (small.received.length < 1) await turn()
  expect(small.received).toEqual(names("s", 1))
  expect(flood.received.length).toBeLessThan(60)
  while (flood.socket.paused) await turn()
  expect(flood.received).toEqual(names("f", 60, mib))
})

test.each([
  { what: "messages", flags: 0, acceptsPlain: false },
  { what: "parts of a message", flags: MORE, acceptsPlain: false },
  { what: "a plain peer's messages", flags: 0, acceptsPlain: true },
])("very many $what in a few bytes let others take turns", async ({ flags, acceptsPlain }) => {
  slicesAreSlow()
  const count = 20_000
  let frames = 0
  const flood = new Peer({ acceptsPlain })
  flood.message = (parts) => {
    frames += parts.length
    return true
  }
  const body = acceptsPlain ? new Uint8Array() : plainPart(new Uint8Array())
  const small = new Peer()
  const many = Array.from({ length: count - 1 }, () => frame(body, flags))
  flood.connection.data(concat(...many, frame(body)))
  small.connection.data(stream("s", 1))
  while (small.received.length < 1) await turn()
  expect(small.received).toEqual(names("s", 1))
  expect(frames).toBeLessThan(count / 2)
  while (flood.socket.paused) await turn()
  expect(frames).toBe(count)
  expect(flood.errors).toEqual([])
})

test.each([
  { what: "a frame", bytes: Uint8Array.of(0xff, 1, 2), code: "ERR_ZMTP_FRAME" },
  { what: "a block", bytes: corrupt, code: "ERR_LZ4_CORRUPT_BLOCK" },
  { what: "a sentinel", bytes: message(Buffer.from("plain")), code: "ERR_LZ4_UNKNOWN_SENTINEL" },
])("messages before $what that breaks a rule are received first", async ({ bytes, code }) => {
  const peer = new Peer()
  peer.wants = () => false
  peer.connection.data(concat(stream("x", 5), bytes))
  for (let i = 1; i <= 5; i++) {
    while (peer.received.length < i) await turn()
    expect([peer.received.length, peer.errors]).toEqual([i, []])
    peer.connection.resume()
  }
  while (peer.errors.length === 0) await turn()
  expect(peer.errors).toEqual([code])
  expect(peer.received).toEqual(names("x", 5))
})

test("data that waits for its turn when the connection ends is still received", () => {
  slicesAreSlow()
  const flood = new Peer()
  flood.connection.data(stream("f", 60, 2 ** 20))
  flood.connection.closed()
  expect(flood.received).toHaveLength(60)
})

test("when the connection ends, decoded messages are received before the rest", () => {
  const peer = new Peer()
  peer.wants = () => peer.received.length !== 1
  peer.connection.data(stream("x", 60))
  expect(peer.received).toHaveLength(1)
  peer.connection.resume() // in line
  peer.connection.closed()
  expect(peer.received).toEqual(names("x", 60))
})

test.each(["ended", "destroy", "timedOut"] as const)("nothing is written after %s", (how) => {
  const peer = new Peer()
  expect(peer.connection.blocked).toBe(false)
  peer.connection[how]()
  expect(peer.connection.blocked).toBe(true)
  peer.connection.drained()
  expect(peer.connection.blocked).toBe(true)
  expect(peer.drains).toBe(0)
})

test("nothing is written to a stream that has failed but not yet reported it", () => {
  const peer = new Peer()
  peer.socket.destroyed = true
  expect(peer.connection.blocked).toBe(true)
})

const failure = (code: string) => Object.assign(new Error(`write ${code}`), { code })

const peerHasGone = [
  "EPIPE",
  "ECONNRESET",
  "ECONNABORTED",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
]

test.each(peerHasGone)(
  "a connection whose write failed with %s is read to its end, and not written to",
  async (code) => {
    const peer = new Peer()
    const writes = peer.socket.written.length
    expect(peer.connection.writeFailed(failure(code))).toBe(true)
    expect(peer.connection.blocked).toBe(true)
    peer.connection.data(stream("x", 3))
    peer.connection.sendCommand("PING", Buffer.alloc(2))
    while (peer.received.length < 3) await turn()
    expect(peer.socket).toMatchObject({ ended: false, destroyed: false })
    peer.connection.ended()
    expect(peer.socket).toMatchObject({ ended: false, destroyed: true })
    peer.connection.closed()
    expect(peer.socket.written).toHaveLength(writes)
    expect(peer.endings).toEqual([code])
  },
)

test.each(["end", "ended"] as const)("no connection outlives a failed write after %s", (how) => {
  const peer = new Peer()
  peer.connection[how]()
  expect(peer.connection.writeFailed(failure("EPIPE"))).toBe(false)
  peer.connection.closed()
})

test("no connection outlives other write errors", () => {
  const peer = new Peer()
  expect(peer.connection.writeFailed(failure("ENOBUFS"))).toBe(false)
  peer.connection.closed()
})

test("a connection whose write failed ends once its sink is full and waits to send", async () => {
  const peer = new Peer()
  peer.wants = () => peer.received.length < 3
  expect(peer.connection.writeFailed(failure("EPIPE"))).toBe(true)
  peer.waitsToSend = true
  peer.connection.waitToSend()
  expect(peer.socket.destroyed).toBe(false)
  peer.connection.data(stream("x", 5))
  while (!peer.socket.destroyed) await turn()
  expect(peer.received).toHaveLength(3)
})

test("a connection whose sink is full ends with a failed write if the sink waits to send", async () => {
  const peer = new Peer()
  peer.wants = () => false
  peer.connection.data(stream("x", 5))
  while (!peer.socket.paused) await turn()
  expect(peer.connection.writeFailed(failure("EPIPE"))).toBe(true)
  expect(peer.socket.destroyed).toBe(false)
  peer.waitsToSend = true
  peer.connection.waitToSend()
  expect(peer.socket.destroyed).toBe(true)
})

test("flush() does not wait for a write that failed", () => {
  const peer = new Peer()
  peer.socket.writableLength = 10
  let flushed = 0
  peer.connection.flush(() => flushed++)
  expect(flushed).toBe(0)
  peer.connection.writeFailed(failure("EPIPE"))
  expect(flushed).toBe(1)
  peer.connection.flush(() => flushed++)
  expect(flushed).toBe(2)
})

test("the last connection of a group is measured alone", () => {
  const sender = new Sender(settings)
  const [one, other] = [new Peer({ adaptive: true, sender }), new Peer({ adaptive: true, sender })]
  const { encoding } = one.connection
  expect(encoding?.network).not.toBe(other.connection.encoding?.network)
  encoding?.nextEffort([one, other])
  expect(knownGroupMeter(sender)?.isAlone).toBe(false)
  encoding?.nextEffort([one])
  expect(knownGroupMeter(sender)?.isAlone).toBe(true)
  sender.close()
})

describe("a connection to a full sink", () => {
  test("delivers nothing before it resumes, including data that arrived with the handshake", async () => {
    const peer = new Peer({ isFull: true, firstBytes: stream("x", 3) })
    peer.connection.data(stream("y", 3))
    await turn()
    expect(peer.received).toEqual([])
    peer.connection.resume()
    while (peer.received.length < 6) await turn()
    expect(peer.received).toEqual([...names("x", 3), ...names("y", 3)])
  })

  test("delivers nothing when it ends", () => {
    const peer = new Peer({ isFull: true, firstBytes: stream("x", 3) })
    peer.connection.closed()
    expect(peer.received).toEqual([])
  })
})

test("a handshake that waits for its turn when its connection ends leaves no timer behind", () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout"] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  slicesAreSlow()
  new Peer().connection.data(stream("f", 60, 2 ** 20))
  const peer = new Peer({ intervalMs: 1000, firstBytes: stream("x", 1) })
  expect(peer.received).toEqual([])
  peer.connection.closed()
  expect(peer.received).toEqual(names("x", 1))
  expect(vi.getTimerCount()).toBe(0)
})

describe("a connection that this side has ended, once everything is written", () => {
  const anything = stream("x", 1)

  beforeEach(() => {
    vi.restoreAllMocks()
    vi.useFakeTimers()
  })

  afterEach(() => {
    vi.useRealTimers()
  })

  test("lets the process end at once if the peer has sent nothing since the handshake", async () => {
    const peer = new Peer()
    peer.connection.end()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(peer.farewells).toEqual([])
    peer.connection.finished()
    expect(peer.farewells).toEqual(["sent"])
    await vi.advanceTimersByTimeAsync(5)
    expect(peer.farewells).toEqual(["sent", "quiet"])
  })

  test("lets the process end at once if the peer has long been silent", async () => {
    const peer = new Peer()
    peer.connection.data(anything)
    await vi.advanceTimersByTimeAsync(10_000)
    peer.connection.end()
    peer.connection.finished()
    await vi.advanceTimersByTimeAsync(5)
    expect(peer.farewells).toEqual(["sent", "quiet"])
  })

  test("does not let it end while the peer goes on sending: the answer could cost it what it has not read", async () => {
    const peer = new Peer()
    peer.connection.data(anything)
    peer.connection.end()
    peer.connection.finished()
    for (let i = 0; i < 30; i++) {
      await vi.advanceTimersByTimeAsync(30)
      peer.connection.data(anything)
    }
    expect(peer.farewells).toEqual(["sent"])
    await vi.advanceTimersByTimeAsync(60)
    expect(peer.farewells).toEqual(["sent", "quiet"])
    expect(peer.socket.destroyed).toBe(false)
    await vi.advanceTimersByTimeAsync(1000)
    expect(peer.socket.destroyed).toBe(true)
  })
})
