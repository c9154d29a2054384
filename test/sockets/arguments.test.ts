/** All kinds of arguments of `send`, over tcp:// and lz4+tcp://, which must send the same. */
import { runInNewContext } from "node:vm"
import { describe, expect, test } from "vitest"
import { Pull, Push } from "zeromq-lz4"

import { join, use } from "../support/sockets.js"
import { ANY } from "../support/threads.js"
import { lz4, type Transport, tcp } from "../support/transports.js"

/** Detached memory. */
const detached = <T>(value: T, memory: ArrayBuffer): T => {
  structuredClone(memory, { transfer: [memory] })
  return value
}
const bytes = () => new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8])
const shared = () => new SharedArrayBuffer(4)

/** Created separately for each transport, because some can be sent only once. */
const kinds: Record<string, () => unknown> = {
  "a string": () => "text ä \ud800",
  "an empty string": () => "",
  "a Buffer": () => Buffer.from("text"),
  "an empty Buffer": () => Buffer.alloc(0),
  "a detached Buffer": () => {
    const buffer = Buffer.from(bytes().buffer)
    return detached(buffer, buffer.buffer as ArrayBuffer)
  },
  "a Uint8Array": bytes,
  "part of a Uint8Array": () => bytes().subarray(2, 5),
  "a Uint16Array": () => new Uint16Array(bytes().buffer),
  "a Float64Array": () => new Float64Array([1.5]),
  "a detached Uint8Array": () => {
    const array = bytes()
    return detached(array, array.buffer as ArrayBuffer)
  },
  "an ArrayBuffer": () => bytes().buffer,
  "an empty ArrayBuffer": () => new ArrayBuffer(0),
  "a long ArrayBuffer": () => new Uint8Array(1000).fill(7).buffer,
  "a detached ArrayBuffer": () => {
    const { buffer } = bytes()
    return detached(buffer, buffer as ArrayBuffer)
  },
  "an ArrayBuffer of another realm": () => runInNewContext("new Uint8Array([1, 2, 3]).buffer"),
  "an empty ArrayBuffer of another realm": () => runInNewContext("new ArrayBuffer(0)"),
  "a Uint8Array of another realm": () => runInNewContext("new Uint8Array([1, 2, 3])"),
  "a Uint32Array of another realm": () => runInNewContext("new Uint32Array([1, 2, 3])"),
  "an array of another realm": () => runInNewContext('["a", new Uint8Array([1, 2]).buffer]'),
  "a SharedArrayBuffer": shared,
  "a Uint8Array in a SharedArrayBuffer": () => new Uint8Array(shared()).fill(3),
  "a number": () => 1.5,
  zero: () => 0,
  NaN: () => Number.NaN,
  "a bigint": () => 12n,
  true: () => true,
  false: () => false,
  null: () => null,
  undefined: () => undefined,
  "a symbol": () => Symbol("symbol"),
  "an object": () => ({ a: 1 }),
  "an object with toString": () => ({ toString: () => "by itself" }),
  "an object that cannot be a string": () => Object.create(null),
  "an object that throws": () => ({
    toString() {
      throw new RangeError("on purpose")
    },
  }),
  "a function": () => Math.max,
  "a date": () => new Date(0),
  "a boxed string": () => new String("boxed"),
  "a Set": () => new Set([1]),
}

/** Returns the parts that arrive, or the error. */
async function outcome(transport: Transport, message: unknown): Promise<unknown> {
  const [pull, push] = [use(new Pull()), use(new Push())]
  await join(pull, push, transport)
  try {
    await push.send(message as string)
  } catch (error) {
    return { name: (error as Error).name, message: (error as Error).message }
  }
  return (await pull.receive()).map((part) => part.toString("latin1"))
}

describe.each(Object.entries(kinds))("%s is sent as zeromq.js sends it", (_, make) => {
  test.each([
    ["alone", make],
    ["in an array", () => ["before", make(), "after"]],
  ])("%s", async (_, message) => {
    expect(await outcome(lz4, message())).toEqual(await outcome(tcp, message()))
  })
})

test.each([
  ["alone", () => new DataView(bytes().buffer, 1, 3)],
  ["in an array", () => ["before", new DataView(bytes().buffer)]],
])("a DataView is refused, as zeromq.js refuses it, with the reason: %s", async (_, make) => {
  const refused = { name: "Error", message: "Invalid argument" }
  expect(await outcome(tcp, make())).toEqual(refused)
  const why = "a DataView is not sent, but a Uint8Array of its memory is"
  expect(await outcome(lz4, make())).toEqual({ ...refused, message: `Invalid argument: ${why}` })
})

/** Returns the number of calls in an error's stack that are not this file's. */
const foreign = (error: unknown): number =>
  ((error as Error).stack as string)
    .split("\n")
    .filter((line) => line.startsWith("    at ") && !line.includes("arguments.test.ts")).length

const caught = async (work: () => Promise<unknown>): Promise<unknown> => {
  try {
    return await work()
  } catch (error) {
    return error
  }
}

test.each([tcp, lz4])("over $name, errors of every day have short stacks", async ({ scheme }) => {
  const pull = use(new Pull({ receiveTimeout: 0 }))
  const push = use(new Push({ sendTimeout: 0 }))
  for (const socket of [pull, push]) await socket.bind(`${scheme}127.0.0.1:*`)
  const tried = async () => pull.receive()
  const none = await caught(tried)
  const full = await caught(async () => push.send("1"))
  pull.receiveTimeout = -1
  const waiting = caught(tried)
  const busy = await caught(tried)
  pull.close()
  const closed = await caught(tried)
  const errors = [none, full, await waiting, busy, closed]
  expect(errors.map((error) => (error as { code: string }).code)).toEqual([
    "EAGAIN",
    "EAGAIN",
    "EAGAIN",
    "EBUSY",
    "EBADF",
  ])
  // The method itself, and those of vitest, which call the test.
  const usual = foreign(new Error("here"))
  for (const error of errors) expect(foreign(error)).toBeLessThanOrEqual(usual + 1)
})

test("messages sent before the first endpoint are copies", async () => {
  const [pull, push] = [use(new Pull()), use(new Push())]
  await pull.bind(ANY)
  const bytes = Buffer.alloc(1000, "a")
  const sent = push.send(bytes)
  bytes.fill("b")
  push.connect(pull.lastEndpoint as string)
  await sent
  expect(await pull.receive()).toEqual([Buffer.alloc(1000, "a")])
})

test("a closed socket refuses endpoints with EBADF, whatever the options", async () => {
  const push = new Push()
  push.close()
  const refused = expect.objectContaining({ code: "EBADF" })
  expect(() => push.connect("lz4+tcp://127.0.0.1:5000", { level: 9 })).toThrow(refused)
  expect(() => push.bindSync(ANY, { level: 9 })).toThrow(refused)
  await expect((async () => push.bind(ANY, { level: 9 }))()).rejects.toEqual(refused)
})
