/** A process that ends delivers its messages, and does end, as over tcp://. */
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, onTestFinished, test } from "vitest"
import { Pull, Push, Request, Subscriber } from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"

import { portOf, rawZmtpPeer } from "../support/raw-peer.js"
import { Relay } from "../support/relay.js"
import {
  mark,
  marksErrors,
  noise,
  PatientScript,
  preloaded,
  Script,
} from "../support/running-script.js"
import { sleep } from "../support/sleep.js"
import { anyPort, eventually, freePort, use } from "../support/sockets.js"
import {
  isInFull,
  isOnThreads,
  lz4,
  type Transport,
  tcp,
  times,
  transports,
} from "../support/transports.js"
import { plainPart } from "../support/wire.js"
import { asOthersThanLibzmq, handshake, message, messagesOf, parseStream } from "../support/zmtp.js"

const connected = "const push = new zmq.Push(); push.connect(argument.endpoint);"
const natural = { code: 0, signal: null }
/** Where connections are, for tests that say it themselves. */
const threads = isOnThreads ? [] : [false, true]
const MIB = 2 ** 20
const SENTINEL_BYTES = 4

/** Scripts with a connected peer, and the messages that must arrive. */
const delivering = [
  { what: "sends and ends", script: `${connected} await push.send("1")`, arrive: ["1"] },
  {
    what: "sends, closes and ends",
    script: `${connected} await push.send("1"); push.close()`,
    arrive: ["1"],
  },
  {
    what: "sends, disconnects and ends",
    script: `${connected} await push.send("1"); push.disconnect(argument.endpoint)`,
    arrive: ["1"],
  },
  {
    what: "closes in the handler of a signal",
    script: `${connected} await push.send("1"); const timer = setInterval(() => {}, 1000);
      process.on("SIGTERM", () => { push.close(); clearInterval(timer) }); process.kill(process.pid, "SIGTERM")`,
    arrive: ["1"],
  },
  {
    what: "sends in a handler of beforeExit",
    script: `${connected} process.once("beforeExit", () => push.send("1"))`,
    arrive: ["1"],
  },
  {
    what: "sends from two sockets and drops them",
    script: `for (const text of ["1", "1"]) { const push = new zmq.Push(); push.connect(argument.endpoint); await push.send(text) }`,
    arrive: ["1", "1"],
  },
  {
    what: "sends in a worker thread of its own that ends",
    script: `import { Worker } from "node:worker_threads";
      const source = 'import("zeromq-lz4").then(async (zmq) => { const push = new zmq.Push(); push.connect(' + JSON.stringify(argument.endpoint) + '); await push.send("1") })';
      new Worker(source, { eval: true })`,
    arrive: ["1"],
  },
  {
    what: "sends many messages and ends",
    script: `${connected} push.sendHighWaterMark = 0; for (let i = 0; i < 10_000; i++) await push.send(String(i))`,
    arrive: Array.from({ length: 10_000 }, (_, i) => String(i)),
  },
  {
    what: "does not wait for send() and ends",
    script: `${connected} void push.send("1")`,
    arrive: ["1"],
  },
  {
    what: "has messages that wait for their turn when it ends",
    script: `${connected} push.sendHighWaterMark = 1; const sending = (async () => { for (let i = 0; i < 1000; i++) await push.send(String(i)) })()`,
    arrive: Array.from({ length: 1000 }, (_, i) => String(i)),
  },
  {
    what: "sends in a function, and nobody refers to the socket any more",
    script: `await (async () => { ${connected} await push.send("1") })(); await new Promise((resolve) => setTimeout(resolve, 50))`,
    arrive: ["1"],
  },
  {
    what: "sends in a worker thread that is still there when it ends",
    // Over tcp://, libzmq's thread survives the worker.
    script: `import { Worker } from "node:worker_threads";
      const source = 'import("zeromq-lz4").then(async (zmq) => { const push = new zmq.Push(); push.connect(' + JSON.stringify(argument.endpoint) + '); await push.send("1"); await push.send("2"); if (' + argument.endpoint.startsWith("lz4") + ') while (push.lz4.stats.sent.messages < 2) await new Promise((resolve) => setTimeout(resolve, 10)); (await import("node:worker_threads")).parentPort.postMessage("sent") })';
      const worker = new Worker(source, { eval: true }); await new Promise((resolve) => worker.once("message", resolve)); worker.unref()`,
    arrive: ["1", "2"],
  },
  {
    what: "sends large parts and ends",
    script: `${connected} for (const fill of "123") await push.send(Buffer.alloc(8 << 20, fill))`,
    arrive: ["1", "2", "3"].map((text) => text.repeat(8 << 20)),
  },
  {
    what: "sends what does not compress and ends",
    script: `${connected} ${noise} const text = Buffer.from(noise(8 << 20)).toString("hex");
      await push.send(text); await push.send(text.length + "")`,
    arrive: [expect.any(String), String(16 << 20)],
  },
]

