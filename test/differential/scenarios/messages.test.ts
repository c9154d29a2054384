/** Arguments of send(), and the messages that arrive. */
import { expect } from "vitest"

import { NEVER_MS, SOCKET_TYPES, scenario } from "../scenario.js"

const bytes = Uint8Array.from([0, 1, 2, 253, 254, 255])

const kinds: Record<string, unknown> = {
  string: "text",
  "empty string": "",
  "string beyond ASCII": "grüße, 世界 🎉",
  "string with a lone surrogate": "a\ud800b",
  "string with zeros": "a\0b",
  number: 12.5,
  zero: 0,
  NaN: Number.NaN,
  bigint: 12345678901234567890n,
  null: null,
  true: true,
  false: false,
  Buffer: Buffer.from(bytes),
  "empty Buffer": Buffer.alloc(0),
  Uint8Array: bytes,
  "Uint8Array in the middle": bytes.subarray(2, 4),
  Int8Array: Int8Array.from([-1, 5]),
  Uint16Array: Uint16Array.from([1, 65535]),
  "Uint16Array in the middle": Uint16Array.from([1, 2, 3, 4]).subarray(1, 3),
  Float64Array: Float64Array.from([1.5, -2]),
  BigInt64Array: BigInt64Array.from([-1n]),
  ArrayBuffer: bytes.buffer,
  SharedArrayBuffer: new Uint8Array(new SharedArrayBuffer(5)).fill(7).buffer,
  "plain object": { a: 1 },
  "object with toString": { toString: () => "from toString" },
  Date: new Date(0),
  function: function named() {},
  "empty array": [],
  "array in an array": [["a", "b"], "c"],
  "array with null and undefined": ["a", null, undefined, "b"],
  "array of kinds": ["a", 5, Buffer.from("b"), null, true, Uint8Array.from([67])],
  "100 parts": Array.from({ length: 100 }, (_, i) => `${i}`),
  "300 bytes": "x".repeat(300),
  "a megabyte": Buffer.alloc(1 << 20, "megabyte"),
  String: Object("boxed"),
}

for (const [name, value] of Object.entries(kinds)) {
  scenario(
    `sends: ${name}`,
    async ({ zmq, make, bind, attempted, observe, takeUntil }) => {
      const [push, pull] = [make(zmq.Push), make(zmq.Pull)]
      push.connect(await bind(pull))
      await attempted("send", () => push.send(value as string))
      await push.send("end")
      observe("received", await takeUntil(pull, "end"))
    },
    { send: { resolves: "<undefined>" }, received: expect.any(Array) },
  )
}

scenario(
  "values that cannot be sent are refused",
  async ({ zmq, make, bind, attempted, observe, takeUntil }) => {
    const [push, pull] = [make(zmq.Push), make(zmq.Pull)]
    push.connect(await bind(pull))
    // @ts-expect-error: a message is required
    await attempted("nothing", () => push.send())
    // @ts-expect-error: a message is required
    await attempted("undefined", () => push.send(undefined))
    // @ts-expect-error: a message is one argument
    await attempted("two arguments", () => push.send("a", "b"))
    // @ts-expect-error: a symbol has no text
    await attempted("symbol", () => push.send(Symbol("text")))
    // @ts-expect-error: a symbol has no text
    await attempted("symbol among others", () => push.send(["a", Symbol("text")]))
    await push.send("end")
    observe("received", await takeUntil(pull, "end"))
    observe("writable", push.writable)
  },
  { undefined: { throws: { name: "TypeError" } }, received: [] },
)

scenario(
  "sends views of one memory as parts",
  async ({ zmq, make, bind, observe }) => {
    const [push, pull] = [make(zmq.Push), make(zmq.Pull)]
    push.connect(await bind(pull))
    const memory = new Uint8Array(1000).map((_, i) => i)
    await push.send([memory.subarray(0, 10), memory.subarray(990), memory.subarray(500, 500)])
    observe("received", await pull.receive())
  },
  { received: [expect.any(String), expect.any(String), ""] },
)

