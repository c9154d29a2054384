/** The limit of received parts in all queues of a socket. */
import { expect, test } from "vitest"
import { CONNECTION_PARTS_MAX, SOCKET_PARTS_MAX } from "../../../src/codec/limits.js"
import { Pipe } from "../../../src/patterns/pipe.js"
import { Pull } from "../../../src/patterns/pull.js"
import { Bench, FakeConnection, noMarks, PlainSender } from "../../support/pipes.js"

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

test("new connections wait until there is room, in the order in which they came", () => {
  const socket = new Socket()
  socket.fill()
  const waiting = [socket.connect(), socket.connect()] as const
  const counts = () => waiting.map(({ connection }) => [connection.stops, connection.resumes])
  expect(counts()).toEqual([
    [1, 0],
    [1, 0],
  ])
  waiting[0].connection.resume = () => {
    waiting[0].connection.resumes++
    // Its message takes the room.
    waiting[0].pipe.message(full())
  }
  socket.receive()
  expect(counts()).toEqual([
    [1, 1],
    [1, 0],
  ])
  socket.receive()
  expect(counts()).toEqual([
    [1, 1],
    [1, 1],
  ])
})

test("a connection that ends no longer waits, and what is dropped makes room", () => {
  const socket = new Socket()
  const [first] = socket.fill()
  const [gone, waiting] = [socket.connect(), socket.connect()]
  gone.pipe.close()
  first?.pipe.finish(() => {}, false)
  expect([gone.connection.resumes, waiting.connection.resumes]).toEqual([0, 1])
})

test("a socket without a high-water mark has no limit of parts", () => {
  const socket = new Socket(0)
  socket.fill()
  const { pipe, connection } = socket.connect()
  expect(pipe.message(one())).toBe(true)
  expect(connection.stops).toBe(0)
})
