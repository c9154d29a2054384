/** What each code block of README.md and docs/ needs around it to run. */

/** A block of JavaScript, and a program that it is part of, which has to end by itself with code 0. */
export interface Example {
  /** Code in front of the block, with what the block takes for granted. */
  before?: string
  /** Code behind the block. */
  after?: string
  /** The lines that it prints. By default those that comments in the block show. */
  prints?: readonly (string | RegExp)[]
  /** Code of the block that cannot run here, and its replacement. */
  replace?: readonly (readonly [from: string, to: string])[]
  /** The same for parameters that have no type in JavaScript. Only for TypeScript. */
  typed?: readonly (readonly [from: string, to: string])[]
}

const closing = (...sockets: string[]) => sockets.map((socket) => `${socket}.close()`).join("\n")

const PUSH = `import { Push } from "zeromq-lz4"
const push = new Push()`
const PULL = `import { Pull } from "zeromq-lz4"
const pull = new Pull()`

/** A collector that receives until it is closed, and a stream of events. */
const collector = (count: number) => `import { Pull } from "zeromq-lz4"
const pull = new Pull()
await pull.bind("lz4+tcp://collector:5555")
const receiving = (async () => {
  for await (const [event] of pull) JSON.parse(event.toString())
})()
const events = Array.from({ length: ${count} }, (_, id) => ({
  id, time: new Date(1.7e12 + id * 137), level: "info", service: "orders", message: "order placed",
}))`

/** A busy machine may take longer than the examples allow. */
const patient = [["10_000", "250_000"]] as const

/** A process that sends a message and is told to end. */
const onSigterm: Example = {
  replace: [
    ["8000", "300_000"],
    ["7000", "250_000"],
  ],
  before: `${PULL.replace("Pull }", "Pull, Push }")}
await pull.bind("lz4+tcp://collector:5555")
const push = new Push()
push.connect("lz4+tcp://collector:5555")
await push.send("last words")`,
  after: `console.log(String(await pull.receive()))
setInterval(() => {}, 1000)
process.kill(process.pid, "SIGTERM")`,
  prints: ["last words"],
}

/** The same with a peer that is away. */
const onSigtermAlone: Example = {
  replace: [
    ["8000", "60_000"],
    ["7000", "100"],
    ["console.error", "console.log"],
  ],
  before: `${PUSH}
push.connect("lz4+tcp://collector:5555")
await push.send("last words")`,
  after: `setInterval(() => {}, 1000)
process.kill(process.pid, "SIGTERM")`,
  prints: ["flush() timed out: after 100 ms, messages still wait to be written"],
}

