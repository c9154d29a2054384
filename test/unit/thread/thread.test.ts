/** Data exchanged between the sockets' thread and the connections' thread; tested without threads. */
import { readFileSync } from "node:fs"
import { setImmediate as turn } from "node:timers/promises"
import fc from "fast-check"
import { describe, expect, onTestFinished, test, vi } from "vitest"
import { FRAMES_MAX } from "../../../src/base/limits.js"
import type { Chunk } from "../../../src/codec/chunk.js"
import { ProtocolError } from "../../../src/codec/errors.js"
import { splitFrames } from "../../../src/codec/frames.js"
import { SLAB_BYTES, type Slab } from "../../../src/codec/slabs.js"
import { Batch, plainLength } from "../../../src/patterns/batch.js"
import { framerFor } from "../../../src/thread/framer.js"
import { HostedConnection, type Write } from "../../../src/thread/hosted-connection.js"
import type { HostedEndpoint } from "../../../src/thread/hosted-endpoint.js"
import { fromPlain, toPlain } from "../../../src/thread/plain-error.js"
import {
  type ConnectionRequest,
  FRAME_WINDOW_BYTES,
  type MessageFromWorker,
  NOT_SHARED,
  type PostedEvent,
  RECEIVE_WINDOW_BYTES,
  readFromWorker,
  type SocketOperations,
} from "../../../src/thread/protocol.js"
import { type ConnectionThread, RemoteConnection } from "../../../src/thread/remote-connection.js"
import type { RemoteReader } from "../../../src/thread/remote-reader.js"
import { SharedSlabs } from "../../../src/thread/shared-slabs.js"
import { SharedState } from "../../../src/thread/shared-state.js"
import type { Thread } from "../../../src/thread/thread.js"
import { WorkerOutbox } from "../../../src/thread/worker-outbox.js"
import type { Connection } from "../../../src/transport/connection.js"
import type { Command, MessageSink, PendingWrite } from "../../../src/transport/transport.js"
import { eventually } from "../../support/sockets.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame, MORE, message } from "../../support/zmtp.js"

const framer = framerFor({ format: "lz4" })

const NO_FRAMES = new Uint8Array(0)
const KIB = 1024
const bytesOf = (length: number, fill = length): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 7 + fill) & 0xff))
const isShared = ({ buffer }: Uint8Array): boolean => buffer instanceof SharedArrayBuffer

// -- Errors ------------------------------------------------------------------------

describe("a posted error", () => {
  const posted = (error: Error) => fromPlain(structuredClone(toPlain(error)))

  test("is a ProtocolError with its code and message, if it was one", () => {
    const error = new ProtocolError("ERR_LZ4_TRUNCATED", "part 2 ends after 5 bytes")
    const copy = posted(error)
    expect(copy).toBeInstanceOf(ProtocolError)
    expect(copy).toMatchObject({ code: error.code, message: error.message, name: error.name })
  })

  test("has the code, errno and other properties of system errors", () => {
    const error = (() => {
      try {
        readFileSync("no such file")
      } catch (error) {
        return error as NodeJS.ErrnoException
      }
      throw new Error("it is there")
    })()
    const copy = posted(error) as NodeJS.ErrnoException
    expect(copy).toBeInstanceOf(Error)
    const { message, code, errno, syscall, path } = error
    expect(code).toBe("ENOENT")
    expect(copy).toMatchObject({ message, code, errno, syscall, path })
  })

  test("has no properties that cannot be posted", () => {
    const error = Object.assign(new Error("text"), {
      call: () => {},
      socket: { on: () => {} },
      n: 1,
    })
    const copy = posted(error)
    expect(copy).toMatchObject({ message: "text", n: 1 })
    expect(copy).not.toHaveProperty("call")
    expect(copy).not.toHaveProperty("socket")
  })
})

// -- Memory ------------------------------------------------------------------------

/** Returns the frames of messages, as pipes do. */
const framesOf = (...messages: Buffer[][]): Uint8Array =>
  concat(...messages.map((m) => message(...m)))

