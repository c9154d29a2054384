/** Connections that come and go: linger, reconnection, connecting twice, disconnecting, PAIR's one peer. */
import { expect } from "vitest"
import type * as zeromq from "zeromq"

import { NEVER_MS, scenario } from "../scenario.js"

scenario(
  "close with linger -1 delivers queued messages when the peer connects",
  async ({ zmq, plain, unused, take, observe }) => {
    const endpoint = await unused()
    const push = plain(zmq.Push, { linger: -1, reconnectInterval: 10 })
    push.connect(endpoint)
    for (let i = 0; i < 5; i++) await push.send(`${i}`)
    push.close()
    const pull = plain(zmq.Pull)
    await pull.bind(endpoint)
    observe("received", await take(pull, 5))
  },
  { received: [["0"], ["1"], ["2"], ["3"], ["4"]] },
)

scenario(
  "close with linger 0 drops queued messages",
  async ({ zmq, make, plain, unused, happened, take, observe }) => {
    const endpoint = await unused()
    const push = make(zmq.Push, { linger: 0, reconnectInterval: 10 })
    push.connect(endpoint)
    await push.send("dropped")
    push.close()
    // Closing continues in the background.
    await happened(push, "end")
    const pull = plain(zmq.Pull)
    await pull.bind(endpoint)
    const other = plain(zmq.Push)
    other.connect(endpoint)
    await other.send("other")
    observe("received", await take(pull, 1))
    observe("readable", pull.readable)
  },
  { received: [["other"]], readable: false },
)

scenario(
  "close drops queued messages when linger ends, or delivers them before",
  async ({ zmq, make, plain, unused, happened, settled, take, observe }) => {
    const endpoint = await unused()
    const short = make(zmq.Push, { linger: 20, reconnectInterval: 10 })
    short.connect(endpoint)
    await short.send("short")
    const long = plain(zmq.Push, { linger: NEVER_MS, reconnectInterval: 10 })
    long.connect(endpoint)
    await long.send("long")
    short.close()
    long.close()
    await happened(short, "end")
    const pull = plain(zmq.Pull)
    await pull.bind(endpoint)
    observe("received", await take(pull, 1))
    await settled()
    observe("readable", pull.readable)
  },
  { received: [["long"]], readable: false },
)

scenario(
  "linger set just before close takes effect",
  async ({ zmq, plain, unused, take, observe }) => {
    const endpoint = await unused()
    const push = plain(zmq.Push, { linger: 0, reconnectInterval: 10 })
    push.connect(endpoint)
    await push.send("kept")
    push.linger = -1
    push.close()
    const pull = plain(zmq.Pull)
    await pull.bind(endpoint)
    observe("received", await take(pull, 1))
  },
  { received: [["kept"]] },
)

for (const type of ["Push", "Dealer", "Pair", "Request"] as const) {
  scenario(
    `${type} delivers its messages although it is closed right after send()`,
    async ({ zmq, make, bind, take, observe }) => {
      const receiver = make(
        { Push: zmq.Pull, Dealer: zmq.Dealer, Pair: zmq.Pair, Request: zmq.Reply }[
          type
        ] as typeof zmq.Dealer,
      )
      const endpoint = await bind(receiver)
      const sender = make(zmq[type] as typeof zmq.Dealer)
      sender.connect(endpoint)
      await sender.send(["last", "words"])
      sender.close()
      observe("received", await take(receiver, 1))
    },
    { received: [["last", "words"]] },
  )
}

scenario(
  "messages that arrived before the peer closed can still be received",
  async ({ zmq, make, bind, happened, take, observe }) => {
    const pull = make(zmq.Pull)
    const push = make(zmq.Push)
    push.connect(await bind(pull))
    for (let i = 0; i < 100; i++) await push.send(`${i}`)
    push.close()
    await happened(pull, "disconnect")
    observe("received", (await take(pull, 100)).map(String).join())
  },
  { received: expect.stringContaining("bytes") },
)

