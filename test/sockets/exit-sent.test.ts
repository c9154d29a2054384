import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, test } from "vitest"
import { Context, Dealer, Pull, Reply, Router, Subscriber } from "zeromq-lz4"
import { Codec } from "zeromq-lz4/codec"

import { mark, marksErrors, noise, PatientScript, Script } from "../support/running-script.js"
import { type AnySocket, anyPort, eventually, freePort, use } from "../support/sockets.js"
import { stalledPeer } from "../support/stalled-peer.js"
import { isInFull, isOnceMore, lz4 } from "../support/transports.js"

const MESSAGES = 100
const threads = [{ thread: false }, { thread: true }]
const sizes = isOnceMore ? [100_000] : [100_000, 64]

const endings = [
  { how: "calls process.exit()", script: "process.exit(3)", code: 3 },
  { how: "throws", script: 'throw new Error("on purpose")', code: 1 },
  { how: "closes and calls process.exit()", script: "socket.close(); process.exit(3)", code: 3 },
  { how: "rejects", script: 'Promise.reject(new Error("on purpose"))', code: 1 },
]
/** The first two are enough where the suite runs once more, and for the second size. */
const endingsWith = (bytes: number) =>
  isInFull || (!isOnceMore && bytes === sizes[0]) ? endings : endings.slice(0, 2)

/** The beginning of a script, with its arguments and a function that sends its messages. */
const head = `const { bytes, endpoint, options } = argument;
  const alive = setInterval(() => {}, 1000);
  const send = async (socket, ...first) => {
    for (let i = 0; i < ${MESSAGES}; i++) await socket.send([...first, String(i), Buffer.alloc(bytes, i)])
  };
  const event = (socket, name) => new Promise((resolve) => socket.events.on(name, resolve));
`

type Receives = AnySocket & { receive(): Promise<Buffer[]>; receiveTimeout: number }

/** Receives all messages, each once and in order, until the sender has ended. */
async function expectAll(socket: Receives, bytes: number, parts = 0): Promise<void> {
  for (let i = 0; i < MESSAGES; i++) {
    const [number, body] = (await socket.receive()).slice(parts) as [Buffer, Buffer]
    expect(Number(number)).toBe(i)
    expect(Buffer.compare(body, Buffer.alloc(bytes, i))).toBe(0)
  }
  await expectNothing(socket)
}

/** Expects no more messages from a sender that has ended. */
async function expectNothing(socket: Receives): Promise<void> {
  // Whatever it sent is with the system, and each turn of the event loop polls: first for the connection.
  for (let i = 0; i < 5; i++) await turn()
  await eventually(() => socket.lz4.connections.length === 0)
  socket.receiveTimeout = 0
  await expect(socket.receive()).rejects.toMatchObject({ code: "EAGAIN" })
}

/** Binds a socket to an endpoint for a script. */
async function bound<S extends Receives>(socket: S): Promise<{ socket: S; endpoint: string }> {
  await use(socket).bind(anyPort(lz4))
  return { socket, endpoint: socket.lastEndpoint as string }
}

