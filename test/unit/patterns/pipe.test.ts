/** Pipes: their queues, marks and ends (libzmq's pipe.cpp). */
import fc from "fast-check"
import { describe, expect, onTestFinished, test, vi } from "vitest"

import { Chunk } from "../../../src/codec/chunk.js"
import { writeOut } from "../../../src/patterns/exit-writes.js"
import type { Pipe, PipeEvents, PipeOptions } from "../../../src/patterns/pipe.js"
import {
  burst,
  FakeConnection,
  FakeEncoding,
  FakeSharing,
  Peer,
  PlainSender,
  parts,
} from "../../support/pipes.js"

/** Records a pipe's events to its socket type. */
class Told implements PipeEvents {
  readonly violation: PipeEvents["violation"] = undefined
  readonly told: string[] = []
  readActivated() {
    this.told.push("readable")
  }
  writeActivated() {
    this.told.push("writable")
  }
  command(_: unknown, name: string, data: Buffer) {
    this.told.push(`${name} ${data}`)
    return true
  }
  hiccuped() {
    this.told.push("hiccuped")
  }
  terminated() {
    this.told.push("terminated")
  }
}

const make = (options: Partial<PipeOptions> = {}, sender = new PlainSender()) => {
  const events = new Told()
  const peer = new Peer(events, options, sender)
  return { ...peer, peer, pipe: peer.pipe, connection: peer.connection, told: events.told, sender }
}

/** A message that is encoded separately, at once. */
const large = (text: string) => [Buffer.from(text.padEnd(9000, "."))]
const count = (attempt: () => boolean): number => {
  let taken = 0
  while (taken < 1000 && attempt()) taken++
  return taken
}

describe("the high-water mark for sending", () => {
  test.each([1, 2, 3, 10, 999])(
    "a high-water mark of %i allows that many queued messages, complete ones",
    (mark) => {
      const { pipe } = make({ sendHighWaterMark: mark })
      expect(count(() => pipe.out.write(parts("a|b|c")))).toBe(mark)
      expect(pipe.out.checkWrite()).toBe(false)
    },
  )

  test("a high-water mark of 0 is no limit", () => {
    const { pipe } = make()
    expect(count(() => pipe.out.write(parts("a")))).toBe(1000)
  })

  test("allows more in steps of half the mark, like libzmq", () => {
    const { pipe, connection, peer, told } = make({ sendHighWaterMark: 4 })
    expect(count(() => pipe.out.write(large("a")))).toBe(4)
    connection.room = 1
    peer.attach()
    expect(told).toEqual([])
    connection.drain(1)
    expect(told).toEqual(["writable"])
    expect(count(() => pipe.out.write(large("b")))).toBe(2)
    connection.drain(1)
    expect(told).toEqual(["writable"])
    connection.drain(1)
    expect(told).toEqual(["writable", "writable"])
  })

  test("allows more when a burst ends and the network is free, even if another thread freed it", async () => {
    const { pipe, connection, peer, told } = make({ sendHighWaterMark: 4 })
    peer.attach()
    connection.room = 0
    expect(count(() => pipe.out.write(parts("a")))).toBe(4)
    connection.room = 10
    await burst()
    expect(connection.written).toHaveLength(4)
    expect(told).toEqual(["writable"])
  })

  test("allows more when a batch for several pipes finds the network free", async () => {
    const { pipe, connection, peer, told, sender } = make({ sendHighWaterMark: 4 })
    peer.attach()
    connection.room = 0
    expect(count(() => pipe.out.write(parts("a")))).toBe(4)
    await burst()
    expect(told).toEqual([])
    connection.room = 10
    pipe.out.writeChunk(sender.encode(new Uint8Array(), parts("b")), false)
    expect(told).toEqual([]) // the writer is iterating its pipes
    await burst()
    expect(connection.written).toHaveLength(5)
    expect(told).toEqual(["writable"])
  })

  test("reports room to a sender that asked but wrote nothing", async () => {
    const { pipe, connection, peer, told } = make({ sendHighWaterMark: 2 })
    peer.attach()
    for (const text of ["a", "b"]) pipe.out.write(parts(text))
    connection.room = 0
    expect(pipe.out.hasRoom()).toBe(false)
    expect(told).toEqual([])
    connection.drain()
    expect(told).toEqual(["writable"])
  })

  test("counts as libzmq does, whatever the sequence", () => {
    const action = fc.constantFrom("write" as const, "leave" as const)
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.array(action, { maxLength: 60 }),
        (mark, actions) => {
          const { pipe, connection, peer } = make({ sendHighWaterMark: mark })
          connection.room = 0
          peer.attach()
          let written = 0
          let left = 0
          let known = 0
          for (const action of actions) {
            if (action === "write") {
              const full = written - known >= mark
              expect(pipe.out.write(large(`${written}`))).toBe(!full)
              if (!full) written++
            } else if (left < written) {
              connection.drain(1)
              left++
              if (left % ((mark + 1) >> 1) === 0) known = left
            }
            expect(connection.written.length).toBe(left)
          }
        },
      ),
    )
  })

  test("does not count messages that only wait for the end of the burst", () => {
    const { pipe, connection, peer } = make({ sendHighWaterMark: 2 })
    peer.attach()
    expect(count(() => pipe.out.write(parts("a")))).toBe(1000)
    expect(connection.written.length).toBeGreaterThan(900)
  })

  test("counts commands as well, but refuses none", () => {
    const { pipe, connection, peer } = make({ sendHighWaterMark: 2 })
    pipe.out.write(parts("a"))
    for (const topic of ["b", "c", "d"])
      pipe.out.writeCommand("SUBSCRIBE", Buffer.from(topic), true)
    expect(pipe.out.write(parts("refused"))).toBe(false)
    peer.attach()
    expect(connection.written).toEqual(["a", "SUBSCRIBE b", "SUBSCRIBE c", "SUBSCRIBE d"])
  })
})