describe("framed messages", () => {
  test("are plain frames in shared memory, and are counted", () => {
    const waiting = [[bytesOf(3)], [bytesOf(0), bytesOf(300)], [bytesOf(0)]]
    const last = [bytesOf(10), bytesOf(0), bytesOf(70_000)]
    const chunk = framer.encode(framesOf(...waiting), last)
    expect(isShared(chunk.bytes)).toBe(true)
    expect(chunk.messages).toBe(4)
    expect(
      splitFrames(Uint8Array.from(chunk.bytes)).map((m) => m.map((p) => Buffer.from(p))),
    ).toEqual([...waiting, last])
    chunk.release()
  })

  test("framed messages with any parts are unchanged", () => {
    const part = fc
      .oneof(fc.nat(20), fc.constantFrom(255, 256, 8000))
      .map((length) => bytesOf(length))
    const messages = fc.array(fc.array(part, { minLength: 1, maxLength: 5 }), { maxLength: 8 })
    fc.assert(
      fc.property(
        messages,
        fc.option(fc.array(part, { minLength: 1, maxLength: 5 })),
        (some, last) => {
          const all = last ? [...some, last] : some
          const chunk = framer.encode(framesOf(...some), last ?? undefined)
          expect(chunk.messages).toBe(all.length)
          expect(Buffer.from(chunk.bytes).equals(framesOf(...all))).toBe(true)
          chunk.release()
        },
      ),
    )
  })

  test("framed messages that follow each other are contiguous, and can be written at once", () => {
    const [first, second] = [
      framer.encode(framesOf([bytesOf(5)])),
      framer.encode(framesOf([bytesOf(6)])),
    ]
    const both = first.joined(second)
    expect(both?.messages).toBe(2)
    expect(Buffer.from(both?.bytes ?? NO_FRAMES).equals(framesOf([bytesOf(5)], [bytesOf(6)]))).toBe(
      true,
    )
    both?.release()
  })

  test("larger than a slab have a slab of their own, which is used again", () => {
    const large = bytesOf(SLAB_BYTES + 1)
    const memory = new Set<ArrayBufferLike>()
    for (let i = 0; i < 10; i++) {
      const chunk = framer.encode(framesOf([bytesOf(4)]), [large])
      memory.add(chunk.bytes.buffer)
      expect(isShared(chunk.bytes)).toBe(true)
      expect(chunk.messages).toBe(2)
      expect(Buffer.from(chunk.bytes).equals(framesOf([bytesOf(4)], [large]))).toBe(true)
      chunk.release()
    }
    expect(memory.size).toBe(1)
  })

  test("framed messages that waited in their own memory are copied to shared memory again", () => {
    const waited = framer.encode(framesOf([bytesOf(5)], [bytesOf(6)])).copied()
    expect(isShared(waited.bytes)).toBe(false)
    expect(framer.accepts(waited)).toBe(false)
    const again = framer.repack(waited)
    expect(framer.accepts(again)).toBe(true)
    expect(isShared(again.bytes)).toBe(true)
    expect(again.messages).toBe(2)
    expect(Buffer.from(again.bytes).equals(framesOf([bytesOf(5)], [bytesOf(6)]))).toBe(true)
    again.release()
  })

  test("framed messages that wait have their large parts where they are, until they are written", () => {
    const [small, large] = [bytesOf(10), bytesOf(70_000)]
    const chunk = framer.frame([small, large, large])
    expect(chunk.references.map(({ part }) => part.buffer)).toEqual([large.buffer, large.buffer])
    expect(chunk.messages).toBe(1)
    expect(Buffer.from(framer.plainFrames(chunk)).equals(message(small, large, large))).toBe(true)
    large.fill(7)
    expect(framer.accepts(chunk)).toBe(false)
    const seen = framer.repack(chunk)
    expect(isShared(seen.bytes)).toBe(true)
    expect(seen.messages).toBe(1)
    expect(seen.references).toEqual([])
    expect(Buffer.from(seen.bytes).equals(message(small, large, large))).toBe(true)
    expect(framer.accepts(seen)).toBe(true)
    seen.release()
  })

  test("use no new memory as long as they are released", () => {
    const memory = new Set<ArrayBufferLike>()
    for (let i = 0; i < 100; i++) {
      const chunk = framer.encode(NO_FRAMES, [bytesOf(100 * KIB)])
      memory.add(chunk.bytes.buffer)
      chunk.release()
    }
    expect(memory.size).toBeLessThanOrEqual(3)
  })
})

describe("slabs shared by threads", () => {
  const fullSlabs = (slabs: SharedSlabs, count: number): Slab[] =>
    Array.from({ length: count }, () => {
      const slab = slabs.next()
      slabs.numberOf(slab)
      return slab
    })

  test("keep their numbers, by which they are found", () => {
    const slabs = new SharedSlabs()
    const [a, b] = fullSlabs(slabs, 2) as [Slab, Slab]
    expect(slabs.numberOf(a)).not.toBe(slabs.numberOf(b))
    for (const slab of [a, b]) {
      expect(slabs.at(slabs.numberOf(slab))).toBe(slab)
      expect(isShared(slab.bytes)).toBe(true)
    }
    const number = slabs.numberOf(a)
    expect(slabs.emptied(a)).toBe(true)
    expect(slabs.next()).toBe(a)
    expect(slabs.numberOf(a)).toBe(number)
  })

  test("slabs of larger sizes are dropped too, at once if they are very large", () => {
    const slabs = new SharedSlabs()
    const forgotten: number[] = []
    slabs.readers.add({ forget: (number) => forgotten.push(number) })
    vi.useFakeTimers()
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const numbers = [2, 1].map((mib) => {
      const slab = slabs.ofAtLeast(mib * 1024 * KIB + 9)
      const number = slabs.numberOf(slab)
      slabs.emptied(slab)
      return number
    })
    expect(forgotten).toEqual(numbers.slice(0, 1))
    vi.advanceTimersByTime(2000)
    expect(forgotten).toEqual(numbers)
  })

  test("are dropped on both sides if they were not needed for a second, and numbers are not reused", () => {
    const slabs = new SharedSlabs()
    const forgotten: [number[], number[]] = [[], []]
    for (const list of forgotten) slabs.readers.add({ forget: (number) => list.push(number) })
    vi.useFakeTimers()
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const all = fullSlabs(slabs, 40)
    const numbers = all.map((slab) => slabs.numberOf(slab))
    for (const slab of all) expect(slabs.emptied(slab)).toBe(true)
    expect(forgotten).toEqual([[], []])
    vi.advanceTimersByTime(2000)
    const [gone] = forgotten
    expect(gone.length).toBeGreaterThan(20)
    expect(forgotten[1]).toEqual(gone)
    expect(gone).not.toContain(numbers.at(-1)) // the slab for the next chunk
    const next = fullSlabs(slabs, 40).filter((slab) => !all.includes(slab))
    expect(next.length).toBeGreaterThan(20)
    for (const slab of next) expect(numbers).not.toContain(slabs.numberOf(slab))
  })
})

// -- Events from a thread -----------------------------------------------------------

interface Run {
  connection: number
  slab: number
  start: number
  bytes: Buffer
}

/** The other end of an outbox, which knows slabs and splits runs. */
class Told {
  readonly posts: MessageFromWorker[] = []
  readonly slabs = new Map<number, Uint8Array>()
  readonly runs: Run[] = []
  /** All events in order, as text. */
  readonly log: string[] = []
  /** Sizes of the memory that was transferred. */
  readonly transferred: number[] = []

