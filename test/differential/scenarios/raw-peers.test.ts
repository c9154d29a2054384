/**
 * Peers that write ZMTP bytes directly: the bytes they receive, and the handling of violations.
 *
 * Other greetings than those of ZMTP 3 are left out: libzmq takes them for ZMTP 1 or 2.
 */
import { expect } from "vitest"

import { property } from "../raw-peer.js"
import { NEVER_MS, type Run, SOCKET_TYPES, scenario } from "../scenario.js"

/** The compatible socket types of each type. */
const PARTNER: Record<(typeof SOCKET_TYPES)[number], string> = {
  Pair: "PAIR",
  Publisher: "SUB",
  Subscriber: "PUB",
  XPublisher: "XSUB",
  XSubscriber: "XPUB",
  Push: "PULL",
  Pull: "PUSH",
  Request: "REP",
  Reply: "REQ",
  Dealer: "ROUTER",
  Router: "DEALER",
}

for (const type of SOCKET_TYPES) {
  for (const whoBinds of ["bound", "connecting"] as const) {
    scenario(
      `the greeting and READY of a ${whoBinds} ${type}`,
      async (run) => {
        const { zmq, make, bind, until, observe, rawConnection, rawListener } = run
        const socket = make(zmq[type] as typeof zmq.Dealer)
        let peer: Awaited<ReturnType<Run["rawConnection"]>>
        if (whoBinds === "bound") peer = await rawConnection(await bind(socket))
        else {
          const listener = await rawListener()
          socket.connect(listener.endpoint)
          await until(() => listener.peers.length)
          peer = listener.peers[0]!
        }
        peer.greet()
        peer.ready({ socketType: PARTNER[type] })
        await until(() => peer.frames.length)
        observe("greeting", peer.greeting.toString("hex"))
        observe("ready", peer.metadata("READY"))
        observe("frames", peer.frames)
      },
      { greeting: expect.stringMatching(/^ff/), frames: ["command READY"] },
    )
  }
}

scenario(
  "a routing id is in READY",
  async ({ zmq, make, bind, rawPeer, observe }) => {
    for (const type of ["Dealer", "Request", "Router", "Reply"] as const) {
      const socket = make(zmq[type] as typeof zmq.Dealer, { routingId: "given" })
      const peer = await rawPeer(await bind(socket), { socketType: PARTNER[type] })
      observe(type, peer.metadata("READY"))
    }
  },
  { Dealer: expect.any(String) },
)

scenario(
  "SUB tells a 3.1 peer its subscriptions",
  async ({ zmq, make, bind, rawPeer, until, observe }) => {
    const subscriber = make(zmq.Subscriber)
    subscriber.subscribe("a")
    const peer = await rawPeer(await bind(subscriber), { socketType: "PUB" })
    // libzmq sends subscriptions to a new peer when the socket is next used.
    await until(() => {
      void subscriber.readable
      return peer.frames.length >= 2
    })
    subscriber.subscribe("b")
    subscriber.unsubscribe("a")
    await until(() => peer.frames.length >= 4)
    observe("frames", peer.frames)
    observe("subscribe", peer.commands("SUBSCRIBE"))
    observe("cancel", peer.commands("CANCEL"))
  },
  { frames: expect.any(Array) },
)

scenario(
  "SUB tells a 3.0 peer its subscriptions",
  async ({ zmq, make, bind, rawPeer, until, observe }) => {
    const subscriber = make(zmq.Subscriber)
    subscriber.subscribe("a")
    const peer = await rawPeer(await bind(subscriber), { socketType: "PUB", minor: 0 })
    // libzmq sends subscriptions to a new peer when the socket is next used.
    await until(() => {
      void subscriber.readable
      return peer.frames.length >= 2
    })
    subscriber.subscribe("b")
    subscriber.unsubscribe("a")
    await until(() => peer.frames.length >= 4)
    observe("frames", peer.frames)
  },
  {
    frames: ["command READY", "message \x01a", "message \x01b", "message \x00a"].map((line) =>
      expect.stringContaining(line.slice(0, 7)),
    ),
  },
)

