/** ZAP handlers (RFC 27) that are slow, start late or change, with many waiting peers. */
import { once } from "node:events"
import { describe, expect, test } from "vitest"
import { Context, Pull, Push, Reply, Router } from "zeromq-lz4"

import { type RawPeer, rawPeer } from "../support/raw-peer.js"
import { Script } from "../support/running-script.js"
import { runScript } from "../support/script.js"
import { eventually, use } from "../support/sockets.js"
import { isOnceMore } from "../support/transports.js"
import { concat } from "../support/wire.js"
import { COMMAND, commandName, frame, greeting, parseStream } from "../support/zmtp.js"

const ZAP = "inproc://zeromq.zap.01"
const ANY = "lz4+tcp://127.0.0.1:*"
const MANY = 1200

const string = (text: string) => concat(Uint8Array.of(text.length), Buffer.from(text))
const hello = (user: string) =>
  concat(
    greeting({ mechanism: "PLAIN" }),
    frame(concat(string("HELLO"), string(user), string("secret")), COMMAND),
  )

/** Returns the name of the first command that a peer receives. */
async function firstCommand({ socket }: RawPeer): Promise<string> {
  let received = new Uint8Array()
  for (;;) {
    const [bytes] = await once(socket, "data")
    received = Buffer.concat([received, bytes])
    const [first] = parseStream(received).frames
    if (first) return commandName(first)
  }
}

/** Answers requests, and collects their user names. Refuses the user "no". */
async function handler(context: Context): Promise<{ asked: string[]; close(): void }> {
  const reply = use(new Reply({ context }))
  await eventually(() => reply.bind(ZAP).then(() => true)) // an inproc:// name is free some time after close()
  const asked: string[] = []
  const serving = async () => {
    for await (const [version, id, , , , mechanism, user = mechanism] of reply) {
      asked.push(String(user))
      const status = String(user) === "no" ? "400" : "200"
      await reply.send([version as Buffer, id as Buffer, status, "", "", ""])
    }
  }
  serving().catch(() => {})
  return { asked, close: () => reply.close() }
}

/** Returns whether a NULL peer is accepted. */
async function comesIn(context: Context, pull: Pull): Promise<void> {
  const push = use(new Push({ context, reconnectInterval: 5 }))
  push.connect(pull.lastEndpoint as string)
  await push.send("text")
  expect(String(await pull.receive())).toBe("text")
  push.close()
}

// Not once more where all connections are on threads.
const settings = isOnceMore ? [] : [{ thread: false }, { thread: true }]
describe.each(settings)("with %o", (options) => {
  test(`${MANY} peers that wait for a handler do not use up the program's sockets, and are accepted in the end`, async () => {
    // In a separate process, which must not end.
    const script = new Script(
      `const zap = new zmq.Router();
      await zap.bind("${ZAP}");
      const pull = new zmq.Pull({ plainServer: true, handshakeInterval: 0 });
      await pull.bind("${ANY}", argument);
      console.log(pull.lastEndpoint);
      const requests = [];
      const next = async () => { requests.push(await zap.receive()) };
      for (let i = 0; i < 500; i++) await next();
      for (let i = 0; i < 100; i++) new zmq.Push().close();
      console.log("half");
      while (requests.length < ${MANY}) await next();
      for (let i = 0; i < 100; i++) new zmq.Push().close();
      console.log("all");
      for (const [peer, empty, version, id] of requests.reverse())
        await zap.send([peer, empty, version, id, "200", "", "", ""]);
      process.stdin.resume();
      await new Promise(() => setInterval(() => {}, 1000));`,
      options,
    )
    const endpoint = await script.line()
    const peers: RawPeer[] = []
    const answers: Promise<string>[] = []
    for (let i = 0; i < MANY; i++) {
      const peer = use(await rawPeer(endpoint, hello(`user ${i}`)))
      peers.push(peer)
      answers.push(firstCommand(peer))
    }
    expect(await script.line()).toBe("half")
    expect(await script.line()).toBe("all")
    expect(new Set(await Promise.all(answers))).toEqual(new Set(["WELCOME"]))
  })

  test("each of many peers gets the reply to its own request, in any order", async () => {
    const context = new Context()
    const zap = use(new Router({ context }))
    await zap.bind(ZAP)
    const pull = use(new Pull({ context, plainServer: true }))
    await pull.bind(ANY, options)
    const users = Array.from({ length: 30 }, (_, i) => (i % 3 === 0 ? "no" : `user ${i}`))
    const answers = users.map(async (user) => {
      const peer = use(await rawPeer(pull.lastEndpoint as string, hello(user)))
      return firstCommand(peer)
    })
    const requests: Buffer[][] = []
    while (requests.length < users.length) requests.push(await zap.receive())
    for (const [peer, empty, version, id, , , , , user] of requests.reverse()) {
      const status = String(user) === "no" ? "400" : "200"
      await zap.send([peer, empty, version, id, status, "", "", ""] as Buffer[])
    }
    const expected = users.map((user) => (user === "no" ? "ERROR" : "WELCOME"))
    expect(await Promise.all(answers)).toEqual(expected)
  })
})

test("NULL with a domain accepts all peers if there is no handler", async () => {
  const context = new Context()
  const pull = use(new Pull({ context, zapDomain: "domain" }))
  await pull.bind(ANY)
  const push = Array.from({ length: 300 }, () => use(new Push({ context })))
  for (const one of push) {
    one.connect(pull.lastEndpoint as string)
    await one.send("text")
  }
  for (const _ of push) await pull.receive()
})