  take(message: MessageFromWorker, transfer: ArrayBuffer[]): void {
    this.posts.push(message)
    for (const { byteLength } of transfer) this.transferred.push(byteLength)
    const sockets: SocketOperations = {
      frames: (connection, slab, start, length) => {
        const memory = this.slabs.get(slab) as Uint8Array
        const bytes = Buffer.from(memory.subarray(start, start + length))
        expect(bytes.length).toBe(length)
        this.runs.push({ connection, slab, start, bytes })
        this.log.push(`came ${connection}`)
      },
      flushed: (connection) => this.log.push(`left ${connection}`),
      body: (connection, flags, memory) =>
        this.log.push(`body ${connection}, flags ${flags}: ${memory.byteLength}`),
      polled: () => this.log.push("polled"),
      notice: (notice) => {
        if (notice.type === "event") this.log.push(`${notice.event.type} ${notice.endpoint}`)
        else {
          const { slab, memory } = notice
          if (memory) this.slabs.set(slab, new Uint8Array(memory))
          else this.slabs.delete(slab)
          this.log.push(memory ? `slab ${slab}` : `no slab ${slab}`)
        }
      },
    }
    for (let at = 0; at < message.length; ) at = readFromWorker(message, at, sockets)
  }

  /** Returns all data of a connection. */
  of(connection: number): Buffer {
    return Buffer.concat(
      this.runs.filter((run) => run.connection === connection).map((r) => r.bytes),
    )
  }
}

function outbox(): { told: Told; box: WorkerOutbox } {
  const told = new Told()
  return { told, box: new WorkerOutbox((post, transfer) => told.take(post, transfer)) }
}

describe("the posts of a thread", () => {
  const happened: PostedEvent = { type: "delayed" }

  test("are made once per turn of the event loop, in order", async () => {
    const { told, box } = outbox()
    box.frames(7, bytesOf(10), 1)
    box.event(3, happened)
    box.frames(8, bytesOf(20), 1)
    box.writesFlushed(7)
    expect(told.posts).toEqual([])
    await turn()
    expect(told.posts).toHaveLength(1)
    expect(told.log).toEqual(["slab 1", "came 7", "delayed 3", "came 8", "left 7"])
    expect(told.of(7).equals(bytesOf(10))).toBe(true)
    expect(told.of(8).equals(bytesOf(20))).toBe(true)
  })

  test("have consecutive pieces of one connection as one run", async () => {
    const { told, box } = outbox()
    for (let i = 0; i < 10; i++) box.frames(7, bytesOf(10, i), 1)
    box.frames(8, bytesOf(10, 99), 1)
    box.frames(7, bytesOf(10, 10), 1)
    await turn()
    expect(told.log).toEqual(["slab 1", "came 7", "came 8", "came 7"])
    box.frames(7, bytesOf(10, 11), 1)
    await turn()
    expect(told.log.slice(4)).toEqual(["came 7"])
    const all = Buffer.concat(Array.from({ length: 12 }, (_, i) => bytesOf(10, i)))
    expect(told.of(7).equals(all)).toBe(true)
  })

  test("have many frames of one connection as several runs, between which the time is looked at", async () => {
    const { told, box } = outbox()
    for (let i = 0; i < 4; i++) box.frames(7, bytesOf(2, i), FRAMES_MAX / 2)
    await turn()
    expect(told.log).toEqual(["slab 1", "came 7", "came 7"])
    expect(told.of(7).length).toBe(8)
  })

  test("have a piece larger than a slab as several runs", async () => {
    const { told, box } = outbox()
    const large = bytesOf(2 * SLAB_BYTES + 100)
    box.frames(7, bytesOf(10), 1)
    box.frames(7, large, 1)
    await turn()
    expect(told.of(7).equals(Buffer.concat([bytesOf(10), large]))).toBe(true)
  })

  test("are in memory that is reused after reading, and dropped if there is too much", async () => {
    const { told, box } = outbox()
    const freeAll = () => {
      for (const { slab } of told.runs.splice(0)) box.free(slab, 1)
    }
    for (let i = 0; i < 60; i++) {
      box.frames(7, bytesOf(100 * KIB), 1)
      await turn()
      freeAll()
    }
    expect(told.slabs.size).toBeLessThanOrEqual(3)
    for (let i = 0; i < 60; i++) box.frames(7, bytesOf(200 * KIB), 1)
    await turn()
    expect(told.slabs.size).toBeGreaterThanOrEqual(60)
    freeAll()
    await eventually(() => told.slabs.size < 20)
    box.frames(7, bytesOf(10), 1)
    await turn()
    expect(told.runs.at(-1)?.bytes.equals(bytesOf(10))).toBe(true)
  })

  test.each([
    { where: "before them", first: [], connection: 3, endpoint: 1 },
    { where: "between them", first: [1], connection: 1, endpoint: 2 },
  ])(
    "keep frames separate from an event that arrives $where, whatever their numbers are",
    ({ first, connection, endpoint }) => {
      const { told, box } = outbox()
      box.frames(connection, bytesOf(10, 1), 1) // from here on, the slab is known
      box.post()
      for (const number of first) box.frames(number, bytesOf(10, 2), 1)
      box.event(endpoint, happened)
      box.frames(connection, bytesOf(10, 3), 1)
      box.event(endpoint, happened)
      box.post()
      const all = [1, ...(first.length > 0 ? [2] : []), 3].map((fill) => bytesOf(10, fill))
      expect(told.of(connection).equals(Buffer.concat(all))).toBe(true)
    },
  )

  test("have all data of each connection, and every event, in any order", async () => {
    const number = fc.integer({ min: 1, max: 3 })
    const operation = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ came: number, bytes: fc.oneof(fc.nat(30), fc.nat(100_000)) }),
      },
      { weight: 2, arbitrary: fc.record({ event: number }) },
      { weight: 2, arbitrary: fc.record({ left: number }) },
      { weight: 2, arbitrary: fc.constant({ turn: true }) },
      { weight: 1, arbitrary: fc.constant({ free: true }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 40 }), async (operations) => {
        const { told, box } = outbox()
        const came = new Map<number, Buffer[]>()
        const order: string[] = []
        let freed = 0
        for (const [i, one] of operations.entries()) {
          if ("came" in one) {
            const bytes = bytesOf(one.bytes, i)
            box.frames(one.came, bytes, 1)
            came.set(one.came, [...(came.get(one.came) ?? []), bytes])
            if (bytes.length > 0 && order.at(-1) !== `came ${one.came}`)
              order.push(`came ${one.came}`)
          } else if ("event" in one) {
            box.event(one.event, happened)
            order.push(`delayed ${one.event}`)
          } else if ("left" in one) {
            box.writesFlushed(one.left)
            order.push(`left ${one.left}`)
          } else if ("turn" in one) await turn()
          else for (; freed < told.runs.length; freed++) box.free((told.runs[freed] as Run).slab, 1)
        }
        box.post()
        for (const [connection, pieces] of came)
          expect(told.of(connection).equals(Buffer.concat(pieces))).toBe(true)
        const seen = told.log
          .filter((what) => /^(came|delayed|left)/.test(what))
          .filter((what, i, all) => !what.startsWith("came") || what !== all[i - 1])
        expect(seen).toEqual(order)
      }),
    )
  })
})