describe("commands beyond 1,000", () => {
  /** Returns a pipe with a full connection, and as many queued commands as keep their order. */
  const full = () => {
    const made = make({ sendHighWaterMark: 10 })
    made.peer.attach()
    made.connection.room = 0
    for (let i = 0; i < 1000; i++)
      made.pipe.out.writeCommand("SUBSCRIBE", Buffer.from(`${i}`), true)
    const change = (name: "SUBSCRIBE" | "CANCEL", topic: string, isChange = true) =>
      made.pipe.out.writeCommand(name, Buffer.from(topic), isChange)
    /** Makes room. Returns what is written after the first 1,000. */
    const drain = () => {
      made.connection.drain()
      expect(made.connection.written.slice(0, 2)).toEqual(["SUBSCRIBE 0", "SUBSCRIBE 1"])
      return made.connection.take().slice(1000)
    }
    return { ...made, change, drain }
  }

  test("wait for room as well", () => {
    const { connection, change, drain } = full()
    for (const topic of ["a", "b", "c"]) change("SUBSCRIBE", topic)
    connection.drain(1001)
    expect(connection.written).toHaveLength(1001)
    expect(drain()).toEqual(["SUBSCRIBE a", "SUBSCRIBE b", "SUBSCRIBE c"])
  })

  test("commands beyond 1,000 take back one another", () => {
    const { change, drain } = full()
    for (const topic of ["a", "b"]) change("SUBSCRIBE", topic)
    change("CANCEL", "a")
    for (const name of ["CANCEL", "SUBSCRIBE", "CANCEL"] as const) change(name, "7")
    expect(drain()).toEqual(["SUBSCRIBE b", "CANCEL 7"])
  })

  test("are not repeated", () => {
    const { change, drain } = full()
    change("SUBSCRIBE", "7", false)
    change("SUBSCRIBE", "a")
    change("SUBSCRIBE", "a", false)
    expect(drain()).toEqual(["SUBSCRIBE a"])
  })

  test("are awaited by flush()", () => {
    const { connection, pipe, change } = full()
    change("SUBSCRIBE", "a")
    const flushed = vi.fn()
    pipe.out.whenFlushed({ isOver: false, flushed })
    connection.drain(1000)
    expect(flushed).not.toHaveBeenCalled()
    connection.drain()
    expect(flushed).toHaveBeenCalledOnce()
  })

  test("go with the connection for which they were meant", () => {
    const { connection, pipe, change } = full()
    change("SUBSCRIBE", "a")
    pipe.hiccup()
    connection.drain()
    expect(connection.written).toEqual([])
  })

  test("are written as the process exits", () => {
    const { connection, pipe, change } = full()
    change("SUBSCRIBE", "a")
    writeOut(pipe.out)
    expect(connection.written.at(-1)).toBe("SUBSCRIBE a")
  })

  test("are dropped once the pipe has ended", () => {
    const { connection, pipe, change } = full()
    pipe.abandon()
    change("SUBSCRIBE", "a")
    connection.drain()
    expect(connection.written).toHaveLength(1000)
  })
})

