/** Encoders that throw, as when memory runs out: accepted messages and counts stay correct. */
import { describe, expect, onTestFinished, test, vi } from "vitest"

import type { Chunk } from "../../../src/codec/chunk.js"
import { plainOf, TriedPart } from "../../../src/codec/formed-part.js"
import { Distribution } from "../../../src/patterns/distribution.js"
import { type Flushable, flushSoon, Rest } from "../../../src/patterns/flusher.js"
import type { PipeEvents, PipeOptions } from "../../../src/patterns/pipe.js"
import { burst, Peer, PlainSender, parts, silent, uncaught } from "../../support/pipes.js"

class FailingSender extends PlainSender {
  /** Content that cannot be encoded. */
  refused: string | undefined

  override encode(batch: Uint8Array, parts: readonly Uint8Array[] = []): Chunk {
    const { refused } = this
    const message = parts.map(plainOf)
    if (
      refused !== undefined &&
      [batch, ...message].some((one) => Buffer.from(one).includes(refused))
    )
      throw new RangeError(`no memory for ${refused}`)
    return message.length > 0 ? super.encode(batch, message) : super.encode(batch)
  }
}

const large = (text: string) => [Buffer.from(text.padEnd(200_000, "."))]
/** A message of send() with `compress: true`. */
const tried = (text: string) => parts(text).map((part) => new TriedPart(part))
const short = (texts: string[]) => texts.map((text) => text.replaceAll(".", ""))

describe("a pipe whose encoder throws", () => {
  const make = (options: Partial<PipeOptions> = {}) => {
    const sender = new FailingSender()
    const peer = new Peer(silent, options, sender).attach()
    return { sender, pipe: peer.pipe, connection: peer.connection }
  }

  test("throws at the sender, counts nothing, and accepts the next message at a mark of 1", async () => {
    const { sender, pipe, connection } = make({ sendHighWaterMark: 1 })
    sender.refused = "bad"
    for (let i = 0; i < 3; i++)
      expect(() => pipe.out.write(large("bad"))).toThrow("no memory for bad")
    expect(pipe.out.write(large("good"))).toBe(true)
    await burst()
    expect(short(connection.written)).toEqual(["good"])
  })

  test("keeps earlier messages, in order", async () => {
    const { sender, pipe, connection } = make()
    pipe.out.write(parts("1"))
    sender.refused = "bad"
    expect(() => pipe.out.write(large("bad"))).toThrow("no memory")
    pipe.out.write(parts("2"))
    pipe.out.write(large("3"))
    await burst()
    expect(short(connection.written)).toEqual(["1", "2", "3"])
  })

  test("does not accept a command before queued messages are encoded", async () => {
    const { sender, pipe, connection } = make({ sendHighWaterMark: 2 })
    connection.room = 0
    pipe.out.write(parts("1"))
    sender.refused = "1"
    expect(() => pipe.out.writeCommand("JOIN", Buffer.from("a"), true)).toThrow("no memory")
    sender.refused = undefined
    pipe.out.writeCommand("JOIN", Buffer.from("b"), true)
    connection.drain()
    expect(connection.written).toEqual(["1", "JOIN b"])
  })

  test("keeps a batch that fails at the end of a burst for the next one, and throws", async () => {
    const { sender, pipe, connection } = make({ sendHighWaterMark: 2 })
    sender.refused = "1"
    expect(await uncaught(() => pipe.out.write(parts("1")))).toEqual(["no memory for 1"])
    expect(connection.written).toEqual([])
    sender.refused = undefined
    pipe.out.write(parts("2"))
    await burst()
    expect(connection.written).toEqual(["1", "2"])
    expect(pipe.out.checkHwm()).toBe(true)
  })

  test("keeps a message that cannot be copied when its turn comes, and its place in the queue", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const { sender, pipe, connection } = make({ sendHighWaterMark: 2 })
    let failures = 2
    const seen = new Set<Chunk>()
    sender.accepts = (chunk) => seen.has(chunk)
    sender.repack = (chunk) => {
      if (failures-- > 0) throw new RangeError("no memory")
      seen.add(chunk)
      return chunk
    }
    connection.room = 0
    pipe.out.write(large("1"))
    pipe.out.write(large("2"))
    expect(await uncaught(() => connection.drain())).toEqual(["no memory"])
    expect(pipe.out.checkHwm()).toBe(false)
    expect(await uncaught(() => vi.runOnlyPendingTimers())).toEqual(["no memory"])
    vi.runAllTimers()
    await burst()
    expect(short(connection.written)).toEqual(["1", "2"])
    expect(pipe.out.checkHwm()).toBe(true)
  })

  test("retries after a pause if nothing else is sent", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const { sender, pipe, connection } = make()
    sender.refused = "1"
    await uncaught(() => pipe.out.write(parts("1")))
    sender.refused = undefined
    vi.runAllTimers()
    expect(connection.written).toEqual(["1"])
  })
})