scenario(
  "queued messages are delivered when the peer binds its port again",
  async ({ zmq, make, bind, until, attempt, take, observe, happened }) => {
    const push = make(zmq.Push, { reconnectInterval: 10 })
    const first = make(zmq.Pull)
    const endpoint = await bind(first)
    push.connect(endpoint)
    await push.send("first")
    observe("first", await first.receive())
    first.close()
    await happened(push, "disconnect")
    for (let i = 0; i < 5; i++) await push.send(`waiting ${i}`)
    const second = make(zmq.Pull)
    await until(async () => "resolves" in (await attempt(() => second.bind(endpoint))))
    observe("second", await take(second, 5))
  },
  { second: expect.arrayContaining([["waiting 0"], ["waiting 4"]]) },
)

scenario(
  "a restarted ROUTER reaches a DEALER by the same routing id",
  async ({ zmq, make, bind, until, attempt, observe, happened }) => {
    const dealer = make(zmq.Dealer, { reconnectInterval: 10, routingId: "same" })
    const first = make(zmq.Router)
    const endpoint = await bind(first)
    dealer.connect(endpoint)
    await dealer.send("1")
    observe("first", await first.receive())
    first.close()
    await happened(dealer, "disconnect")
    const second = make(zmq.Router)
    await until(async () => "resolves" in (await attempt(() => second.bind(endpoint))))
    await dealer.send("2")
    observe("second", await second.receive())
    await second.send(["same", "answer"])
    observe("answer", await dealer.receive())
  },
  { second: ["same", "2"], answer: ["answer"] },
)

scenario(
  "REQ does not repeat its request by itself when the server has restarted",
  async (run) => {
    const { zmq, make, bind, until, attempt, attempted, joined, happened, settled, observe } = run
    const request = make(zmq.Request, { reconnectInterval: 10, sendTimeout: 0 })
    const first = make(zmq.Reply)
    const endpoint = await bind(first)
    request.connect(endpoint)
    await request.send("lost")
    observe("first", await first.receive())
    first.close()
    await happened(request, "disconnect")
    const second = make(zmq.Reply, { receiveTimeout: 0 })
    await until(async () => "resolves" in (await attempt(() => second.bind(endpoint))))
    await joined(second)
    await settled()
    await attempted("second", () => second.receive())
    await attempted("ask again", () => request.send("again"))
    observe("state", [request.writable, request.readable])
  },
  { second: { rejects: { code: "EAGAIN" } } },
)

scenario(
  "a relaxed REQ can repeat its request to the restarted server",
  async ({ zmq, make, bind, until, attempt, happened, receiveAtLast, observe }) => {
    const request = make(zmq.Request, { reconnectInterval: 10, relaxed: true, correlate: true })
    const first = make(zmq.Reply)
    const endpoint = await bind(first)
    request.connect(endpoint)
    await request.send("lost")
    observe("first", await first.receive())
    first.close()
    await happened(request, "disconnect")
    const second = make(zmq.Reply)
    await until(async () => "resolves" in (await attempt(() => second.bind(endpoint))))
    await request.send("again")
    observe("second", await second.receive())
    await second.send("answer")
    observe("answer", await receiveAtLast(request))
  },
  { answer: ["answer"] },
)

for (const reconnectInterval of [-1, 0]) {
  scenario(
    `reconnectInterval ${reconnectInterval}: one connection only`,
    async (run) => {
      const { zmq, make, bind, until, attempt, reconnected, settled, happened, observe } = run
      const push = make(zmq.Push, { reconnectInterval, sendTimeout: 0 })
      const first = make(zmq.Pull)
      const endpoint = await bind(first)
      push.connect(endpoint)
      await push.send("first")
      observe("first", await first.receive())
      first.close()
      await happened(push, "disconnect")
      await until(() => !push.writable)
      const second = make(zmq.Pull)
      await until(async () => "resolves" in (await attempt(() => second.bind(endpoint))))
      await reconnected()
      await settled()
      observe("push", run.eventTypes(push))
      observe("accepted", run.eventTypes(second).includes("accept"))
      await run.attempted("disconnect", () => push.disconnect(endpoint))
      push.connect(endpoint)
      await push.send("again")
      observe("second", await second.receive())
    },
    { first: ["first"], accepted: false, second: ["again"] },
  )
}