describe.each(threads)("with %o", (options) => {
  test.each([{}, { compress: true }])(
    "a part as it came and others, sent with %o, arrive when a process without a connection exits",
    async (form) => {
      const { socket, endpoint } = await bound(new Pull())
      const plain = Buffer.alloc(6000, "as it came ")
      using codec = Codec.createSync()
      const wire = Buffer.from(codec.encodePart(plain)).toString("base64")
      const script = `const { endpoint, options, wire, form } = argument;
        const socket = new zmq.Push(); socket.connect(endpoint, options);
        const part = zmq.CompressedPart.from(Buffer.from(wire, "base64"));
        socket.send([part, "x".repeat(500)], ...(form.compress ? [form] : []));
        socket.send("after"); process.exit(3)`
      const process = new PatientScript(script, { endpoint, options, wire, form })
      const received = await socket.receive()
      expect(received.map(String)).toEqual([String(plain), "x".repeat(500)])
      expect(String(await socket.receive())).toBe("after")
      expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
    },
  )

  describe.each(sizes)("messages of %i bytes", (bytes) => {
    test.each(endingsWith(bytes))(
      "arrive when a process that has no connection yet $how",
      async (ending) => {
        const { socket, endpoint } = await bound(new Pull())
        const script = `${head} const socket = new zmq.Push(); socket.connect(endpoint, options);
        await send(socket); ${ending.script}`
        const process = new PatientScript(script, { endpoint, bytes, options })
        await expectAll(socket, bytes)
        expect(await process.ended(), process.errors).toEqual({ code: ending.code, signal: null })
      },
    )

    test.each(endingsWith(bytes))(
      "arrive when a process that has a connection $how",
      async (ending) => {
        const { socket, endpoint } = await bound(new Pull())
        const script = `${head} const socket = new zmq.Push(); const shaken = event(socket, "handshake");
        socket.connect(endpoint, options); await shaken; await send(socket); ${ending.script}`
        const process = new PatientScript(script, { endpoint, bytes, options })
        await expectAll(socket, bytes)
        expect(await process.ended(), process.errors).toEqual({ code: ending.code, signal: null })
      },
    )

    test("arrive when a process is bound and calls process.exit()", async () => {
      const script = `${head} const socket = new zmq.Push(); const shaken = event(socket, "handshake");
        await socket.bind(endpoint, options); console.log(socket.lastEndpoint); await shaken;
        await send(socket); process.exit(3)`
      const process = new PatientScript(script, { endpoint: anyPort(lz4), bytes, options })
      const socket = use(new Pull())
      socket.connect(await process.line())
      await expectAll(socket, bytes)
      expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
    })

    test("arrive at a subscriber when its publisher calls process.exit()", async () => {
      const script = `${head} const socket = new zmq.XPublisher(); await socket.bind(endpoint, options);
        console.log(socket.lastEndpoint); await socket.receive(); await send(socket); process.exit(3)`
      const process = new PatientScript(script, { endpoint: anyPort(lz4), bytes, options })
      const socket = use(new Subscriber())
      socket.connect(await process.line())
      socket.subscribe("")
      await expectAll(socket, bytes)
      expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
    })

    test("arrive at a ROUTER that has the sender's routing id", async () => {
      const { socket, endpoint } = await bound(new Router())
      const script = `${head} const socket = new zmq.Dealer({ routingId: "me" });
        const connected = new Promise((resolve) => socket.lz4.once("connect", resolve));
        socket.connect(endpoint, options); await connected; await send(socket); process.exit(3)`
      const process = new PatientScript(script, { endpoint, bytes, options })
      await expectAll(socket, bytes, 1)
      expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
    })

    test("arrive at a peer that returns between two attempts", async () => {
      const gone = await bound(new Pull())
      const { endpoint } = gone
      const script = `${head} const socket = new zmq.Push({ reconnectInterval: 600_000 });
        const retried = event(socket, "connect:retry");
        socket.connect(endpoint, options); await socket.send("first"); await retried; await send(socket);
        process.on("SIGTERM", () => process.exit(3)); console.log("sent")`
      const process = new PatientScript(script, { endpoint, bytes, options })
      await gone.socket.receive()
      gone.socket.close()
      expect(await process.line()).toBe("sent")
      const socket = use(new Pull())
      await socket.bind(endpoint)
      process.process.kill("SIGTERM")
      await expectAll(socket, bytes)
      expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
    })
  })

  test("replies of a ROUTER to all its peers arrive", async () => {
    const script = `${head} const socket = new zmq.Router(); await socket.bind(endpoint, options);
      console.log(socket.lastEndpoint); const ids = [];
      for (let i = 0; i < 3; i++) ids.push((await socket.receive())[0]);
      for (const id of ids) await send(socket, id); process.exit(3)`
    const process = new PatientScript(script, { endpoint: anyPort(lz4), bytes: 100_000, options })
    const endpoint = await process.line()
    const dealers = Array.from({ length: 3 }, () => use(new Dealer()))
    for (const dealer of dealers) {
      dealer.connect(endpoint)
      await dealer.send("here")
    }
    await Promise.all(dealers.map((dealer) => expectAll(dealer, 100_000)))
    expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
  })

  test("the request of a REQ arrives", async () => {
    const { socket, endpoint } = await bound(new Reply())
    const script = `${head} const socket = new zmq.Request(); socket.connect(endpoint, options);
      await socket.send("question"); process.exit(3)`
    const process = new PatientScript(script, { endpoint, options })
    expect(String(await socket.receive())).toBe("question")
    expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
    await socket.send("answer") // without a peer
    await expectNothing(socket)
  })

  test("messages of a connecting PUB arrive", async () => {
    const { socket, endpoint } = await bound(new Subscriber())
    socket.subscribe("")
    const script = `${head} const socket = new zmq.XPublisher(); socket.connect(endpoint, options);
      await socket.receive(); await send(socket); process.exit(3)`
    const process = new PatientScript(script, { endpoint, bytes: 100_000, options })
    await expectAll(socket, 100_000)
    expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
  })

  test.each([
    { level: 9 },
    { arenas: true },
    { autoDictionary: { trigger: 3 } },
    { dictionary: "x" },
  ])("messages sent with %o arrive", async (more) => {
    const { socket, endpoint } = await bound(new Pull())
    const script = `${head} if (options.dictionary) options.dictionary = Buffer.alloc(1000, 7);
      const socket = new zmq.Push(); socket.connect(endpoint, options); await send(socket); process.exit(3)`
    const process = new PatientScript(script, {
      endpoint,
      bytes: 700,
      options: { ...options, ...more },
    })
    await expectAll(socket, 700)
    expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
  })

  test("messages of a PLAIN client arrive", async () => {
    const context = new Context()
    const zap = use(new Reply({ context }))
    await zap.bind("inproc://zeromq.zap.01")
    const asked: string[] = []
    const answering = (async () => {
      for await (const [version, id, , , , , name, word] of zap) {
        asked.push(`${name} ${word}`)
        await zap.send([version as Buffer, id as Buffer, "200", "", "", ""])
      }
    })()
    const { socket, endpoint } = await bound(new Pull({ context, plainServer: true }))
    const script = `${head} const socket = new zmq.Push({ plainUsername: "name", plainPassword: "word" });
      socket.connect(endpoint, options); await send(socket); process.exit(3)`
    const process = new PatientScript(script, { endpoint, bytes: 64, options })
    await expectAll(socket, 64)
    expect(asked).toContain("name word")
    expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
    zap.close()
    await answering
  })

  test("messages to a host name arrive", async () => {
    const { socket, endpoint } = await bound(new Pull())
    const script = `${head} const socket = new zmq.Push(); socket.connect(endpoint, options);
      await send(socket); process.exit(3)`
    const named = endpoint.replace("127.0.0.1", "localhost")
    const process = new PatientScript(script, { endpoint: named, bytes: 64, options })
    await expectAll(socket, 64)
    expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
  })

  test("messages of a worker thread that calls process.exit() arrive", async () => {
    const { socket, endpoint } = await bound(new Pull())
    const source = `import { workerData as argument } from "node:worker_threads";
      import * as zmq from "zeromq-lz4"; ${head}
      const socket = new zmq.Push(); socket.connect(endpoint, options); await send(socket); process.exit(3)`
    const script = `import { Worker } from "node:worker_threads";
      new Worker(${JSON.stringify(source)}, { eval: true, workerData: argument })`
    const process = new PatientScript(script, { endpoint, bytes: 100_000, options })
    await expectAll(socket, 100_000)
    expect(await process.ended(), process.errors).toEqual({ code: 0, signal: null })
  })

  test.each(endingsWith(64))(
    "with linger 0 nothing is sent when a process $how",
    async (ending) => {
      const { socket, endpoint } = await bound(new Pull())
      // In the turn in which it connects.
      const script = `${head} const socket = new zmq.Push({ linger: 0 }); socket.connect(endpoint, options);
      for (let i = 0; i < ${MESSAGES}; i++) void socket.send([String(i), Buffer.alloc(bytes, i)]);
      ${ending.script}`
      const process = new Script(script, { endpoint, bytes: 64, options })
      expect(await process.ended(), process.errors).toEqual({ code: ending.code, signal: null })
      await expectNothing(socket)
    },
  )

  // As over tcp://, where a process does not wait for an absent peer, whatever linger is.
  test.each([-1, 30_000])(
    "a process does not wait for an absent peer, with linger %i",
    async (l) => {
      const endpoint = `${lz4.scheme}127.0.0.1:${await freePort()}`
      const script = `${marksErrors} ${head} const socket = new zmq.Push({ linger: ${l} });
      socket.connect(endpoint, options); await send(socket); process.exit(3)`
      const process = new PatientScript(script, { endpoint, bytes: 64, options })
      expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
      expect(process.errors).not.toContain(mark)
    },
  )

  test.each([-1, 100, 30_000])(
    "a process does not wait for a peer that does not read, with linger %i",
    async (l) => {
      const { endpoint } = await stalledPeer()
      const script = `${head} const socket = new zmq.Push({ linger: ${l} }); const shaken = event(socket, "handshake");
      ${noise} const body = noise(100_000); socket.connect(endpoint, options); await shaken;
      for (let i = 0; i < 200; i++) await socket.send(body); process.exit(3)`
      const process = new Script(script, { endpoint, options })
      expect(await process.ended(), process.errors).toEqual({ code: 3, signal: null })
    },
  )
})