describe("queued messages", () => {
  test("are written together when the burst ends, in one write", async () => {
    const { pipe, connection, peer, sender } = make()
    peer.attach()
    for (const text of ["a", "b|c", ""]) pipe.out.write(parts(text))
    expect(connection.written).toEqual([])
    await burst()
    expect(connection.written).toEqual(["a", "b|c", ""])
    expect(connection.chunks.length).toBe(1)
    expect(sender.encodings).toBe(1)
  })

  test("are written at 64 KiB without waiting for that", () => {
    const { pipe, connection, peer } = make()
    peer.attach()
    for (let i = 0; i < 10; i++) pipe.out.write([Buffer.alloc(8000, i)])
    expect(connection.written.length).toBe(8)
  })

  test("are copies: the memory may be reused", async () => {
    const { pipe, connection, peer } = make()
    const memory = [Buffer.from("small"), Buffer.alloc(9000, "l")]
    for (const part of memory) pipe.out.write([part])
    for (const part of memory) part.fill("x")
    peer.attach()
    await burst()
    expect(connection.written).toEqual(["small", "l".repeat(9000)])
  })

  test("keep their order: small, large, commands, and those sent without room", async () => {
    const { pipe, connection, peer } = make()
    peer.attach()
    connection.room = 2
    pipe.out.write(parts("a"))
    pipe.out.write(large("b"))
    pipe.out.writeCommand("SUBSCRIBE", Buffer.from("c"), true)
    pipe.out.write(parts("d"))
    await burst()
    pipe.out.write(large("e"))
    pipe.out.writeCommand("CANCEL", Buffer.from("f"), true)
    pipe.out.write(parts("g"))
    await burst()
    for (let i = 0; i < 10; i++) connection.drain(1)
    expect(connection.written.map((text) => text.replaceAll(".", ""))).toEqual([
      "a",
      "b",
      "SUBSCRIBE c",
      "d",
      "e",
      "CANCEL f",
      "g",
    ])
  })

  test("wait for a connection, and for another when that is lost", async () => {
    const { pipe, connection, peer } = make()
    pipe.out.write(parts("a"))
    await burst()
    peer.attach()
    pipe.detach([])
    pipe.out.write(parts("b"))
    pipe.out.write(large("c"))
    await burst()
    expect(connection.take()).toEqual(["a"])
    peer.attach()
    expect(connection.take().map((text) => text[0])).toEqual(["b", "c"])
  })

  test("subscriptions are messages for peers of ZMTP 3.0", async () => {
    const { pipe, connection, peer } = make()
    connection.peerTakesCommands = false
    peer.attach()
    pipe.out.writeCommand("SUBSCRIBE", Buffer.from("topic"), true)
    pipe.out.writeCommand("CANCEL", Buffer.from("topic"), true)
    pipe.out.writeCommand("JOIN", Buffer.from("group"), true)
    await burst()
    expect(connection.written).toEqual(["\x01topic", "\x00topic", "JOIN group"])
  })
})

