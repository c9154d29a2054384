/** The limit in bytes of a pipe's receive queue. */
import { expect, test } from "vitest"

import { Pipe } from "../../../src/patterns/pipe.js"
import { Pull } from "../../../src/patterns/pull.js"
import { XPub } from "../../../src/patterns/xpub.js"
import { Bench, FakeConnection, noMarks, PlainSender } from "../../support/pipes.js"

const part = (bytes: number) => [Buffer.alloc(bytes, "a")]

function pipeWith(receiveHighWaterBytes: number, receiveHighWaterMark = 1000) {
  const bench = new Bench(Pull)
  const options = { ...noMarks, receiveHighWaterMark }
  const pipe = new Pipe(bench.type, new PlainSender(), options, receiveHighWaterBytes)
  const connection = new FakeConnection()
  pipe.attach(connection)
  bench.type.attach(pipe)
  return { pipe, connection, bench }
}

test("a pipe stops its connection at a limit of bytes, and resumes it at half", () => {
  const { pipe, connection, bench } = pipeWith(1000)
  expect(pipe.message(part(600))).toBe(true)
  expect(pipe.message(part(300))).toBe(true)
  expect(pipe.message(part(100))).toBe(false)
  bench.receive()
  expect(connection.resumes).toBe(1)
})

test("one message is always accepted, whatever its size", () => {
  const { pipe, connection, bench } = pipeWith(1000)
  expect(pipe.message(part(5000))).toBe(false)
  bench.receive()
  expect(connection.resumes).toBe(1)
  expect(pipe.message(part(5))).toBe(true)
})

test.each([0, 1])(
  "without a limit, any number of bytes can be queued, with a mark of %i",
  (mark) => {
    const { pipe } = pipeWith(0, mark)
    expect(pipe.message(part(1 << 20))).toBe(mark === 0)
  },
)

test("without a mark, bytes are limited too", () => {
  const { pipe, connection, bench } = pipeWith(1000, 0)
  expect(pipe.message(part(500))).toBe(true)
  expect(pipe.message(part(500))).toBe(false)
  bench.receive()
  expect(connection.resumes).toBe(1)
})

test("a full pipe accepts nothing from its next connection", () => {
  const { pipe, connection, bench } = pipeWith(0, 2)
  for (let i = 0; i < 2; i++) pipe.message(part(1))
  pipe.detach([])
  const next = new FakeConnection()
  pipe.attach(next)
  expect([connection.stops, next.stops]).toEqual([0, 1])
  bench.receive()
  expect(next.resumes).toBe(1)
})

test.each([
  { messages: 1023, bytes: 0, of: "empty ones" },
  { messages: 45, bytes: 4096, of: "4 KiB" },
])("an XPUB's pipe reads $messages messages of $of beyond its mark, and resumes at half", (row) => {
  const bench = new Bench(XPub)
  const pipe = new Pipe(bench.type, new PlainSender(), { ...noMarks, receiveHighWaterMark: 2 })
  const connection = new FakeConnection()
  pipe.attach(connection)
  bench.type.attach(pipe)
  for (let i = 0; i < row.messages; i++) expect(pipe.message(part(row.bytes))).toBe(true)
  expect(pipe.message(part(row.bytes))).toBe(false)
  let read = 0
  for (; connection.resumes === 0; read++) bench.receive()
  expect(read).toBeGreaterThanOrEqual(Math.floor(row.messages / 2))
  expect(read).toBeLessThan(row.messages)
})
