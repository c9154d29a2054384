/** Publish-subscribe (RFC 29): matching, notices of subscriptions, and forwarding by XPUB and XSUB. */
import { expect } from "vitest"
import type { Subscriber, XPublisher } from "zeromq"

import { type Run, scenario } from "../scenario.js"

const subscribe = (topic: string) => Buffer.from(`\x01${topic}`)
const unsubscribe = (topic: string) => Buffer.from(`\x00${topic}`)

/** The numbers of libzmq's options that subscribe the peers of an XPUB with `manual`. */
const SUBSCRIBE = 6
const UNSUBSCRIBE = 7

/** As `setsockopt()` in libzmq; zeromq.js has no method for it. */
const setSubscription = (publisher: XPublisher, option: number, topic: string): void =>
  (publisher as unknown as { setStringOption(id: number, value: string): void }).setStringOption(
    option,
    topic,
  )

/** A subscriber whose subscriptions have arrived at an XPUB. */
async function pair(
  { zmq, make, bind }: Run,
  topics: string[],
  options: ConstructorParameters<typeof XPublisher>[0] = {},
): Promise<{ publisher: XPublisher; subscriber: Subscriber; endpoint: string }> {
  const publisher = make(zmq.XPublisher, options)
  const subscriber = make(zmq.Subscriber)
  const endpoint = await bind(publisher)
  subscriber.subscribe(...topics)
  subscriber.connect(endpoint)
  for (const _ of new Set(topics)) await publisher.receive()
  return { publisher, subscriber, endpoint }
}

scenario(
  "subscriptions match prefixes, of the first part only",
  async (run) => {
    const { publisher, subscriber } = await pair(run, ["ab", "x"])
    const messages = ["a", "ab", "abc", ["ab", "c"], ["a", "ab"], ["", "ab"], "b", ["x", "", "y"]]
    for (const message of messages) await publisher.send(message)
    await publisher.send(["ab", "end"])
    run.observe("received", await run.takeUntil(subscriber, "end"))
  },
  { received: [["ab"], ["abc"], ["ab", "c"], ["x", "", "y"]] },
)

scenario(
  "topics may be binary",
  async (run) => {
    const { zmq, make, bind, observe, takeUntil } = run
    const publisher = make(zmq.XPublisher)
    const subscriber = make(zmq.Subscriber)
    subscriber.subscribe(Buffer.from([0, 255]), Buffer.from([1]))
    subscriber.connect(await bind(publisher))
    observe(
      "subscriptions",
      [await publisher.receive(), await publisher.receive()].map(String).sort(),
    )
    await publisher.send(Buffer.from([0]))
    await publisher.send(Buffer.from([0, 255, 7]))
    await publisher.send(Buffer.from([1]))
    await publisher.send([Buffer.from([1]), "end"])
    observe("received", await takeUntil(subscriber, "end"))
  },
  { received: [["hex:00ff07"], ["hex:01"]] },
)

scenario(
  "topics may be views, of which all bytes count",
  async ({ zmq, make, bind, observe, take, takeUntil }) => {
    const publisher = make(zmq.XPublisher)
    const subscriber = make(zmq.Subscriber)
    subscriber.connect(await bind(publisher))
    const views = [new Uint16Array([65, 66]), new Int32Array(new ArrayBuffer(8), 4)]
    for (const view of views) subscriber.subscribe(view as unknown as Buffer)
    observe("subscriptions", await take(publisher, 2))
    await publisher.send("AB")
    await publisher.send("A\0B\0")
    await publisher.send(["\0\0\0\0", "end"])
    observe("received", await takeUntil(subscriber, "end"))
    for (const view of views) subscriber.unsubscribe(view as unknown as Buffer)
    observe("cancellations", await take(publisher, 2))
  },
  { subscriptions: [["hex:0141004200"], ["hex:0100000000"]], received: [["hex:41004200"]] },
)