// -- The connection on its thread -------------------------------------------------

/** A network connection that accepts writes, or is blocked. */
class FakeConnection {
  blocked = false
  waitToSend(): void {}
  /** The number of writes after which it is blocked. */
  room = Number.POSITIVE_INFINITY
  readonly log: string[] = []
  waiting = { messages: 1, bytes: 100 }
  readonly counts = {
    sent: { messages: 1, plainBytes: 2, wireBytes: 3, dictionary: true },
    received: { messages: 4, plainBytes: 5, wireBytes: 6, dictionary: false },
  }

  write(chunk: Chunk): void {
    this.#took(text(chunk.bytes))
  }
  sendCommand(name: string, data: Uint8Array): void {
    this.#took(`${name} ${text(data)}`)
  }
  #took(what: string): void {
    expect(this.blocked).toBe(false)
    this.log.push(what)
    this.blocked = --this.room <= 0
  }
  resume(): void {
    this.log.push("resume")
  }
  end(): void {
    this.log.push("end")
  }
  destroy(): void {
    this.log.push("destroy")
  }
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")
const writeOf = (what: string): Write => ({ bytes: Buffer.from(what), number: NOT_SHARED })
/** A write whose chunk refers to its memory. */
const LARGE = "large"

function hosted(credit = 0) {
  const { told, box } = outbox()
  const network = new FakeConnection()
  const threw: unknown[] = []
  const endpoint = {
    encode: ({ bytes }: Write) => {
      if (text(bytes) === "fails") throw new Error("no memory")
      return { bytes, references: text(bytes) === LARGE ? [bytes] : [] }
    },
    threw: (error: unknown) => threw.push(error),
  }
  const one = new HostedConnection(
    7,
    network as unknown as Connection,
    endpoint as unknown as HostedEndpoint,
    box,
    credit,
  )
  return { one, network, told, box, threw }
}

