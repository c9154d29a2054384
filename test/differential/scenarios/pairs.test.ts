/** Every compatible pair of socket types. */
import { expect } from "vitest"

import { scenario } from "../scenario.js"

for (const whoBinds of ["sender", "receiver"] as const) {
  scenario(
    `PUSH to PULL, the ${whoBinds} binds`,
    async ({ zmq, make, bind, take, observe }) => {
      const [pull, push] = [make(zmq.Pull), make(zmq.Push)]
      if (whoBinds === "sender") pull.connect(await bind(push))
      else push.connect(await bind(pull))
      await push.send("one")
      await push.send(["two", "parts"])
      await push.send([Buffer.from([0, 1, 255]), "", Buffer.alloc(100_000, 7)])
      observe("received", await take(pull, 3))
    },
    { received: [["one"], ["two", "parts"], expect.any(Array)] },
  )

  scenario(
    `PUB to SUB, the ${whoBinds} binds`,
    async ({ zmq, make, bind, take, observe, subscribed }) => {
      const [subscriber, publisher] = [make(zmq.Subscriber), make(zmq.Publisher)]
      subscriber.subscribe()
      if (whoBinds === "sender") subscriber.connect(await bind(publisher))
      else publisher.connect(await bind(subscriber))
      await subscribed(publisher, subscriber)
      await publisher.send("one")
      await publisher.send(["two", "parts"])
      observe("received", await take(subscriber, 2))
    },
    { received: [["one"], ["two", "parts"]] },
  )

  scenario(
    `REQ to REP, the ${whoBinds} binds`,
    async ({ zmq, make, bind, observe }) => {
      const [reply, request] = [make(zmq.Reply), make(zmq.Request)]
      if (whoBinds === "sender") reply.connect(await bind(request))
      else request.connect(await bind(reply))
      for (const question of ["one", ["two", "parts"]]) {
        await request.send(question)
        observe("question", await reply.receive())
        await reply.send(["answer to", ...[question].flat()])
        observe("answer", await request.receive())
      }
    },
    { question: ["two", "parts"], answer: ["answer to", "two", "parts"] },
  )
}

scenario(
  "PAIR to PAIR, both ways",
  async ({ zmq, make, bind, take, observe }) => {
    const [a, b] = [make(zmq.Pair), make(zmq.Pair)]
    b.connect(await bind(a))
    await b.send("to a")
    observe("a", await a.receive())
    await a.send(["to", "b"])
    await a.send("more")
    observe("b", await take(b, 2))
  },
  { a: ["to a"], b: [["to", "b"], ["more"]] },
)

scenario(
  "XPUB to SUB: subscriptions arrive as messages",
  async ({ zmq, make, bind, take, observe }) => {
    const [subscriber, publisher] = [make(zmq.Subscriber), make(zmq.XPublisher)]
    subscriber.subscribe("a", "bc")
    subscriber.connect(await bind(publisher))
    observe("subscriptions", (await take(publisher, 2)).sort())
    await publisher.send(["a", "1"])
    await publisher.send(["b", "2"])
    await publisher.send(["bcd", "3"])
    observe("received", await take(subscriber, 2))
  },
  {
    received: [
      ["a", "1"],
      ["bcd", "3"],
    ],
  },
)

scenario(
  "PUB to XSUB",
  async ({ zmq, make, bind, take, observe, subscribed }) => {
    const [subscriber, publisher] = [make(zmq.XSubscriber), make(zmq.Publisher)]
    subscriber.connect(await bind(publisher))
    await subscriber.send(Buffer.from("\x01a"))
    await subscribed(publisher, subscriber, "a")
    await publisher.send("b")
    await publisher.send(["a", "1"])
    observe("received", await take(subscriber, 1))
  },
  { received: [["a", "1"]] },
)

scenario(
  "DEALER to DEALER",
  async ({ zmq, make, bind, observe }) => {
    const [a, b] = [make(zmq.Dealer), make(zmq.Dealer)]
    b.connect(await bind(a))
    await b.send(["", "to a"])
    observe("a", await a.receive())
    await a.send("to b")
    observe("b", await b.receive())
  },
  { a: ["", "to a"], b: ["to b"] },
)

