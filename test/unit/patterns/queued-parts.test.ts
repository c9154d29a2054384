/** The limit of received parts in all queues of a socket. */
import { describe, expect, test } from "vitest"
import { CONNECTION_PARTS_MAX, SOCKET_PARTS_MAX } from "../../../src/base/limits.js"
import { PackedMessage } from "../../../src/patterns/packed-message.js"
import { Pipe } from "../../../src/patterns/pipe.js"
import { Pull } from "../../../src/patterns/pull.js"
import { XPub } from "../../../src/patterns/xpub.js"
import { Bench, burst, FakeConnection, noMarks, PlainSender } from "../../support/pipes.js"

const QUEUES = SOCKET_PARTS_MAX / CONNECTION_PARTS_MAX
const full = (): Buffer[] => Array(CONNECTION_PARTS_MAX).fill(Buffer.alloc(0))
const one = (): Buffer[] => [Buffer.from("one")]

/** A socket and its pipes, each of which has a connection. */
class Socket {
  readonly #bench = new Bench(Pull)
  readonly #highWaterMark: number

  constructor(highWaterMark = 1000) {
    this.#highWaterMark = highWaterMark
  }

  connect() {
    const options = { ...noMarks, receiveHighWaterMark: this.#highWaterMark }
    const pipe = new Pipe(this.#bench.type, new PlainSender(), options)
    const connection = new FakeConnection()
    pipe.attach(connection)
    this.#bench.type.attach(pipe)
    return { pipe, connection }
  }

  /** Fills as many queues as the socket may have full. */
  fill() {
    const pipes = Array.from({ length: QUEUES }, () => this.connect())
    for (const { pipe } of pipes) pipe.message(full())
    return pipes
  }

  /** Number of parts in the next message. */
  receive(): number {
    return this.#bench.type.receive().length
  }
}

test("once the queues of a socket are full, each connection stops after one message more", () => {
  const socket = new Socket()
  const { pipe, connection } = socket.connect()
  expect(pipe.message(one())).toBe(true)
  socket.fill()
  expect(pipe.message(one())).toBe(false)
  expect([socket.receive(), connection.resumes]).toEqual([1, 0])
  expect([socket.receive(), connection.resumes]).toEqual([CONNECTION_PARTS_MAX, 0])
  // The queue that the message waits in is read again after all others.
  for (let i = 1; i < QUEUES; i++) socket.receive()
  expect([socket.receive(), connection.resumes]).toEqual([1, 1])
})

test("a connection whose queue is empty again goes on, however full the others are", () => {
  const socket = new Socket()
  const { pipe, connection } = socket.connect()
  socket.fill()
  expect(pipe.message(one())).toBe(false)
  expect([socket.receive(), connection.resumes]).toEqual([1, 1])
})

test("a new connection is read as far as its first message, however full the socket is", () => {
  const socket = new Socket()
  socket.fill()
  const { pipe, connection } = socket.connect()
  expect(connection.stops).toBe(0)
  expect(pipe.message(one())).toBe(false)
})

test("a message beyond the limit of a socket waits in its frames, and is received as it was", () => {
  const socket = new Socket()
  socket.fill()
  const [taken, read] = [socket.connect().pipe, socket.connect().pipe]
  const sent = ["", "a", "b".repeat(300), "", "c".repeat(70_000)].map((text) => Buffer.from(text))
  for (const pipe of [taken, read]) pipe.message(sent.map((part) => Buffer.from(part)))
  expect(taken.takeAll()).toEqual([new PackedMessage(sent)])
  expect(read.read()).toEqual(sent)
})

test("what is dropped makes room", () => {
  const socket = new Socket()
  const [first] = socket.fill()
  const { pipe } = socket.connect()
  first?.pipe.finish(() => {}, false)
  expect(pipe.message(one())).toBe(true)
})

describe("an XPUB whose program does not receive", () => {
  const MARKS = { receiveHighWaterMark: 1000 }

  test("reads the subscriptions of new peers, however full it is", async () => {
    const bench = new Bench(XPub)
    for (let i = 0; i < QUEUES; i++) bench.peer(MARKS).pipe.message(full())
    const late = bench.peer(MARKS)
    late.pipe.command("SUBSCRIBE", Buffer.from("topic"))
    bench.send("topic")
    await burst()
    expect(late.connection.take()).toEqual(["topic"])
  })

  test("counts the messages of peers that have gone, until they are received", () => {
    const bench = new Bench(XPub)
    const isFull = () => bench.type.queued.isFull
    for (let i = 0; i < QUEUES; i++) {
      const { pipe } = bench.peer(MARKS)
      pipe.message(full())
      pipe.close()
    }
    expect(isFull()).toBe(true)
    const { pipe } = bench.peer(MARKS)
    const wantsMore = pipe.message([Buffer.from("a"), Buffer.from("b")])
    pipe.close()
    expect(wantsMore).toBe(false)
    for (let i = 0; i < QUEUES; i++) expect(bench.type.receive()).toHaveLength(CONNECTION_PARTS_MAX)
    expect([isFull(), bench.receive()]).toEqual([false, "a|b"])
  })
})

test("a socket without a high-water mark has no limit of parts", () => {
  const socket = new Socket(0)
  socket.fill()
  const { pipe, connection } = socket.connect()
  expect(pipe.message(one())).toBe(true)
  expect(connection.stops).toBe(0)
})
