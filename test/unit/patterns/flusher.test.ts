/** Times at which sent messages are flushed: at the end of a burst, with a pause after each flush. */
import { performance } from "node:perf_hooks"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"

import {
  type Flushable,
  flushAll,
  flushSoon,
  pollSoon,
  Rest,
} from "../../../src/patterns/flusher.js"
import { Pair } from "../../../src/patterns/pair.js"
import { Pub } from "../../../src/patterns/pub.js"
import { loop, poll } from "../../support/busy-loop.js"
import { Bench, FakeSharing } from "../../support/pipes.js"

describe("a rest", () => {
  const at = (nowMs: number, idleMs = 0) => ({ nowMs, idleMs })

  /** Returns the rest after flushes, each with its start and end. */
  const restAfter = (...flushes: [start: number, end: number][]) => {
    const rest = new Rest()
    for (const [start, end] of flushes) rest.begin(start, at(end))
    return rest
  }

  test("does not come before the first flush", () => {
    expect(new Rest().remainingMs(at(0))).toBeLessThanOrEqual(0)
  })

  test("is as long as the flush, from its end on", () => {
    const rest = restAfter([0, 4], [10, 14])
    expect(rest.remainingMs(at(14))).toBe(4)
    expect(rest.remainingMs(at(17))).toBe(1)
    expect(rest.remainingMs(at(18))).toBe(0)
    expect(rest.remainingMs(at(1000))).toBeLessThan(0)
  })

  test("is no longer than the previous flush, because a flush may have been interrupted", () => {
    expect(restAfter([0, 1], [10, 60]).remainingMs(at(60))).toBe(1)
    expect(restAfter([0, 50], [100, 101]).remainingMs(at(101))).toBe(1)
  })

  test("does not follow a single flush", () => {
    expect(restAfter([0, 50]).remainingMs(at(50))).toBe(0)
  })

  test("ends when a message arrives", () => {
    const rest = restAfter([0, 4], [10, 14])
    rest.end()
    expect(rest.remainingMs(at(14))).toBeLessThanOrEqual(0)
  })

  test("ends when the event loop has been idle", () => {
    const rest = restAfter([0, 4])
    rest.begin(10, at(14, 3))
    expect(rest.remainingMs(at(15, 3))).toBe(3)
    expect(rest.remainingMs(at(15, 3.5))).toBe(0)
  })
})