scenario(
  "immediate: messages are sent to connected peers only",
  async ({ zmq, make, bind, until, attempt, attempted, joined, observe }) => {
    const push = make(zmq.Push, { immediate: true, sendTimeout: 0, reconnectInterval: 10 })
    const first = make(zmq.Pull)
    const endpoint = await bind(first)
    push.connect(endpoint)
    await joined(push)
    await until(() => push.writable)
    await push.send("first")
    observe("first", await first.receive())
    first.close()
    await until(() => !push.writable)
    await attempted("nobody", () => push.send("nobody"))
    const second = make(zmq.Pull)
    await until(async () => "resolves" in (await attempt(() => second.bind(endpoint))))
    await until(() => push.writable)
    await push.send("second")
    observe("second", await second.receive())
  },
  { nobody: { rejects: { code: "EAGAIN" } }, second: ["second"] },
)

scenario(
  "a routing id given to connect() is kept when the peer reconnects",
  async ({ zmq, make, bind, until, attempt, happened, observe }) => {
    const router = make(zmq.Router, { reconnectInterval: 10 })
    const first = make(zmq.Dealer)
    const endpoint = await bind(first)
    router.connect(endpoint, { routingId: "server" })
    await router.send(["server", "1"])
    observe("first", await first.receive())
    first.close()
    await happened(router, "disconnect")
    const second = make(zmq.Dealer)
    await until(async () => "resolves" in (await attempt(() => second.bind(endpoint))))
    await happened(router, "handshake", 2)
    await second.send("hello")
    observe("hello", await router.receive())
    await router.send(["server", "2"])
    observe("second", await second.receive())
  },
  { first: ["1"], hello: ["server", "hello"], second: ["2"] },
)

scenario(
  "sockets of a second context exchange messages",
  async ({ zmq, make, bind, take, observe }) => {
    const context = new zmq.Context()
    const [pull, push] = [make(zmq.Pull, { context }), make(zmq.Push, { context })]
    observe("context", [pull.context === context, push.context === zmq.context])
    push.connect(await bind(pull))
    await push.send("text")
    observe("received", await take(pull, 1))
  },
  { context: [true, false], received: [["text"]] },
)

scenario(
  "with reconnectInterval -1, a refused connection is not tried again",
  async ({ zmq, make, unused, happened, reconnected, settled, eventTypes, observe }) => {
    const endpoint = await unused()
    const push = make(zmq.Push, { reconnectInterval: -1 })
    push.connect(endpoint)
    await push.send("waits")
    await happened(push, "close")
    const pull = make(zmq.Pull)
    await pull.bind(endpoint)
    await reconnected()
    await settled()
    observe("push", eventTypes(push))
    observe("pull", eventTypes(pull))
  },
  { pull: ["bind"] },
)

for (const [type, other] of [
  ["Pull", "Push"],
  ["Subscriber", "XPublisher"],
  ["Dealer", "Dealer"],
  ["Router", "Dealer"],
] as const) {
  scenario(
    `${type}: received messages can still be read after it has met a peer of another type`,
    async ({ zmq, make, unused, happened, until, attempt, take, observe }) => {
      const endpoint = await unused()
      const connecting = make(zmq[type] as typeof zmq.Dealer, { reconnectInterval: 10 })
      if (type === "Subscriber") (connecting as unknown as zeromq.Subscriber).subscribe()
      const sender = make(zmq[other] as typeof zmq.Dealer, { linger: -1 })
      await sender.bind(endpoint)
      connecting.connect(endpoint)
      await happened(connecting, "handshake")
      if (other === "XPublisher") await sender.receive()
      await sender.send("first")
      await sender.send(["se", "cond"])
      await until(() => connecting.readable)
      sender.close()
      await happened(connecting, "disconnect")
      const wrong = make(zmq.Pair)
      await until(async () => "resolves" in (await attempt(() => wrong.bind(endpoint))))
      await happened(connecting, "disconnect", 2)
      observe("received", await take(connecting, 2))
    },
    {
      received: [["first"], ["se", "cond"]].map((parts) =>
        type === "Router" ? ["<id 1>", ...parts] : parts,
      ),
    },
  )
}

