/**
 * Random sequences of program and network events, checked by a simple model: no message arrives twice,
 * in the wrong order or incomplete, and none is lost except where a connection was cut.
 */
import { setTimeout as sleep } from "node:timers/promises"
import fc from "fast-check"
import { expect, onTestFinished, test } from "vitest"
import { type EndpointOptions, Publisher, Pull, Push, Subscriber } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { createRandom } from "../../bench/random.mjs"
import { portOf } from "../support/raw-peer.js"
import { kindly, Relay, type Treat } from "../support/rough-relay.js"
import { eventually } from "../support/sockets.js"
import { dictionary } from "../support/transports.js"

const SEED = Number(process.env.SEED ?? Date.now() & 0x7fffffff)
const run = {
  seed: SEED,
  numRuns: 200,
  interruptAfterTimeLimit: 20_000,
  markInterruptAsFailure: false,
  endOnFailure: true,
}

const SIZES = [0, 1, 20, 100, 600, 3000, 9000, 40_000, 300_000]
const texts = payload("json", 1 << 19)
const noise = payload("random", 1 << 19)

/** Returns the parts of a message, which its sender and number determine. */
function message(sender: number, number: number, size: number): Buffer[] {
  const random = createRandom(`${sender} ${number}`)
  const parts = [Buffer.from(`${sender} ${number} ${size}`)]
  const stream = random.pick([texts, noise])
  for (let left = SIZES[size] as number; left > 0; ) {
    const length = Math.min(left, 1 + random.below(left + 100))
    const start = random.below(stream.length - length)
    parts.push(Buffer.from(stream.subarray(start, start + length)))
    left -= length
  }
  return parts
}

function check(received: readonly Buffer[]): [sender: number, number: number] {
  const [sender = -1, number = -1, size = -1] = String(received[0]).split(" ").map(Number)
  const expected = message(sender, number, size)
  expect(received.length).toBe(expected.length)
  for (const [i, part] of expected.entries()) expect(part.equals(received[i] as Buffer)).toBe(true)
  return [sender, number]
}

/** Returns the minimum number of increasing sequences that a sequence consists of. */
function risingRuns(numbers: readonly number[]): number {
  const ends: number[] = []
  for (const number of numbers) {
    const at = ends.findIndex((end) => end < number)
    if (at < 0) ends.push(number)
    else ends[at] = number
  }
  return ends.length
}

const roughly = (seed: string): Treat => {
  const random = createRandom(seed)
  return () => ({
    there: { cutAfterBytes: random.pick([100, 2000, 100_000]) + random.below(20_000) },
    back: {},
  })
}

const options: readonly EndpointOptions[] = [
  {},
  { arenas: true },
  { autoDictionary: { trigger: 5 } },
  { autoDictionary: { trigger: 3 }, arenas: true },
  { dictionary },
  { level: 9 },
  { level: "none" },
  { level: "adaptive" },
]

// -- PUSH and PULL -----------------------------------------------------------------

/** The path from one PUSH to one PULL. */
interface Way {
  endpoint: string
  relay: Relay | undefined
  connected: boolean
  connects: number
}

class Pushed {
  readonly pulls: Pull[] = []
  readonly pushes: {
    push: Push
    ways: Way[]
    options: EndpointOptions
    sent: number
    disturbed: boolean
  }[] = []
  /** The numbers of received messages, by PUSH and then by PULL. */
  readonly received: number[][][] = []

  static async start(seed: string): Promise<Pushed> {
    const random = createRandom(seed)
    const world = new Pushed()
    for (let i = 0; i <= random.below(3); i++) {
      const pull = new Pull({
        receiveHighWaterMark: random.pick([1, 3, 50, 1000]),
        receiveTimeout: 0,
        linger: 0,
      })
      await pull.bind("lz4+tcp://127.0.0.1:*")
      world.pulls.push(pull)
    }
    for (let i = 0; i <= random.below(3); i++) {
      const sendHighWaterMark = random.pick([1, 3, 50, 1000])
      const push = new Push({ sendHighWaterMark, sendTimeout: 0, reconnectInterval: 3 })
      const ways: Way[] = []
      for (const pull of world.pulls) {
        const port = portOf(pull.lastEndpoint as string)
        const relay = random.below(2) ? await Relay.open(port, roughly(`${seed} ${i}`)) : undefined
        const endpoint = `lz4+tcp://127.0.0.1:${relay?.port ?? port}`
        ways.push({ endpoint, relay, connected: false, connects: 0 })
      }
      world.pushes.push({ push, ways, options: random.pick(options), sent: 0, disturbed: false })
      world.received.push(world.pulls.map(() => []))
    }
    return world
  }