describe("received messages", () => {
  test("are reported once, if the queue was empty, and kept in order", () => {
    const { pipe, peer, told } = make()
    expect(pipe.checkRead()).toBe(false)
    for (const text of ["a", "b", "c"]) expect(peer.says(text)).toBe(true)
    expect(told).toEqual(["readable"])
    expect([pipe.read(), pipe.read(), pipe.read(), pipe.read()].map(String)).toEqual([
      "a",
      "b",
      "c",
      "undefined",
    ])
    peer.says("d")
    expect(told).toEqual(["readable", "readable"])
  })

  test.each([
    [1, [1]],
    [2, [1]],
    [4, [1, 2]],
    [5, [1, 2, 3]],
  ])("stop the peer at a high-water mark of %i, and resume it at half of it", (mark, before) => {
    const { pipe, connection, peer } = make({ receiveHighWaterMark: mark })
    peer.attach()
    for (let i = 1; i < mark; i++) expect(peer.says("a")).toBe(true)
    expect(peer.says("last")).toBe(false)
    for (const _ of before) {
      expect(connection.resumes).toBe(0)
      pipe.read()
    }
    expect(connection.resumes).toBe(1)
    while (pipe.read());
    expect(connection.resumes).toBe(1)
  })

  test.each([
    [2, 1, 2],
    [4, 1, 3],
    [4, 2, 4],
    [5, 2, 3],
    [5, 3, 5],
  ])(
    "received messages of a mark of %i: once %i were read, there is room for %i",
    (mark, read, room) => {
      const { connection, peer, pipe } = make({ receiveHighWaterMark: mark })
      peer.attach()
      for (let i = 0; i < read; i++) {
        peer.says("a")
        pipe.read()
      }
      for (let i = 1; i < room; i++) expect(peer.says("a")).toBe(true)
      expect(peer.says("last")).toBe(false)
      while (pipe.read());
      expect(connection.resumes).toBe(1)
    },
  )

  test("received messages that break a rule end the connection, and are not received", () => {
    const events = Object.assign(new Told(), {
      violation: (message: Buffer[]) => (message.length > 1 ? "too many parts" : undefined),
    })
    const peer = new Peer(events).attach()
    peer.says("a")
    peer.says("b|c")
    expect(peer.connection.rejected.map(String)).toEqual([
      expect.stringMatching(/ERR_ZMTP_MESSAGE: too many parts/),
    ])
    expect([peer.pipe.read(), peer.pipe.read()].map(String)).toEqual(["a", "undefined"])
  })
})

describe("with conflate", () => {
  test("only the latest message is queued, in each direction", async () => {
    const { pipe, connection, peer } = make({
      conflate: true,
      sendHighWaterMark: 1,
      receiveHighWaterMark: 1,
    })
    for (const text of ["a", "b", "c"]) expect(pipe.out.write(parts(text))).toBe(true)
    peer.attach()
    await burst()
    for (const text of ["d", "e"]) pipe.out.write(parts(text))
    await burst()
    expect(connection.written).toEqual(["c", "e"])
    for (const text of ["a", "b"]) expect(peer.says(text)).toBe(true)
    expect([pipe.read(), pipe.read()].map(String)).toEqual(["b", "undefined"])
  })
})

test("hiccup() drops queued messages, asks for those to send again, and makes room", async () => {
  const { pipe, connection, peer, told } = make({ sendHighWaterMark: 2 })
  pipe.out.write(parts("lost"))
  pipe.out.write(large("lost"))
  expect(pipe.out.checkWrite()).toBe(false)
  pipe.hiccup()
  expect(told).toEqual(["hiccuped", "writable"])
  pipe.out.write(parts("new"))
  peer.attach()
  await burst()
  expect(connection.written).toEqual(["new"])
})

describe("a pipe that is closed", () => {
  test("accepts no more, and ends when all received messages are read and it is found empty", async () => {
    const { pipe, connection, peer, told } = make()
    peer.attach()
    for (const text of ["a", "b"]) peer.says(text)
    pipe.out.write(parts("lost"))
    pipe.close()
    expect(pipe.out.write(parts("refused"))).toBe(false)
    expect([pipe.read(), pipe.read()].map(String)).toEqual(["a", "b"])
    await burst()
    await burst()
    expect(told).toEqual([])
    expect(pipe.read()).toBeUndefined()
    await burst()
    expect(told).toEqual(["terminated"])
    expect(connection.written).toEqual([])
  })

  test("ends at once if nothing was received", () => {
    const { pipe, told } = make()
    pipe.close()
    expect(told).toEqual(["terminated"])
  })
})