describe("a connection on its thread", () => {
  test("a connection that cannot encode a message ends, with the error", () => {
    const { one, network, threw } = hosted()
    one.write(writeOf("1"))
    one.write(writeOf("fails"))
    expect(network.log).toEqual(["1", "destroy"])
    expect(threw).toEqual([new Error("no memory")])
    expect(one.state.flushed).toBe(1)
  })

  test("writes as much as the network accepts, and the rest in order when there is room again", () => {
    const { one, network } = hosted()
    network.room = 2
    const subscribe: Command = { name: "SUBSCRIBE", data: Buffer.from("topic") }
    for (const write of [writeOf("1"), writeOf("2"), writeOf("3"), subscribe, writeOf("4")])
      one.write(write)
    expect(network.log).toEqual(["1", "2"])
    expect(one.state.flushed).toBe(2)
    network.blocked = false
    network.room = 2
    one.drained()
    expect(network.log).toEqual(["1", "2", "3", "SUBSCRIBE topic"])
    network.blocked = false
    one.drained()
    expect(network.log.at(-1)).toBe("4")
    expect(one.state.flushed).toBe(5)
  })

  test("ends when all data has been written", () => {
    const { one, network } = hosted()
    network.blocked = true
    one.write(writeOf("1"))
    one.write(writeOf("2"))
    one.carryOut({ type: "end", connection: 7 })
    // The peer may read the queued data only after its own data has been read.
    expect(network.log).toEqual(["resume"])
    network.blocked = false
    network.room = 1
    one.drained()
    expect(network.log).toEqual(["resume", "1"])
    network.blocked = false
    one.drained()
    expect(network.log).toEqual(["resume", "1", "2", "end"])
  })

  test("writes nothing more, and counts nothing as flushed, once the network is blocked for good", () => {
    const { one, network, told, box } = hosted()
    one.write(writeOf("1"))
    network.blocked = true // the peer has closed its side
    for (const what of ["2", "3"]) one.write(writeOf(what))
    expect(one.isFree).toBe(false)
    one.state.want(2)
    one.carryOut({ type: "end", connection: 7 })
    box.post()
    expect(network.log).toEqual(["1", "resume"])
    expect(one.state.flushed).toBe(1)
    expect(told.log).toEqual([])
  })

  test("writes nothing ahead of queued data, even if the network has room again", () => {
    const { one, network } = hosted()
    network.blocked = true
    one.write(writeOf("1"))
    network.blocked = false
    expect(one.isFree).toBe(false)
    one.write(writeOf("2"))
    one.drained()
    expect(network.log).toEqual(["1", "2"])
  })

  test("ends at once if nothing is queued", () => {
    const { one, network } = hosted()
    one.write(writeOf("1"))
    one.carryOut({ type: "end", connection: 7 })
    expect(network.log).toEqual(["1", "resume", "end"])
  })

  test("accepts all remaining data while it ends, so that no frame is cut", () => {
    const { one, network, told, box } = hosted(3)
    expect(one.frames(bytesOf(10), 2, 2)).toBe(true)
    network.blocked = true
    one.write(writeOf("1"))
    one.carryOut({ type: "end", connection: 7 })
    expect(one.room).toBe(Number.POSITIVE_INFINITY)
    for (let i = 0; i < 10; i++) expect(one.frames(bytesOf(10), 1, 1)).toBe(true)
    box.post()
    expect(told.of(7).length).toBe(10)
  })

  test("reports once that the awaited amount has been flushed", () => {
    const { one, network, told, box } = hosted()
    one.state.want(2)
    one.write(writeOf("1"))
    network.room = 1
    box.post()
    expect(told.log).toEqual([])
    for (const what of ["2", "3"]) one.write(writeOf(what))
    box.post()
    expect(told.log).toEqual(["left 7"])
    network.blocked = false
    one.drained()
    box.post()
    expect(told.log).toEqual(["left 7"])
  })

  test("counts its traffic, visible to the other thread at any time", () => {
    const { one, network } = hosted()
    const other = new SharedState(structuredClone(one.state.fields))
    expect(other.counts.sent).toEqual({
      messages: 0,
      plainBytes: 0,
      wireBytes: 0,
      dictionary: false,
    })
    one.write(writeOf("1"))
    expect(other.counts).toEqual(network.counts)
    network.counts.received.messages = 2 ** 40
    one.frames(bytesOf(10), 1, 1)
    expect(other.counts).toEqual(network.counts)
  })

  test("shares the bytes that a blocked network has not accepted, until it has room again", () => {
    const { one, network } = hosted()
    const other = new SharedState(structuredClone(one.state.fields))
    one.write(writeOf("1"))
    // It may have accepted some, but does not report it.
    expect(other.waiting).toEqual({ messages: 0, bytes: 0 })
    network.room = 1
    one.write(writeOf("2"))
    expect(other.waiting).toEqual(network.waiting)
    network.blocked = false
    one.drained()
    expect(other.waiting).toEqual({ messages: 0, bytes: 0 })
  })

  test("counts a write before passing it to the network, so that it is not repeated if the thread ends there", () => {
    const { one, network } = hosted()
    let left = 0
    network.write = () => {
      left = one.state.flushed
    }
    one.write(writeOf("1"))
    expect(left).toBe(1)
  })

  test("keeps the memory of a large write, and of those after it, until the network has taken it", () => {
    const { one, network } = hosted()
    const state = new SharedState(structuredClone(one.state.fields))
    const during: number[] = []
    network.write = () => during.push(state.freed)
    network.waiting.bytes = 0
    one.write(writeOf("1"))
    one.write(writeOf(LARGE))
    expect([...during, state.freed]).toEqual([1, 1, 2])
    network.waiting.bytes = 5
    one.write(writeOf(LARGE))
    one.write(writeOf(LARGE))
    one.write(writeOf("2"))
    expect(state.flushed).toBe(5)
    expect(state.freed).toBe(2)
    network.waiting.bytes = 0
    one.drained()
    expect(state.freed).toBe(5)
  })

  test("passes on a large body with its memory, and counts it", () => {
    const { one, told, box } = hosted(2)
    expect(one.frames(message(bytesOf(3)), 1, 1)).toBe(true)
    expect(one.body(MORE, bytesOf(70_000))).toBe(true)
    expect(one.body(0, bytesOf(80_000))).toBe(false)
    one.frames(message(bytesOf(4)), 1, 1)
    box.post()
    const order = ["came 7", "body 7, flags 1: 70000", "body 7, flags 0: 80000", "came 7"]
    expect(told.log.filter((what) => !what.startsWith("slab"))).toEqual(order)
    expect(told.transferred).toEqual([70_000, 80_000])
  })

  test("counts the bytes of large bodies in transit", () => {
    const { one } = hosted()
    let bytes = 0
    do bytes += 500 * KIB
    while (one.body(0, bytesOf(500 * KIB)))
    expect(bytes).toBeLessThan(RECEIVE_WINDOW_BYTES + 500 * KIB)
  })

  test("delivers as many messages as were granted, and continues with the next grant", () => {
    const { one, network } = hosted(10)
    expect(one.room).toBe(10)
    expect(one.frames(bytesOf(100), 4, 4)).toBe(true)
    expect(one.room).toBe(6)
    expect(one.frames(bytesOf(100), 6, 6)).toBe(false)
    one.grant(10, RECEIVE_WINDOW_BYTES)
    expect(network.log).toEqual([])
    one.grant(12, RECEIVE_WINDOW_BYTES)
    expect(network.log).toEqual(["resume"])
    expect(one.room).toBe(2)
    one.grant(0, RECEIVE_WINDOW_BYTES)
    expect(one.room).toBe(Number.POSITIVE_INFINITY)
  })

  test("limits the bytes in transit, in however few messages", () => {
    const { one, network, told, box } = hosted(0)
    const piece = bytesOf(200 * KIB)
    let bytes = 0
    do bytes += piece.length
    while (one.frames(piece, 0, 0))
    expect(bytes).toBeGreaterThanOrEqual(RECEIVE_WINDOW_BYTES)
    expect(bytes).toBeLessThan(RECEIVE_WINDOW_BYTES + piece.length + 1)
    one.grant(0, bytes)
    expect(network.log).toEqual([])
    one.grant(0, bytes + 1)
    expect(network.log).toEqual(["resume"])
    box.post()
    expect(told.of(7).length).toBe(bytes)
  })

  test("limits the frames in transit, in however few bytes", () => {
    const { one } = hosted(0)
    let frames = 0
    do frames += 1000
    while (one.frames(bytesOf(2), 0, 1000))
    expect(frames * FRAME_WINDOW_BYTES).toBeGreaterThan(RECEIVE_WINDOW_BYTES / 2)
    expect(frames * FRAME_WINDOW_BYTES).toBeLessThan(
      RECEIVE_WINDOW_BYTES + 1000 * FRAME_WINDOW_BYTES,
    )
  })

  test("passes on commands between frames of messages, without counting them as messages", () => {
    const { one, told, box } = hosted(1)
    one.command("SUBSCRIBE", Buffer.from("topic"))
    one.frames(message(bytesOf(3)), 1, 1)
    box.post()
    const command = frame(Buffer.from("\x09SUBSCRIBEtopic"), COMMAND)
    expect(told.of(7).equals(concat(command, message(bytesOf(3))))).toBe(true)
    expect(one.room).toBe(0)
  })
})