  connect(who: number, where: number): void {
    const one = this.pushes[who % this.pushes.length]
    const way = one?.ways[where % one.ways.length]
    if (!one || !way || way.connected) return
    one.push.connect(way.endpoint, one.options)
    way.connected = true
    way.connects++
    if (way.relay) one.disturbed = true
  }

  disconnect(who: number, where: number): void {
    const one = this.pushes[who % this.pushes.length]
    const way = one?.ways[where % one.ways.length]
    if (!way?.connected) return
    one?.push.disconnect(way.endpoint)
    way.connected = false
  }

  async send(who: number, size: number, count: number): Promise<void> {
    const sender = who % this.pushes.length
    const one = this.pushes[sender] as (typeof this.pushes)[number]
    for (let i = 0; i < (size > 6 ? Math.min(3, count) : count); i++) {
      const parts = message(sender, one.sent, size)
      try {
        await one.push.send(parts)
      } catch (error) {
        expect((error as { code?: string }).code).toBe("EAGAIN")
        return
      }
      one.sent++
      for (const part of parts) part.fill("?") // the buffer belongs to the program again
    }
  }

  async receive(who: number, count: number): Promise<void> {
    const index = who % this.pulls.length
    const pull = this.pulls[index] as Pull
    for (let i = 0; i < count; i++) {
      let received: Buffer[]
      try {
        received = await pull.receive()
      } catch (error) {
        expect((error as { code?: string }).code).toBe("EAGAIN")
        return
      }
      const [sender, number] = check(received)
      this.received[sender]?.[index]?.push(number)
    }
  }

  cut(who: number, where: number): void {
    const one = this.pushes[who % this.pushes.length]
    one?.ways[where % one.ways.length]?.relay?.cut()
  }

  /** Lets all messages in flight arrive, over undisturbed connections. */
  async finish(): Promise<void> {
    for (const { ways } of this.pushes)
      for (const { relay } of ways) {
        if (!relay) continue
        relay.treat = kindly
        relay.cut()
      }
    const finals = this.pushes.map(({ sent }) => sent)
    await eventually(async () => {
      await this.receiveAll()
      let missing = 0
      for (const [sender, one] of this.pushes.entries()) {
        if (!one.ways.some(({ connected }) => connected)) this.connect(sender, 0)
        const all = (this.received[sender] as number[][]).flat()
        const last = finals[sender] as number
        if (
          one.disturbed
            ? all.some((number) => number >= last)
            : one.sent > last && all.length === one.sent
        )
          continue
        missing++
        // Messages sent just when a connection is cut are lost, which stops at some point.
        if (one.disturbed || one.sent === last) await this.send(sender, 1, 1)
      }
      return missing === 0
    })
    // With a small high-water mark and a thread, they arrive a few at a time.
    for (let quiet = 0, before = -1; quiet < 3; quiet++) {
      await sleep(5)
      await this.receiveAll()
      const now = this.received.flat(2).length
      if (now !== before) quiet = 0
      before = now
    }
    await eventually(async () => {
      await this.receiveAll()
      return this.pulls.every((_, i) => this.counted(i) <= this.countedMax(i))
    })
  }

  /** Returns the number of messages that a PULL has counted. */
  counted(i: number): number {
    return this.pulls[i]?.lz4.stats.received.messages ?? 0
  }

  /** Returns the counts that are allowed: the delivered messages, and one that was cut in its last part. */
  countedMax(i: number): number {
    const given = this.received.reduce((sum, byPull) => sum + (byPull[i]?.length ?? 0), 0)
    return this.pushes.reduce((sum, { ways }) => sum + (ways[i]?.relay?.connections ?? 0), given)
  }

  async receiveAll(): Promise<void> {
    for (let i = 0; i < this.pulls.length; i++) await this.receive(i, Number.POSITIVE_INFINITY)
  }