describe("a pipe that is finished", () => {
  test("sends queued messages, reports it, and drops received ones", async () => {
    const { pipe, connection, peer, told } = make()
    peer.attach()
    peer.says("never read")
    connection.room = 1
    for (const text of ["a", "b"]) pipe.out.write(large(text))
    pipe.out.write(parts("c"))
    pipe.finish(() => told.push("finished"), false)
    expect(told).toEqual(["terminated"])
    expect(pipe.read()).toBe(undefined)
    expect(pipe.out.write(parts("refused"))).toBe(false)
    connection.drain(1)
    expect(told).toEqual(["terminated"])
    connection.drain(1)
    expect(told).toEqual(["terminated", "finished"])
    expect(connection.written.map((text) => text[0])).toEqual(["a", "b", "c"])
  })

  test("keeps received messages on request, and accepts no more", async () => {
    const { pipe, peer, told } = make()
    peer.attach()
    for (const text of ["1", "2"]) peer.says(text)
    pipe.finish(() => told.push("finished"), true)
    expect(told).toEqual(["finished"])
    peer.says("too late")
    pipe.close()
    expect(told).toEqual(["finished"])
    expect([pipe.read(), pipe.read(), pipe.read()].map(String)).toEqual(["1", "2", "undefined"])
    await Promise.resolve()
    expect(told).toEqual(["finished", "terminated"])
  })

  test("waits for a future connection", () => {
    const { pipe, connection, peer, told } = make()
    pipe.out.write(parts("a"))
    pipe.finish(() => told.push("finished"), false)
    expect(told).toEqual(["terminated"])
    peer.attach()
    expect(connection.written).toEqual(["a"])
    expect(told).toEqual(["terminated", "finished"])
  })

  test("ends at once if nothing is queued, or if that is given up", () => {
    const [idle, busy] = [make(), make()]
    idle.pipe.finish(() => idle.told.push("finished"), false)
    expect(idle.told).toEqual(["terminated", "finished"])
    busy.pipe.out.write(large("a"))
    busy.pipe.out.write(parts("b"))
    busy.pipe.finish(() => busy.told.push("finished"), false)
    busy.pipe.dropWaiting()
    busy.pipe.dropWaiting()
    expect(busy.told).toEqual(["terminated", "finished"])
    busy.peer.attach()
    expect(busy.connection.written).toEqual([])
  })
})

test("an abandoned pipe still sends queued messages", async () => {
  const { pipe, connection, peer, told } = make({ sendHighWaterMark: 3 })
  peer.attach()
  connection.room = 1
  for (const text of ["a", "b"]) pipe.out.write(large(text))
  pipe.out.write(parts("c"))
  pipe.abandon()
  await burst()
  connection.drain()
  expect(connection.written.map((text) => text[0])).toEqual(["a", "b", "c"])
  expect(told).toEqual([])
})

test("an abandoned pipe accepts and delivers nothing, and stops its peer", () => {
  const { pipe, peer, told } = make()
  peer.attach()
  peer.says("a")
  pipe.abandon()
  expect(peer.says("b")).toBe(false)
  expect(pipe.read()).toBe(undefined)
  expect(pipe.out.write(parts("c"))).toBe(false)
  expect(told).toEqual([])
})

describe("a pipe that is finished", () => {
  test("has ended when its connection has written all that another might have to write", () => {
    const { pipe, connection, peer } = make()
    peer.attach()
    const sharing = new FakeSharing()
    connection.sharing = sharing
    sharing.hasPendingWrites = true
    let finished = 0
    pipe.out.write(parts("a"))
    pipe.finish(() => finished++, false)
    expect(connection.written).toEqual(["a"])
    connection.drain()
    expect(finished).toBe(0)
    sharing.hasPendingWrites = false
    connection.drain()
    connection.drain()
    expect(finished).toBe(1)
  })

  test("still ends its connection when its type abandons it meanwhile", () => {
    const { pipe, connection, peer } = make()
    peer.attach()
    peer.says("a")
    connection.room = 0
    let finished = 0
    pipe.out.write(parts("b"))
    pipe.finish(() => finished++, true)
    pipe.abandon()
    expect(finished).toBe(0)
    connection.drain()
    expect(connection.written).toEqual(["b"])
    expect(finished).toBe(1)
  })

  test("does not wait for that if queued messages are to be dropped", () => {
    const { pipe, connection, peer } = make()
    peer.attach()
    connection.sharing = new FakeSharing()
    connection.sharing.hasPendingWrites = true
    let finished = 0
    pipe.finish(() => finished++, false)
    expect(finished).toBe(0)
    pipe.dropWaiting()
    expect(finished).toBe(1)
  })

  test("lets the peer send without limit, unread", () => {
    const { pipe, connection, peer } = make({ receiveHighWaterMark: 2 })
    const sharing = new FakeSharing()
    connection.sharing = sharing
    peer.attach()
    sharing.hasPendingWrites = true
    pipe.finish(() => {}, true)
    expect(sharing.marks).toEqual([2, 0])
    pipe.options = { sendHighWaterMark: 5, receiveHighWaterMark: 5, conflate: false }
    expect(sharing.marks).toEqual([2, 0])
  })
})

