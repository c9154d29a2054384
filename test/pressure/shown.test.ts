/** Regression tests: programs in which messages were once reordered, changed or mixed up. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { Pull } from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"

import { rawZmtpPeer } from "../support/raw-peer.js"
import { eventually, use } from "../support/sockets.js"
import { ANY } from "../support/threads.js"
import { message } from "../support/zmtp.js"
import { ALL } from "./extent.js"
import { exchange, type Run } from "./run.js"
import { SHAPES } from "./shapes.js"

const fanIn = SHAPES["n PUSH → PULL"]!
const named = SHAPES["n DEALER → ROUTER"]!

const usual = {
  shape: fanIn,
  content: "text",
  sendMark: 1000,
  how: "compute",
  late: true,
  binds: "hub",
} as const satisfies Partial<Run>

/** Counts with which the bugs showed within seconds. */
const programs: Record<string, Run> = {
  "four PUSHes of 30,000 bytes, mark 10": {
    ...usual,
    peers: 4,
    receiveMark: 10,
    bytes: 30_000,
    count: ALL ? 4000 : 1500,
  },
  "four PUSHes of 20,000 bytes, mark 2": {
    ...usual,
    peers: 4,
    receiveMark: 2,
    bytes: 20_000,
    count: ALL ? 4000 : 1500,
  },
  "six PUSHes of 5,000 bytes, mark 100": {
    ...usual,
    peers: 6,
    receiveMark: 100,
    bytes: 5000,
    count: ALL ? 4000 : 1500,
  },
  "three PUSHes of 100,000 bytes, mark 1": {
    ...usual,
    peers: 3,
    receiveMark: 1,
    bytes: 100_000,
    count: ALL ? 4000 : 1500,
  },
  "20 PUSHes of 1,000 bytes, marks of 1000": {
    ...usual,
    how: "wait",
    late: false,
    peers: 20,
    processes: 5,
    receiveMark: 1000,
    bytes: 1000,
    count: ALL ? 20_000 : 3000,
  },
  "30 DEALERs and a ROUTER, marks of 1000": {
    ...usual,
    shape: named,
    how: "wait",
    late: false,
    peers: 30,
    processes: 5,
    receiveMark: 1000,
    bytes: 1000,
    count: ALL ? 10_000 : 2500,
  },
  "30 DEALERs and a ROUTER, marks of 10": {
    ...usual,
    shape: named,
    how: "wait",
    late: false,
    peers: 30,
    processes: 5,
    receiveMark: 10,
    sendMark: 10,
    bytes: 1000,
    count: ALL ? 10_000 : 2500,
  },
}

describe("messages arrive once, in order and unchanged", () => {
  test.each(Object.entries(programs))("%s", async (_, run) => {
    const { problems } = await exchange(run)
    expect(problems.join("\n")).toBe("")
  })
})

const codec = Codec.createSync()

/** Number of receive() calls after which the next one waits for a turn. */
const OPERATIONS = 512

// Around the mark at which the next message is the one that makes room for more.
test.each([0, 1, 2, 3].map((more) => 2 * OPERATIONS + more))(
  "messages that arrive during a receive() are not mixed up with those beyond a mark of %i",
  async (mark) => {
    const count = 3 * mark
    const text = (peer: string, i: number) => String(Buffer.alloc(1000, `${peer}${i} `))
    const stream = (peer: string, count: number) =>
      Array.from({ length: count }, (_, i) => message(codec.encodePart(Buffer.from(text(peer, i)))))
    const pull = use(new Pull({ receiveHighWaterMark: mark }))
    await pull.bind(ANY)
    const [a, b] = [
      await rawZmtpPeer(pull.lastEndpoint as string, "PUSH"),
      await rawZmtpPeer(pull.lastEndpoint as string, "PUSH"),
    ]
    b.socket.write(Buffer.concat(stream("B", count)))
    await eventually(() => (pull.lz4.connections[1]?.received.messages ?? 0) >= mark)
    // I/O only runs before its turn if a timer has just fired. Whether it does decides what is tested, not the result.
    await sleep(1)
    a.socket.write(Buffer.concat(stream("A", 61)))
    const received: Record<string, string[]> = { A: [], B: [] }
    for (let i = 0; i < count + 61; i++) {
      const one = String((await pull.receive())[0])
      received[one[0] as string]?.push(one)
    }
    expect(received.A).toEqual(Array.from({ length: 61 }, (_, i) => text("A", i)))
    expect(received.B).toEqual(Array.from({ length: count }, (_, i) => text("B", i)))
  },
)