scenario(
  "the empty subscription matches all messages, empty ones too",
  async (run) => {
    const { publisher, subscriber } = await pair(run, [""])
    for (const message of ["", ["", ""], "a", ["b", "c"]]) await publisher.send(message)
    await publisher.send("end")
    run.observe("received", await run.takeUntil(subscriber, "end"))
  },
  { received: [[""], ["", ""], ["a"], ["b", "c"]] },
)

scenario(
  "nothing is received without a subscription",
  async (run) => {
    const { publisher, subscriber } = await pair(run, ["only"])
    for (const message of ["", "o", "on", "other"]) await publisher.send(message)
    await publisher.send(["only", "end"])
    run.observe("received", await run.takeUntil(subscriber, "end"))
  },
  { received: [] },
)

scenario(
  "a message that matches several topics is received once",
  async (run) => {
    const { publisher, subscriber } = await pair(run, ["", "a", "ab"])
    await publisher.send("abc")
    await publisher.send("end")
    run.observe("received", await run.takeUntil(subscriber, "end"))
  },
  { received: [["abc"]] },
)

scenario(
  "a topic subscribed to twice ends with the second unsubscribe",
  async (run) => {
    const { zmq, make, bind, observe, takeUntil } = run
    const publisher = make(zmq.XPublisher)
    const subscriber = make(zmq.Subscriber)
    subscriber.subscribe("keep")
    subscriber.subscribe("a")
    subscriber.subscribe("a")
    subscriber.connect(await bind(publisher))
    observe(
      "subscriptions",
      [await publisher.receive(), await publisher.receive()].map(String).sort(),
    )
    subscriber.unsubscribe("a")
    subscriber.subscribe("mark1")
    observe("after the first", await publisher.receive())
    await publisher.send("a1")
    await publisher.send(["keep", "end"])
    observe("still", await takeUntil(subscriber, "end"))
    subscriber.unsubscribe("a")
    observe("after the second", await publisher.receive())
    await publisher.send("a2")
    await publisher.send(["keep", "end"])
    observe("no more", await takeUntil(subscriber, "end"))
  },
  { still: [["a1"]], "after the second": ["hex:0061"], "no more": [] },
)

scenario(
  "unsubscribing from an unknown topic has no effect",
  async (run) => {
    const { publisher, subscriber } = await pair(run, ["a"])
    await run.attempted("unknown", () => subscriber.unsubscribe("other"))
    await run.attempted("all", () => subscriber.unsubscribe())
    subscriber.subscribe("mark1")
    run.observe("next", await publisher.receive())
    await publisher.send("a")
    run.observe("received", await subscriber.receive())
  },
  { next: ["hex:016d61726b31"], received: ["a"] },
)

scenario(
  "subscriptions made before and after connect",
  async (run) => {
    const { zmq, make, bind, observe, take } = run
    const publisher = make(zmq.XPublisher)
    const subscriber = make(zmq.Subscriber)
    const endpoint = await bind(publisher)
    subscriber.subscribe("before")
    subscriber.connect(endpoint)
    observe("first", await publisher.receive())
    subscriber.subscribe("after")
    observe("second", await publisher.receive())
    await publisher.send(["before", "1"])
    await publisher.send(["after", "2"])
    observe("received", await take(subscriber, 2))
    subscriber.unsubscribe("before")
    observe("third", await publisher.receive())
    await publisher.send(["before", "3"])
    await publisher.send(["after", "4"])
    observe("then received", await take(subscriber, 1))
  },
  { third: ["hex:006265666f7265"], "then received": [["after", "4"]] },
)

scenario(
  "subscribe accepts several topics, and without arguments subscribes to all",
  async (run) => {
    const { zmq, make, bind, observe, attempted } = run
    const publisher = make(zmq.XPublisher)
    const subscriber = make(zmq.Subscriber)
    subscriber.connect(await bind(publisher))
    subscriber.subscribe("one", Buffer.from("other"))
    observe("subscriptions", [await publisher.receive(), await publisher.receive()])
    subscriber.subscribe()
    observe("all", await publisher.receive())
    // @ts-expect-error: a topic is a string or a Buffer
    await attempted("number", () => subscriber.subscribe(5))
    // @ts-expect-error: a topic is a string or a Buffer
    await attempted("object", () => subscriber.subscribe({}))
  },
  { all: ["hex:01"] },
)