/** The same for what zeromq.js does without listeners. */
const deliveringAnew = [
  {
    what: "removed all listeners of its end, then opens a socket, sends and ends",
    script: `new zmq.Push().connect(argument.endpoint); process.removeAllListeners("exit"); process.removeAllListeners("beforeExit");
      ${connected} await push.send("1")`,
    arrive: ["1"],
  },
  {
    what: "removed all listeners of its end, then opens a socket, sends and calls process.exit()",
    script: `new zmq.Push().connect(argument.endpoint); process.removeAllListeners("exit"); process.removeAllListeners("beforeExit");
      ${connected} await push.send("1"); process.exit()`,
    arrive: ["1"],
  },
]

/** Scripts without a peer, which must end with this code. */
const unheard = [
  { what: "has sent and calls process.exit()", script: "process.exit(3)", code: 3 },
  { what: "has sent and throws", script: 'throw new Error("thrown on purpose")', code: 1 },
  { what: "has sent and rejects", script: "Promise.reject(new Error())", code: 1 },
  { what: "has sent and ends with linger 0", script: "push.linger = 0", code: 0 },
  { what: "has sent and ends with linger 500", script: "push.linger = 500", code: 0 },
  { what: "has sent and closes with linger 0", script: "push.linger = 0; push.close()", code: 0 },
  {
    what: "waits for room and calls process.exit()",
    script:
      "push.sendHighWaterMark = 1; push.send('2').catch(() => {}); setTimeout(() => process.exit(3), 50)",
    code: 3,
  },
  {
    what: "has sent and calls process.exit() in a handler of beforeExit",
    script: 'process.on("beforeExit", () => process.exit(3))',
    code: 3,
  },
  {
    what: "has sent and calls process.exit() while its socket lingers",
    script: "push.close(); setTimeout(() => process.exit(3), 100)",
    code: 3,
  },
]

/** Idle sockets, which do not keep the process alive. */
const idle = [
  { what: "bound", script: "await new zmq.Pull().bind(argument.any)" },
  { what: "connected to nobody", script: "new zmq.Push().connect(argument.away)" },
  { what: "connected to a peer", script: connected },
  {
    what: "bound and connected",
    script: `const dealer = new zmq.Dealer(); await dealer.bind(argument.any); dealer.connect(argument.away)`,
  },
  {
    what: "subscribed",
    script: `const sub = new zmq.Subscriber(); sub.connect(argument.away); sub.subscribe("")`,
  },
  {
    what: "with heartbeats",
    script:
      "const push = new zmq.Push({ heartbeatInterval: 20 }); push.connect(argument.endpoint); await new Promise((resolve) => setTimeout(resolve, 100))",
  },
  {
    what: "in a worker thread",
    script: `import { Worker } from "node:worker_threads";
      const source = 'import("zeromq-lz4").then(async (zmq) => { await new zmq.Pull().bind(' + JSON.stringify(argument.any) + '); new zmq.Push().connect(' + JSON.stringify(argument.away) + ') })';
      new Worker(source, { eval: true })`,
  },
  { what: "closed", script: `${connected} push.close()` },
  { what: "disconnected", script: `${connected} push.disconnect(argument.endpoint)` },
  {
    what: "connected to each other",
    script: `const pull = new zmq.Pull(); await pull.bind(argument.any); const push = new zmq.Push();
      push.connect(pull.lastEndpoint); await push.send("1"); await pull.receive()`,
  },
]

/** Binds a socket, whose messages are queued until they are received. */
async function listen(transport: Transport): Promise<{ pull: Pull; endpoint: string }> {
  const pull = use(new Pull())
  await pull.bind(anyPort(transport))
  return { pull, endpoint: pull.lastEndpoint as string }
}