for (const [type, other] of [
  ["Publisher", "Subscriber"],
  ["Subscriber", "XPublisher"],
  ["Request", "Reply"],
  ["Dealer", "Dealer"],
  ["Push", "Pull"],
  ["Pull", "Push"],
  ["Reply", "Dealer"],
  ["Router", "Dealer"],
  ["XPublisher", "XSubscriber"],
  ["XSubscriber", "XPublisher"],
  ["Pair", "Pair"],
] as const) {
  scenario(
    `${type} that connects twice to one endpoint`,
    async ({ zmq, make, bind, joined, settled, eventTypes, attempted, observe }) => {
      const bound = make(zmq[other] as typeof zmq.Dealer)
      const connecting = make(zmq[type] as typeof zmq.Dealer)
      const endpoint = await bind(bound)
      await attempted("first", () => connecting.connect(endpoint))
      await joined(bound)
      await attempted("second", () => connecting.connect(endpoint))
      await settled()
      observe("accepted", eventTypes(bound).filter((one) => one === "accept").length)
      await attempted("disconnect", () => connecting.disconnect(endpoint))
      await attempted("disconnect again", () => connecting.disconnect(endpoint))
    },
    { first: { returns: "<undefined>" }, accepted: expect.any(Number) },
  )
}

scenario(
  "PUSH connected twice to one PULL sends over both connections in turn, each message once",
  async ({ zmq, make, bind, take, observe }) => {
    const [push, pull] = [make(zmq.Push), make(zmq.Pull)]
    const endpoint = await bind(pull)
    push.connect(endpoint)
    push.connect(endpoint)
    for (let i = 0; i < 20; i++) await push.send(`${i}`)
    const received = (await take(pull, 20)).map(String)
    observe(
      "received",
      received.map(Number).sort((a, b) => a - b),
    )
    for (const rest of [0, 1])
      observe(
        "of one connection",
        received.map(Number).filter((i) => i % 2 === rest),
      )
  },
  { received: Array.from({ length: 20 }, (_, i) => i) },
)

scenario(
  "SUB connected twice receives each message once",
  async ({ zmq, make, bind, takeUntil, observe }) => {
    const [publisher, subscriber] = [make(zmq.XPublisher), make(zmq.Subscriber)]
    const endpoint = await bind(publisher)
    subscriber.subscribe("")
    subscriber.connect(endpoint)
    subscriber.connect(endpoint)
    await publisher.receive()
    for (let i = 0; i < 3; i++) await publisher.send(`${i}`)
    await publisher.send("end")
    observe("received", await takeUntil(subscriber, "end"))
  },
  { received: [["0"], ["1"], ["2"]] },
)

scenario(
  "disconnect delivers queued messages, and later ones are refused",
  async ({ zmq, make, bind, disconnect, take, attempted, observe }) => {
    const [push, pull] = [make(zmq.Push, { sendTimeout: 0 }), make(zmq.Pull)]
    const endpoint = await bind(pull)
    push.connect(endpoint)
    for (let i = 0; i < 5; i++) await push.send(`${i}`)
    await disconnect(push, endpoint, pull)
    observe("received", await take(pull, 5))
    observe("writable", push.writable)
    await attempted("send", () => push.send("more"))
    push.connect(endpoint)
    await push.send("again")
    observe("afterwards", await take(pull, 1))
  },
  { send: { rejects: { code: "EAGAIN" } }, writable: false },
)

scenario(
  "disconnect stops attempts to connect",
  async (run) => {
    const { zmq, make, unused, happened, reconnected, settled, settledUsing, observe } = run
    const endpoint = await unused()
    const push = make(zmq.Push, { reconnectInterval: 10 })
    push.connect(endpoint)
    await happened(push, "connect:retry")
    await run.attempted("disconnect", () => push.disconnect(endpoint))
    await settledUsing(push)
    const attempts = run.eventTypes(push).length
    const pull = make(zmq.Pull)
    await pull.bind(endpoint)
    await reconnected()
    await settled()
    observe("more attempts", run.eventTypes(push).length - attempts)
    observe("pull", run.eventTypes(pull))
    observe("writable", push.writable)
  },
  { "more attempts": 0, pull: ["bind"], writable: false },
)