for (const minor of [0, 1]) {
  scenario(
    `XPUB understands commands and messages of a 3.${minor} peer`,
    async ({ zmq, make, bind, rawPeer, take, until, observe }) => {
      const publisher = make(zmq.XPublisher)
      const peer = await rawPeer(await bind(publisher), { socketType: "SUB", minor })
      peer.message(Buffer.from("\x01a"))
      peer.command("SUBSCRIBE", Buffer.from("b"))
      observe("subscriptions", await take(publisher, 2))
      await publisher.send("a1")
      await publisher.send("b1")
      await publisher.send("c1")
      peer.command("CANCEL", Buffer.from("b"))
      peer.message(Buffer.from("\x00a"))
      observe("unsubscriptions", await take(publisher, 2))
      await until(() => peer.frames.length >= 3)
      observe("frames", peer.frames)
    },
    { subscriptions: [["hex:0161"], ["hex:0162"]] },
  )
}

scenario(
  "messages to and from a peer",
  async ({ zmq, make, bind, rawPeer, until, take, observe }) => {
    const router = make(zmq.Router)
    const peer = await rawPeer(await bind(router), { socketType: "DEALER", routingId: "raw" })
    peer.message("one")
    peer.message("two", "", "parts")
    observe("received", await take(router, 2))
    await router.send(["raw", "back"])
    await router.send(["raw", "", "x".repeat(50)])
    await until(() => peer.frames.length >= 3)
    observe("frames", peer.frames)
  },
  {
    received: [
      ["raw", "one"],
      ["raw", "two", "", "parts"],
    ],
  },
)

for (const [name, routingId] of Object.entries({
  "of 300 bytes": "i".repeat(300),
  "that begins with 0": "\0zero",
  empty: "",
})) {
  scenario(
    `ROUTER and a peer with an id ${name}`,
    async ({ zmq, make, bind, rawConnection, until, eventTypes, observe }) => {
      const router = make(zmq.Router)
      const peer = await rawConnection(await bind(router))
      peer.greet()
      peer.ready({ socketType: "DEALER", routingId })
      await until(() => peer.frames.length)
      peer.message("text")
      observe("id", (await router.receive())[0]!.length)
      observe("events", eventTypes(router))
    },
    { events: expect.arrayContaining(["accept"]) },
  )
}

scenario(
  "an incomplete message is never received",
  async ({ zmq, make, bind, rawPeer, happened, take, observe }) => {
    const pull = make(zmq.Pull)
    const endpoint = await bind(pull)
    const peer = await rawPeer(endpoint, { socketType: "PUSH" })
    peer.message("whole")
    // A part with MORE, and no part after it.
    peer.write(Buffer.from([1, 5, 0, 0, 0, 0, 65]))
    observe("whole", await take(pull, 1))
    peer.socket.end()
    await happened(pull, "disconnect")
    const next = await rawPeer(endpoint, { socketType: "PUSH" })
    next.message("next")
    observe("next", await take(pull, 1))
    observe("readable", pull.readable)
  },
  { next: [["next"]], readable: false },
)

const GARBAGE: Record<string, (peer: Awaited<ReturnType<Run["rawConnection"]>>) => void> = {
  "another mechanism": (peer) => peer.greet({ mechanism: "PLAIN" }),
  "an unknown mechanism": (peer) => peer.greet({ mechanism: "NONSENSE" }),
  "a message instead of READY": (peer) => {
    peer.greet()
    peer.message("early")
  },
  "another command instead of READY": (peer) => {
    peer.greet()
    peer.command("NONSENSE")
  },
  "READY with an unknown socket type": (peer) => {
    peer.greet()
    peer.ready({ socketType: "NONSENSE" })
  },
  "READY with an incompatible socket type": (peer) => {
    peer.greet()
    peer.ready({ socketType: "PULL" })
  },
  "READY with two socket types, the first of them incompatible": (peer) => {
    peer.greet()
    peer.command(
      "READY",
      Buffer.concat([property("Socket-Type", "PULL"), property("Socket-Type", "PUSH")]),
    )
  },
  "READY with a truncated property": (peer) => {
    peer.greet()
    peer.command("READY", property("Socket-Type", "PUSH").subarray(0, -2))
  },
  "READY with a length beyond its end": (peer) => {
    peer.greet()
    peer.command("READY", Buffer.from([11, ...Buffer.from("Socket-Type"), 0, 0, 1, 0, 65]))
  },
  "an ERROR with a truncated reason": (peer) => {
    peer.greet()
    peer.command("ERROR", Buffer.from([30, 65]))
  },
  "the end of the connection at once": (peer) => peer.socket.end(),
  "the end of the connection after the greeting": (peer) => {
    peer.greet()
    peer.socket.end()
  },
}