test("a handler gets requests from its bind until its close, and then the next handler does", async () => {
  const context = new Context()
  const pull = use(new Pull({ context, zapDomain: "domain" }))
  await pull.bind(ANY)
  for (let i = 0; i < 20; i++) {
    await comesIn(context, pull)
    const first = await handler(context)
    await comesIn(context, pull)
    expect(first.asked).toEqual(["NULL"])
    first.close()
    const second = await handler(context)
    await comesIn(context, pull)
    expect(second.asked).toEqual(["NULL"])
    second.close()
    // Its name is only free after libzmq has closed it.
    const probe = new Reply({ context })
    await eventually(() => probe.bind(ZAP).then(() => true))
    await probe.unbind(ZAP)
    probe.close()
  }
})

test("once a handler has left its name by unbind(), the next can bind it at once", async () => {
  const context = new Context()
  for (let i = 0; i < 100; i++) {
    const reply = new Reply({ context })
    await reply.bind(ZAP)
    await reply.unbind(ZAP) // close() alone frees the name some time later
    reply.close()
  }
})

test("a handler can be bound at any time while peers connect", async () => {
  const context = new Context()
  const pull = use(new Pull({ context, zapDomain: "domain", handshakeInterval: 1000 }))
  await pull.bind(ANY)
  let over = false
  const coming = (async () => {
    while (!over) await comesIn(context, pull)
  })()
  const elsewhere = "inproc://elsewhere"
  for (let i = 0; i < 75; i++) {
    // As many turns of the event loop as a bind() of its name needs.
    const reply = new Reply({ context })
    await reply.bind(elsewhere)
    await reply.unbind(elsewhere)
    const bound = reply.bind(ZAP)
    const serving = (async () => {
      await bound
      for await (const [version, id] of reply)
        await reply.send([version as Buffer, id as Buffer, "200", "", "", ""])
    })().catch(() => {})
    await bound
    reply.close()
    await serving
    const probe = new Reply({ context })
    await eventually(() => probe.bind(ZAP).then(() => true)) // wait until libzmq has closed it
    await probe.unbind(ZAP)
    probe.close()
  }
  over = true
  await coming
})

test("a peer that waits for the handler does not keep the process alive", async () => {
  const script = new Script(
    `const zap = new zmq.Router();
    await zap.bind("${ZAP}");
    const pull = new zmq.Pull({ plainServer: true });
    await pull.bind("${ANY}");
    console.log(pull.lastEndpoint);
    await zap.receive();`,
    {},
  )
  const peer = use(await rawPeer(await script.line(), hello("user")))
  await peer.closed
  expect(await script.ended()).toEqual({ code: 0, signal: null })
})

test("a process without a handler for its requests ends", async () => {
  const script = new Script(
    `const pull = new zmq.Pull({ zapDomain: "domain" }), push = new zmq.Push();
    await pull.bind("${ANY}");
    push.connect(pull.lastEndpoint);
    await push.send("text");
    await pull.receive();`,
    {},
  )
  expect(await script.ended()).toEqual({ code: 0, signal: null })
})

test.each([true, false])(
  "a context is collected after its peers were accepted, handler: %s",
  async (handled) => {
    const collected = await runScript(`
    const ref = await (async () => {
      const context = new zmq.Context()
      const zap = new zmq.Reply({ context, linger: 0 })
      const pull = new zmq.Pull({ context, zapDomain: "domain", linger: 0 })
      const push = new zmq.Push({ context, linger: 0 })
      if (${handled}) await zap.bind("${ZAP}")
      const answer = async () => {
        const [version, id] = await zap.receive()
        await zap.send([version, id, "200", "", "", ""])
      }
      await pull.bind("${ANY}")
      push.connect(pull.lastEndpoint)
      await Promise.all([push.send("text"), pull.receive(), ${handled} && answer()])
      for (const socket of [zap, pull, push]) socket.close()
      return new WeakRef(context)
    })()
    for (let i = 0; i < 2000 && ref.deref(); i++) await collect()
    return ref.deref() === undefined`)
    expect(collected).toBe(true)
  },
)

test("a reply without a request id answers the oldest request; one for a lost peer is ignored", async () => {
  const context = new Context()
  const zap = use(new Router({ context }))
  await zap.bind(ZAP)
  const pull = use(new Pull({ context, plainServer: true }))
  await pull.bind(ANY)
  const connect = async (user: string) =>
    use(await rawPeer(pull.lastEndpoint as string, hello(user)))
  const send = ([peer, empty, version, id]: Buffer[], given?: string) =>
    zap.send([peer!, empty!, version!, given ?? id!, "200", "", "", ""])
  const gone = await connect("gone")
  const unwanted = await zap.receive()
  const ended = once(pull.lz4, "disconnect")
  gone.close()
  await ended
  const first = await connect("first")
  const requests = [await zap.receive()]
  const second = firstCommand(await connect("second"))
  requests.push(await zap.receive())
  await send(unwanted)
  await send(requests[0]!, "1")
  await first.closed
  await send(requests[1]!)
  expect(await second).toBe("WELCOME")
})

test("a program without free sockets refuses peers, and continues", async () => {
  const result = await runScript(`
    const context = new zmq.Context({ maxSockets: 10 })
    const pull = new zmq.Pull({ context, zapDomain: "domain" })
    await pull.bind("${ANY}")
    const sockets = []
    try { for (;;) sockets.push(new zmq.Push({ context })) } catch {}
    const refused = new Promise((resolve) => pull.lz4.once("disconnect", resolve))
    const push = new zmq.Push({ reconnectInterval: 5 })
    push.connect(pull.lastEndpoint)
    const received = pull.receive() // keeps the process alive
    await push.send("text")
    await refused
    for (const socket of sockets) socket.close()
    return String(await received)`)
  expect(result).toBe("text")
})