scenario(
  "unbind closes the listener and the connections that it accepted",
  async ({ zmq, make, bind, take, happened, until, settled, eventTypes, observe }) => {
    const [push, pull] = [make(zmq.Push, { reconnectInterval: 10 }), make(zmq.Pull)]
    const endpoint = await bind(pull)
    const other = await bind(pull)
    push.connect(endpoint)
    await push.send("before")
    observe("before", await take(pull, 1))
    await pull.unbind(endpoint)
    await until(() => {
      void pull.readable
      return eventTypes(push).includes("disconnect")
    })
    await happened(push, "connect:retry")
    await settled()
    observe("events", eventTypes(pull))
    push.connect(other)
    await push.send("1")
    await push.send("2")
    observe("after", await take(pull, 1))
    observe("lastEndpoint", pull.lastEndpoint === other)
  },
  { before: [["before"]], events: expect.arrayContaining(["close"]) },
)

scenario(
  "a port is free after unbind, and after close",
  async ({ zmq, plain, bind, until, attempt, attempted, observe }) => {
    const first = plain(zmq.Pull)
    const endpoint = await bind(first)
    await first.unbind(endpoint)
    const second = plain(zmq.Pull)
    await until(async () => "resolves" in (await attempt(() => second.bind(endpoint))))
    await attempted("in use", () => first.bind(endpoint))
    second.close()
    await until(async () => "resolves" in (await attempt(() => first.bind(endpoint))))
    observe("lastEndpoint", first.lastEndpoint === endpoint)
  },
  { "in use": { rejects: { code: "EADDRINUSE" } }, lastEndpoint: true },
)

scenario(
  "bind to an address in use",
  async ({ zmq, plain, bind, attempted, observe }) => {
    const [first, second] = [plain(zmq.Pull), plain(zmq.Pull)]
    const endpoint = await bind(first)
    await attempted("second", () => second.bind(endpoint))
    await attempted("itself", () => first.bind(endpoint))
    observe("lastEndpoint", second.lastEndpoint)
  },
  { second: { rejects: { code: "EADDRINUSE" } }, lastEndpoint: null },
)

scenario(
  "PAIR exchanges messages with its first peer only",
  async ({ zmq, make, bind, happened, disconnect, until, settled, observe }) => {
    const pair = make(zmq.Pair)
    const endpoint = await bind(pair)
    const first = make(zmq.Pair)
    first.connect(endpoint)
    await first.send("first")
    observe("received", await pair.receive())
    const second = make(zmq.Pair, { reconnectInterval: 20 })
    second.connect(endpoint)
    await happened(second, "handshake")
    await pair.send("to the first")
    observe("first", await first.receive())
    await first.send("first again")
    observe("received then", await pair.receive())
    await settled()
    observe("second", second.readable)
    await disconnect(first, endpoint, pair)
    await until(() => !first.writable)
  },
  { first: ["to the first"], "received then": ["first again"], second: false },
)

scenario(
  "a bound PAIR accepts a new peer after the first has disconnected",
  async ({ zmq, make, bind, disconnect, until, observe }) => {
    const pair = make(zmq.Pair, { sendTimeout: 0 })
    const endpoint = await bind(pair)
    const first = make(zmq.Pair)
    first.connect(endpoint)
    await first.send("first")
    observe("received", await pair.receive())
    await disconnect(first, endpoint, pair)
    await until(() => !pair.writable && !pair.readable)
    const second = make(zmq.Pair)
    second.connect(endpoint)
    await second.send("second")
    pair.receiveTimeout = -1
    observe("received then", await pair.receive())
    await pair.send("answer")
    observe("answer", await second.receive())
  },
  { "received then": ["second"], answer: ["answer"] },
)

scenario(
  "closed, readable and writable before and after close",
  async ({ zmq, make, bind, observe }) => {
    const socket = make(zmq.Dealer)
    observe("new", [socket.closed, socket.readable, socket.writable, socket.lastEndpoint])
    await bind(socket)
    observe("bound", [socket.closed, socket.readable, socket.writable])
    socket.close()
    observe("closed", [socket.closed, socket.readable, socket.writable])
  },
  { new: [false, false, false, null], closed: [true, false, false] },
)