scenario(
  "two subscribers receive their own topics",
  async (run) => {
    const { zmq, make, observe, take } = run
    const { publisher, subscriber, endpoint } = await pair(run, ["a"])
    const other = make(zmq.Subscriber)
    other.subscribe("b")
    other.connect(endpoint)
    observe("second", await publisher.receive())
    for (const text of ["a1", "b1", "c1", "a2", "b2"]) await publisher.send(text)
    observe("a", await take(subscriber, 2))
    observe("b", await take(other, 2))
  },
  { a: [["a1"], ["a2"]], b: [["b1"], ["b2"]] },
)

for (const verbosity of [null, "allSubs", "allSubsUnsubs"] as const) {
  scenario(
    `XPUB with verbosity ${verbosity} shows subscriptions of two subscribers`,
    async (run) => {
      const { zmq, make, bind, observe, take, joined } = run
      const publisher = make(zmq.XPublisher)
      publisher.verbosity = verbosity
      const endpoint = await bind(publisher)
      const [a, b] = [make(zmq.XSubscriber), make(zmq.XSubscriber)]
      a.connect(endpoint)
      b.connect(endpoint)
      await joined(publisher, 2)
      const steps: [typeof a, Buffer, string][] = [
        [a, subscribe("t"), "a1"],
        [a, subscribe("t"), "a2"],
        [b, subscribe("t"), "b1"],
        [b, subscribe("t"), "b2"],
        [a, unsubscribe("t"), "a3"],
        [b, unsubscribe("t"), "b3"],
        [b, unsubscribe("t"), "b4"],
        [a, unsubscribe("t"), "a4"],
      ]
      for (const [socket, message, mark] of steps) {
        await socket.send(message)
        await socket.send(subscribe(`mark ${mark}`))
        const shown: unknown[] = []
        for (;;) {
          const [one] = await take(publisher, 1)
          if (String(one![0]) === `\x01mark ${mark}`) break
          shown.push(one)
        }
        observe(`shown ${mark}`, shown)
      }
    },
    {
      "shown a1": [["hex:0174"]],
      "shown b1": verbosity ? [["hex:0174"]] : [],
      "shown a4": [["hex:0074"]],
    },
  )
}

scenario(
  "verbosity set after bind takes effect at once",
  async (run) => {
    const { zmq, make, observe } = run
    const { publisher, endpoint } = await pair(run, ["t"])
    const second = make(zmq.Subscriber)
    second.subscribe("t", "mark2")
    second.connect(endpoint)
    observe("second", await publisher.receive())
    publisher.verbosity = "allSubs"
    const third = make(zmq.Subscriber)
    third.subscribe("t")
    third.connect(endpoint)
    observe("third", await publisher.receive())
  },
  { second: ["hex:016d61726b32"], third: ["hex:0174"] },
)

scenario(
  "XPUB sees the unsubscriptions of a subscriber that closes",
  async (run) => {
    const { publisher, subscriber } = await pair(run, ["a", "bc"])
    subscriber.close()
    const shown = await run.take(publisher, 2)
    run.observe("shown", shown.map(([one]) => one!.toString("hex")).sort())
    run.observe("readable", publisher.readable)
  },
  { shown: ["0061", "006263"], readable: false },
)

scenario(
  "XPUB sees the unsubscriptions of a subscriber that disconnects",
  async (run) => {
    const { publisher, subscriber, endpoint } = await pair(run, ["a"])
    await run.disconnect(subscriber, endpoint, publisher)
    run.observe("shown", await publisher.receive())
  },
  { shown: ["hex:0061"] },
)

scenario(
  "only the last unsubscription is shown when two subscribers share a topic",
  async (run) => {
    const { zmq, make, observe, disconnect } = run
    const { publisher, subscriber, endpoint } = await pair(run, ["shared"])
    const other = make(zmq.Subscriber)
    other.subscribe("shared", "other")
    other.connect(endpoint)
    observe("second", await publisher.receive())
    await disconnect(subscriber, endpoint, publisher)
    await publisher.send(["shared", "1"])
    observe("other", await other.receive())
    other.unsubscribe("shared")
    observe("shown", await publisher.receive())
  },
  { second: ["hex:016f74686572"], shown: ["hex:00736861726564"] },
)