  verify(): void {
    for (const [sender, byPull] of this.received.entries()) {
      const one = this.pushes[sender] as (typeof this.pushes)[number]
      const all = byPull.flat()
      expect(new Set(all).size).toBe(all.length)
      for (const [i, numbers] of byPull.entries()) {
        const { relay, connects } = one.ways[i] as Way
        // Messages of each connection stay in order; PULL may read two connections in turn.
        const connections = relay?.connections ?? connects
        expect(risingRuns(numbers)).toBeLessThanOrEqual(connections)
      }
      if (!one.disturbed) expect(all.length).toBe(one.sent)
      expect(one.push.lz4.stats.sent.messages).toBeLessThanOrEqual(one.sent + 10)
    }
    for (const i of this.pulls.keys()) {
      const given = this.received.reduce((sum, byPull) => sum + (byPull[i]?.length ?? 0), 0)
      expect(this.counted(i)).toBeGreaterThanOrEqual(given)
      expect(this.counted(i)).toBeLessThanOrEqual(this.countedMax(i))
    }
    if (this.pushes.some(({ disturbed }) => disturbed)) return
    const total = (sockets: (Push | Pull)[], way: "sent" | "received") =>
      sockets.reduce((sum, { lz4 }) => sum + lz4.stats[way].plainBytes, 0)
    expect(total(this.pulls, "received")).toBe(
      total(
        this.pushes.map(({ push }) => push),
        "sent",
      ),
    )
  }

  close(): void {
    for (const { push } of this.pushes) {
      if (push.closed) continue
      push.linger = 0
      push.close()
    }
    for (const pull of this.pulls) pull.close()
  }
}

const number = fc.nat(5)
const size = fc.nat(SIZES.length - 1)
const pushing = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.constant("connect" as const), number, number) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("disconnect" as const), number, number) },
  {
    weight: 8,
    arbitrary: fc.tuple(
      fc.constant("send" as const),
      number,
      size,
      fc.integer({ min: 1, max: 60 }),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(fc.constant("receive" as const), number, fc.integer({ min: 1, max: 100 })),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constant("cut" as const), number, number) },
  { weight: 3, arbitrary: fc.tuple(fc.constant("wait" as const), fc.nat(15)) },
)

test(`PUSH to PULL, over connections that break (SEED=${SEED})`, async () => {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.array(pushing, { minLength: 10, maxLength: 60 }),
      async (seed, actions) => {
        const world = await Pushed.start(String(seed))
        onTestFinished(() => world.close())
        for (const [what, a, b = 0, c = 0] of actions) {
          if (what === "connect") world.connect(a, b)
          else if (what === "disconnect") world.disconnect(a, b)
          else if (what === "send") await world.send(a, b, c)
          else if (what === "receive") await world.receive(a, b)
          else if (what === "cut") world.cut(a, b)
          else await sleep(a)
        }
        await world.finish()
        world.verify()
        world.close()
        runs++
      },
    ),
    run,
  )
  expect(runs).toBeGreaterThan(3)
})

// -- PUB and SUB -------------------------------------------------------------------

const TOPICS = ["a", "ab", "b", "c"]

class Published {
  readonly publisher = new Publisher({ sendHighWaterMark: 0, linger: 0 })
  readonly subscribers: {
    sub: Subscriber
    relay: Relay | undefined
    topics: Set<string>
    received: number[]
  }[] = []
  /** Returns the topic of a message, by its number. */
  readonly sent: string[] = []

  static async start(seed: string): Promise<Published> {
    const random = createRandom(seed)
    const world = new Published()
    await world.publisher.bind("lz4+tcp://127.0.0.1:*", random.pick(options))
    const port = portOf(world.publisher.lastEndpoint as string)
    for (let i = 0; i <= random.below(4); i++) {
      const sub = new Subscriber({
        receiveHighWaterMark: random.pick([0, 1, 50]),
        receiveTimeout: 0,
        reconnectInterval: 3,
        linger: 0,
      })
      const relay = random.below(2) ? await Relay.open(port, roughly(`${seed} ${i}`)) : undefined
      sub.connect(`lz4+tcp://127.0.0.1:${relay?.port ?? port}`)
      world.subscribers.push({ sub, relay, topics: new Set(), received: [] })
    }
    return world
  }

  one(who: number) {
    return this.subscribers[who % this.subscribers.length] as (typeof this.subscribers)[number]
  }