scenario(
  "calls that are pending when their sockets are closed settle in the order of close()",
  async ({ zmq, make, bind, observe }) => {
    const order: string[] = []
    const [first, second, third] = [make(zmq.Dealer), make(zmq.Reply), make(zmq.Dealer)]
    for (const socket of [first, second, third]) await bind(socket)
    const settled = (name: string, call: Promise<unknown>) =>
      call.catch(({ code }) => order.push(`${name} ${code}`))
    const calls = [
      settled("third receives", third.receive()),
      settled("third sends", third.send("text")),
      settled("second sends", second.send("text")),
      settled("second receives", second.receive()),
      settled("first sends", first.send("text")),
      settled("first receives", first.receive()),
    ]
    for (const socket of [first, second, third]) socket.close()
    await Promise.all(calls)
    observe("order", order)
  },
  {
    order: [
      "first receives EAGAIN",
      "first sends EAGAIN",
      "second receives EAGAIN",
      "second sends EFSM",
      "third receives EAGAIN",
      "third sends EAGAIN",
    ],
  },
)

scenario(
  "several endpoints on one socket, bound and connected",
  async ({ zmq, make, bind, take, observe }) => {
    const dealer = make(zmq.Dealer)
    const endpoints = [await bind(dealer), await bind(dealer)]
    const remote = make(zmq.Dealer)
    const peers = [make(zmq.Dealer), make(zmq.Dealer), remote]
    for (const [i, endpoint] of endpoints.entries()) {
      peers[i]!.connect(endpoint)
      await peers[i]!.send(`from ${i}`)
      observe("received", await take(dealer, 1))
    }
    dealer.connect(await bind(remote))
    for (let i = 0; i < 3; i++) await dealer.send(`${i}`)
    for (const [i, peer] of peers.entries()) observe(`peer ${i}`, (await take(peer, 1)).length)
  },
  { "peer 0": 1, "peer 2": 1 },
)

scenario(
  "unbinding one of two endpoints",
  async ({ zmq, make, bind, take, happened, attempted, observe }) => {
    const pull = make(zmq.Pull)
    const [first, second] = [await bind(pull), await bind(pull)]
    await pull.unbind(first)
    await happened(pull, "close")
    const push = make(zmq.Push)
    push.connect(second)
    await push.send("text")
    observe("received", await take(pull, 1))
    observe("lastEndpoint", pull.lastEndpoint === second)
    await attempted("again", () => pull.unbind(first))
  },
  { received: [["text"]], again: { rejects: { code: "ENOENT" } } },
)

const RECEIVING = [
  ["Push", "Pull"],
  ["Pair", "Pair"],
  ["Dealer", "Dealer"],
  ["Dealer", "Router"],
  ["Publisher", "Subscriber"],
] as const

for (const [Sends, Receives] of RECEIVING) {
  scenario(
    `${Receives} returns the messages received before unbind, and no more`,
    async (run) => {
      const { zmq, make, bind, joined, subscribed, settled, attempted, take, observe } = run
      const receiver = make<zeromq.Socket & zeromq.Readable, object>(zmq[Receives], { linger: 0 })
      if (receiver instanceof zmq.Subscriber) receiver.subscribe("")
      const sender = make<zeromq.Socket & zeromq.Writable, object>(zmq[Sends], {
        ...(Sends === "Dealer" && { routingId: "sender" }),
        reconnectInterval: NEVER_MS,
      })
      const endpoint = await bind(receiver)
      sender.connect(endpoint)
      await joined(receiver)
      await joined(sender)
      if (receiver instanceof zmq.Subscriber) await subscribed(sender, receiver)
      for (const text of ["1", "2", "3"]) await sender.send(text)
      await settled()
      void receiver.readable
      await receiver.unbind(endpoint)
      await settled()
      void receiver.writable
      observe("readable", receiver.readable)
      observe("received", await take(receiver, 3))
      receiver.receiveTimeout = 100
      await attempted("receive", () => receiver.receive())
    },
    { readable: true, receive: { rejects: { code: "EAGAIN" } } },
  )
}

