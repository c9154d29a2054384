/** One message to many pipes (libzmq's dist.cpp), encoded once for those that receive the same. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"

import type { EncodeOptions } from "../../../src/codec/sender.js"
import { Distribution } from "../../../src/patterns/distribution.js"
import type { Pipe, PipeEvents, PipeOptions } from "../../../src/patterns/pipe.js"
import { burst, FakeEncoding, Peer, PlainSender, parts } from "../../support/pipes.js"

/** Efforts that a fake encoding chooses. */
const FOR_ONE = 1
const FOR_ALL = 2

class Distributed {
  readonly dist = new Distribution()
  readonly sender = new PlainSender()
  readonly events: PipeEvents = {
    violation: undefined,
    readActivated: () => {},
    writeActivated: (pipe) => this.dist.activated(pipe),
    command: () => true,
    hiccuped: () => {},
    terminated: (pipe) => this.dist.terminated(pipe),
  }

  add(options: Partial<PipeOptions> = {}, sender = this.sender): Peer {
    const peer = new Peer(this.events, options, sender).attach()
    this.dist.attach(peer.pipe)
    return peer
  }

  send(text: string, ...to: Peer[]): void {
    this.dist.unmatch()
    for (const { pipe } of to) this.dist.match(pipe)
    this.dist.sendToMatching(parts(text))
  }
}

const large = (text: string) => text.padEnd(9000, ".")

describe("messages to the same peers", () => {
  test("are encoded once, and all get the same bytes", async () => {
    const dist = new Distributed()
    const peers = [dist.add(), dist.add(), dist.add()]
    for (const text of ["a", "b|c", "d"]) dist.dist.sendToAll(parts(text))
    for (const { connection } of peers) expect(connection.written).toEqual([])
    await burst()
    for (const { connection } of peers) {
      expect(connection.written).toEqual(["a", "b|c", "d"])
      expect(connection.chunks).toHaveLength(1)
      expect(connection.chunks[0]).toBe(peers[0]?.connection.chunks[0])
    }
    expect(dist.sender.encodings).toBe(1)
  })

  test("are encoded once for each endpoint", async () => {
    const dist = new Distributed()
    const other = new PlainSender()
    const [a, b, c] = [dist.add(), dist.add({}, other), dist.add({}, other)]
    dist.dist.sendToAll(parts("a"))
    await burst()
    expect([dist.sender.encodings, other.encodings]).toEqual([1, 1])
    expect(b.connection.chunks[0]).toBe(c.connection.chunks[0])
    expect(a.connection.chunks[0]).not.toBe(b.connection.chunks[0])
  })

  test("are encoded after messages queued in a pipe, because the first encoding ships the dictionary", () => {
    const encoded: string[] = []
    class Recording extends PlainSender {
      override encode(batch: Uint8Array, message?: readonly Uint8Array[]) {
        const chunk = super.encode(batch, message)
        encoded.push(Buffer.from(chunk.bytes).toString("latin1", 0, 16))
        return chunk
      }
    }
    const dist = new Distributed()
    const sender = new Recording()
    const [greeted] = [dist.add({}, sender), dist.add({}, sender)]
    greeted.pipe.out.write(parts("welcome"))
    const toAll = "to all".padEnd(200_000)
    dist.dist.sendToAll(parts(toAll))
    expect(encoded).toEqual([expect.stringContaining("welcome"), expect.stringContaining("to all")])
    expect(greeted.connection.take()).toEqual(["welcome", toAll])
  })

  test("are encoded with the effort that was chosen for all, whatever waits in one of the pipes", () => {
    class Recording extends PlainSender {
      readonly efforts: (number | undefined)[] = []
      override encode(batch: Uint8Array, message?: readonly Uint8Array[], options?: EncodeOptions) {
        this.efforts.push(options?.effort)
        return super.encode(batch, message)
      }
    }
    const dist = new Distributed()
    const sender = new Recording()
    const [greeted, other] = [dist.add({}, sender), dist.add({}, sender)]
    for (const { connection } of [greeted, other]) {
      connection.encoding = new FakeEncoding(sender)
      connection.encoding.nextEffort = (group) => (group ? FOR_ALL : FOR_ONE)
    }
    greeted.pipe.out.write(parts("welcome"))
    dist.dist.sendToAll(parts("to all".padEnd(200_000)))
    expect(sender.efforts).toEqual([FOR_ONE, FOR_ALL])
  })

  test("are written at 256 KiB, and at once if large", async () => {
    const dist = new Distributed()
    const { connection } = dist.add()
    for (let i = 0; i < 40; i++) dist.dist.sendToAll(parts("x".repeat(8000)))
    expect(connection.take().length).toBeGreaterThanOrEqual(32)
    dist.dist.sendToAll(parts("small"))
    dist.dist.sendToAll(parts("large".padEnd(200_000)))
    expect(connection.take().at(-1)).toMatch(/^large/)
    await burst()
    expect(connection.take()).toEqual([])
  })

  test("are copies: the memory may be reused", async () => {
    const dist = new Distributed()
    const { connection } = dist.add()
    const memory = Buffer.from("small")
    dist.dist.sendToAll([memory])
    memory.fill("x")
    await burst()
    expect(connection.written).toEqual(["small"])
  })
})