async function nobody(transport: Transport): Promise<string> {
  return `${transport.scheme}127.0.0.1:${await freePort()}`
}

const text = async (pull: Pull): Promise<string> => String((await pull.receive())[0])

// Over tcp:// only if everything runs: each test is a process, in which zeromq.js does all then.
describe.each(isInFull ? transports : [lz4])("over $name", (transport) => {
  describe("a process delivers everything when it", () => {
    const own = transport === lz4 ? deliveringAnew : []
    test.each([...delivering, ...own])("$what", async ({ script, arrive }) => {
      const { pull, endpoint } = await listen(transport)
      const process = new Script(script, { endpoint })
      const received: string[] = []
      while (received.length < arrive.length) received.push(await text(pull))
      expect(await process.ended(), process.errors).toEqual(natural)
      expect(received.map(({ length }) => length)).toEqual(
        arrive.map((one) => (typeof one === "string" ? one.length : expect.any(Number))),
      )
      for (const [i, one] of arrive.entries())
        if (typeof one === "string") expect(received[i] === one).toBe(true)
    })

    test("has thousands of messages queued for a slow reader", async () => {
      const { pull, endpoint } = await listen(transport)
      pull.receiveHighWaterMark = 1
      const script = `${connected} push.sendHighWaterMark = 0;
        for (let i = 0; i < 5000; i++) await push.send(String(i).padEnd(4000));
        console.log("sent")`
      const process = new Script(script, { endpoint })
      expect(await process.line()).toBe("sent")
      for (let i = 0; i < 5000; i++) {
        if (i % 1000 === 0) await sleep(50)
        expect(Number(await text(pull))).toBe(i)
      }
      expect(await process.ended(), process.errors).toEqual(natural)
    })

    test("has sent to a peer that connects only now", async () => {
      const endpoint = await nobody(transport)
      const process = new Script(`${connected} await push.send("1"); console.log("sent")`, {
        endpoint,
      })
      expect(await process.line()).toBe("sent")
      // It does not end: it still tries to connect.
      const server = createServer((peer) => peer.destroy()).listen(portOf(endpoint), "127.0.0.1")
      for (let attempt = 0; attempt < 3; attempt++) await once(server, "connection")
      await once(server.close(), "close")
      const pull = use(new Pull())
      await eventually(() => pull.bind(endpoint))
      expect(await text(pull)).toBe("1")
      expect(await process.ended(), process.errors).toEqual(natural)
    })
  })

  describe("a process without peers ends when it", () => {
    test.each(unheard)("$what", async ({ script, code }) => {
      const endpoint = await nobody(transport)
      const process = new Script(`${connected} await push.send("1"); ${script}`, { endpoint })
      expect(await process.ended(), process.errors).toEqual({ code, signal: null })
    })
  })

  describe("a process ends when its sockets are", () => {
    test.each(idle)("$what", async ({ script }) => {
      const { endpoint } = await listen(transport)
      const addresses = { endpoint, any: anyPort(transport), away: await nobody(transport) }
      const process = new Script(script, addresses)
      expect(await process.ended(), process.errors).toEqual(natural)
    })
  })

  test("a publisher that ends has delivered to all subscribers", async () => {
    const subscribers = [
      use(new Subscriber({ receiveHighWaterMark: 0 })),
      use(new Subscriber({ receiveHighWaterMark: 0 })),
    ]
    const script = `const publisher = new zmq.XPublisher({ sendHighWaterMark: 0, verbosity: "allSubs" }); await publisher.bind(argument.any);
      console.log(publisher.lastEndpoint); for (let i = 0; i < 2; i++) await publisher.receive();
      for (let i = 0; i < 5000; i++) await publisher.send(["topic", String(i), Buffer.alloc(i % 500)])`
    const process = new Script(script, { any: anyPort(transport) })
    const endpoint = await process.line()
    for (const subscriber of subscribers) {
      subscriber.connect(endpoint)
      subscriber.subscribe("topic")
    }
    for (const subscriber of subscribers)
      for (let i = 0; i < 5000; i++) expect(String((await subscriber.receive())[1])).toBe(String(i))
    expect(await process.ended(), process.errors).toEqual(natural)
  })

  test("the last reply of a REP that ends arrives", async () => {
    const script = `const reply = new zmq.Reply(); await reply.bind(argument.any); console.log(reply.lastEndpoint);
      await reply.receive(); await reply.send("answer")`
    const process = new Script(script, { any: anyPort(transport) })
    const request = use(new Request())
    request.connect(await process.line())
    await request.send("question")
    expect(String((await request.receive())[0])).toBe("answer")
    expect(await process.ended(), process.errors).toEqual(natural)
  })

  test("process.exit() with a connected peer ends at once", async () => {
    const { pull, endpoint } = await listen(transport)
    const script = `${connected} await push.send("1");
      const go = new zmq.Pull(); go.connect(argument.go); await go.receive(); setTimeout(() => {
      for (let i = 0; i < 100; i++) push.send(Buffer.alloc(1000)).catch(() => {});
      setImmediate(() => process.exit(3)) }, 1)`
    const go = use(new Push())
    await go.bind(anyPort(transport))
    const process = new Script(script, { endpoint, go: go.lastEndpoint })
    expect(await text(pull)).toBe("1")
    await go.send("go on")
    expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
  })

  test("a pending receive() keeps a process alive until it gets a message", async () => {
    const { pull, endpoint } = await listen(transport)
    const script = `const pull = new zmq.Pull(); await pull.bind(argument.any);
      const push = new zmq.Push(); push.connect(argument.endpoint); await push.send(pull.lastEndpoint);
      setTimeout(() => console.log("still there"), 300).unref(); // if something else keeps the process alive
      console.log(String((await pull.receive())[0]))`
    const process = new Script(script, { endpoint, any: anyPort(transport) })
    const there = await text(pull)
    expect(await process.line()).toBe("still there")
    const push = use(new Push())
    push.connect(there)
    await push.send("1")
    expect(await process.line()).toBe("1")
    expect(await process.ended(), process.errors).toEqual(natural)
  })

  test("a signal ends a process with messages left", async () => {
    const endpoint = await nobody(transport)
    const script = `${connected} await push.send("1"); console.log("sent"); setInterval(() => {}, 1000)`
    const process = new Script(script, { endpoint })
    expect(await process.line()).toBe("sent")
    process.process.kill("SIGTERM")
    expect(await process.ended()).toEqual({ code: null, signal: "SIGTERM" })
  })

  // In Node a pending write keeps a process alive, whose end would close the socket.
  test.each(transport === lz4 ? ["closes"] : ["closes", "ends"])(
    "a peer that does not read delays the end by linger at most, when the process %s",
    async (how) => {
      const server = createServer().listen(0, "127.0.0.1")
      await once(server, "listening")
      const stalled = stall(server)
      const met = once(server, "connection")
      const { port } = server.address() as { port: number }
      const script = `${connected} push.linger = 200; push.sendHighWaterMark = 0;
      ${noise} const body = noise(1 << 16);
      for (let i = 0; i < 400; i++) await push.send(body);
      const go = new zmq.Pull(); go.connect(argument.go); await go.receive(); go.close();
      // Time to write what the system takes. If it is too little, less has to be dropped.
      await new Promise((resolve) => setTimeout(resolve, 500));
      ${how === "closes" ? "push.close()" : ""}`
      const endpoint = `${transport.scheme}127.0.0.1:${port}`
      const go = use(new Push())
      await go.bind(anyPort(transport))
      const process = new Script(script, { endpoint, go: go.lastEndpoint })
      await met
      await go.send("go on")
      expect(await process.ended(), process.errors).toEqual(natural)
      expect(stalled).not.toHaveLength(0)
      for (const socket of stalled) socket.destroy()
      server.close()
    },
  )
})

