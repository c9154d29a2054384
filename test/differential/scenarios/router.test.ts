/** Routing ids (RFC 28), and messages to unknown ones. */
import { expect } from "vitest"

import { NEVER_MS, scenario } from "../scenario.js"

scenario(
  "ROUTER assigns routing ids of 5 bytes that begin with 0",
  async ({ zmq, make, bind, observe }) => {
    const router = make(zmq.Router)
    const endpoint = await bind(router)
    const dealers = [make(zmq.Dealer), make(zmq.Dealer)]
    for (const [i, dealer] of dealers.entries()) {
      dealer.connect(endpoint)
      await dealer.send(`${i}`)
      const [id, text] = await router.receive()
      observe("id", [id!.length, id![0], text])
      await router.send([id!, `to ${i}`])
      observe("answer", await dealer.receive())
    }
  },
  { id: [5, 0, "1"], answer: ["to 1"] },
)

scenario(
  "an assigned routing id is kept for the whole connection",
  async ({ zmq, make, bind, take, observe }) => {
    const router = make(zmq.Router)
    const dealer = make(zmq.Dealer)
    dealer.connect(await bind(router))
    for (let i = 0; i < 3; i++) await dealer.send(`${i}`)
    observe("received", await take(router, 3))
  },
  {
    received: [
      ["<id 1>", "0"],
      ["<id 1>", "1"],
      ["<id 1>", "2"],
    ],
  },
)

scenario(
  "a peer that reconnects gets another assigned routing id",
  async ({ zmq, make, bind, observe, disconnect }) => {
    const router = make(zmq.Router)
    const endpoint = await bind(router)
    const dealer = make(zmq.Dealer)
    dealer.connect(endpoint)
    await dealer.send("first")
    observe("first", await router.receive())
    await disconnect(dealer, endpoint, router)
    dealer.connect(endpoint)
    await dealer.send("second")
    observe("second", await router.receive())
  },
  { first: ["<id 1>", "first"], second: ["<id 2>", "second"] },
)

for (const mandatory of [false, true]) {
  scenario(
    `ROUTER sends to unknown routing ids, ${mandatory ? "mandatory" : "not mandatory"}`,
    async ({ zmq, make, bind, joined, disconnect, attempt, until, attempted, observe }) => {
      const router = make(zmq.Router, { mandatory, sendTimeout: 0 })
      const dealer = make(zmq.Dealer, { routingId: "here" })
      const endpoint = await bind(router)
      await attempted("before anybody", () => router.send(["nobody", "text"]))
      dealer.connect(endpoint)
      await joined(router)
      await attempted("unknown", () => router.send(["nobody", "text"]))
      await attempted("empty id", () => router.send(["", "text"]))
      await attempted("only an id that is unknown", () => router.send(["nobody"]))
      await attempted("only a known id", () => router.send(["here"]))
      await attempted("a prefix", () => router.send(["her", "text"]))
      await attempted("known", () => router.send(["here", "text"]))
      observe("received", await dealer.receive())
      await disconnect(dealer, endpoint, router)
      if (mandatory)
        await until(async () => "rejects" in (await attempt(() => router.send(["here", "text"]))))
      await attempted("gone", () => router.send(["here", "text"]))
    },
    mandatory
      ? {
          unknown: { rejects: { code: "EHOSTUNREACH" } },
          gone: { rejects: { code: "EHOSTUNREACH" } },
        }
      : { unknown: { resolves: "<undefined>" }, received: expect.any(Array) },
  )
}

scenario(
  "mandatory ROUTER whose only peer has gone rejects a message, if it has not looked for messages since",
  async ({ zmq, make, bind, disconnect, attempted }) => {
    const router = make(zmq.Router, { mandatory: true, sendTimeout: 1000 })
    const dealer = make(zmq.Dealer, { routingId: "peer" })
    const endpoint = await bind(router)
    dealer.connect(endpoint)
    await dealer.send("text")
    await router.receive()
    await disconnect(dealer, endpoint, router)
    await attempted("gone", () => router.send(["peer", "text"]))
  },
  { gone: { rejects: { code: "EHOSTUNREACH" } } },
)