scenario(
  "DEALER to REP and back: the dealer writes the envelope",
  async ({ zmq, make, bind, take, observe }) => {
    const [dealer, reply] = [make(zmq.Dealer), make(zmq.Reply)]
    dealer.connect(await bind(reply))
    await dealer.send(["", "plain"])
    await dealer.send(["hop 1", "hop 2", "", "body", "more"])
    observe("first question", await reply.receive())
    await reply.send("first")
    observe("second question", await reply.receive())
    await reply.send(["second", "part"])
    observe("answers", await take(dealer, 2))
  },
  {
    "second question": ["body", "more"],
    answers: [
      ["", "first"],
      ["hop 1", "hop 2", "", "second", "part"],
    ],
  },
)

scenario(
  "REQ to ROUTER: id, empty part, body",
  async ({ zmq, make, bind, observe }) => {
    const [request, router] = [make(zmq.Request), make(zmq.Router)]
    request.connect(await bind(router))
    await request.send(["body", "more"])
    const question = await router.receive()
    observe("question", question)
    await router.send([question[0]!, "", "answer"])
    observe("answer", await request.receive())
  },
  { question: ["<id 1>", "", "body", "more"], answer: ["answer"] },
)

scenario(
  "DEALER to ROUTER and back",
  async ({ zmq, make, bind, observe }) => {
    const [dealer, router] = [make(zmq.Dealer, { routingId: "dealer" }), make(zmq.Router)]
    dealer.connect(await bind(router))
    await dealer.send(["a", "", "b"])
    observe("router", await router.receive())
    await router.send(["dealer", "back", ""])
    observe("dealer", await dealer.receive())
  },
  { router: ["dealer", "a", "", "b"], dealer: ["back", ""] },
)

scenario(
  "ROUTER to ROUTER, both with ids",
  async ({ zmq, make, bind, joined, observe }) => {
    const [a, b] = [make(zmq.Router, { routingId: "A" }), make(zmq.Router, { routingId: "B" })]
    b.connect(await bind(a))
    await joined(a)
    await joined(b)
    await b.send(["A", "to a"])
    observe("a", await a.receive())
    await a.send(["B", "to b"])
    observe("b", await b.receive())
  },
  { a: ["B", "to a"], b: ["A", "to b"] },
)

scenario(
  "XPUB to XSUB",
  async ({ zmq, make, bind, joined, observe }) => {
    const [publisher, subscriber] = [make(zmq.XPublisher), make(zmq.XSubscriber)]
    publisher.connect(await bind(subscriber))
    await joined(subscriber)
    await subscriber.send(Buffer.from("\x01topic"))
    observe("subscription", await publisher.receive())
    await publisher.send(["topic", "1"])
    observe("received", await subscriber.receive())
  },
  { subscription: ["hex:01746f706963"], received: ["topic", "1"] },
)

scenario(
  "SERVER and CLIENT",
  async ({ draft, make, bind, observe }) => {
    const [server, client] = [make(draft.Server), make(draft.Client)]
    client.connect(await bind(server))
    await client.send("question")
    const [question, { routingId }] = await server.receive()
    observe("question", question)
    observe("routing id", typeof routingId === "number" && routingId > 0)
    await server.send("answer", { routingId })
    observe("answer", await client.receive())
  },
  { question: "question", answer: ["answer"], "routing id": true },
)

scenario(
  "SERVER replies to each of two CLIENTs",
  async ({ draft, make, bind, observe }) => {
    const [server, a, b] = [make(draft.Server), make(draft.Client), make(draft.Client)]
    const endpoint = await bind(server)
    a.connect(endpoint)
    b.connect(endpoint)
    await a.send("from a")
    await b.send("from b")
    for (let i = 0; i < 2; i++) {
      const [question, options] = await server.receive()
      await server.send(`answer to ${question}`, options)
    }
    observe("a", await a.receive())
    observe("b", await b.receive())
  },
  { a: ["answer to from a"], b: ["answer to from b"] },
)

scenario(
  "SERVER with an unknown routing id",
  async ({ draft, make, bind, attempted }) => {
    const server = make(draft.Server)
    await bind(server)
    await attempted("unknown", () => server.send("text", { routingId: 12345 }))
    await attempted("zero", () => server.send("text", { routingId: 0 }))
    // @ts-expect-error: the routing id is required
    await attempted("none", () => server.send("text", {}))
    // @ts-expect-error: the routing id is required
    await attempted("no options", () => server.send("text"))
  },
  { unknown: { rejects: { code: "EHOSTUNREACH" } } },
)