test("a process ends while peers send more than it can receive", async () => {
  const publisher = `const publisher = new zmq.Publisher();
      await publisher.bind(argument); console.log(publisher.lastEndpoint);
      // After some turns with messages nothing else is left to do.
      await new Promise((resolve) => {
        const timer = setInterval(() => {
          if (publisher.lz4.stats.received.messages < 100) return;
          clearInterval(timer); resolve()
        }, 1)
      })`
  const script = new Script(publisher, "lz4+tcp://127.0.0.1:*")
  const endpoint = await script.line()
  const bomb = message(Codec.createSync().encodePart(Buffer.alloc(4 * MIB, "x")))
  const peers = Array.from({ length: 8 }, () => rawZmtpPeer(endpoint, "SUB"))
  for (const { socket } of (await Promise.all(peers)).map(use)) {
    const flood = () => {
      while (socket.writable && socket.write(bomb));
    }
    socket.on("drain", flood)
    flood()
  }
  expect(await script.ended()).toEqual(natural)
})

/** A clock with which messages after the first few are never flushed by time. */
const ownClock = preloaded(`const real = performance.now.bind(performance);
  globalThis.clock = { step: 5 };
  Performance.prototype.now = () => clock.now === undefined ? real() : (clock.now += clock.step);`)
const endlessRest = `clock.now = 0;
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  for (let i = 0; i < 3; i++) { clock.now += 100; await push.send("first"); await turn() }
  clock.step = 0; await push.send("1"); await turn(); await push.send("2"); await turn();`