for (const [name, act] of Object.entries(GARBAGE)) {
  for (const whoBinds of ["bound", "connecting"] as const) {
    scenario(
      `a ${whoBinds} socket receives ${name}`,
      async (run) => {
        const { zmq, make, bind, until, happened, settled, events, observe } = run
        const pull = make(zmq.Pull, { reconnectInterval: NEVER_MS })
        if (whoBinds === "bound") act(await run.rawConnection(await bind(pull)))
        else {
          const listener = await run.rawListener()
          pull.connect(listener.endpoint)
          await until(() => listener.peers.length)
          await happened(pull, "connect")
          act(listener.peers[0]!)
        }
        await happened(pull, "disconnect")
        await settled()
        observe("events", events(pull))
        // Other connections are not affected.
        const push = make(zmq.Push)
        push.connect(await bind(pull))
        await push.send("text")
        observe("received", await pull.receive())
      },
      { events: expect.any(Array), received: ["text"] },
    )
  }
}

for (const whoBinds of ["bound", "connecting"] as const) {
  scenario(
    `a ${whoBinds} socket receives an ERROR`,
    async ({
      zmq,
      make,
      bind,
      rawConnection,
      rawListener,
      until,
      happened,
      settled,
      events,
      observe,
    }) => {
      const pull = make(zmq.Pull, { reconnectInterval: NEVER_MS })
      const error = Buffer.from("\x05ERROR\x03400", "latin1")
      const frame = Buffer.concat([Buffer.from([4, error.length]), error])
      if (whoBinds === "bound") {
        const peer = await rawConnection(await bind(pull))
        peer.greet()
        await until(() => peer.frames.length)
        peer.write(frame)
      } else {
        const listener = await rawListener()
        pull.connect(listener.endpoint)
        await until(() => listener.peers.length)
        const peer = listener.peers[0]!
        peer.greet()
        await until(() => peer.frames.length)
        peer.write(frame)
      }
      await happened(pull, "handshake:error:auth")
      await settled()
      observe("events", events(pull))
    },
    { events: expect.arrayContaining([expect.objectContaining({ type: "handshake:error:auth" })]) },
  )
}

scenario(
  "a ROUTER no longer knows the name of a peer that has refused it",
  async ({ zmq, make, rawListener, until, happened, attempt, attempted }) => {
    const router = make(zmq.Router, { mandatory: true, sendTimeout: 0, reconnectInterval: 10 })
    const listener = await rawListener()
    router.connect(listener.endpoint, { routingId: "peer" })
    await attempted("before", () => router.send(["peer", "text"]))
    await until(() => listener.peers.length)
    const peer = listener.peers[0]!
    peer.greet()
    await until(() => peer.frames.length)
    peer.command("ERROR", Buffer.from("\x03400", "latin1"))
    await happened(router, "disconnect")
    const send = () => router.send(["peer", "text"])
    await until(async () => "rejects" in (await attempt(send)))
    await attempted("after", send)
  },
  { before: { resolves: "<undefined>" }, after: { rejects: { code: "EHOSTUNREACH" } } },
)

scenario(
  "READY without a socket type is accepted",
  async ({ zmq, make, bind, rawConnection, until, observe }) => {
    const pull = make(zmq.Pull)
    const peer = await rawConnection(await bind(pull))
    peer.greet()
    peer.command("READY")
    await until(() => peer.frames.length)
    peer.message("text")
    observe("received", await pull.receive())
  },
  { received: ["text"] },
)