scenario(
  "CLIENT and SERVER refuse messages of several parts",
  async ({ draft, make, bind, attempted, observe }) => {
    const [server, client] = [make(draft.Server), make(draft.Client)]
    client.connect(await bind(server))
    // @ts-expect-error: one part only
    await attempted("client", () => client.send(["two", "parts"]))
    await client.send("one")
    const [question, options] = await server.receive()
    observe("question", question)
    // @ts-expect-error: one part only
    await attempted("server", () => server.send(["two", "parts"], options))
    await server.send("answer", options)
    observe("answer", await client.receive())
  },
  { client: { rejects: { code: "EINVAL" } }, answer: ["answer"] },
)

scenario(
  "RADIO to DISH: DISH receives only groups that it joined",
  async ({ draft, make, bind, take, until, observe }) => {
    const [radio, dish] = [make(draft.Radio), make(draft.Dish)]
    dish.join("movies", "tv")
    dish.connect(await bind(radio))
    // A RADIO does not report subscriptions, so probes are sent until one arrives.
    let arrived = false
    const first = dish.receive().then((message) => {
      arrived = true
      return message
    })
    await until(async () => {
      if (!arrived) await radio.send("probe", { group: "tv" })
      return arrived
    })
    await first
    await radio.send("last probe", { group: "tv" })
    while (String((await dish.receive())[0]) !== "last probe");
    await radio.send("1", { group: "movies" })
    await radio.send("2", { group: "music" })
    await radio.send("3", { group: "movie" })
    await radio.send("4", { group: "movies 2" })
    await radio.send("5", { group: Buffer.from("tv") })
    observe("received", await take(dish, 2))
  },
  {
    received: [
      ["1", { group: "movies" }],
      ["5", { group: "tv" }],
    ],
  },
)

scenario(
  "DISH refuses wrong groups in join and leave",
  async ({ draft, make, attempted }) => {
    const dish = make(draft.Dish)
    await attempted("join", () => dish.join("group"))
    await attempted("join again", () => dish.join("group"))
    await attempted("leave", () => dish.leave("group"))
    await attempted("leave again", () => dish.leave("group"))
    await attempted("leave unknown", () => dish.leave("other"))
    await attempted("255 letters", () => dish.join("g".repeat(255)))
    await attempted("256 letters", () => dish.join("g".repeat(256)))
    dish.close()
    await attempted("closed", () => dish.join("group"))
  },
  { join: { returns: "<undefined>" }, "join again": { throws: { code: "EINVAL" } } },
)

scenario(
  "RADIO refuses wrong messages and groups",
  async ({ draft, make, bind, attempted }) => {
    const radio = make(draft.Radio)
    await bind(radio)
    // @ts-expect-error: one part only
    await attempted("parts", () => radio.send(["two", "parts"], { group: "group" }))
    // @ts-expect-error: the group is required
    await attempted("no group", () => radio.send("text", {}))
    await attempted("long group", () => radio.send("text", { group: "g".repeat(256) }))
    await attempted("nobody listens", () => radio.send("text", { group: "group" }))
  },
  { "nobody listens": { resolves: "<undefined>" } },
)

scenario(
  "SCATTER to GATHER",
  async ({ draft, make, bind, take, attempted, observe }) => {
    const [scatter, gather] = [make(draft.Scatter), make(draft.Gather)]
    scatter.connect(await bind(gather))
    await scatter.send("one")
    await scatter.send(Buffer.alloc(1000, 1))
    // @ts-expect-error: one part only
    await attempted("parts", () => scatter.send(["two", "parts"]))
    await scatter.send("three")
    observe("received", await take(gather, 3))
  },
  { parts: { rejects: { code: "EINVAL" } }, received: [["one"], expect.any(Array), ["three"]] },
)

scenario(
  "SCATTER sends to GATHERs in turn",
  async ({ draft, make, bind, take, observe }) => {
    const scatter = make(draft.Scatter)
    const gathers = [make(draft.Gather), make(draft.Gather)]
    for (const gather of gathers) scatter.connect(await bind(gather))
    for (let i = 0; i < 6; i++) await scatter.send(`${i}`)
    for (const [i, gather] of gathers.entries()) observe(`gather ${i}`, await take(gather, 3))
  },
  { "gather 0": [["0"], ["2"], ["4"]] },
)