describe("the receivers of messages", () => {
  test("those that match, in order, whatever the others get", async () => {
    const dist = new Distributed()
    const [a, b, c] = [dist.add(), dist.add(), dist.add()]
    dist.send("1", a, b)
    dist.send("2", a, b)
    dist.send("3", b, c)
    dist.send("4")
    dist.send("5", c)
    dist.send("6", a, b, c)
    await burst()
    expect(a.connection.written).toEqual(["1", "2", "6"])
    expect(b.connection.written).toEqual(["1", "2", "3", "6"])
    expect(c.connection.written).toEqual(["3", "5", "6"])
  })

  test("a pipe that matches twice receives a message once", async () => {
    const dist = new Distributed()
    const a = dist.add()
    dist.send("1", a, a)
    await burst()
    expect(a.connection.written).toEqual(["1"])
  })

  test("reverseMatch() selects the others", async () => {
    const dist = new Distributed()
    const [a, b, c] = [dist.add(), dist.add(), dist.add()]
    dist.dist.match(b.pipe)
    dist.dist.reverseMatch()
    dist.dist.sendToMatching(parts("1"))
    await burst()
    expect([a, b, c].map(({ connection }) => connection.written)).toEqual([["1"], [], ["1"]])
  })

  test("a full pipe is skipped until there is room, and misses whole messages", async () => {
    const dist = new Distributed()
    const [full, other] = [dist.add({ sendHighWaterMark: 2 }), dist.add()]
    full.connection.room = 0
    for (const text of ["1", "2|2", "3", "4"]) dist.dist.sendToAll(parts(text))
    dist.dist.match(full.pipe)
    expect(dist.dist.checkHwm()).toBe(true) // it does not even match
    dist.dist.unmatch()
    full.connection.drain()
    for (const text of ["5", "6"]) dist.dist.sendToAll(parts(text))
    await burst()
    expect(full.connection.written).toEqual(["1", "2|2", "5", "6"])
    expect(other.connection.written).toEqual(["1", "2|2", "3", "4", "5", "6"])
  })

  test("checkHwm() returns whether all matching pipes have room", () => {
    const dist = new Distributed()
    const [full, other] = [dist.add({ sendHighWaterMark: 1 }), dist.add()]
    full.connection.room = 0
    dist.send("1", full)
    dist.dist.match(other.pipe)
    expect(dist.dist.checkHwm()).toBe(true)
    dist.dist.match(full.pipe)
    expect(dist.dist.checkHwm()).toBe(false)
  })

  test("a message to one pipe keeps its place among messages to all", async () => {
    const dist = new Distributed()
    const [a, b] = [dist.add(), dist.add()]
    dist.dist.sendToAll(parts("1"))
    a.pipe.out.write(parts("2"))
    dist.dist.sendToAll(parts("3"))
    a.pipe.out.writeCommand("JOIN", Buffer.from("4"), true)
    dist.dist.sendToAll(parts("5"))
    dist.dist.sendToAll(parts(large("6")))
    a.pipe.out.write(parts(large("7")))
    dist.dist.sendToAll(parts("8"))
    await burst()
    expect(a.connection.written.map((text) => text.replaceAll(".", ""))).toEqual([
      ..."123",
      "JOIN 4",
      ..."5678",
    ])
    expect(b.connection.written.map((text) => text[0]).join("")).toBe("13568")
  })

  test("a command goes to all, after earlier messages", async () => {
    const dist = new Distributed()
    const peers = [dist.add(), dist.add()]
    dist.dist.sendToAll(parts("1"))
    dist.dist.commandToAll("SUBSCRIBE", Buffer.from("2"), true)
    dist.dist.sendToAll(parts("3"))
    await burst()
    for (const { connection } of peers)
      expect(connection.written).toEqual(["1", "SUBSCRIBE 2", "3"])
  })

  test("a pipe that ends in the middle of a batch does not affect others", async () => {
    const dist = new Distributed()
    const [a, b, c] = [dist.add(), dist.add(), dist.add()]
    dist.dist.sendToAll(parts("1"))
    b.pipe.close()
    dist.dist.sendToAll(parts("2"))
    c.pipe.finish(() => {}, false)
    dist.dist.sendToAll(parts("3"))
    await burst()
    expect(a.connection.written).toEqual(["1", "2", "3"])
    expect(c.connection.written).toEqual(["1", "2"])
    expect(dist.dist.has(b.pipe)).toBe(false)
  })
})