/** An XPUB with `manual`, and an XSUB that has asked it for the topic A. */
async function manualPair({ zmq, make, bind, joined, observe }: Run) {
  const publisher = make(zmq.XPublisher, { manual: true })
  const subscriber = make(zmq.XSubscriber)
  subscriber.connect(await bind(publisher))
  await joined(subscriber)
  await subscriber.send(subscribe("A"))
  observe("asked for", await publisher.receive())
  return { publisher, subscriber }
}

scenario(
  "manual: the application sets the subscriptions of an XPUB",
  async (run) => {
    const { observe, take } = run
    const { publisher, subscriber } = await manualPair(run)
    setSubscription(publisher, SUBSCRIBE, "XA")
    await publisher.send("A")
    await publisher.send("XA")
    observe("received", await take(subscriber, 1))
    await subscriber.send(unsubscribe("A"))
    observe("asked to stop", await publisher.receive())
    setSubscription(publisher, UNSUBSCRIBE, "XA")
    setSubscription(publisher, SUBSCRIBE, "B")
    await publisher.send("XA")
    await publisher.send("B")
    observe("then received", await take(subscriber, 1))
  },
  { "asked for": ["hex:0141"], received: [["XA"]], "then received": [["B"]] },
)

scenario(
  "manual: a message that is no notice does not change the peer that is subscribed",
  async (run) => {
    const { observe, takeUntil } = run
    const { publisher, subscriber } = await manualPair(run)
    await subscriber.send("message")
    observe("message", await publisher.receive())
    setSubscription(publisher, SUBSCRIBE, "B")
    await publisher.send("B")
    setSubscription(publisher, UNSUBSCRIBE, "B")
    setSubscription(publisher, SUBSCRIBE, "end")
    await publisher.send("B")
    await publisher.send("end")
    observe("received", await takeUntil(subscriber, "end"))
  },
  { "asked for": ["hex:0141"], message: ["message"], received: [["B"]] },
)

scenario(
  "manual: without subscriptions from the application, nothing is published",
  async (run) => {
    const { zmq, make, bind, observe } = run
    const publisher = make(zmq.XPublisher, { manual: true })
    const subscriber = make(zmq.Subscriber)
    subscriber.subscribe("")
    subscriber.connect(await bind(publisher))
    observe("asked for", await publisher.receive())
    await publisher.send("text")
    publisher.manual = false
    subscriber.subscribe("other")
    observe("asked for then", await publisher.receive())
    await publisher.send("other")
    observe("received", await subscriber.receive())
  },
  { received: ["other"] },
)

scenario(
  "welcomeMessage is the first thing that a subscriber receives",
  async (run) => {
    const { zmq, make, bind, observe, take } = run
    const publisher = make(zmq.XPublisher, { welcomeMessage: "Wello" })
    const endpoint = await bind(publisher)
    const subscriber = make(zmq.Subscriber)
    subscriber.subscribe("W")
    const subscription = publisher.receive()
    subscriber.connect(endpoint)
    observe("subscription", await subscription)
    await publisher.send("Wext")
    observe("received", await take(subscriber, 2))
  },
  { received: [["Wello"], ["Wext"]] },
)

scenario(
  "invertMatching: subscribers receive the messages that do not match",
  async (run) => {
    const { zmq, make, bind, observe, takeUntil } = run
    const publisher = make(zmq.XPublisher, { invertMatching: true })
    const subscriber = make(zmq.Subscriber, { invertMatching: true })
    subscriber.subscribe("a")
    subscriber.connect(await bind(publisher))
    observe("subscription", await publisher.receive())
    for (const message of ["a", "ab", "b", ["c", "a"], "ba", "end"]) await publisher.send(message)
    observe("received", await takeUntil(subscriber, "end"))
  },
  { received: [["b"], ["c", "a"], ["ba"]] },
)

