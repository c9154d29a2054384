/** The shared memory in which received messages come from a thread. */
import { Worker } from "node:worker_threads"
import { expect, onTestFinished, test } from "vitest"
import { Pull, Push } from "zeromq-lz4"

import { sleep } from "../support/sleep.js"
import { join, use } from "../support/sockets.js"
import { lz4 } from "../support/transports.js"

const MIB = 2 ** 20
/** Bytes that a thread may post before they are read, and a little for what is being posted. */
const WINDOW_BYTES = 4 * MIB
const MORE_BYTES = 4 * MIB

/** Counts the memory that threads announce from now on. */
function countAnnounced(): () => number {
  const { emit } = Worker.prototype
  let bytes = 0
  Worker.prototype.emit = function (this: Worker, event: string | symbol, ...args: unknown[]) {
    if (event === "message" && Array.isArray(args[0]))
      for (const item of args[0]) bytes += item?.memory?.byteLength ?? 0
    return emit.call(this, event, ...args)
  }
  onTestFinished(() => {
    Worker.prototype.emit = emit
  })
  return () => bytes
}

test("a large compressed part does not fill shared memory beyond the window of its connection", async () => {
  const announced = countAnnounced()
  const pull = use(new Pull())
  const push = use(new Push())
  await join(pull, push, { ...lz4, options: { ...lz4.options, thread: true, level: 0 } })
  const part = Buffer.alloc(64 * MIB, "a part of many words, and some that were said before; ")
  for (const message of ["before", part, "after", part]) await push.send(message)
  expect(String(await pull.receive())).toBe("before")
  expect((await pull.receive())[0].equals(part)).toBe(true)
  expect(String(await pull.receive())).toBe("after")
  expect((await pull.receive())[0].equals(part)).toBe(true)
  expect(announced()).toBeGreaterThan(0)
  expect(announced()).toBeLessThan(WINDOW_BYTES + MORE_BYTES)
})

test("memory that a thread still writes from is not used for the next message", async () => {
  const push = use(new Push({ sendHighWaterMark: 100 }))
  const pull = use(new Pull({ receiveHighWaterMark: 1 }))
  await join(pull, push, { ...lz4, options: { ...lz4.options, thread: true, level: "none" } })
  for (let i = 1; i <= 24; i++) await push.send(Buffer.alloc(MIB, i))
  for (let i = 1; i <= 24; i++) {
    // So that the system's buffers are full while more is sent.
    await sleep(20)
    expect((await pull.receive())[0].equals(Buffer.alloc(MIB, i))).toBe(true)
  }
})