describe("with a clock of the test's", () => {
  let nowMs = 0
  let idleMs = 0
  beforeEach(() => {
    nowMs = 0
    idleMs = 0
    vi.spyOn(performance, "now").mockImplementation(() => nowMs)
    vi.spyOn(performance.nodeTiming, "idleTime", "get").mockImplementation(() => idleMs)
  })
  afterEach(() => {
    flushAll()
    vi.restoreAllMocks()
  })

  /** A queue whose flushes take a given time, and which records when they start. */
  class Queue implements Flushable {
    readonly rest = new Rest()
    isUrgent = false
    writeMs = 0
    readonly flushes: number[] = []
    #isWaiting = false
    #flushed: (() => void) | undefined
    readonly #tookMs: number

    constructor(tookMs: number) {
      this.#tookMs = tookMs
    }

    knowsPeer = false

    isUpToDate(): boolean {
      return this.knowsPeer
    }

    send(): void {
      if (this.#isWaiting) return
      this.#isWaiting = true
      flushSoon(this)
    }

    flush(): void {
      this.#isWaiting = false
      this.flushes.push(nowMs)
      nowMs += this.#tookMs
      this.#flushed?.()
    }

    /** The next flush. */
    flushed(): Promise<void> {
      return new Promise((resolve) => {
        this.#flushed = resolve
      })
    }
  }

  /** A queue that has been flushed twice, just now. */
  const rested = async (tookMs: number) => {
    const queue = new Queue(tookMs)
    for (let i = 0; i < 2; i++) {
      queue.send()
      await burst()
      if (i === 0) nowMs += tookMs
    }
    queue.flushes.length = 0
    return queue
  }

  test("a burst is written when it ends", async () => {
    const queue = new Queue(1)
    queue.send()
    queue.send()
    expect(queue.flushes).toEqual([])
    await burst()
    expect(queue.flushes).toEqual([0])
  })

  test("a burst on a busy event loop is written once that has polled, and no more than once", async () => {
    loop.isBusy = true
    const queue = new Queue(1)
    queue.send()
    await burst()
    await turn()
    pollSoon()
    await burst()
    expect(queue.flushes).toEqual([])
    poll()
    await burst()
    expect(queue.flushes).toEqual([0])
    expect(loop.waiting).toEqual([])
  })

  test("on a busy event loop, those whose peer has just been read are written at once", async () => {
    loop.isBusy = true
    const queues = [new Queue(1), new Queue(1)] as const
    queues[1].knowsPeer = true
    for (const queue of queues) queue.send()
    await burst()
    expect(queues.map(({ flushes }) => flushes.length)).toEqual([0, 1])
    poll()
    expect(queues.map(({ flushes }) => flushes.length)).toEqual([1, 1])
  })

  test("as the process exits, nothing waits for a poll", () => {
    loop.isBusy = true
    const queue = new Queue(1)
    queue.send()
    flushAll()
    expect(queue.flushes).toEqual([0])
    loop.isBusy = false
  })

  test("messages sent during a rest are written together after it, even if nothing more is sent", async () => {
    const queue = await rested(0.5)
    for (let i = 0; i < 3; i++) {
      queue.send()
      await turn()
      nowMs += 0.125
    }
    expect(queue.flushes).toEqual([])
    nowMs += 0.125
    await queue.flushed()
    expect(queue.flushes).toEqual([1.5 + 0.5])
  })

  test("a long rest is left to a timer", async () => {
    const queue = await rested(50)
    const immediates = vi.spyOn(globalThis, "setImmediate")
    queue.send()
    await burst()
    nowMs += 50
    await queue.flushed()
    expect(queue.flushes).toEqual([200])
    expect(immediates).not.toHaveBeenCalled()
  })

  test("a burst that ends after the rest is written at once", async () => {
    const queue = await rested(0.5)
    queue.send()
    nowMs += 0.5
    await burst()
    expect(queue.flushes).toHaveLength(1)
  })

  test("single messages, each as long after a flush as that took, are not delayed", async () => {
    const queue = new Queue(0.5)
    for (let i = 0; i < 10; i++) {
      queue.send()
      await burst()
      nowMs += 0.5
    }
    expect(queue.flushes).toHaveLength(10)
  })

  test("single messages, before each of which the event loop was idle, are not delayed", async () => {
    const queue = new Queue(0.5)
    for (let i = 0; i < 10; i++) {
      queue.send()
      await burst()
      idleMs += 0.01
    }
    expect(queue.flushes).toHaveLength(10)
  })

  test("single messages in many short turns are written in few flushes", async () => {
    const queue = await rested(0.9)
    for (let i = 0; i < 90; i++) {
      queue.send()
      await burst()
      nowMs += 0.09
      await turn()
    }
    expect(queue.flushes.length).toBeGreaterThanOrEqual(5)
    expect(queue.flushes.length).toBeLessThanOrEqual(9)
  })

  test("another thread's work for a flush counts", async () => {
    const queue = await rested(0.5)
    queue.writeMs = 0.5
    for (let i = 0; i < 2; i++) {
      nowMs += 2
      queue.send()
      await burst()
    }
    queue.send()
    nowMs += 0.75
    await burst()
    expect(queue.flushes).toHaveLength(2)
    nowMs += 0.25
    await turn()
    expect(queue.flushes).toHaveLength(3)
  })

  test("a queue does not wait for the rest of another", async () => {
    const [one, other] = [await rested(0.5), new Queue(0.5)]
    one.send()
    other.send()
    await burst()
    expect([one.flushes.length, other.flushes.length]).toEqual([0, 1])
  })

  test("awaited messages do not rest, whenever the waiting began", async () => {
    const queue = await rested(0.5)
    queue.isUrgent = true
    queue.send()
    await burst()
    expect(queue.flushes).toHaveLength(1)
    queue.isUrgent = false
    queue.send()
    await burst()
    expect(queue.flushes).toHaveLength(1)
    queue.isUrgent = true
    pollSoon()
    await burst()
    expect(queue.flushes).toHaveLength(2)
  })

  test("a pipe rests after a flush, but not with replies to a message", async () => {
    const pair = new Bench(Pair)
    const peer = pair.peer()
    const write = peer.connection.write.bind(peer.connection)
    vi.spyOn(peer.connection, "write").mockImplementation((chunk) => {
      nowMs++
      write(chunk)
    })
    const exchange = async (asks: boolean) => {
      if (asks) peer.says("question")
      pair.send("answer")
      await burst()
      return peer.connection.take().length
    }
    for (let i = 0; i < 10; i++) expect(await exchange(true)).toBe(1)
    expect(await exchange(false)).toBe(0)
    expect(await exchange(true)).toBe(2)
  })

  test("a distribution rests as long as threads take for all of its peers", async () => {
    const pub = new Bench(Pub)
    const peers = [pub.peer(), pub.peer()]
    for (const { connection, pipe } of peers) {
      connection.sharing = new FakeSharing()
      connection.sharing.writeMs = 0.25
      pipe.command("SUBSCRIBE", Buffer.alloc(0))
    }
    const publish = async () => {
      pub.send("text")
      await burst()
      return peers.map(({ connection }) => connection.take().length)
    }
    expect(await publish()).toEqual([1, 1])
    nowMs += 0.5
    expect(await publish()).toEqual([1, 1])
    nowMs += 0.25
    expect(await publish()).toEqual([0, 0])
    nowMs += 0.25
    await turn()
    expect(peers.map(({ connection }) => connection.take().length)).toEqual([1, 1])
  })

  test("all messages are written when the process ends", async () => {
    const queue = await rested(0.5)
    queue.send()
    await burst()
    flushAll()
    expect(queue.flushes).toHaveLength(1)
  })
})

/** Ends a burst, like `burst()` of the tests of pipes, which allows no rest. */
const burst = () => new Promise<void>((resolve) => process.nextTick(resolve))
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