describe("with conflate, a message that cannot be sent leaves the one that it would replace", () => {
  const allocateNothing = () => {
    const allocate = vi.spyOn(Buffer, "allocUnsafeSlow").mockImplementation(() => {
      throw new RangeError("no memory")
    })
    onTestFinished(() => allocate.mockRestore())
    return allocate
  }

  describe.each([
    { when: "before there is a connection", attaches: false },
    { when: "while the network has no room", attaches: true },
  ])("$when", ({ attaches }) => {
    test.each([
      { latest: "copied", make: parts },
      { latest: "encoded", make: tried },
    ])("if the latest is $latest", async ({ make }) => {
      const sender = new FailingSender()
      const peer = new Peer(silent, { conflate: true }, sender)
      const { pipe, connection } = peer
      connection.room = 0
      if (attaches) peer.attach()
      for (const text of ["earlier", "latest"]) pipe.out.write(make(text))
      const flushed = vi.fn()
      pipe.out.whenFlushed({ isOver: false, flushed })
      sender.refused = "bad"
      expect(() => pipe.out.write(tried("bad"))).toThrow("no memory for bad")
      const allocate = allocateNothing()
      expect(() => pipe.out.write(large("too large"))).toThrow("no memory")
      allocate.mockRestore()
      expect(flushed).not.toHaveBeenCalled()
      expect(pipe.out.waiting.messages).toBe(1)
      if (!attaches) peer.attach()
      connection.drain()
      await burst()
      expect(connection.take()).toEqual(["latest"])
      expect(flushed).toHaveBeenCalledOnce()
      for (const message of [tried("next"), parts("last")]) {
        pipe.out.write(message)
        await burst()
      }
      expect(connection.take()).toEqual(["next", "last"])
    })
  })
})