const waiting: [what: string, ending: string][] = [
  ["calls process.exit()", "process.exit(3)"],
  ["throws", 'throw new Error("thrown on purpose")'],
  ["closes its socket and goes on", "push.close(); setInterval(() => {}, 1000)"],
  ["disconnects and goes on", "push.disconnect(argument.endpoint); setInterval(() => {}, 1000)"],
  [
    "is left with no room and goes on",
    "push.sendHighWaterMark = 2; push.send('3'); setInterval(() => {}, 1000)",
  ],
]

test.each(isOnThreads ? [] : waiting)(
  "a process whose messages wait after a flush delivers them when it %s",
  async (_, ending) => {
    const { pull, endpoint } = await listen(lz4)
    pull.receiveTimeout = 60_000
    // With a thread, messages do not wait.
    const script = `const push = new zmq.Push(); const shaken = new Promise((resolve) => push.events.on("handshake", resolve));
    push.connect(argument.endpoint, { thread: false }); await shaken; ${endlessRest} ${ending}`
    const process = new Script(script, { endpoint }, "unlimited", ownClock)
    const received: string[] = []
    while (received.length < 5) received.push(await text(pull))
    expect(received, process.errors).toEqual(["first", "first", "first", "1", "2"])
  },
)

/** A clock that jumps by a minute while a process waits to exit, as if the machine had been stopped. */
const stoppedMachine = preloaded(`const real = performance.now.bind(performance);
  let exitMs = Number.POSITIVE_INFINITY;
  Performance.prototype.now = () => real() + (real() > exitMs + 5 ? 60_000 : 0);
  process.on("exit", () => { exitMs = real() });`)

test("a process waits to exit as long as its peer needs, although the machine was stopped meanwhile", async () => {
  const { pull, endpoint } = await listen(lz4)
  pull.receiveTimeout = 60_000
  // The thread that makes the connection needs longer to start.
  const script = `const push = new zmq.Push({ linger: -1 });
    push.connect(argument.endpoint, { thread: false }); await push.send("1"); process.exit()`
  const process = new Script(script, { endpoint }, "unlimited", stoppedMachine)
  expect(await text(pull), process.errors).toBe("1")
})

test("a process delivers its messages although its thread got a new connection while it was busy", async () => {
  const { pull, endpoint } = await listen(lz4)
  pull.receiveTimeout = 60_000
  const relay = await Relay.before(endpoint)
  const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-exit-"))
  onTestFinished(() => {
    relay.close()
    rmSync(directory, { recursive: true })
  })
  const source = `import { existsSync, writeSync } from "node:fs";
    const push = new zmq.Push({ linger: -1, reconnectInterval: 10 });
    push.connect(argument.endpoint, { thread: true });
    await push.send("first");
    await push.lz4.flush();
    writeSync(1, "busy\\n");
    while (!existsSync(argument.file)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    for (const text of ["1", "2"]) await push.send(text);
    process.exit()`
  const file = join(directory, "go on")
  const process = new PatientScript(source, { endpoint: relay.endpoint, file })
  expect(await process.line()).toBe("busy")
  expect(await text(pull)).toBe("first")
  relay.cut()
  await eventually(() => relay.connections.length > 1)
  writeFileSync(file, "")
  expect([await text(pull), await text(pull)], process.errors).toEqual(["1", "2"])
})