scenario(
  "READY may have unknown properties, and property names in any case",
  async ({ zmq, make, bind, rawConnection, until, observe }) => {
    const pull = make(zmq.Pull)
    const peer = await rawConnection(await bind(pull))
    peer.greet()
    peer.command(
      "READY",
      Buffer.concat([
        property("X-Unknown", "1"),
        property("socket-type", "PUSH"),
        property("Identity", "me"),
      ]),
    )
    await until(() => peer.frames.length)
    peer.message("text")
    observe("received", await pull.receive())
  },
  { received: ["text"] },
)

scenario(
  "a greeting may arrive byte by byte",
  async ({ zmq, make, bind, rawConnection, until, sleep, observe }) => {
    const pull = make(zmq.Pull)
    const peer = await rawConnection(await bind(pull))
    peer.socket.setNoDelay()
    const greeting = Buffer.alloc(64)
    greeting.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1])
    greeting.write("NULL", 12)
    for (const byte of greeting) {
      peer.write(Buffer.from([byte]))
      await sleep(0)
    }
    peer.ready({ socketType: "PUSH" })
    await until(() => peer.frames.length)
    peer.message("text")
    observe("received", await pull.receive())
    observe("frames", peer.frames)
  },
  { received: ["text"], frames: ["command READY"] },
)

scenario(
  "handshakeInterval: a silent peer is disconnected",
  async ({ zmq, make, bind, rawConnection, happened, until, events, observe }) => {
    const pull = make(zmq.Pull, { handshakeInterval: 60 })
    const peer = await rawConnection(await bind(pull))
    await happened(pull, "disconnect")
    await until(() => peer.closed)
    observe("events", events(pull))
  },
  { events: expect.arrayContaining([expect.objectContaining({ type: "disconnect" })]) },
)

scenario(
  "handshakeInterval: a peer that is silent after its greeting is disconnected",
  async ({ zmq, make, bind, rawConnection, happened, until, events, observe }) => {
    // Long enough for the greeting to arrive, unless the machine is very busy: then a silent peer remains.
    const pull = make(zmq.Pull, { handshakeInterval: 1000 })
    const peer = await rawConnection(await bind(pull))
    peer.greet()
    await happened(pull, "disconnect")
    await until(() => peer.closed)
    observe("events", events(pull))
  },
  { events: expect.arrayContaining([expect.objectContaining({ type: "disconnect" })]) },
)

scenario(
  "handshakeInterval: a connecting socket reconnects",
  async ({ zmq, make, rawListener, until, happened, eventTypes, observe }) => {
    const listener = await rawListener()
    const push = make(zmq.Push, { handshakeInterval: 60, reconnectInterval: 10 })
    push.connect(listener.endpoint)
    await until(() => listener.peers.length >= 2)
    await until(() => listener.peers[0]!.closed)
    await happened(push, "connect:retry")
    const types = eventTypes(push)
    observe("events", types.slice(types.indexOf("connect"), types.indexOf("connect:retry") + 1))
  },
  { events: expect.arrayContaining(["disconnect", "connect:retry"]) },
)

scenario(
  "heartbeatInterval: PINGs are sent, and a peer that does not answer is disconnected",
  async ({ zmq, make, bind, rawPeer, happened, until, events, observe }) => {
    const pull = make(zmq.Pull, {
      heartbeatInterval: 40,
      heartbeatTimeout: 100,
      heartbeatTimeToLive: 300,
    })
    const peer = await rawPeer(await bind(pull), { socketType: "PUSH" })
    await happened(pull, "disconnect")
    await until(() => peer.closed)
    observe("events", events(pull))
    observe("pinged", peer.frames.slice(0, 2))
    observe("ping", peer.commands("PING")[0])
  },
  { pinged: ["command READY", "command PING"] },
)

scenario(
  "heartbeats: a peer that answers stays connected",
  async ({ zmq, make, bind, rawPeer, until, eventTypes, observe }) => {
    const pull = make(zmq.Pull, { heartbeatInterval: 20, heartbeatTimeout: 60_000 })
    const peer = await rawPeer(await bind(pull), { socketType: "PUSH" })
    let answered = 0
    await until(() => {
      for (; answered < peer.commands("PING").length; answered++)
        peer.command("PONG", peer.commands("PING")[answered]!.subarray(2))
      return answered >= 10
    })
    observe("events", eventTypes(pull))
    peer.message("alive")
    observe("received", await pull.receive())
  },
  { events: ["bind", "accept", "handshake"], received: ["alive"] },
)