// -- The connection on the sockets' thread ----------------------------------

/** A thread that records its commands. */
class FakeThread {
  readonly requests: ConnectionRequest[] = []
  readonly grants: [messages: number, bytes: number][] = []
  readonly holders: number[] = []
  readonly #resumed = new Set<RemoteReader>()
  addConnection(): void {}
  readSoon(reader: RemoteReader): void {
    this.#resumed.add(reader)
  }
  /** Reads what was kept for want of room. */
  readKept(): void {
    for (const reader of [...this.#resumed]) {
      this.#resumed.delete(reader)
      reader.readKept()
    }
  }
  removeConnection(): void {}
  write(): void {}
  holds({ number }: RemoteConnection): void {
    this.holders.push(number)
  }
  post(request: ConnectionRequest): void {
    this.requests.push(request)
  }
  grant(_connection: number, messages: number, bytes: number): void {
    this.grants.push([messages, bytes])
  }
}

class FakeSink implements MessageSink {
  readonly waitsToSend = false
  readonly isBehind = false
  readonly log: string[] = []
  wanted = Number.POSITIVE_INFINITY
  /** Called for each message. */
  took: ((message: string) => void) | undefined
  message(parts: Buffer[]): boolean {
    const message = parts.map(text).join("|")
    this.log.push(message)
    this.took?.(message)
    return --this.wanted > 0
  }
  command(name: string, data: Buffer): boolean {
    this.log.push(`${name} ${text(data)}`)
    return true
  }
  drained(): void {
    this.log.push("drained")
  }
}

function remote(credit = 10) {
  const thread = new FakeThread()
  const shared = new SharedState()
  const one = new RemoteConnection(thread as unknown as Thread, credit, {
    connection: 7,
    state: shared.fields,
    remoteAddress: "127.0.0.1",
    remotePort: 5555,
  })
  const sink = new FakeSink()
  one.sink = sink
  /** Reports the total number of flushed writes. */
  const state = (left: number) => {
    while (shared.flushed < left) if (shared.countFlushed()) one.writesFlushed()
  }
  return { one, thread, sink, shared, state }
}

const named = (...names: string[]): Uint8Array =>
  concat(...names.map((name) => message(...name.split("|").map((part) => Buffer.from(part)))))

describe("a connection on the sockets' thread", () => {
  const encoded = (bytes: number): Chunk => framer.encode(NO_FRAMES, [bytesOf(bytes)])

  test("is blocked while a megabyte is not flushed, and reports when a quarter of that is", () => {
    const { one, sink, state } = remote()
    let written = 0
    for (; !one.blocked; written++) one.write(encoded(100 * KIB))
    expect(written).toBe(11) // 1 MiB
    state(2)
    expect(sink.log).toEqual([])
    state(3)
    expect(sink.log).toEqual(["drained"])
    expect(one.blocked).toBe(false)
    state(11)
    expect(sink.log).toEqual(["drained"])
  })

  test("reports room even if `blocked` was never read, and not before there is room", () => {
    const { one, sink, state } = remote()
    for (const bytes of [10, 20, 2 * 1024 * KIB, 30]) one.write(encoded(bytes))
    state(2) // the large one still fills the window
    expect(sink.log).toEqual([])
    state(3)
    expect(sink.log).toEqual(["drained"])
  })

  test("a connection with conflate is blocked until the written message is flushed", () => {
    const { one, sink, state } = remote()
    one.setMarks(10, true)
    expect(one.blocked).toBe(false)
    one.write(encoded(10))
    expect(one.blocked).toBe(true)
    state(1)
    expect(one.blocked).toBe(false)
    expect(sink.log).toEqual(["drained"])
  })

  test("releases memory on request, once all is flushed", () => {
    const { one, thread, state } = remote()
    const chunks = [encoded(10), encoded(20)]
    for (const chunk of chunks) one.write(chunk)
    expect(thread.holders).toEqual([7])
    state(1)
    expect(one.release()).toBe(false)
    expect(chunks.map(({ slab }) => slab !== undefined)).toEqual([false, true])
    state(2)
    expect(one.release()).toBe(true)
    expect(chunks.map(({ slab }) => slab !== undefined)).toEqual([false, false])
    one.write(encoded(30))
    expect(thread.holders).toEqual([7, 7])
  })

  test("keeps the memory of flushed writes as long as it is in use", () => {
    const { one, shared, state } = remote()
    const chunks = [1, 2, 3, 4].map((n) => encoded(n))
    const kept = () => chunks.map(({ slab }) => slab !== undefined)
    for (const chunk of chunks) one.write(chunk)
    state(1)
    shared.keepMemory()
    state(3)
    expect(one.release()).toBe(false)
    expect(kept()).toEqual([false, true, true, true])
    expect(one.awaitPendingWrites()).toBe(true)
    state(4)
    expect(one.awaitPendingWrites()).toBe(false)
    expect(kept()).toEqual([false, true, true, true])
    shared.freeMemory()
    expect(one.release()).toBe(true)
    expect(kept()).toEqual([false, false, false, false])
  })

  test("reports room although the memory of earlier writes is in use", () => {
    const { one, sink, shared, state } = remote()
    shared.keepMemory()
    for (let i = 1; i < 5; i++) {
      one.write(encoded(1 << 20))
      expect(one.blocked).toBe(true)
      state(i)
      expect(one.blocked).toBe(false)
      expect(sink.log).toHaveLength(i)
    }
  })

  test("releases memory that was in use when the connection ended, and does not send it again", () => {
    const { one, shared, state } = remote()
    const chunk = encoded(10)
    one.write(chunk)
    shared.keepMemory()
    state(1)
    one.closing(false, () => {})
    expect(chunk.slab).not.toBe(undefined)
    expect(one.takePendingWrites()).toEqual([])
    expect(chunk.slab).toBe(undefined)
  })

  test("ends with an error if the memory of a part has gone", () => {
    const { one, thread } = remote()
    const part = Buffer.alloc(70_000)
    const chunk = framer.frame([part])
    structuredClone(part.buffer, { transfer: [part.buffer] })
    one.write(chunk)
    expect(thread.requests).toMatchObject([
      { type: "reject", error: { properties: { code: "ERR_LZ4_PART_DETACHED" } } },
    ])
    expect(one.takePendingWrites()).toEqual([])
  })

  test("returns the unflushed data when it ends, in order", () => {
    const { one, state } = remote()
    const chunks = [1, 2, 3].map((n) => framer.encode(NO_FRAMES, [Buffer.from(`${n}`)]))
    one.write(chunks[0] as Chunk)
    one.sendCommand("SUBSCRIBE", Buffer.from("topic"))
    one.write(chunks[1] as Chunk)
    one.write(chunks[2] as Chunk)
    state(1)
    one.closing(false, () => {})
    const shown = (item: PendingWrite) => ("name" in item ? item.name : text(item.bytes))
    expect(one.takePendingWrites().map(shown)).toEqual(["SUBSCRIBE", "\0\x012", "\0\x013"])
    expect(one.takePendingWrites()).toEqual([])
  })

  test("grants as many messages as the high-water mark, and more in steps of half the mark", () => {
    const { one, thread } = remote(10)
    one.setMarks(10, false)
    expect(thread.grants).toEqual([])
    for (let i = 0; i < 4; i++) one.messageConsumed()
    expect(thread.grants).toEqual([])
    one.messageConsumed()
    expect(thread.grants.map(([messages]) => messages)).toEqual([15])
    for (let i = 0; i < 10; i++) one.messageConsumed()
    expect(thread.grants.map(([messages]) => messages)).toEqual([15, 20, 25])
    one.setMarks(0, false)
    expect(thread.grants.at(-1)?.[0]).toBe(0)
  })

  test("grants more bytes after reading earlier ones", () => {
    const { one, thread } = remote(0)
    const piece = concat(message(bytesOf(700 * KIB)))
    one.receivedFrames(piece)
    one.receivedFrames(piece)
    expect(thread.grants).toEqual([])
    one.receivedFrames(piece)
    const read = 3 * (piece.length + FRAME_WINDOW_BYTES)
    expect(thread.grants).toEqual([[0, read + RECEIVE_WINDOW_BYTES]])
  })

  test("grants more after reading many frames of few bytes", () => {
    const { one, thread } = remote(0)
    const piece = concat(...Array.from({ length: 1000 }, () => message(new Uint8Array())))
    for (let i = 0; i < 32; i++) one.receivedFrames(piece)
    const granted = thread.grants.at(-1)?.[1] ?? 0
    const read = 32_000 * (2 + FRAME_WINDOW_BYTES)
    expect(granted).toBeGreaterThan(read + RECEIVE_WINDOW_BYTES / 2)
  })

  test("keeps a copy of data that the sink does not want yet, and continues with it", () => {
    const { one, thread, sink } = remote()
    sink.wanted = 2
    const pieces = [named("1", "2|", "3", "4"), named("5")]
    for (const piece of pieces) {
      one.receivedFrames(piece)
      piece.fill(0xee)
    }
    expect(sink.log).toEqual(["1", "2|"])
    sink.wanted = 1
    one.resume()
    thread.readKept()
    expect(sink.log).toEqual(["1", "2|", "3"])
    sink.wanted = 10
    one.resume()
    one.receivedFrames(named("6"))
    thread.readKept()
    expect(sink.log).toEqual(["1", "2|", "3", "4", "5", "6"])
  })

  test("reads large bodies between pieces, and keeps those that the sink does not want yet", () => {
    const { one, thread, sink } = remote(0)
    sink.wanted = 1
    one.receivedFrames(named("1"))
    one.receivedFrames(frame(Buffer.from("2"), MORE))
    one.receivedBody(MORE, Buffer.from("large"))
    one.receivedBody(0, Buffer.from("larger"))
    one.receivedBody(0, Buffer.from("3"))
    one.receivedFrames(named("4"))
    expect(sink.log).toEqual(["1"])
    sink.wanted = 2
    one.resume()
    thread.readKept()
    expect(sink.log).toEqual(["1", "2|large|larger", "3"])
    sink.wanted = 10
    one.resume()
    thread.readKept()
    one.receivedBody(0, bytesOf(RECEIVE_WINDOW_BYTES))
    expect(sink.log.slice(3, 4)).toEqual(["4"])
    expect(sink.log).toHaveLength(5)
    const bytes = 2 * 3 + 3 + 5 + 6 + 1 + RECEIVE_WINDOW_BYTES + 7 * FRAME_WINDOW_BYTES
    expect(thread.grants).toEqual([[0, bytes + RECEIVE_WINDOW_BYTES]])
  })

  test("reads messages and commands from pieces that end anywhere", () => {
    const command = frame(Buffer.from("\x09SUBSCRIBEtopic"), COMMAND)
    const all = concat(named("1|2"), command, named("|", "3"))
    for (let at = 0; at <= all.length; at++) {
      const { one, sink } = remote()
      one.receivedFrames(all.subarray(0, at))
      one.receivedFrames(all.subarray(at))
      expect(sink.log).toEqual(["1|2", "SUBSCRIBE topic", "|", "3"])
    }
  })

  test("delivers all received data when it ends, however much is queued already", () => {
    const { one, sink } = remote()
    sink.wanted = 1
    one.receivedFrames(named("1", "2", "3"))
    one.receivedFrames(named("4"))
    one.closing(false, () => {})
    expect(sink.log).toEqual(["1", "2", "3", "4"])
  })

  test("a connection that has ended is over once there was room for all that it has received", () => {
    const { one, thread, sink } = remote()
    sink.wanted = 1
    one.receivedFrames(named("1", "2", "3"))
    let isOver = false
    one.closing(true, () => {
      isOver = true
    })
    expect(one.blocked).toBe(true)
    for (const wanted of [1, 2]) {
      expect(isOver).toBe(false)
      sink.wanted = wanted
      one.resume()
      thread.readKept()
    }
    expect(isOver).toBe(true)
    expect(sink.log).toEqual(["1", "2", "3"])
  })

  test("a connection that has ended is over soon if this side wants nothing of what it has received", () => {
    const { one, thread, sink } = remote()
    sink.wanted = 1
    one.receivedFrames(named("1", "2"))
    let isOver = false
    one.closing(true, () => {
      isOver = true
    })
    one.destroy()
    expect(isOver).toBe(false)
    thread.readKept()
    expect(isOver).toBe(true)
    expect(sink.log).toEqual(["1"])
  })

  test("continues after another one that made room for it has been read, not during that", () => {
    const a = remote()
    const b = remote()
    const log: string[] = []
    b.sink.wanted = 1
    b.one.receivedFrames(named("b1", "b2", "b3"))
    a.sink.took = (message) => {
      b.sink.wanted = 10
      if (message === "a1") b.one.resume()
      log.push(message)
    }
    b.sink.took = (message) => log.push(message)
    a.one.receivedFrames(named("a1", "a2"))
    expect(log).toEqual(["a1", "a2"])
    b.thread.readKept()
    expect(log).toEqual(["a1", "a2", "b2", "b3"])
  })

  test("a connection that is resumed while it is being read repeats nothing and loses nothing", () => {
    const { one, thread, sink } = remote()
    sink.wanted = 1
    one.receivedFrames(named("1", "2", "3"))
    one.receivedFrames(named("4", "5"))
    sink.wanted = 10
    sink.took = () => one.resume()
    one.resume()
    one.receivedFrames(named("6"))
    thread.readKept()
    expect(sink.log).toEqual(["1", "2", "3", "4", "5", "6"])
  })

  test("reads some frames of those that few bytes can be, and the others soon", () => {
    const { one, thread, sink } = remote(0)
    const count = 3 * FRAMES_MAX
    one.receivedFrames(concat(...Array.from({ length: count }, () => message(new Uint8Array()))))
    for (let read = FRAMES_MAX; read <= count; read += FRAMES_MAX) {
      expect(sink.log).toHaveLength(read)
      thread.readKept()
    }
  })

  test("a connection that its sink stops after a resume stays stopped", () => {
    const { one, sink } = remote()
    sink.took = (message) => {
      if (message === "1") one.resume()
      if (message === "2") sink.wanted = 1
    }
    one.receivedFrames(named("1", "2", "3"))
    expect(sink.log).toEqual(["1", "2"])
  })

  test("ends if its sink throws, and others continue", async () => {
    const a = remote()
    const b = remote()
    const thrown: unknown[] = []
    const listeners = process.listeners("uncaughtException")
    process.removeAllListeners("uncaughtException")
    process.on("uncaughtException", (error) => thrown.push(error))
    onTestFinished(() => {
      process.removeAllListeners("uncaughtException")
      for (const listener of listeners) process.on("uncaughtException", listener)
    })
    b.sink.wanted = 1
    b.one.receivedFrames(named("b1", "b2"))
    a.sink.took = () => {
      b.one.resume()
      throw new Error("no room")
    }
    a.one.receivedFrames(named("a1", "a2"))
    expect(a.thread.requests).toEqual([{ type: "destroy", connection: 7 }])
    b.thread.readKept()
    expect(b.sink.log).toEqual(["b1", "b2"])
    await turn()
    expect(thrown).toEqual([new Error("no room")])
  })

  test("delivers nothing after this side has ended it", () => {
    const { one, thread, sink } = remote()
    one.end()
    one.receivedFrames(named("1"))
    expect(sink.log).toEqual([])
    expect(thread.requests).toEqual([{ type: "end", connection: 7 }])
  })
})

test("a batch of small messages and its frames are the same", () => {
  const batch = new Batch(framer.plainBelow())
  const messages = [[bytesOf(3)], [bytesOf(0), bytesOf(20)]]
  for (const one of messages) batch.append(one, plainLength(one))
  const chunk = framer.encode(batch.seal())
  expect(Buffer.from(chunk.bytes).equals(framesOf(...messages))).toBe(true)
  expect(chunk.messages).toBe(2)
  chunk.release()
  batch.release()
})

describe("memory for messages that a thread may send early", () => {
  const connection = (thread: object, number: number) =>
    new RemoteConnection(thread as ConnectionThread, 10, {
      connection: number,
      state: new SharedState().fields,
      remoteAddress: "127.0.0.1",
      remotePort: 5555,
    })

  test("is for connections of one thread only", () => {
    const opened: (readonly number[])[] = []
    const openBatch = (numbers: readonly number[]) => {
      opened.push(numbers)
    }
    const thread = Object.assign(new FakeThread(), { openBatch })
    const [a, b] = [connection(thread, 1), connection(thread, 2)]
    const elsewhere = connection(Object.assign(new FakeThread(), { openBatch }), 3)
    const conflating = connection(thread, 4)
    conflating.setMarks(1, true)
    framer.openMemory([a, b])
    framer.openMemory([a, elsewhere])
    framer.openMemory([a, {}])
    framer.openMemory([conflating, a])
    framer.openMemory([a, conflating])
    expect(opened).toEqual([[1, 2]])
  })
})