  subscribe(who: number, topic: number): void {
    const { sub, topics } = this.one(who)
    const text = TOPICS[topic % TOPICS.length] as string
    if (!topics.has(text)) sub.subscribe(text)
    topics.add(text)
  }

  unsubscribe(who: number, topic: number): void {
    const { sub, topics } = this.one(who)
    const text = TOPICS[topic % TOPICS.length] as string
    if (topics.delete(text)) sub.unsubscribe(text)
  }

  async send(topic: number, size: number, count: number): Promise<void> {
    for (let i = 0; i < (size > 6 ? 1 : count); i++) {
      const text = TOPICS[(topic + i) % TOPICS.length] as string
      await this.publisher.send([text, ...message(0, this.sent.length, size)])
      this.sent.push(text)
    }
  }

  async receive(who: number, count: number): Promise<void> {
    const { sub, received } = this.one(who)
    for (let i = 0; i < count; i++) {
      let parts: Buffer[]
      try {
        parts = await sub.receive()
      } catch (error) {
        expect((error as { code?: string }).code).toBe("EAGAIN")
        return
      }
      const [, number] = check(parts.slice(1))
      expect(String(parts[0])).toBe(this.sent[number])
      received.push(number)
    }
  }

  async receiveAll(): Promise<void> {
    for (let i = 0; i < this.subscribers.length; i++)
      await this.receive(i, Number.POSITIVE_INFINITY)
  }

  /** Expects that undisturbed subscribers receive their topics and nothing else, in order. */
  async finish(): Promise<void> {
    for (const { relay } of this.subscribers) {
      if (!relay) continue
      relay.treat = kindly
      relay.cut()
    }
    // When this has arrived, earlier messages have too, and subscriptions are up to date.
    for (let who = 0; who < this.subscribers.length; who++) this.subscribe(who, 3)
    const last = this.sent.length
    await eventually(async () => {
      await this.send(3, 1, 1)
      await this.receiveAll()
      return this.subscribers.every(({ received }) => received.some((number) => number >= last))
    })
    const from = this.sent.length
    for (let i = 0; i < 20; i++) await this.send(i, i % 7, 3)
    await eventually(async () => {
      await this.receiveAll()
      return this.subscribers.every(
        ({ topics, received }) =>
          received.filter((number) => number >= from).length === this.#wanted(topics, from).length,
      )
    })
    await sleep(5)
    await this.receiveAll()
    for (const { topics, received, relay } of this.subscribers) {
      expect(received.filter((number) => number >= from)).toEqual(this.#wanted(topics, from))
      expect(new Set(received).size).toBe(received.length)
      if (!relay) expect(risingRuns(received)).toBeLessThanOrEqual(1)
    }
  }

  #wanted(topics: ReadonlySet<string>, from: number): number[] {
    return [...this.sent.keys()].filter(
      (number) =>
        number >= from && [...topics].some((topic) => this.sent[number]?.startsWith(topic)),
    )
  }

  close(): void {
    for (const socket of [this.publisher, ...this.subscribers.map(({ sub }) => sub)])
      if (!socket.closed) socket.close()
  }
}

const publishing = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.constant("subscribe" as const), number, number) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("unsubscribe" as const), number, number) },
  {
    weight: 8,
    arbitrary: fc.tuple(
      fc.constant("send" as const),
      number,
      size,
      fc.integer({ min: 1, max: 40 }),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(fc.constant("receive" as const), number, fc.integer({ min: 1, max: 100 })),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constant("cut" as const), number) },
  { weight: 3, arbitrary: fc.tuple(fc.constant("wait" as const), fc.nat(15)) },
)

test(`PUB to SUB, over connections that break (SEED=${SEED})`, async () => {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.array(publishing, { minLength: 10, maxLength: 60 }),
      async (seed, actions) => {
        const world = await Published.start(String(seed))
        onTestFinished(() => world.close())
        for (const [what, a, b = 0, c = 0] of actions) {
          if (what === "subscribe") world.subscribe(a, b)
          else if (what === "unsubscribe") world.unsubscribe(a, b)
          else if (what === "send") await world.send(a, b, c)
          else if (what === "receive") await world.receive(a, b)
          else if (what === "cut") world.one(a).relay?.cut()
          else await sleep(a)
        }
        await world.finish()
        world.close()
        runs++
      },
    ),
    run,
  )
  expect(runs).toBeGreaterThan(3)
})