scenario(
  "mandatory set after bind takes effect at once",
  async ({ zmq, make, bind, attempted }) => {
    const router = make(zmq.Router, { sendTimeout: 0 })
    await bind(router)
    await attempted("without", () => router.send(["nobody", "text"]))
    router.mandatory = true
    await attempted("with", () => router.send(["nobody", "text"]))
    router.mandatory = false
    await attempted("without again", () => router.send(["nobody", "text"]))
  },
  { with: { rejects: { code: "EHOSTUNREACH" } }, "without again": { resolves: "<undefined>" } },
)

scenario(
  "without handover, a second peer with the same routing id is ignored",
  async ({ zmq, make, bind, joined, observe }) => {
    const router = make(zmq.Router)
    const endpoint = await bind(router)
    const first = make(zmq.Dealer, { routingId: "same" })
    first.connect(endpoint)
    await first.send("1 from first")
    observe("router", await router.receive())
    const second = make(zmq.Dealer, { routingId: "same" })
    second.connect(endpoint)
    await joined(router, 2)
    await second.send("from second")
    await router.send(["same", "to same"])
    observe("first", await first.receive())
    await first.send("2 from first")
    observe("router then", await router.receive())
    observe("second readable", second.readable)
  },
  { first: ["to same"], "router then": ["same", "2 from first"], "second readable": false },
)

scenario(
  "with handover, a second peer takes over the routing id",
  async ({ zmq, make, bind, joined, observe }) => {
    const router = make(zmq.Router, { handover: true })
    const endpoint = await bind(router)
    const first = make(zmq.Dealer, { routingId: "same", reconnectInterval: NEVER_MS })
    first.connect(endpoint)
    await first.send("from first")
    observe("router", await router.receive())
    const second = make(zmq.Dealer, { routingId: "same" })
    second.connect(endpoint)
    await joined(router, 2)
    await second.send("from second")
    observe("router then", await router.receive())
    await router.send(["same", "to same"])
    observe("second", await second.receive())
    await first.send("from first again")
    await second.send("2 from second")
    observe("router at last", await router.receive())
    observe("first readable", first.readable)
  },
  { "router then": ["same", "from second"], second: ["to same"], "first readable": false },
)

scenario(
  "with handover, messages of a peer that has left are received under an assigned routing id",
  async ({ zmq, make, bind, happened, joined, settled, take, observe }) => {
    const router = make(zmq.Router, { handover: true })
    const endpoint = await bind(router)
    const first = make(zmq.Dealer, { routingId: "same" })
    first.connect(endpoint)
    for (const text of ["1", "2", "3"]) await first.send(text)
    const arrived = async () => {
      await settled()
      void router.readable
    }
    await arrived()
    first.close()
    await happened(router, "disconnect")
    await arrived()
    const second = make(zmq.Dealer, { routingId: "same" })
    second.connect(endpoint)
    await joined(router, 2)
    await second.send("4")
    await arrived()
    observe("received", await take(router, 4))
    await router.send(["same", "to second"])
    observe("second", await second.receive())
  },
  { second: ["to second"] },
)

scenario(
  "a routing id can be used again after its peer has disconnected",
  async ({ zmq, make, bind, happened, settledUsing, observe }) => {
    const router = make(zmq.Router)
    const endpoint = await bind(router)
    const first = make(zmq.Dealer, { routingId: "same" })
    first.connect(endpoint)
    await first.send("from first")
    observe("router", await router.receive())
    first.close()
    await happened(router, "disconnect")
    // The id is free once libzmq has removed the first peer.
    await settledUsing(router)
    const second = make(zmq.Dealer, { routingId: "same" })
    second.connect(endpoint)
    await second.send("from second")
    observe("router then", await router.receive())
    await router.send(["same", "to second"])
    observe("second", await second.receive())
  },
  { "router then": ["same", "from second"], second: ["to second"] },
)

scenario(
  "messages that a peer sent before it disconnected are received with its routing id",
  async ({ zmq, make, bind, happened, take, observe }) => {
    const router = make(zmq.Router)
    const endpoint = await bind(router)
    const dealer = make(zmq.Dealer, { routingId: "gone" })
    dealer.connect(endpoint)
    for (let i = 0; i < 5; i++) await dealer.send(`${i}`)
    dealer.close()
    await happened(router, "disconnect")
    observe("received", await take(router, 5))
  },
  { received: expect.arrayContaining([["gone", "4"]]) },
)