// Over tcp:// some of these crash zeromq.js and the whole process.
test.each([
  ["idle", ""],
  ["receiving", "void pull.receive();"],
  ["sending", `for (;;) await push.send("text").catch(() => {});`],
])("terminating a worker thread that is %s affects nothing else", async (_, doing) => {
  const { pull, endpoint } = await listen(lz4)
  const script = `import { Worker } from "node:worker_threads";
    const source = 'import { parentPort } from "node:worker_threads"; import * as zmq from "zeromq-lz4";'
      + 'const pull = new zmq.Pull(); await pull.bind(' + JSON.stringify(argument.any) + ');'
      + 'const push = new zmq.Push({ linger: 0 }); push.connect(pull.lastEndpoint); await push.send("1"); await pull.receive();'
      + 'parentPort.postMessage("ready"); ' + ${JSON.stringify(doing)};
    for (let i = 0; i < ${times(20, 8)}; i++) {
      const worker = new Worker(source, { eval: true });
      await new Promise((resolve) => worker.once("message", resolve));
      await worker.terminate() }
    ${connected} await push.send("goes on")`
  const process = new Script(script, { endpoint, any: anyPort(lz4) })
  expect(await text(pull)).toBe("goes on")
  expect(await process.ended(), process.errors).toEqual(natural)
})

/** Starts a worker that sends 50 messages at once over a new connection, and terminates it; returns what arrived. */
async function sentBeforeTermination(
  transport: Transport,
  then: string,
  options: object[] = [],
): Promise<string[]> {
  const { pull, endpoint } = await listen(transport)
  const script = `import { Worker } from "node:worker_threads";
    const source = 'import { parentPort, workerData } from "node:worker_threads"; import * as zmq from "zeromq-lz4";'
      + 'const push = new zmq.Push(); push.connect(workerData.endpoint, ...workerData.options);'
      // All in one turn of its event loop, and it runs no more until it is terminated.
      + 'for (let i = 0; i < 50; i++) void push.send(String(i));' + argument.then
      + 'parentPort.postMessage("sent"); for (;;);';
    const worker = new Worker(source, { eval: true, workerData: argument });
    await new Promise((resolve) => worker.once("message", resolve));
    await worker.terminate()`
  const process = new Script(script, { endpoint, options, then })
  expect(await process.ended(), process.errors).toEqual(natural)
  let count = 50
  if (transport === lz4) {
    // Whatever it sent is with the system, and each turn of the event loop polls: first for the connection.
    for (let i = 0; i < 5; i++) await turn()
    await eventually(() => pull.lz4.connections.length === 0)
    count = pull.lz4.stats.received.messages
  }
  const received: string[] = []
  while (received.length < count) received.push(await text(pull))
  return received
}

if (!isOnThreads) describeTermination()

function describeTermination() {
  const all = Array.from({ length: 50 }, (_, i) => String(i))

  describe("a worker that is terminated right after it has sent", () => {
    test("has sent everything over tcp://", async () => {
      expect(await sentBeforeTermination(tcp, "")).toEqual(all)
    })

    describe.each(threads)("thread: %s", (thread) => {
      test("has sent nothing", async () => {
        expect(await sentBeforeTermination(lz4, "", [{ thread }])).toEqual([])
      })

      test("has sent everything after flush()", async () => {
        expect(await sentBeforeTermination(lz4, "await push.lz4.flush();", [{ thread }])).toEqual(
          all,
        )
      })
    })
  })
}

const leaving = [
  { sends: "one message", script: `await push.send("text")`, ends: "" },
  ...["push.close()", "push.disconnect(endpoint)"].flatMap((ends) => [
    { sends: "one message", script: `await push.send("text")`, ends },
    {
      sends: "more than the system takes",
      script: "for (let i = 0; i < 400; i++) await push.send(body)",
      ends,
    },
  ]),
]

test.each(leaving.flatMap((one) => threads.map((thread) => ({ ...one, thread }))))(
  "with linger 0, a process does not wait for a peer that keeps its side open: $sends, $ends, thread $thread",
  async ({ script, ends, thread }) => {
    const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1")
    await once(server, "listening")
    const stalled = stall(server)
    const { port } = server.address() as { port: number }
    const source = `${marksErrors} const { endpoint, thread } = argument;
      ${noise} const body = noise(1 << 16);
      const push = new zmq.Push({ linger: 0, sendHighWaterMark: 0 });
      push.connect(endpoint, { thread });
      await push.send("first");
      while (push.lz4.stats.sent.messages === 0) await new Promise(setImmediate);
      ${script};
      ${ends}`
    const process = new Script(source, { endpoint: `${lz4.scheme}127.0.0.1:${port}`, thread })
    expect(await process.ended(), process.errors).toEqual(natural)
    expect(process.errors).not.toContain(mark) // no warning that it is waiting
    for (const socket of stalled) socket.destroy()
    server.close()
  },
)