describe("a distribution whose encoder throws", () => {
  const make = (options: Partial<PipeOptions> = {}) => {
    const sender = new FailingSender()
    const dist = new Distribution()
    const events: PipeEvents = { ...silent, writeActivated: (pipe) => dist.activated(pipe) }
    const add = (own = sender) => {
      const peer = new Peer(events, options, own).attach()
      dist.attach(peer.pipe)
      return peer
    }
    return { dist, sender, add }
  }

  test("throws at the sender, and delivers earlier and later messages", async () => {
    const { dist, sender, add } = make()
    const peers = [add(), add()]
    dist.sendToAll(parts("1"))
    sender.refused = "bad"
    expect(() => dist.sendToAll(large("bad"))).toThrow("no memory for bad")
    dist.sendToAll(parts("2"))
    dist.sendToAll(large("3"))
    await burst()
    for (const { connection, pipe } of peers) {
      expect(short(connection.written)).toEqual(["1", "2", "3"])
      expect(pipe.out.shared).toBe(undefined)
    }
  })

  test("does not count the message: at a mark of 1 the next one is delivered", async () => {
    const { dist, sender, add } = make({ sendHighWaterMark: 1 })
    const { connection } = add()
    sender.refused = "bad"
    for (let i = 0; i < 3; i++) expect(() => dist.sendToAll(large("bad"))).toThrow("no memory")
    connection.room = 0
    dist.sendToAll(large("good"))
    connection.drain()
    expect(short(connection.written)).toEqual(["good"])
  })

  test("delivers to the pipes of other endpoints", async () => {
    const { dist, sender, add } = make()
    const [a, b] = [add(), add(new FailingSender())]
    dist.sendToAll(parts("1"))
    sender.refused = "2"
    expect(() => dist.sendToAll(large("2"))).toThrow("no memory")
    await burst()
    expect(short(a.connection.written)).toEqual(["1"])
    expect(short(b.connection.written)).toEqual(["1", "2"])
  })

  test("with conflate, delivers to all other pipes", async () => {
    const { dist, sender, add } = make({ conflate: true })
    const peers = [add(), add(new FailingSender()), add(), add(new FailingSender())]
    dist.sendToAll(parts("1"))
    sender.refused = "2"
    expect(() => dist.sendToAll(tried("2"))).toThrow("no memory for 2")
    await burst()
    expect(peers.map(({ connection }) => connection.take())).toEqual([["1"], ["2"], ["1"], ["2"]])
  })

  test("throws once for a batch that fails at the end of a burst, and continues at a mark of 1", async () => {
    const { dist, sender, add } = make({ sendHighWaterMark: 1 })
    const { pipe, connection } = add()
    sender.refused = "bad"
    expect(await uncaught(() => dist.sendToAll(parts("bad")))).toEqual(["no memory for bad"])
    expect(pipe.out.shared).toBe(undefined)
    dist.sendToAll(parts("good"))
    await burst()
    expect(connection.written).toEqual(["good"])
  })

  test("does not count a message without a batch: at a mark of 1 the next one is delivered", async () => {
    // Their batches use the spare memory.
    const others = Array.from({ length: 5 }, () => make())
    for (const { dist, add } of others) {
      add()
      dist.sendToAll(parts("other"))
    }
    const { dist, add } = make({ sendHighWaterMark: 1 })
    const { pipe, connection } = add()
    connection.room = 0
    const allocate = vi.spyOn(Buffer, "allocUnsafeSlow").mockImplementation(() => {
      throw new RangeError("no memory")
    })
    onTestFinished(() => allocate.mockRestore())
    expect(() => dist.sendToAll(parts("bad"))).toThrow("no memory")
    allocate.mockRestore()
    expect(pipe.out.checkHwm()).toBe(true)
    dist.sendToAll(parts("good"))
    await burst()
    connection.drain()
    expect(connection.written).toEqual(["good"])
  })

  test("a distribution whose encoder throws still closes its pipes", async () => {
    const { dist, sender, add } = make()
    const [a, b] = [add(), add()]
    dist.sendToAll(parts("bad"))
    sender.refused = "bad"
    const errors = await uncaught(() => {
      dist.terminated(a.pipe)
      dist.terminated(b.pipe)
    })
    expect(errors).toEqual(["no memory for bad"])
    expect([a, b].some(({ pipe }) => dist.has(pipe))).toBe(false)
  })
})

test("at the end of a burst all queues are flushed even if one throws, which is uncaught, once", async () => {
  const flushed: string[] = []
  const make = (name: string, throws = false): Flushable => ({
    rest: new Rest(),
    isUrgent: false,
    writeMs: 0,
    isUpToDate: () => false,
    flush: () => {
      flushed.push(name)
      if (throws) throw new Error(name)
    },
  })
  const errors = await uncaught(() => {
    for (const one of [make("a"), make("b", true), make("c"), make("d", true), make("e")])
      flushSoon(one)
  })
  expect(flushed).toEqual(["a", "b", "c", "d", "e"])
  expect(errors).toEqual(["b", "d"])
  flushSoon(make("f"))
  await burst()
  expect(flushed.at(-1)).toBe("f")
})
