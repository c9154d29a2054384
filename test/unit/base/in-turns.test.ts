/** Work of socket types that a peer can make long: notices of an XPUB, and peers that leave. */
import { setImmediate as turn } from "node:timers/promises"
import { expect, test, vi } from "vitest"

import { runInTurns } from "../../../src/base/in-turns.js"
import { PendingWrites } from "../../../src/patterns/pending-writes.js"
import { Pipe } from "../../../src/patterns/pipe.js"
import { Pub } from "../../../src/patterns/pub.js"
import { Push } from "../../../src/patterns/push.js"
import { Radio } from "../../../src/patterns/radio.js"
import { XPub } from "../../../src/patterns/xpub.js"
import { Bench, burst } from "../../support/pipes.js"

const topic = (text: string) => Buffer.from(text)

function* count(steps: number, step: () => void): Generator<number> {
  for (let i = 0; i < steps; i++) {
    step()
    yield 1
  }
}

test("little work is done at once, and more in turns of the event loop, in order", async () => {
  const done = { little: 0, much: 0, later: 0 }
  runInTurns(count(5000, () => done.much++))
  const atOnce = done.much
  expect(atOnce).toBeLessThan(1000)
  runInTurns(count(1000, () => done.later++))
  runInTurns(count(100, () => done.little++))
  expect(done.little).toBe(100)
  let turns = 0
  let before = atOnce
  while (done.much < 5000) {
    await turn()
    expect(done.much - before).toBeLessThan(2000)
    before = done.much
    turns++
  }
  expect(turns).toBeGreaterThan(1)
  while (done.later < 1000) await turn()
})

test("work that throws does not keep other work from being done", async () => {
  const thrown = vi.fn()
  process.on("uncaughtException", thrown)
  const listeners = process.listeners("uncaughtException").filter((one) => one !== thrown)
  for (const listener of listeners) process.off("uncaughtException", listener)
  let done = 0
  runInTurns(
    count(2000, () => {
      if (++done === 1500) throw new Error("of the first")
    }),
  )
  let others = 0
  runInTurns(count(2000, () => others++))
  while (others < 2000) await turn()
  process.off("uncaughtException", thrown)
  for (const listener of listeners) process.on("uncaughtException", listener)
  expect(thrown).toHaveBeenCalledOnce()
})

test("an XPUB that does not receive reads no pipe but that of the peer that leaves", async () => {
  const xpub = new Bench(XPub)
  const busy = xpub.peer()
  for (let i = 0; i < 1000; i++) busy.pipe.command("SUBSCRIBE", topic(`${i}`))
  const stayers = Array.from({ length: 100 }, () => xpub.peer())
  for (const [i, peer] of stayers.entries()) peer.says(`stays ${i}`)
  const reads = vi.spyOn(Pipe.prototype, "read")
  const leaver = xpub.peer()
  for (const text of ["1", "2"]) leaver.says(text)
  leaver.pipe.close()
  expect(reads.mock.contexts.filter((pipe) => pipe !== leaver.pipe)).toEqual([])
  reads.mockRestore()
  await burst()
  expect(xpub.receiveAll().slice(1000)).toEqual([...stayers.map((_, i) => `stays ${i}`), "1", "2"])
})

test("an XPUB copies each part of a message once, however many of them are subscriptions", () => {
  const xpub = new Bench(XPub)
  const topics = Array.from({ length: 60_000 }, (_, i) => `\x01${i}`)
  xpub.peer().says(["a", ...topics, "b"].join("|"))
  let copied = 0
  const { slice } = Array.prototype
  const spy = vi.spyOn(Array.prototype, "slice").mockImplementation(function (
    this: unknown[],
    ...range
  ) {
    const result = slice.apply(this, range)
    copied += result.length
    return result
  })
  const received = xpub.receiveAll()
  spy.mockRestore()
  expect(received).toEqual([`a|${topics[0]}`, ...topics.slice(1), "b"])
  expect(copied).toBeLessThan(200_000)
})