scenario(
  "received parts are Buffers with memory of their own",
  async ({ zmq, make, bind, observe }) => {
    const [push, pull] = [make(zmq.Push), make(zmq.Pull)]
    push.connect(await bind(pull))
    await push.send(["first", "second"])
    await push.send(["third"])
    const message = await pull.receive()
    observe("array", [Array.isArray(message), message.length])
    observe(
      "buffers",
      message.map((part) => Buffer.isBuffer(part)),
    )
    message[0]!.fill("x")
    observe("others", [message[1], await pull.receive()])
  },
  { buffers: [true, true], others: ["second", ["third"]] },
)

scenario(
  "receive takes no arguments",
  async ({ zmq, make, attempted }) => {
    const pull = make(zmq.Pull)
    // @ts-expect-error: none
    await attempted("receive", () => pull.receive(1))
    // @ts-expect-error: none
    await attempted("close", () => pull.close(1))
  },
  { receive: { throws: { name: "TypeError" } } },
)

scenario(
  "each type has only its own methods",
  async ({ zmq, make, observe }) => {
    for (const type of SOCKET_TYPES) {
      const socket = make(zmq[type] as typeof zmq.Pair) as unknown as Record<string, unknown>
      observe(
        type,
        ["send", "receive", "subscribe", "join"].map((name) => typeof socket[name]),
      )
      observe(`type of ${type}`, socket.type)
    }
  },
  { "type of Push": 8, "type of Pull": 7 },
)

for (const size of [0, 1, 254, 255, 256, 65_535, 65_536, 1_000_000]) {
  scenario(
    `parts of ${size} bytes`,
    async ({ zmq, make, bind, take, observe }) => {
      const [dealer, other] = [make(zmq.Dealer), make(zmq.Dealer)]
      dealer.connect(await bind(other))
      const text = Buffer.alloc(size, "compressible ")
      const noise = Buffer.from(
        Uint32Array.from({ length: size }, (_, i) => (i * 2654435761) >>> 13),
      )
      await dealer.send([text, noise])
      await dealer.send(text)
      const received = await take(other, 2)
      observe("received", received)
      observe("equal", received[0]![1]!.equals(noise))
    },
    { equal: true },
  )
}

scenario(
  "many small messages in one burst arrive in order",
  async ({ zmq, make, bind, take, observe }) => {
    const [push, pull] = [make(zmq.Push, { sendHighWaterMark: 0 }), make(zmq.Pull)]
    push.connect(await bind(pull))
    const sending = (async () => {
      for (let i = 0; i < 5000; i++) await push.send(`${i}`)
    })()
    const received = await take(pull, 5000)
    await sending
    observe(
      "in order",
      received.every(([text], i) => String(text) === `${i}`),
    )
  },
  { "in order": true },
)

for (const [limit, size, fits] of [
  [100, 100, true],
  [100, 101, false],
  [-1, 100_000, true],
] as const) {
  scenario(
    `maxMessageSize ${limit}: a message of ${size} bytes ${fits ? "arrives" : "ends the connection"}`,
    async ({ zmq, make, bind, happened, take, eventTypes, observe }) => {
      const pull = make(zmq.Pull, { maxMessageSize: limit })
      const push = make(zmq.Push, { reconnectInterval: NEVER_MS })
      push.connect(await bind(pull))
      await push.send("fits")
      observe("first", await take(pull, 1))
      await push.send(Buffer.alloc(size, "x"))
      if (fits) observe("second", await take(pull, 1))
      else {
        await happened(pull, "disconnect")
        await happened(push, "disconnect")
        observe("events", eventTypes(pull))
        observe("readable", pull.readable)
      }
    },
    fits ? { second: expect.any(Array) } : { readable: false },
  )
}

scenario(
  "maxMessageSize set after bind applies to later endpoints",
  async ({ zmq, make, bind, happened, take, observe }) => {
    const pull = make(zmq.Pull)
    const first = await bind(pull)
    pull.maxMessageSize = 100
    const second = await bind(pull)
    const [a, b] = [make(zmq.Push), make(zmq.Push, { reconnectInterval: NEVER_MS })]
    a.connect(first)
    await a.send("a".repeat(101))
    observe("first", await take(pull, 1))
    b.connect(second)
    await b.send("b".repeat(100))
    observe("second", await take(pull, 1))
    await b.send("b".repeat(101))
    await happened(b, "disconnect")
    observe("readable", pull.readable)
  },
  { first: [["a".repeat(101)]], readable: false },
)