scenario(
  "a publisher that connects keeps the subscriptions of a connection that it lost",
  async (run) => {
    const { zmq, make, bind, observe, joined, until, attempt, happened, takeUntil } = run
    const publisher = make(zmq.XPublisher, { invertMatching: true, reconnectInterval: 10 })
    const subscribe = (topic: string) => {
      const subscriber = make(zmq.Subscriber, { invertMatching: true })
      subscriber.subscribe(topic)
      return subscriber
    }
    const first = subscribe("a")
    const endpoint = await bind(first)
    publisher.connect(endpoint)
    await joined(first)
    observe("first subscription", await publisher.receive())
    first.close()
    await happened(publisher, "disconnect")
    const second = subscribe("b")
    await until(async () => "resolves" in (await attempt(() => second.bind(endpoint))))
    await joined(second)
    observe("second subscription", await publisher.receive())
    for (const message of ["a", "b", "c", "end"]) await publisher.send(message)
    observe("received", await takeUntil(second, "end"))
  },
  { "second subscription": ["hex:0162"], received: [["c"]] },
)

scenario(
  "XPUB receives an XSUB's messages that are not subscriptions",
  async (run) => {
    const { zmq, make, bind, observe, joined, take } = run
    const publisher = make(zmq.XPublisher)
    const subscriber = make(zmq.XSubscriber)
    subscriber.connect(await bind(publisher))
    await joined(publisher)
    await joined(subscriber)
    await subscriber.send("hello")
    await subscriber.send(["several", "parts"])
    await subscriber.send(Buffer.from([2, 65]))
    await subscriber.send([subscribe("a"), "part"])
    await subscriber.send("")
    await subscriber.send(subscribe("end"))
    const received: unknown[] = []
    for (;;) {
      const [message] = await take(publisher, 1)
      received.push(message)
      if (String(message![0]) === "\x01end") break
    }
    observe("received", received)
  },
  { received: expect.arrayContaining([["hello"]]) },
)

scenario(
  "the notice of a subscription in a message ends the message",
  async ({ zmq, make, bind, observe, take }) => {
    const publisher = make(zmq.XPublisher)
    const subscriber = make(zmq.XSubscriber)
    subscriber.connect(await bind(publisher))
    await subscriber.send(["text", subscribe("a"), "more", "text"])
    await subscriber.send(["", subscribe("b"), subscribe("c"), ""])
    observe("received", await take(publisher, 5))
    await publisher.send("b")
    observe("b", await subscriber.receive())
  },
  { received: [["text", "hex:0161"], ["more", "text"], ["", "hex:0162"], ["hex:0163"], [""]] },
)

scenario(
  "each part of a message of an XSUB may be a subscription",
  async (run) => {
    const { zmq, make, bind, observe, joined, take } = run
    const publisher = make(zmq.XPublisher)
    const subscriber = make(zmq.XSubscriber)
    subscriber.connect(await bind(publisher))
    await joined(publisher)
    for (const message of [
      ["text", subscribe("a")],
      [subscribe("b"), "text"],
      [subscribe("c"), subscribe("d"), "text", subscribe("e")],
      [subscribe("a"), "text"],
      ["text", unsubscribe("a"), "text"],
      ["text", unsubscribe("unknown"), "text"],
      [unsubscribe("b"), unsubscribe("unknown"), "text"],
      [subscribe("end")],
    ])
      await subscriber.send(message)
    const received: unknown[] = []
    for (;;) {
      const [message] = await take(publisher, 1)
      received.push(message)
      if (String(message![0]) === "\x01end") break
    }
    observe("received", received)
    for (const topic of ["a", "b", "c", "d", "e", "f"]) await publisher.send(topic)
    await publisher.send("end")
    const matching: unknown[] = []
    for (;;) {
      const [message] = await take(subscriber, 1)
      if (String(message![0]) === "end") break
      matching.push(message)
    }
    observe("matching", matching)
  },
  { matching: [["a"], ["c"], ["d"], ["e"]] },
)