scenario(
  "ROUTER may give the peer a routing id in connect()",
  async ({ zmq, make, bind, joined, attempted, observe }) => {
    const router = make(zmq.Router, { mandatory: true })
    const dealer = make(zmq.Dealer)
    const endpoint = await bind(dealer)
    router.connect(endpoint, { routingId: "server" })
    await attempted("at once", () => router.send(["server", "text"]))
    observe("dealer", await dealer.receive())
    await joined(dealer)
    await dealer.send("answer")
    observe("router", await router.receive())
  },
  { "at once": { resolves: "<undefined>" }, router: ["server", "answer"] },
)

scenario(
  "the routing id given to connect() may be a view, of which all bytes count",
  async ({ zmq, make, bind, observe }) => {
    const router = make(zmq.Router, { mandatory: true })
    const dealer = make(zmq.Dealer)
    const routingId = new Uint16Array([65, 66])
    router.connect(await bind(dealer), { routingId: routingId as unknown as string })
    await router.send([routingId, "text"])
    observe("dealer", await dealer.receive())
    await dealer.send("answer")
    observe("router", await router.receive())
  },
  { dealer: ["text"], router: ["hex:41004200", "answer"] },
)

scenario(
  "the routing id given to connect() overrides the peer's own",
  async ({ zmq, make, bind, joined, attempted, observe }) => {
    const router = make(zmq.Router, { mandatory: true })
    const dealer = make(zmq.Dealer, { routingId: "own" })
    router.connect(await bind(dealer), { routingId: "given" })
    await joined(dealer)
    await dealer.send("text")
    observe("received", await router.receive())
    await attempted("own", () => router.send(["own", "text"]))
    await attempted("given", () => router.send(["given", "text"]))
  },
  { received: ["given", "text"], own: { rejects: { code: "EHOSTUNREACH" } } },
)

scenario(
  "ROUTER sends to two servers by the routing ids given to connect()",
  async ({ zmq, make, bind, observe }) => {
    const router = make(zmq.Router)
    const [a, b] = [make(zmq.Router), make(zmq.Router)]
    router.routingId = "client"
    router.connect(await bind(a), { routingId: "A" })
    router.connect(await bind(b), { routingId: "B" })
    await router.send(["B", "to b"])
    await router.send(["A", "to a"])
    observe("a", await a.receive())
    observe("b", await b.receive())
    await b.send(["client", "from b"])
    observe("client", await router.receive())
  },
  { a: ["client", "to a"], b: ["client", "to b"], client: ["B", "from b"] },
)

scenario(
  "with mandatory, ROUTER can send to a named peer right after connect()",
  async ({ zmq, make, bind, attempted, observe }) => {
    const router = make(zmq.Router, { mandatory: true })
    const [a, b] = [make(zmq.Dealer), make(zmq.Dealer)]
    const [first, second] = [await bind(a), await bind(b)]
    await attempted("first", () => router.connect(first, { routingId: "same" }))
    await router.send(["same", "text"])
    observe("a", await a.receive())
    await attempted("other id", () => router.connect(second, { routingId: "other" }))
    await router.send(["other", "text"])
    observe("b", await b.receive())
  },
  { a: ["text"], b: ["text"] },
)

scenario(
  "routing ids may have 1 to 255 bytes",
  async ({ zmq, make, bind, observe }) => {
    const router = make(zmq.Router)
    const endpoint = await bind(router)
    for (const routingId of ["x", "y".repeat(255), "ünï"]) {
      const dealer = make(zmq.Dealer, { routingId })
      dealer.connect(endpoint)
      await dealer.send("text")
      const [id, text] = await router.receive()
      observe("received", [id, text])
      await router.send([routingId, "back"])
      observe("back", await dealer.receive())
    }
  },
  { received: ["ünï", "text"], back: ["back"] },
)

scenario(
  "routing ids that cannot be set",
  async ({ zmq, make, observe, attempted }) => {
    const dealer = make(zmq.Dealer)
    observe("unset", dealer.routingId)
    for (const id of ["", "z".repeat(256), null, 5])
      await attempted(`set ${String(id).slice(0, 5)}`, () => {
        dealer.routingId = id as string
      })
    observe("still", dealer.routingId)
    dealer.routingId = "set"
    observe("set", dealer.routingId)
    await attempted("starts with 0", () => {
      dealer.routingId = "\0abc"
    })
    observe("afterwards", dealer.routingId)
  },
  { unset: null, set: "set" },
)