test("a pipe that is reconnected in the middle of a batch drops the batch, and counts correctly", async () => {
  const dist = new Distributed()
  const [a, b] = [dist.add({ sendHighWaterMark: 2 }), dist.add()]
  a.pipe.detach([])
  dist.dist.sendToAll(parts("1"))
  a.pipe.hiccup()
  a.connection.room = 0
  a.attach()
  for (const text of ["2", "3", "4", "5"]) dist.dist.sendToAll(parts(text))
  await burst()
  a.connection.drain()
  expect(a.connection.written).toEqual(["2", "3"])
  expect(b.connection.written).toEqual(["1", "2", "3", "4", "5"])
})

describe("with conflate", () => {
  test("each pipe keeps only the latest message that matched it, independently of others", async () => {
    const dist = new Distributed()
    const conflating = [dist.add({ conflate: true }), dist.add({ conflate: true })]
    const [a, b] = conflating as [Peer, Peer]
    const usual = dist.add()
    for (const { connection } of conflating) connection.room = 0
    for (const text of ["1", "2|2", "3"]) dist.dist.sendToAll(parts(text))
    dist.send(large("4"), a, usual)
    await burst()
    dist.send("5|5", a)
    await burst()
    for (const { connection } of conflating) connection.drain()
    expect(a.connection.written).toEqual(["5|5"])
    expect(b.connection.written).toEqual(["3"])
    expect(usual.connection.written).toEqual(["1", "2|2", "3", large("4")])
  })
})

test("each pipe receives what matched it, in order, while pipes come, go, fill and drain", async () => {
  const action = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        what: fc.constant("send" as const),
        to: fc.nat(255),
        large: fc.boolean(),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        what: fc.constantFrom("come", "stall", "drain", "burst", "write", "finish"),
        to: fc.nat(7),
      }),
    },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 80 }), async (actions) => {
      const dist = new Distributed()
      const expected = new Map<Peer, string[]>()
      const open: Peer[] = []
      let number = 0
      const come = () => {
        const peer = dist.add()
        open.push(peer)
        expected.set(peer, [])
      }
      come()
      for (const action of actions) {
        const peer = open[action.to % open.length] as Peer
        const text = `${number++}`
        switch (action.what) {
          case "send": {
            const to = open.filter((_, i) => action.to & (1 << i))
            const message = "large" in action && action.large ? large(text) : text
            dist.send(message, ...to)
            for (const one of to) expected.get(one)?.push(text)
            break
          }
          case "come":
            if (open.length < 8) come()
            break
          case "stall":
            peer.connection.room = 0
            break
          case "drain":
            peer.connection.drain(1)
            break
          case "write":
            peer.pipe.out.write(parts(text))
            expected.get(peer)?.push(text)
            break
          case "finish":
            if (open.length > 1) {
              peer.pipe.finish(() => {}, false)
              open.splice(open.indexOf(peer), 1)
            }
            break
          default:
            await burst()
        }
      }
      await burst()
      for (const [{ connection }, texts] of expected) {
        connection.drain()
        expect(connection.written.map((text) => text.replaceAll(".", ""))).toEqual(texts)
      }
    }),
  )
})

test("positions stay correct while pipes come and go", () => {
  const dist = new Distributed()
  const peers = Array.from({ length: 10 }, () => dist.add())
  const gone = new Set<Pipe>()
  for (const [i, { pipe }] of peers.entries()) {
    if (i % 3 !== 0) continue
    pipe.close()
    gone.add(pipe)
  }
  for (const { pipe } of peers) expect(dist.dist.has(pipe)).toBe(!gone.has(pipe))
})