test("an XPUB with a long queue compacts nothing: each cancellation takes its subscription away", () => {
  const xpub = new Bench(XPub)
  const a = xpub.peer()
  for (let i = 0; i < 65_536; i++) a.pipe.command("SUBSCRIBE", topic(`${i}`))
  for (let i = 0; i < 100_000; i++) {
    a.pipe.command("SUBSCRIBE", topic(`passing ${i % 10}`))
    if (i % 2 === 0) a.pipe.command("SUBSCRIBE", topic("kept"))
    a.pipe.command("CANCEL", topic(`passing ${i % 10}`))
  }
  a.pipe.command("CANCEL", topic("0"))
  expect(xpub.receiveAll().slice(65_536)).toEqual(["\x01kept", "\x000"])
  a.pipe.command("CANCEL", topic("kept"))
  a.pipe.command("SUBSCRIBE", topic("0"))
  expect(xpub.receiveAll()).toEqual(["\x00kept", "\x010"])
})

const MANY = 5000

test("a subscriber with many topics leaves a PUB in turns, and gets nothing meanwhile", async () => {
  const pub = new Bench(Pub)
  const [a, b] = [pub.peer(), pub.peer()]
  for (let i = 0; i < MANY; i++) a.pipe.command("SUBSCRIBE", topic(`${i};`))
  b.pipe.command("SUBSCRIBE", topic(""))
  a.pipe.close()
  for (let i = 0; i < MANY; i++) pub.send(`${i};`)
  await burst()
  expect(a.connection.take()).toEqual([])
  expect(b.connection.take()).toHaveLength(MANY)
})

test.each([{}, { manual: true }, { verbosity: "allSubsUnsubs" as const }])(
  "a subscriber with many topics leaves an XPUB with %j in turns, in the order of topics",
  async (options) => {
    const xpub = new Bench(XPub, options)
    const [a, b] = [xpub.peer(), xpub.peer()]
    const topics = Array.from({ length: MANY }, (_, i) => `${i};`)
    for (const text of topics) a.pipe.command("SUBSCRIBE", topic(text))
    xpub.receiveAll()
    a.pipe.close()
    expect(xpub.receiveAll().length).toBeLessThan(MANY / 2)
    const last = topics.sort().at(-1) as string
    b.pipe.command("SUBSCRIBE", topic(last))
    const received: string[] = []
    while (received.length < MANY) {
      await turn()
      received.push(...xpub.receiveAll())
    }
    const isManual = "manual" in options
    // The topic that another asks for meanwhile is cancelled first.
    if (!isManual) expect(received.slice(0, 2)).toEqual([`\x00${last}`, `\x01${last}`])
    const cancelled = received.filter((text) => text[0] === "\x00").map((text) => text.slice(1))
    expect(new Set(cancelled).size).toBe(cancelled.length)
    const inOrder = cancelled.filter((text) => text !== last)
    expect(inOrder).toEqual(topics.slice(-inOrder.length - 1, -1))
  },
)

test("a peer that leaves a RADIO costs its own groups, in turns", async () => {
  const radio = new Bench(Radio)
  const [a, b, c] = [radio.peer(), radio.peer(), radio.peer()]
  for (let i = 0; i < MANY; i++) a.pipe.command("JOIN", topic(`${i}`))
  b.pipe.command("JOIN", topic("1"))
  c.pipe.command("JOIN", topic("mine"))
  const deletions = vi.spyOn(Set.prototype, "delete")
  c.pipe.close()
  expect(deletions.mock.calls.length).toBeLessThan(10)
  a.pipe.close()
  expect(deletions.mock.calls.length).toBeLessThan(MANY)
  deletions.mockRestore()
  for (let i = 0; i < MANY; i++) radio.type.send([Buffer.from("x")], { group: Buffer.from(`${i}`) })
  await burst()
  expect(a.connection.take()).toEqual([])
  expect(b.connection.take()).toEqual(["1|x"])
})

test("a peer that reads slowly has its queue checked for copying as it changes, not each time", () => {
  const pushed = vi.spyOn(PendingWrites.prototype, "push")
  const push = new Bench(Push)
  const peer = push.peer()
  peer.connection.room = 0
  const large = "x".repeat(100_000)
  for (let i = 0; i < 1000; i++) push.send(large)
  pushed.mockClear()
  for (let i = 0; i < 500; i++) peer.connection.drain(1)
  expect(peer.connection.take()).toHaveLength(500)
  expect(pushed.mock.calls.length).toBeLessThan(20_000)
  pushed.mockRestore()
})
