/** What arrives while the event loop is blocked counts, although timers run before sockets are read. */
import { once } from "node:events"
import { describe, expect, test } from "vitest"
import { Pull, Push } from "zeromq-lz4"

import { dialling } from "../support/deaf-port.js"
import { dial, portOf, rawPeer, rawZmtpPeer } from "../support/raw-peer.js"
import { PatientScript, Script } from "../support/running-script.js"
import { anyPort, eventually, use } from "../support/sockets.js"
import { ANY, plain, text } from "../support/threads.js"
import { isOnThreads, lz4, type Transport, transports } from "../support/transports.js"
import { plainPart } from "../support/wire.js"
import { COMMAND, frame, handshake, message } from "../support/zmtp.js"

/** A limit that begins in the same turn as the block, so that only this lets it expire. */
const LIMIT_MS = 500
/** One that begins earlier, or is followed by some turns: more than these take on a busy machine. */
const LONG_LIMIT_MS = 2000

/** Sleeps, since other tests need the processor. */
function block(limitMs = LIMIT_MS): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * limitMs)
}

/** Calls `callback` in the phase of the event loop that timers follow. */
const inCheckPhase = (callback: () => void): Promise<void> =>
  new Promise((resolve) =>
    setImmediate(() => {
      callback()
      resolve()
    }),
  )

const hello = message(plainPart(Buffer.from("hello")))

test("a receive() whose receiveTimeout expires meanwhile gets the message", async () => {
  const pull = use(new Pull({ receiveTimeout: LIMIT_MS }))
  await pull.bind(ANY, plain)
  const peer = await rawZmtpPeer(pull.lastEndpoint as string, "PUSH")
  let received: Promise<string> | undefined
  await inCheckPhase(() => {
    received = text(pull)
    peer.socket.write(hello)
    block()
  })
  expect(await received).toBe("hello")
})

test("a send() whose sendTimeout expires meanwhile is accepted by the peer that has come", async () => {
  const push = use(new Push({ sendTimeout: LIMIT_MS }))
  await push.bind(ANY, plain)
  const peer = await rawPeer(push.lastEndpoint as string, new Uint8Array())
  await once(peer.socket, "data")
  let sent: Promise<void> | undefined
  await inCheckPhase(() => {
    sent = push.send("hello")
    peer.socket.write(handshake("PULL"))
    block()
  })
  await sent
})

test("a peer that answers a PING meanwhile stays connected", async () => {
  const pull = use(new Pull({ heartbeatInterval: 10, heartbeatTimeout: LIMIT_MS }))
  await pull.bind(ANY, plain)
  const peer = await rawPeer(pull.lastEndpoint as string, handshake("PUSH"))
  // Every PING is answered: the limit begins with the first one.
  peer.socket.on("data", (bytes) => {
    if (!bytes.includes("\x04PING")) return
    peer.socket.removeAllListeners("data").resume()
    peer.socket.write(frame(Buffer.from("\x04PONG"), COMMAND))
    block()
    peer.socket.write(hello)
  })
  expect(await text(pull)).toBe("hello")
})

test("a peer that completes the handshake meanwhile stays connected", async () => {
  const pull = use(new Pull({ handshakeInterval: LONG_LIMIT_MS }))
  await pull.bind(ANY, plain)
  const peer = await rawPeer(pull.lastEndpoint as string, new Uint8Array())
  peer.socket.once("data", () => {
    peer.socket.write(handshake("PUSH"))
    peer.socket.write(hello)
    block(LONG_LIMIT_MS)
  })
  expect(await text(pull)).toBe("hello")
})

test("a connection that is made meanwhile is used, whatever connectTimeout is", async () => {
  const pull = use(new Pull())
  await pull.bind(ANY, plain)
  const push = use(new Push({ connectTimeout: LIMIT_MS, reconnectInterval: -1 }))
  await inCheckPhase(() => {
    push.connect(pull.lastEndpoint as string, plain)
    block()
  })
  await push.send("hello")
  expect(await text(pull)).toBe("hello")
})

describe.each(transports)("over $name", (transport) => {
  test("messages of a closed socket are written although linger expires meanwhile", async () => {
    const pull = use(new Pull())
    await pull.bind(anyPort(transport))
    const push = new Push({ linger: LONG_LIMIT_MS })
    push.connect(pull.lastEndpoint as string)
    await push.send("hello")
    push.close()
    block(LONG_LIMIT_MS)
    expect(await text(pull)).toBe("hello")
  })

  test("so are those of a process that exits then", async () => {
    const pull = use(new Pull())
    await pull.bind(anyPort(transport))
    const script = `const push = new zmq.Push({ linger: ${LONG_LIMIT_MS} });
      push.connect(argument.endpoint);
      await push.send("hello");
      push.close();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${2 * LONG_LIMIT_MS});
      process.exit()`
    const process = new PatientScript(script, { endpoint: pull.lastEndpoint })
    expect(await text(pull)).toBe("hello")
    expect(await process.ended(), process.errors).toEqual({ code: 0, signal: null })
  })
})

describe("clients that connect meanwhile", () => {
  const CLIENTS = 300

  /** Connects to a process that is bound, and blocked from then on. */
  async function connectAll(transport: Transport, options: object) {
    const script = `const pull = new zmq.Pull(argument.options);
      await pull.bind(argument.address);
      process.stdout.write(pull.lastEndpoint + "\\n", () =>
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));`
    const endpoint = await new Script(script, { options, address: anyPort(transport) }).line()
    const clients = Array.from({ length: CLIENTS }, () => {
      const client = dial(endpoint).on("error", () => {})
      use({ close: () => client.destroy() })
      return client
    })
    return { clients, port: portOf(endpoint) }
  }

  test.each(transports)("are connected by the system, over $name", async (transport) => {
    const { clients } = await connectAll(transport, {})
    await Promise.all(clients.map((client) => once(client, "connect")))
  })

  // On a thread of its own, an endpoint accepts them at once.
  test.each(isOnThreads ? [] : [5, 100])(
    "are connected up to a backlog of %i that the program has set",
    async (backlog) => {
      const { clients, port } = await connectAll(lz4, { backlog })
      const connected = () => clients.filter((client) => !client.connecting).length
      await eventually(
        () => dialling(port).length === CLIENTS - connected() && connected() > backlog,
      )
      expect(connected()).toBe(backlog + 1) // Linux keeps one more
    },
  )
})