scenario(
  "a routingId set after connect applies to the next connect",
  async ({ zmq, make, bind, observe }) => {
    const [a, b] = [make(zmq.Router), make(zmq.Router)]
    const dealer = make(zmq.Dealer, { routingId: "old" })
    const endpoints = [await bind(a), await bind(b)]
    dealer.connect(endpoints[0]!)
    dealer.routingId = "new"
    dealer.connect(endpoints[1]!)
    await dealer.send("1")
    await dealer.send("2")
    observe("a", await a.receive())
    observe("b", await b.receive())
  },
  { a: ["old", "1"], b: ["new", "2"] },
)

for (const type of ["Dealer", "Request", "Router"] as const) {
  scenario(
    `${type} with probeRouter sends ROUTER an empty message`,
    async ({ zmq, make, bind, observe }) => {
      const router = make(zmq.Router)
      const probing = make(zmq[type] as typeof zmq.Dealer, {
        probeRouter: true,
        routingId: "probe",
      })
      probing.connect(await bind(router))
      observe("probe", await router.receive())
      await router.send(["probe", "", "hello"])
      if (type !== "Request") observe("received", await probing.receive())
    },
    { probe: ["probe", ""] },
  )
}

scenario(
  "a bound ROUTER with probeRouter sends an empty message too",
  async ({ zmq, make, bind, observe }) => {
    const router = make(zmq.Router, { probeRouter: true })
    const dealer = make(zmq.Dealer)
    const endpoint = await bind(router)
    // libzmq only handles new peers when the socket is used.
    const text = router.receive()
    dealer.connect(endpoint)
    observe("probe", await dealer.receive())
    await dealer.send("text")
    observe("text", await text)
  },
  { probe: [""], text: ["<id 1>", "text"] },
)

scenario(
  "DEALER receives the empty message of a probe",
  async ({ zmq, make, bind, observe }) => {
    const dealer = make(zmq.Dealer)
    const probing = make(zmq.Dealer, { probeRouter: true })
    probing.connect(await bind(dealer))
    await probing.send("text")
    observe("first", await dealer.receive())
    observe("second", await dealer.receive())
  },
  { first: [""], second: ["text"] },
)

scenario(
  "ROUTER keeps empty parts",
  async ({ zmq, make, bind, observe }) => {
    const router = make(zmq.Router)
    const dealer = make(zmq.Dealer, { routingId: "D" })
    dealer.connect(await bind(router))
    for (const message of ["", ["", ""], ["", "a", ""]]) {
      await dealer.send(message)
      observe("received", await router.receive())
    }
  },
  { received: ["D", "", "a", ""] },
)

scenario(
  "REP returns the envelope of the request, whatever it contains",
  async ({ zmq, make, bind, take, observe }) => {
    const reply = make(zmq.Reply)
    const dealer = make(zmq.Dealer)
    dealer.connect(await bind(reply))
    const envelopes = [
      [Buffer.from([0, 1, 2, 3, 4, 5]), ""],
      ["a", "b", "c", "d", ""],
      [Buffer.alloc(300, 1), ""],
    ]
    for (const [i, envelope] of envelopes.entries()) {
      await dealer.send([...envelope, `question ${i}`, ""])
      observe("question", await reply.receive())
      await reply.send(["", `answer ${i}`])
    }
    observe("answers", await take(dealer, 3))
  },
  { question: ["question 2", ""] },
)

scenario(
  "ROUTER keeps a message that it has found when it disconnects",
  async ({ zmq, make, bind, joined, until, observe }) => {
    const [router, dealer] = [make(zmq.Router), make(zmq.Dealer, { routingId: "peer" })]
    const endpoint = await bind(dealer)
    router.connect(endpoint)
    await joined(dealer)
    await dealer.send("text")
    await until(() => router.readable)
    router.disconnect(endpoint)
    observe("received", await router.receive())
  },
  { received: ["peer", "text"] },
)

scenario(
  "with handover, ROUTER keeps a message that it has found",
  async ({ zmq, make, bind, joined, until, observe }) => {
    const router = make(zmq.Router, { handover: true })
    const endpoint = await bind(router)
    const first = make(zmq.Dealer, { routingId: "same", reconnectInterval: NEVER_MS })
    first.connect(endpoint)
    await first.send("from first")
    await until(() => router.readable)
    const second = make(zmq.Dealer, { routingId: "same" })
    second.connect(endpoint)
    await joined(router, 2)
    await second.send("from second")
    observe("received", await router.receive())
    observe("received then", await router.receive())
  },
  { received: ["same", "from first"], "received then": ["same", "from second"] },
)