/** Makes the end of a peer take as long as it likes, which it has a second for otherwise. */
const endlessFarewell = preloaded(`import timers from "node:timers";
  import { syncBuiltinESMExports } from "node:module";
  const { setTimeout } = timers;
  timers.setTimeout = (callback, ms, ...args) => setTimeout(callback, ms === 1000 ? 1e6 : ms, ...args);
  syncBuiltinESMExports()`)

const taken = [
  { transport: tcp, options: [] },
  ...threads.map((thread) => ({ transport: lz4, options: [{ thread }] })),
]
test.each(
  taken.flatMap((one) =>
    ["", "push.close()", "push.disconnect(endpoint)"].map((ends) => ({ ...one, ends })),
  ),
)(
  "a process does not wait until a peer reads what the system has taken: $transport.name, $options, $ends",
  async ({ transport, options, ends }) => {
    const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1")
    await once(server, "listening")
    const stalled = stall(server)
    const { port } = server.address() as { port: number }
    const source = `${marksErrors} const { endpoint, options } = argument;
      ${noise} const body = noise(1 << 16);
      const push = new zmq.Push();
      push.connect(endpoint, ...options);
      for (let i = 0; i < 4; i++) await push.send(body);
      await push.lz4.flush();
      ${ends}`
    const endpoint = `${transport.scheme}127.0.0.1:${port}`
    const process = new Script(source, { endpoint, options }, "unlimited", endlessFarewell)
    expect(await process.ended(), process.errors).toEqual(natural)
    expect(process.errors).not.toContain(mark)
    // The system goes on sending.
    const [peer] = stalled as [Socket]
    const received: Buffer[] = []
    peer.on("data", (bytes) => received.push(bytes)).resume()
    await once(peer, "end")
    const { frames } = parseStream(Buffer.concat(received))
    const parts = messagesOf(frames).map(([part]) => (part as Uint8Array).length)
    expect(parts).toEqual(Array(4).fill(65_536 + (transport === lz4 ? SENTINEL_BYTES : 0)))
    peer.destroy()
    server.close()
  },
)

test("a process that waits for a peer which goes on sending does not say that messages wait", async () => {
  const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as { port: number }
  const met = once(server, "connection")
  // Its warning comes after all sockets were read, however busy the machine is.
  const later = preloaded(`import timers from "node:timers";
    import { syncBuiltinESMExports } from "node:module";
    const { setTimeout, setImmediate } = timers;
    const twice = (callback, ...args) => setImmediate(() => setImmediate(callback, ...args));
    timers.setTimeout = (callback, ms, ...args) =>
      ms === 500 ? setTimeout(twice, ms, callback, ...args) : setTimeout(callback, ms, ...args);
    syncBuiltinESMExports()`)
  const source = `${marksErrors}
    const pair = new zmq.Pair({ receiveHighWaterMark: 0 });
    pair.connect(argument);
    await pair.send("all");
    await pair.lz4.flush();
    await pair.receive()`
  const process = new Script(source, `${lz4.scheme}127.0.0.1:${port}`, "unlimited", later)
  const [peer] = (await met) as [Socket]
  peer.on("error", () => {}).write(handshake("PAIR"))
  const timer = setInterval(() => peer.write(message(plainPart(Buffer.from("more")))), 5)
  onTestFinished(() => {
    clearInterval(timer)
    peer.destroy()
    server.close()
  })
  expect(await process.ended(), process.errors).toEqual(natural)
  expect(process.errors).not.toContain(mark)
})

/** Accepts connections and never reads. */
function stall(server: Server): Socket[] {
  const sockets: Socket[] = []
  server.on("connection", (socket) => {
    socket.on("error", () => {})
    socket.write(asOthersThanLibzmq(handshake("PULL")))
    sockets.push(socket.pause())
  })
  return sockets
}
