/** Waiting until a pipe has written its messages. */
import { expect, test } from "vitest"

import { writeOut } from "../../../src/patterns/exit-writes.js"
import { FakeConnection, Peer, parts, silent } from "../../support/pipes.js"

/** A waiter that counts its calls. */
function waiter() {
  const one = { isOver: false, told: 0, flushed: () => void one.told++ }
  return one
}

test("a pipe without messages is flushed at once", () => {
  const one = waiter()
  new Peer(silent).pipe.out.whenFlushed(one)
  expect(one.told).toBe(1)
})

test("a waiter is called once, when all earlier messages are written", () => {
  const { pipe, connection } = new Peer(silent).attach()
  connection.room = 0
  pipe.out.write(parts("a"))
  const one = waiter()
  pipe.out.whenFlushed(one)
  pipe.out.write(parts("b"))
  expect(one.told).toBe(0)
  connection.drain(1)
  expect(one.told).toBe(1)
  connection.drain()
  expect(one.told).toBe(1)
})

test("a flush does not wait for the end of the burst", () => {
  const { pipe, connection } = new Peer(silent).attach()
  pipe.out.write(parts("a"))
  const one = waiter()
  pipe.out.whenFlushed(one)
  expect(connection.take()).toEqual(["a"])
  expect(one.told).toBe(1)
})

test("a flush waits until the next connection has written what the last one did not", () => {
  const { pipe, connection } = new Peer(silent)
  const flushes: (() => void)[] = []
  connection.flush = (done) => flushes.push(done)
  pipe.attach(connection)
  pipe.out.write(parts("a"))
  const one = waiter()
  pipe.out.whenFlushed(one)
  const [chunk] = connection.chunks
  pipe.detach(chunk ? [chunk] : [])
  for (const done of flushes) done()
  expect(one.told).toBe(0)
  pipe.attach(new FakeConnection())
  expect(one.told).toBe(1)
})

test.each([
  { how: "is closed", options: {}, end: (peer: Peer) => peer.pipe.close() },
  { how: "drops what waits", options: {}, end: (peer: Peer) => peer.pipe.dropWaiting() },
  { how: "forgets what waits", options: {}, end: (peer: Peer) => peer.pipe.hiccup() },
  {
    how: "keeps only the next message",
    options: { conflate: true },
    end: (peer: Peer) => peer.pipe.out.write(parts("b")),
  },
])("messages are not waited for when their pipe $how", ({ options, end }) => {
  const peer = new Peer(silent, options)
  peer.pipe.out.write(parts("a"))
  const one = waiter()
  peer.pipe.out.whenFlushed(one)
  expect(one.told).toBe(0)
  end(peer)
  expect(one.told).toBe(1)
})

test("cancelled waiters are not called, and removed with the next", () => {
  const { pipe, connection } = new Peer(silent)
  pipe.out.write(parts("a"))
  const one = waiter()
  pipe.out.whenFlushed(one)
  one.isOver = true
  const next = waiter()
  pipe.out.whenFlushed(next)
  pipe.attach(connection)
  expect([one.told, next.told]).toEqual([0, 1])
})

test("when the process ends, all queued messages are written even without room", () => {
  const { pipe, connection } = new Peer(silent).attach()
  connection.room = 0
  pipe.out.write(parts("a"))
  pipe.out.write(parts("b"))
  writeOut(pipe.out)
  expect(connection.take()).toEqual(["a", "b"])
})