scenario(
  "a PING is answered with its context",
  async ({ zmq, make, bind, rawPeer, until, observe }) => {
    const pull = make(zmq.Pull)
    const peer = await rawPeer(await bind(pull), { socketType: "PUSH" })
    peer.command("PING", Buffer.from([0, 0]))
    peer.command("PING", Buffer.from([0, 0, 1, 2, 3]))
    peer.command("PING", Buffer.concat([Buffer.from([0, 0]), Buffer.alloc(16, "x")]))
    await until(() => peer.commands("PONG").length >= 3)
    observe("pongs", peer.commands("PONG"))
  },
  { pongs: ["", "hex:010203", "xxxxxxxxxxxxxxxx"] },
)

scenario(
  "a peer is disconnected when the time to live in its PING has passed",
  async ({ zmq, make, bind, rawPeer, happened, until, eventTypes, observe }) => {
    const pull = make(zmq.Pull)
    const peer = await rawPeer(await bind(pull), { socketType: "PUSH" })
    // In tenths of a second.
    peer.command("PING", Buffer.from([0, 1]))
    await happened(pull, "disconnect")
    await until(() => peer.closed)
    observe("events", eventTypes(pull))
  },
  { events: ["bind", "accept", "handshake", "disconnect"] },
)

scenario(
  "heartbeats between two sockets do not affect messages",
  async ({ zmq, make, bind, sleep, eventTypes, observe }) => {
    const options = { heartbeatInterval: 20, heartbeatTimeout: 60_000, heartbeatTimeToLive: 60_000 }
    const [pull, push] = [make(zmq.Pull, options), make(zmq.Push, options)]
    push.connect(await bind(pull))
    for (let i = 0; i < 5; i++) {
      await push.send(`${i}`)
      observe("received", await pull.receive())
      // Longer than the interval; no later event shows that a heartbeat has passed.
      await sleep(30)
    }
    observe("pull", eventTypes(pull))
  },
  { received: ["4"], pull: ["bind", "accept", "handshake"] },
)

scenario(
  "unknown commands after the handshake are ignored",
  async ({ zmq, make, bind, rawPeer, take, observe }) => {
    const pull = make(zmq.Pull)
    const peer = await rawPeer(await bind(pull), { socketType: "PUSH" })
    peer.message("before")
    peer.command("NONSENSE", Buffer.from("body"))
    peer.message("after")
    observe("received", await take(pull, 2))
  },
  { received: [["before"], ["after"]] },
)

scenario(
  "a connecting socket reconnects to a listener that closed the connection",
  async ({ zmq, make, rawListener, until, take, observe }) => {
    const listener = await rawListener()
    const pull = make(zmq.Pull, { reconnectInterval: 10 })
    pull.connect(listener.endpoint)
    for (let i = 0; i < 3; i++) {
      await until(() => listener.peers.length > i)
      const peer = listener.peers[i]!
      peer.greet()
      peer.ready({ socketType: "PUSH" })
      await until(() => peer.frames.length)
      peer.message(`message ${i}`)
      observe("received", await take(pull, 1))
      peer.close()
    }
  },
  { received: [["message 2"]] },
)

scenario(
  "all bytes of the mechanism in a greeting count",
  async ({ zmq, make, bind, rawConnection, happened, events, until, observe }) => {
    const pull = make(zmq.Pull)
    const peer = await rawConnection(await bind(pull))
    peer.greet({ mechanism: "NULL\0X" })
    peer.ready({ socketType: "PUSH" })
    await until(() => peer.closed)
    await happened(pull, "disconnect")
    observe("events", events(pull))
  },
  {
    events: [
      { type: "bind" },
      { type: "accept" },
      { type: "handshake:error:protocol", error: { code: "ERR_ZMTP_MECHANISM_MISMATCH" } },
      { type: "disconnect" },
    ],
  },
)