for (const [Sends, Receives, options] of [
  ["Pair", "Pair", {}],
  ["Dealer", "Router", {}],
  ["Dealer", "Router", { handover: true }],
  ["Dealer", "Reply", {}],
] as const) {
  scenario(
    `${Receives} that is unbound and bound again before it receives serves its peer again: ${JSON.stringify(options)}`,
    async (run) => {
      const { zmq, make, bind, joined, reconnected, settled, until, take, observe } = run
      const receiver = make(zmq[Receives] as typeof zmq.Router, { linger: 0, ...options })
      const sender = make(zmq[Sends] as typeof zmq.Dealer, {
        ...(Sends === "Dealer" && { routingId: "sender" }),
        reconnectInterval: 10,
      })
      const send = (text: string) => sender.send(Receives === "Reply" ? ["", text] : [text])
      const answer = async () => {
        if (Receives === "Router") await receiver.send(["sender", "answer"])
        else await receiver.send(["answer"])
        return sender.receive()
      }
      const endpoint = await bind(receiver)
      sender.connect(endpoint)
      await joined(receiver)
      for (const text of ["1", "2"]) await send(text)
      await settled()
      void receiver.readable
      await receiver.unbind(endpoint)
      // libzmq's I/O thread closes the port later.
      await until(() => run.eventTypes(receiver).includes("close"))
      await receiver.bind(endpoint)
      // Over lz4+tcp:// the sender connects again now, over tcp:// once the messages are read.
      await reconnected()
      await settled()
      observe("first", await take(receiver, 1))
      if (Receives === "Reply") await receiver.send("lost")
      observe("second", await take(receiver, 1))
      if (Receives === "Reply") await receiver.send("lost")
      await until(() => {
        void [receiver.readable, receiver.writable]
        return run.eventTypes(receiver).filter((type) => type === "handshake").length >= 2
      })
      await send("3")
      observe("third", await take(receiver, 1))
      observe("answer", await answer())
    },
    {
      first: [Receives === "Router" ? ["sender", "1"] : ["1"]],
      third: [Receives === "Router" ? ["sender", "3"] : ["3"]],
      answer: Receives === "Reply" ? ["", "answer"] : ["answer"],
    },
  )
}

for (const immediate of [false, true])
  scenario(
    `disconnect ${immediate ? "keeps" : "drops"} received messages with immediate ${immediate}`,
    async ({ zmq, make, bind, joined, settled, until, attempted, observe }) => {
      const push = make(zmq.Push)
      const pull = make(zmq.Pull, { receiveTimeout: 200, immediate } as object)
      const endpoint = await bind(push)
      pull.connect(endpoint)
      await joined(push)
      await joined(pull)
      await push.send("text")
      await until(() => pull.readable)
      pull.disconnect(endpoint)
      await settled()
      observe("readable", pull.readable)
      await attempted("receive", () => pull.receive())
    },
    { readable: immediate },
  )

scenario(
  "an endpoint whose peer has an incompatible type exists until disconnect()",
  async ({
    zmq,
    make,
    rawListener,
    until,
    happened,
    reconnected,
    settled,
    attempted,
    observe,
    eventTypes,
  }) => {
    const listener = await rawListener()
    const dealer = make(zmq.Dealer, { linger: 0, reconnectInterval: 10 })
    const endpoint = listener.endpoint
    dealer.connect(endpoint)
    await until(() => listener.peers.length)
    listener.peers[0]?.greet({})
    listener.peers[0]?.ready({ socketType: "SUB" })
    await happened(dealer, "disconnect")
    await reconnected()
    dealer.connect(endpoint) // no effect: it is connected already
    await reconnected()
    await settled()
    observe("events", eventTypes(dealer))
    await attempted("disconnect", () => dealer.disconnect(endpoint))
    await attempted("disconnect again", () => dealer.disconnect(endpoint))
  },
  { disconnect: { returns: "<undefined>" }, "disconnect again": { throws: { code: "ENOENT" } } },
)