scenario(
  "XSUB sends each subscription, but of unsubscriptions only the last",
  async (run) => {
    const { zmq, make, bind, observe, joined, take } = run
    const publisher = make(zmq.XPublisher)
    publisher.verbosity = "allSubsUnsubs"
    const subscriber = make(zmq.XSubscriber)
    subscriber.connect(await bind(publisher))
    await joined(publisher)
    for (const message of [
      subscribe("a"),
      subscribe("a"),
      unsubscribe("a"),
      unsubscribe("a"),
      unsubscribe("a"),
      unsubscribe("unknown"),
      subscribe(""),
      unsubscribe(""),
      subscribe("end"),
    ])
      await subscriber.send(message)
    const received: unknown[] = []
    for (;;) {
      const [message] = await take(publisher, 1)
      received.push(message)
      if (String(message![0]) === "\x01end") break
    }
    observe("received", received)
  },
  { received: expect.arrayContaining([["hex:0161"], ["hex:01656e64"]]) },
)

scenario(
  "PUB ignores messages from subscribers",
  async (run) => {
    const { zmq, make, bind, observe, subscribed, joined } = run
    const publisher = make(zmq.Publisher)
    const subscriber = make(zmq.XSubscriber)
    subscriber.connect(await bind(publisher))
    await joined(subscriber)
    await subscriber.send("hello")
    await subscriber.send(subscribe("t"))
    await subscribed(publisher, subscriber, "t")
    observe("readable", publisher.readable)
    await publisher.send("t")
    observe("received", await subscriber.receive())
  },
  { readable: false, received: ["t"] },
)

scenario(
  "SUB subscribes again when its publisher has restarted",
  async (run) => {
    const { zmq, make, bind, observe, take } = run
    const subscriber = make(zmq.Subscriber, { reconnectInterval: 10 })
    subscriber.subscribe("a", "b")
    subscriber.unsubscribe("b")
    const first = make(zmq.XPublisher)
    const endpoint = await bind(first)
    subscriber.connect(endpoint)
    observe("first", await first.receive())
    await first.send("a1")
    observe("received", await take(subscriber, 1))
    // libzmq only subscribes again when the socket is used.
    const next = subscriber.receive()
    first.close()
    subscriber.subscribe("c")
    const second = make(zmq.XPublisher)
    await run.until(async () => "resolves" in (await run.attempt(() => second.bind(endpoint))))
    observe("second", (await take(second, 2)).map(([one]) => one!.toString("hex")).sort())
    await second.send("a2")
    await second.send("b2")
    await second.send("c2")
    observe("then received", [await next, await subscriber.receive()])
  },
  { second: ["0161", "0163"], "then received": [["a2"], ["c2"]] },
)

scenario(
  "a bound subscriber accepts several publishers",
  async (run) => {
    const { zmq, make, bind, observe, take } = run
    const subscriber = make(zmq.Subscriber)
    const endpoint = await bind(subscriber)
    const publishers = [make(zmq.XPublisher), make(zmq.XPublisher)]
    for (const publisher of publishers) publisher.connect(endpoint)
    await run.joined(subscriber, 2)
    subscriber.subscribe("t")
    for (const [i, publisher] of publishers.entries()) {
      observe("subscription", await publisher.receive())
      await publisher.send(`t${i}`)
      observe("received", await take(subscriber, 1))
    }
  },
  { received: [["t1"]] },
)

scenario(
  "topics may be long",
  async (run) => {
    const topic = "long ".repeat(300)
    const { publisher, subscriber } = await pair(run, [topic])
    await publisher.send(topic.slice(0, -1))
    await publisher.send([`${topic}!`, "1"])
    run.observe("received", await run.take(subscriber, 1))
  },
  { received: [[expect.stringContaining("bytes"), "1"]] },
)

scenario(
  "a subscriber may have 500 topics",
  async (run) => {
    const topics = Array.from({ length: 500 }, (_, i) => `topic ${i};`)
    const { publisher, subscriber } = await pair(run, topics)
    await publisher.send("topic 500;")
    await publisher.send("topic 499;")
    subscriber.unsubscribe("topic 5;")
    run.observe("shown", await publisher.receive())
    await publisher.send("topic 5;")
    await publisher.send("topic 6;")
    run.observe("received", await run.take(subscriber, 2))
  },
  { received: [["topic 499;"], ["topic 6;"]] },
)