test("a pipe that is finished lets another connection read, however much waits to be received", () => {
  const { pipe, connection, peer } = make({ receiveHighWaterMark: 1 })
  peer.attach()
  expect(peer.says("a")).toBe(false)
  pipe.out.write(parts("b"))
  pipe.finish(() => {}, true)
  pipe.detach([])
  peer.attach()
  expect(connection.stops).toBe(0)
  expect(peer.says("c")).toBe(true)
  expect([pipe.read(), pipe.read()].map(String)).toEqual(["a", "undefined"])
})

describe("unwritten chunks are released", () => {
  const released = () => {
    const release = vi.spyOn(Chunk.prototype, "release")
    onTestFinished(() => release.mockRestore())
    return release
  }

  test.each([
    { how: "the connection is lost for good", end: (pipe: Pipe) => pipe.close() },
    { how: "linger is over", end: (pipe: Pipe) => pipe.dropWaiting() },
    { how: "the connection is made again, for subscribers", end: (pipe: Pipe) => pipe.hiccup() },
    {
      how: "the connection of a pipe that the type has abandoned is lost",
      end: (pipe: Pipe) => {
        pipe.abandon()
        pipe.close()
      },
    },
  ])("chunks are released when $how", ({ end }) => {
    const { pipe } = make()
    for (const text of ["a", "b"]) pipe.out.write(large(text))
    const release = released()
    end(pipe)
    expect(release).toHaveBeenCalledTimes(2)
  })

  test("when they arrive too late", () => {
    const { pipe, sender } = make()
    pipe.close()
    const release = released()
    pipe.out.writeChunk(sender.encode(new Uint8Array(), parts("a")), false)
    expect(release).toHaveBeenCalledTimes(1)
    pipe.detach([sender.encode(new Uint8Array(), parts("b"))])
    expect(release).toHaveBeenCalledTimes(2)
  })
})

test.each([
  { what: "what a thread did not write", later: [], written: ["a"] },
  { what: "only a later message, if there is one", later: ["b", "c"], written: ["c"] },
])("with conflate, the next connection writes $what", ({ later, written }) => {
  const { pipe, connection, peer } = make({ conflate: true })
  peer.attach()
  pipe.out.write(parts("a"))
  pipe.drained()
  connection.room = 0
  for (const text of later) pipe.out.write(parts(text))
  pipe.detach(connection.chunks)
  const next = new FakeConnection()
  pipe.attach(next)
  expect(next.written).toEqual(written)
})

test("conflate is fixed when a pipe is created", () => {
  const { pipe, connection, peer } = make({ conflate: true })
  peer.attach()
  pipe.options = { sendHighWaterMark: 5, receiveHighWaterMark: 5, conflate: false }
  for (const text of ["a", "b", "c"]) pipe.out.write(parts(text))
  pipe.drained()
  expect(connection.written).toEqual(["c"])
})

test("a batch has the effort that was chosen when it was opened, whatever is encoded meanwhile", async () => {
  const sender = new PlainSender()
  const { pipe, connection } = new Peer(new Told(), {}, sender).attach()
  const encoding = new FakeEncoding(sender)
  let chosen = 0
  encoding.nextEffort = () => ++chosen
  const encoded: number[] = []
  encoding.encoded = (_chunk: unknown, effort: number) => {
    encoded.push(effort)
  }
  connection.encoding = encoding
  // Of 10,000 bytes, of which the effort decides whether the batch takes a copy.
  const long = "c".repeat(10_000)
  pipe.out.write(parts("a"))
  encoding.nextEffort() // for messages to several peers
  for (const text of ["b", long]) pipe.out.write(parts(text))
  expect(chosen).toBe(2)
  await burst()
  expect(encoded).toEqual([1])
  expect(connection.take()).toEqual(["a", "b", long])
})