export const examples: Record<string, Example | Example[]> = {
  "README.md: zeromq-lz4": [
    ...[10, 500].map((count) => ({
      before: collector(count),
      replace: patient,
      after: `${closing("pull")}\nawait receiving`,
      prints: [/^\d+\.\d times smaller$/],
    })),
    {
      // Nobody listens at the port.
      before: `const events = [{ id: 1 }]
process.once("uncaughtException", ({ message }) => {
  console.log(message)
  process.exit()
})`,
      replace: [["10_000", "100"]],
      prints: ["flush() timed out: after 100 ms, messages still wait to be written"],
    },
  ],
  "README.md: Both ends have to change": { before: PULL, after: closing("pull") },
  "README.md: Quick start": {},
  "docs/brokers.md: Proxy": {
    before: `import { Pull as Reader, Push as Writer } from "zeromq-lz4"
setTimeout(async () => {
  const [writer, reader] = [new Writer(), new Reader()]
  writer.connect("lz4+tcp://127.0.0.1:5555", { level: 0 })
  reader.connect("lz4+tcp://127.0.0.1:5556")
  await writer.send(["a", "text, ".repeat(1000)])
  console.log((await reader.receive())[1].length)
  process.exit()
})`,
    prints: ["6000"],
  },
  "docs/brokers.md: A broker of your own": {
    before: `import { Pull as Reader, Push as Writer } from "zeromq-lz4"
const trying = (async () => {
  const [writer, reader] = [new Writer(), new Reader()]
  writer.connect("lz4+tcp://127.0.0.1:5555", { level: 9 })
  reader.connect("lz4+tcp://127.0.0.1:5556")
  await writer.send(["debug", "text, ".repeat(1000)])
  await writer.send(["news", "text, ".repeat(1000)])
  const [topic, text] = await reader.receive()
  console.log(String(topic), text.length)
  process.exit()
})()`,
    prints: ["news 6000"],
  },
  "docs/brokers.md: A queue": {
    before: `import { Push, Request } from "zeromq-lz4"
const trying = (async () => {
  const [push, request] = [new Push(), new Request()]
  push.connect("lz4+tcp://127.0.0.1:5555", { level: 0 })
  request.connect("lz4+tcp://127.0.0.1:5556")
  await push.send("text, ".repeat(1000))
  for (;;) {
    await request.send("more")
    const [answer] = await request.receive()
    if (String(answer) === "nothing to do") continue
    console.log(answer.length)
    process.exit()
  }
})()`,
    typed: [
      ["const queue = []", 'const queue: (Buffer | import("zeromq-lz4").CompressedPart)[][] = []'],
    ],
    prints: ["6000"],
  },
  "docs/brokers.md: An archive": {
    before: `import { Pull as Reader, Push as Writer } from "zeromq-lz4"
const writer = new Writer()
writer.connect("lz4+tcp://127.0.0.1:5555", { level: 0 })
const reader = new Reader()
await reader.bind("lz4+tcp://127.0.0.1:5556")
await writer.send("text, ".repeat(1000))`,
    replace: [["reader:5556", "127.0.0.1:5556"]],
    after: `console.log((await reader.receive())[1].length)
${closing("push", "pull", "reader", "writer")}`,
    prints: ["LZ4B: 6000 bytes", "6000"],
  },
  "docs/api.md: `lz4.flush(options?)`": {
    before: PUSH,
    after: closing("push"),
    replace: patient,
  },
  "docs/api.md: `allowClients`": {
    before: `import { writeFileSync } from "node:fs"
import { allowClients, curveKeyPair, Pull } from "zeromq-lz4"
writeFileSync("clients.txt", curveKeyPair().publicKey)
const pull = new Pull({ curveServer: true, curveSecretKey: curveKeyPair().secretKey })`,
    after: closing("pull", "clients"),
  },
  "docs/api.md: `Codec`": {},
  "docs/api.md: `readCapture`": {
    before: `import { createReadStream } from "node:fs"
import { readCapture } from "zeromq-lz4/capture"`,
    prints: ["902", "902", "902"],
  },
  "docs/capture.md: Use": {
    prints: Array.from({ length: 3 }, (_, i) => [
      `server plain 6 a${i}`,
      `server LZ4B 65 ${"so it goes and so it goes, and so it will be. ".repeat(20)}`,
    ]).flat(),
  },
  "docs/capture.md: Use (2)": {
    before: `import { createReadStream } from "node:fs"
import { readCapture } from "zeromq-lz4/capture"
const prices = new Uint8Array(100)`,
    after: `for await (const event of events) if (event.type === "close") console.log(event.type)`,
    typed: [["(connection, from)", "(connection: unknown, from: string)"]],
    prints: ["close"],
  },
  "docs/capture.md: Keys of CURVE": {
    before: `import { createReadStream, writeFileSync } from "node:fs"
import { readCapture } from "zeromq-lz4/capture"
writeFileSync("keys.log", "# none")`,
    after: `for await (const event of decrypted) if (event.type === "close") console.log(event.type)`,
    prints: ["close"],
  },
  // That capture is of PUB and SUB.
  "docs/capture.md: What went on": { prints: [] },
  "docs/codec.md: `zeromq-lz4/codec`": {},
  "docs/curve.md: CURVE": { after: closing("push", "pull"), prints: ["a secret"] },
  "docs/curve.md: Whom a server accepts": {
    before: `import { writeFileSync } from "node:fs"
import { curveKeyPair } from "zeromq-lz4"
writeFileSync("clients.txt", curveKeyPair().publicKey)`,
  },
  "docs/curve.md: Whom a server accepts (2)": {},
  "docs/curve.md: Changing keys": {
    before: `import { curveKeyPair, Pull } from "zeromq-lz4"
const pull = new Pull({ curveServer: true, curveSecretKey: curveKeyPair().secretKey })
await pull.bind("lz4+tcp://127.0.0.1:5555")
process.removeAllListeners("warning") // that the key counts from the next bind() on`,
    after: closing("pull"),
  },
  "docs/codec.md: In browsers and workerd": {
    // Node imports .wasm files in its own way. workerd itself runs test/package/consumer/worker.mjs.
    replace: [
      [
        'import wasm from "zeromq-lz4/codec.wasm"',
        `import { readFileSync } from "node:fs"
const wasm = await WebAssembly.compile(readFileSync("node_modules/zeromq-lz4/dist/zeromq-lz4.wasm"))`,
      ],
    ],
    after: `console.log(codec.decode(codec.encode([Buffer.from("text")])[0]).join())\n${closing("codec")}`,
    prints: [
      "text"
        .split("")
        .map((letter) => letter.charCodeAt(0))
        .join(),
    ],
  },
  "docs/dictionaries.md: A dictionary of your own (2)": {
    before: `import { readFileSync } from "node:fs"\n${PUSH}`,
    after: closing("push"),
  },
  "docs/examples.md: PUB and SUB": {},
  "docs/examples.md: REQ and REP": {},
  "docs/filters.md: Filters": {
    replace: [
      ["size>64KiB", "size>800"],
      ["console.log(event)", "console.log(event.type)"],
    ],
    prints: ["message", "message", "message"],
  },
  "docs/monitoring.md: Channels": {
    before: "const log = { warn: console.log }",
    after: `import { connect } from "node:net"
${PULL}
await pull.bind("lz4+tcp://127.0.0.1:5555")
const peer = connect(5555, "127.0.0.1", () => peer.write("GET / HTTP/1.1\\r\\n\\r\\n")).resume()
peer.on("close", () => pull.close())`,
    prints: [/^127\.0\.0\.1 at lz4\+tcp:\/\/127\.0\.0\.1:\d+: ERR_ZMTP_GREETING: /],
  },
  "docs/monitoring.md: OpenTelemetry": {
    before: `import * as api from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import { W3CTraceContextPropagator } from "@opentelemetry/core"
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
const exporter = new InMemorySpanExporter()
const spanProcessors = [new SimpleSpanProcessor(exporter)]
api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }))
api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
api.propagation.setGlobalPropagator(new W3CTraceContextPropagator())`,
    typed: [
      [
        "(socket, parts)",
        '(socket: import("zeromq-lz4").Push, parts: import("zeromq-lz4").MessageLike[])',
      ],
      [
        "(socket, handle)",
        '<T>(socket: import("zeromq-lz4").Pull, handle: (parts: import("zeromq-lz4").Message[]) => Promise<T>)',
      ],
    ],
    after: `import { Pull, Push } from "zeromq-lz4"
// The other way of the document.
const sockets = new Set()
const original = Push.prototype.send
Push.prototype.send = function (...message) {
  sockets.add(this)
  return Reflect.apply(original, this, message)
}
const [pull, push] = [new Pull(), new Push()]
await pull.bind("lz4+tcp://127.0.0.1:5555")
push.connect("lz4+tcp://127.0.0.1:5555")
await send(push, ["tea"])
await receive(pull, async (parts) => console.log(parts.length, String(parts[0])))
const [sent, received] = exporter.getFinishedSpans()
console.log(sent.name, SpanKind[sent.kind], "to", received.name, SpanKind[received.kind])
console.log(received.parentSpanContext?.spanId === sent.spanContext().spanId, sockets.has(push))
${closing("push", "pull")}`,
    prints: ["1 tea", "send order PRODUCER to receive order CONSUMER", "true true"],
  },
  "docs/monitoring.md: Prometheus": {
    after: `import { Publisher, Pull, Push } from "zeromq-lz4"
const [pull, push] = [new Pull(), new Push()]
await pull.bind("lz4+tcp://127.0.0.1:5555")
push.connect("lz4+tcp://127.0.0.1:5555", { level: 0 })
// Only the last call counts, as after a hot reload.
watch(new Map([["before", pull]]))
const publisher = new Publisher()
watch(new Map([["orders", push], ["prices", publisher]]))
for (let i = 0; i < 2; i++) {
  await push.send("x".repeat(10_000))
  await push.lz4.flush()
  await pull.receive()
  // What has been collected is not added again.
  const text = await register.metrics()
  if (i === 1) console.log(text.trimEnd())
}
${closing("push", "pull", "publisher")}`,
    prints: [
      ...metric("counter", "sent_plain_bytes_total", "Bytes sent, before compression", "20000"),
      ...metric("counter", "sent_wire_bytes_total", "Bytes sent, after compression", /\d\d\d/),
      ...metric("counter", "dropped_messages_total", "Messages dropped at full queues"),
      ...metric("counter", "reconnects_total", "Reconnections"),
      ...metric("counter", "protocol_errors_total", "Peers that broke a rule"),
      ...metric("gauge", "waiting_bytes", "Bytes not yet accepted by the system"),
    ].slice(0, -1),
  },
  "docs/moving-over.md: A port for each": { before: PULL, after: closing("pull") },
  "docs/moving-over.md: The same port for both": {
    before: `${PULL.replace("Pull }", "Pull, Push }")}\nconst push = new Push()`,
    after: `await push.send("text")
console.log(String(await pull.receive()), push.lz4.connections[0]?.scheme)
${closing("push", "pull")}`,
    prints: ["text lz4+tcp"],
  },
  "docs/moving-over.md: How to see that it works": {
    before: `import { Pull, Push } from "zeromq-lz4"
const [pull, socket] = [new Pull(), new Push()]
await pull.bind("lz4+tcp://127.0.0.1:5555")
socket.connect("lz4+tcp://127.0.0.1:5555", { level: 0 })
await socket.send("x".repeat(10_000))
await socket.lz4.flush()
await pull.receive()`,
    after: closing("socket", "pull"),
    prints: ["127.0.0.1 lz4+tcp", /^sent 10000 bytes as \d\d$/],
  },
  "docs/zstd.md: `zstd+tcp://`": {
    after: closing("push", "pull"),
    prints: ['{"id":1,"items":["tea","sugar"]}'],
  },
  "docs/zstd.md: Moving over": {
    before: `${PULL.replace("Pull }", "Pull, Push }")}\nconst push = new Push()`,
    after: `await push.send("text")
console.log(String(await pull.receive()), push.lz4.connections[0]?.scheme)
${closing("push", "pull")}`,
    prints: ["text zstd+tcp"],
  },
  "docs/shutting-down.md: `flush()`": {
    before: PUSH.replace("const push", "const socket"),
    after: closing("socket"),
  },
  "docs/shutting-down.md: On SIGTERM": [onSigterm, onSigtermAlone],
}