scenario(
  "XPUB sends all parts of a message to each matching subscriber",
  async (run) => {
    const { zmq, make, observe, take } = run
    const { publisher, subscriber, endpoint } = await pair(run, ["a"])
    const other = make(zmq.Subscriber)
    other.subscribe("ab")
    other.connect(endpoint)
    observe("second", await publisher.receive())
    const parts = Array.from({ length: 30 }, (_, i) => `part ${i}`)
    await publisher.send(["a", ...parts])
    await publisher.send(["abc", ...parts])
    observe(
      "a",
      (await take(subscriber, 2)).map((message) => message.length),
    )
    observe(
      "ab",
      (await take(other, 1)).map((message) => message.length),
    )
  },
  { a: [31, 31], ab: [31] },
)

scenario(
  "XSUB may send subscriptions before it has an endpoint",
  async ({ zmq, make, bind, observe, take }) => {
    const [publisher, subscriber] = [make(zmq.XPublisher), make(zmq.XSubscriber)]
    await subscriber.send(subscribe("a"))
    await subscriber.send(subscribe("b"))
    await subscriber.send(unsubscribe("b"))
    await subscriber.send([subscribe("c"), "part"])
    subscriber.connect(await bind(publisher))
    observe("shown", (await take(publisher, 2)).sort())
    for (const topic of ["b", "a", "c"]) await publisher.send(topic)
    observe("received", await take(subscriber, 2))
  },
  { shown: [["hex:0161"], ["hex:0163"]], received: [["a"], ["c"]] },
)

scenario(
  "subscriptions made before connect() arrive in the order of libzmq",
  async ({ zmq, make, bind, observe, take }) => {
    const [publisher, subscriber] = [make(zmq.XPublisher), make(zmq.Subscriber)]
    subscriber.subscribe("weather", "news", "art", "sport", "arts", "new", "spots")
    subscriber.unsubscribe("weather")
    subscriber.connect(await bind(publisher))
    observe("shown", await take(publisher, 6))
  },
  { shown: expect.arrayContaining([["hex:016e657773"]]) },
)

scenario(
  "XPUB keeps a message that it received before disconnect()",
  async ({ zmq, make, bind, joined, until, observe }) => {
    const [publisher, subscriber] = [make(zmq.XPublisher), make(zmq.XSubscriber)]
    const endpoint = await bind(subscriber)
    publisher.connect(endpoint)
    await joined(subscriber)
    await subscriber.send("text")
    await until(() => publisher.readable)
    publisher.disconnect(endpoint)
    observe("received", await publisher.receive())
  },
  { received: ["text"] },
)

scenario(
  "a message that SUB has found is received even after unsubscribe()",
  async (run) => {
    const { publisher, subscriber } = await pair(run, ["a"])
    await publisher.send("a1")
    await run.until(() => subscriber.readable)
    subscriber.unsubscribe("a")
    run.observe("received", await subscriber.receive())
  },
  { received: ["a1"] },
)

scenario(
  "reading `writable` of a SUB fetches its next message, which unsubscribe() does not drop",
  async ({ zmq, make, bind, until, subscribed, settled, attempted, observe }) => {
    const [publisher, subscriber] = [make(zmq.Publisher), make(zmq.Subscriber)]
    subscriber.connect(await bind(publisher))
    subscriber.subscribe("a")
    await subscribed(publisher, subscriber, "a")
    for (const text of ["a1", "a2"]) await publisher.send(text)
    await settled()
    observe("writable", subscriber.writable)
    subscriber.unsubscribe("a")
    subscriber.receiveTimeout = 0
    for (const name of ["first", "second"]) await attempted(name, () => subscriber.receive())
    await until(() => !subscriber.readable)
  },
  { first: { resolves: ["a1"] }, second: { rejects: { code: "EAGAIN" } } },
)
