/** Encoders that throw, as they do when memory is out: what was taken, counted and shared stays right. */
import { describe, expect, onTestFinished, test, vi } from "vitest"

import type { Chunk } from "../../../src/codec/chunk.js"
import { Distribution } from "../../../src/patterns/distribution.js"
import { type Flushable, flushSoon, Rest } from "../../../src/patterns/flusher.js"
import type { PipeEvents, PipeOptions } from "../../../src/patterns/pipe.js"
import { burst, Peer, PlainSender, parts, silent, uncaught } from "../../support/pipes.js"

class FailingSender extends PlainSender {
  /** Refuses to encode what contains this. */
  refused: string | undefined

  override encode(batch: Uint8Array, message: readonly Uint8Array[] = []): Chunk {
    const { refused } = this
    if (
      refused !== undefined &&
      [batch, ...message].some((one) => Buffer.from(one).includes(refused))
    )
      throw new RangeError(`no memory for ${refused}`)
    return message.length > 0 ? super.encode(batch, message) : super.encode(batch)
  }
}

const large = (text: string) => [Buffer.from(text.padEnd(200_000, "."))]
const short = (texts: string[]) => texts.map((text) => text.replaceAll(".", ""))

describe("a pipe whose encoder throws", () => {
  const make = (options: Partial<PipeOptions> = {}) => {
    const sender = new FailingSender()
    const peer = new Peer(silent, options, sender).attach()
    return { sender, pipe: peer.pipe, connection: peer.connection }
  }

  test("tells who sends, counts nothing, and takes the next message at a mark of 1", async () => {
    const { sender, pipe, connection } = make({ sendHighWaterMark: 1 })
    sender.refused = "bad"
    for (let i = 0; i < 3; i++) expect(() => pipe.write(large("bad"))).toThrow("no memory for bad")
    expect(pipe.write(large("good"))).toBe(true)
    await burst()
    expect(short(connection.written)).toEqual(["good"])
  })

  test("keeps what was taken before, in order", async () => {
    const { sender, pipe, connection } = make()
    pipe.write(parts("1"))
    sender.refused = "bad"
    expect(() => pipe.write(large("bad"))).toThrow("no memory")
    pipe.write(parts("2"))
    pipe.write(large("3"))
    await burst()
    expect(short(connection.written)).toEqual(["1", "2", "3"])
  })

  test("does not take a command before what waits is encoded", async () => {
    const { sender, pipe, connection } = make({ sendHighWaterMark: 2 })
    connection.room = 0
    pipe.write(parts("1"))
    sender.refused = "1"
    expect(() => pipe.writeCommand("JOIN", Buffer.from("a"))).toThrow("no memory")
    sender.refused = undefined
    pipe.writeCommand("JOIN", Buffer.from("b"))
    connection.drain()
    expect(connection.written).toEqual(["1", "JOIN b"])
  })

  test("keeps a batch that fails when the burst ends, for the next one, and says so", async () => {
    const { sender, pipe, connection } = make({ sendHighWaterMark: 2 })
    sender.refused = "1"
    expect(await uncaught(() => pipe.write(parts("1")))).toEqual(["no memory for 1"])
    expect(connection.written).toEqual([])
    sender.refused = undefined
    pipe.write(parts("2"))
    await burst()
    expect(connection.written).toEqual(["1", "2"])
    expect(pipe.checkHwm()).toBe(true)
  })

  test("tries again after a pause if nothing else is sent", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const { sender, pipe, connection } = make()
    sender.refused = "1"
    await uncaught(() => pipe.write(parts("1")))
    sender.refused = undefined
    vi.runAllTimers()
    expect(connection.written).toEqual(["1"])
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

  test("tells who sends, and delivers what was taken before and comes after", async () => {
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
      expect(pipe.shared).toBe(undefined)
    }
  })

  test("counts nothing of it: at a mark of 1 the next message is delivered", async () => {
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

  test("says so once of a batch that fails when the burst ends, and goes on at a mark of 1", async () => {
    const { dist, sender, add } = make({ sendHighWaterMark: 1 })
    const { pipe, connection } = add()
    sender.refused = "bad"
    expect(await uncaught(() => dist.sendToAll(parts("bad")))).toEqual(["no memory for bad"])
    expect(pipe.shared).toBe(undefined)
    dist.sendToAll(parts("good"))
    await burst()
    expect(connection.written).toEqual(["good"])
  })

  test("counts nothing for which there was no batch: at a mark of 1 the next message is delivered", async () => {
    // Their batches take the memory that was kept for use.
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
    expect(pipe.checkHwm()).toBe(true)
    dist.sendToAll(parts("good"))
    await burst()
    connection.drain()
    expect(connection.written).toEqual(["good"])
  })

  test("closes its pipes all the same", async () => {
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

test("what waits for the end of a burst is flushed though one of it throws, which is uncaught, once", async () => {
  const flushed: string[] = []
  const make = (name: string, throws = false): Flushable => ({
    rest: new Rest(),
    isUrgent: false,
    threadMs: 0,
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