/** Lines that Prometheus reads, for a socket with this value and another one with 0. */
function metric(type: string, name: string, help: string, value: string | RegExp = "0") {
  const full = `zeromq_lz4_${name}`
  const line = `${full}{socket="orders"} `
  return [
    `# HELP ${full} ${help}`,
    `# TYPE ${full} ${type}`,
    typeof value === "string"
      ? line + value
      : new RegExp(`^${line.replaceAll(/[{}]/g, "\\$&")}${value.source}$`),
    `${full}{socket="prices"} 0`,
    "",
  ]
}

/** Blocks with command lines or output, which test/unit/examples.test.ts has a test for. */
export const ownTests = {
  train: "docs/dictionaries.md: A dictionary of your own",
  bridge: "docs/bridge.md: The bridge",
  bridgeCurve: "docs/bridge.md: CURVE",
  bridgeOutput: "docs/bridge.md: The bridge (2)",
  services: ["docs/bridge.md: As a service (2)", "docs/bridge.md: As a service (4)"],
  serviceWithKeys: "docs/bridge.md: As a service (3)",
  compose: "docs/bridge.md: As a service (5)",
  inspect: "docs/inspect.md: On the command line",
  inspectOutput: "docs/inspect.md: On the command line (2)",
  debugOutput: "docs/monitoring.md: Channels (2)",
} as const

/** The Rust program of docs/peers.md, which is built together with the peer of the tests. */
export const rust = "test/interop/rust-peer/examples/documented.rs"

/** Blocks in other languages, and what tests or tries them. */
export const elsewhere: Record<string, string> = {
  "README.md: Install": "test/package/package.test.ts",
  "docs/bridge.md: As a service": "test/package/package.test.ts",
  "docs/curve.md: Reading a recording": "test/unit/cli/cli-keys.test.ts",
  "docs/inspect.md: A recording in progress": "test/browser/live.test.ts",
  "docs/inspect.md: Dictionaries that were sent before": "test/unit/cli/cli-inspect.test.ts",
  "docs/install.md: Installing, bundling and testing": "test/package/package.test.ts",
  "docs/peers.md: Python: pyomq": "test/interop/documented-peer.test.ts",
  "docs/peers.md: Ruby: omq-lz4": "test/recorded/README.md",
  "docs/peers.md: Rust: omq-tokio": rust,
}
