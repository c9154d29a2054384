/** High-water marks, and the behaviour when they are reached. */
import { payload } from "../../../bench/payloads.mjs"
import { type Outcome, scenario } from "../scenario.js"

const sent = (outcome: Outcome) => "resolves" in outcome

for (const type of ["Push", "Dealer", "Pair"] as const) {
  for (const mark of [1, 2, 5, 10]) {
    scenario(
      `${type} connected to an unused port queues ${mark} messages`,
      async ({ zmq, make, at, attempt, observe, attempted }) => {
        const socket = make(zmq[type] as typeof zmq.Dealer, {
          sendHighWaterMark: mark,
          sendTimeout: 0,
          linger: 0,
        })
        observe("writable before connect", socket.writable)
        socket.connect(at("127.0.0.1:9"))
        observe("writable", socket.writable)
        let count = 0
        while (sent(await attempt(() => socket.send(`${count}`)))) count++
        observe("sent", count)
        observe("writable when full", socket.writable)
        await attempted("one more", () => socket.send("one more"))
      },
      { sent: mark, "writable when full": false, "one more": { rejects: { code: "EAGAIN" } } },
    )
  }
}

scenario(
  "a send that waits for room is rejected after sendTimeout",
  async ({ zmq, make, at, attempted }) => {
    const push = make(zmq.Push, { sendHighWaterMark: 1, sendTimeout: 50, linger: 0 })
    push.connect(at("127.0.0.1:9"))
    await attempted("first", () => push.send("first"))
    await attempted("second", () => push.send("second"))
    await attempted("third", () => push.send(["third", "part"]))
  },
  { first: { resolves: "<undefined>" }, second: { rejects: { code: "EAGAIN" } } },
)

scenario(
  "two connects to unused ports queue twice as many messages",
  async ({ zmq, make, at, attempt, observe }) => {
    const push = make(zmq.Push, { sendHighWaterMark: 3, sendTimeout: 0, linger: 0 })
    push.connect(at("127.0.0.1:9"))
    push.connect(at("127.0.0.1:7"))
    let count = 0
    while (sent(await attempt(() => push.send(`${count}`)))) count++
    observe("sent", count)
  },
  { sent: 6 },
)

scenario(
  "a message of several parts counts once",
  async ({ zmq, make, at, attempt, observe }) => {
    const push = make(zmq.Push, { sendHighWaterMark: 6, sendTimeout: 0, linger: 0 })
    push.connect(at("127.0.0.1:9"))
    let count = 0
    while (sent(await attempt(() => push.send(["a", "b", "c", "d"])))) count++
    observe("sent", count)
  },
  { sent: 6 },
)

scenario(
  "a high-water mark of 0 is no limit",
  async ({ zmq, make, at, attempt, observe }) => {
    const push = make(zmq.Push, { sendHighWaterMark: 0, sendTimeout: 0, linger: 0 })
    push.connect(at("127.0.0.1:9"))
    let count = 0
    while (count < 5000 && sent(await attempt(() => push.send(`${count}`)))) count++
    observe("sent", count)
    observe("writable", push.writable)
  },
  { sent: 5000, writable: true },
)

for (const type of ["Push", "Dealer", "Pair", "Request"] as const) {
  scenario(
    `${type} that is bound has nowhere to send to`,
    async ({ zmq, make, bind, attempted, observe }) => {
      const socket = make(zmq[type] as typeof zmq.Dealer, { sendTimeout: 0 })
      await bind(socket)
      observe("writable", socket.writable)
      observe("readable", socket.readable)
      await attempted("send", () => socket.send("text"))
      socket.sendTimeout = 30
      await attempted("send with a timeout", () => socket.send("text"))
      if (type === "Push") return
      socket.receiveTimeout = 0
      await attempted("receive", () => socket.receive())
    },
    { writable: false, send: { rejects: { code: "EAGAIN" } } },
  )

  scenario(
    `${type} that is neither bound nor connected cannot send`,
    async ({ zmq, make, attempted, observe }) => {
      const socket = make(zmq[type] as typeof zmq.Dealer, { sendTimeout: 0 })
      observe("writable", socket.writable)
      await attempted("send", () => socket.send("text"))
      if (type === "Push") return
      socket.receiveTimeout = 0
      await attempted("receive", () => socket.receive())
    },
    { writable: false, send: { rejects: { code: "EAGAIN" } } },
  )
}

for (const type of ["Publisher", "XPublisher"] as const) {
  scenario(
    `${type} without a peer drops messages`,
    async ({ zmq, make, bind, attempted, observe }) => {
      const socket = make(zmq[type] as typeof zmq.XPublisher, { sendTimeout: 0 })
      await bind(socket)
      observe("writable", socket.writable)
      for (let i = 0; i < 3; i++) await attempted("send", () => socket.send(["topic", "text"]))
    },
    { writable: true, send: { resolves: "<undefined>" } },
  )
}

scenario(
  "ROUTER and REP without a peer: readable and writable",
  async ({ zmq, make, bind, attempted, observe }) => {
    const router = make(zmq.Router)
    const reply = make(zmq.Reply, { sendTimeout: 0 })
    await bind(router)
    await bind(reply)
    observe("router", [router.writable, router.readable])
    observe("reply", [reply.writable, reply.readable])
    await attempted("router drops", () => router.send(["nobody", "text"]))
    await attempted("reply", () => reply.send("text"))
  },
  { router: [true, false], "router drops": { resolves: "<undefined>" } },
)

scenario(
  "XSUB and SUB: readable and writable",
  async ({ zmq, make, bind, observe, until }) => {
    const xsub = make(zmq.XSubscriber)
    const sub = make(zmq.Subscriber)
    const publisher = make(zmq.XPublisher)
    const endpoint = await bind(publisher)
    observe("xsub", [xsub.writable, xsub.readable])
    observe("sub", [sub.writable, sub.readable])
    xsub.connect(endpoint)
    sub.connect(endpoint)
    observe("xsub connected", [xsub.writable, xsub.readable])
    observe("sub connected", [sub.writable, sub.readable])
    sub.subscribe("x")
    observe("xpub", [publisher.writable, await publisher.receive(), publisher.readable])
    await publisher.send("x")
    await until(() => sub.readable)
    observe("sub with a message", [sub.writable, sub.readable])
    observe("received", await sub.receive())
    observe("sub without", [sub.writable, sub.readable])
  },
  { received: ["x"] },
)

scenario(
  "PULL and PUSH: readable and writable",
  async ({ zmq, make, bind, until, observe }) => {
    const [push, pull] = [make(zmq.Push), make(zmq.Pull)]
    observe("before", [push.writable, push.readable, pull.writable, pull.readable])
    push.connect(await bind(pull))
    observe("connected", [push.writable, push.readable, pull.writable, pull.readable])
    await push.send("1")
    await until(() => pull.readable)
    observe("with a message", [pull.writable, pull.readable])
    await pull.receive()
    observe("without", [pull.writable, pull.readable])
    push.close()
    pull.close()
    observe("closed", [push.writable, push.readable, pull.writable, pull.readable, pull.closed])
  },
  { connected: [true, false, false, false], closed: [false, false, false, false, true] },
)

scenario(
  "a pending send() resolves when a peer connects",
  async ({ zmq, make, bind, observe }) => {
    const push = make(zmq.Push)
    const endpoint = await bind(push)
    const sending = push.send("waited")
    const pull = make(zmq.Pull)
    pull.connect(endpoint)
    await sending
    observe("received", await pull.receive())
    observe("writable", push.writable)
  },
  { received: ["waited"], writable: true },
)

scenario(
  "sendHighWaterMark set after connect takes effect",
  async ({ zmq, make, at, attempt, observe }) => {
    const push = make(zmq.Push, { sendHighWaterMark: 100, sendTimeout: 0, linger: 0 })
    push.connect(at("127.0.0.1:9"))
    push.sendHighWaterMark = 4
    let count = 0
    while (sent(await attempt(() => push.send(`${count}`)))) count++
    observe("sent", count)
    push.sendHighWaterMark = 7
    observe("writable", push.writable)
    while (sent(await attempt(() => push.send(`${count}`)))) count++
    observe("sent then", count)
  },
  { sent: 4 },
)

scenario(
  "PUSH with immediate has no pipe until it is connected",
  async ({ zmq, make, bind, at, attempted, observe, joined }) => {
    const push = make(zmq.Push, { immediate: true, sendTimeout: 0, linger: 0 })
    push.connect(at("127.0.0.1:9"))
    observe("writable", push.writable)
    await attempted("send", () => push.send("text"))
    const pull = make(zmq.Pull)
    push.connect(await bind(pull))
    await joined(push)
    observe("writable then", push.writable)
    for (let i = 0; i < 4; i++) await push.send(`${i}`)
    for (let i = 0; i < 4; i++) observe("received", await pull.receive())
  },
  { writable: false, send: { rejects: { code: "EAGAIN" } }, received: ["3"] },
)

scenario(
  "immediate set after connect applies to the next connect",
  async ({ zmq, make, at, observe }) => {
    const push = make(zmq.Push, { sendTimeout: 0, linger: 0 })
    push.connect(at("127.0.0.1:9"))
    push.immediate = true
    observe("writable", push.writable)
    push.disconnect(at("127.0.0.1:9"))
    observe("writable after disconnect", push.writable)
    push.connect(at("127.0.0.1:9"))
    observe("writable after the next connect", push.writable)
  },
  { writable: true, "writable after the next connect": false },
)

scenario(
  "immediate set between two connects applies to the second only",
  async ({ zmq, make, bind, joined, happened, until, observe }) => {
    for (const immediate of [false, true]) {
      const push = make(zmq.Push, { sendTimeout: 0, linger: 0, reconnectInterval: 10, immediate })
      const pulls = [make(zmq.Pull), make(zmq.Pull)]
      for (const [i, pull] of pulls.entries()) {
        if (i === 1) push.immediate = true
        push.connect(await bind(pull))
        await joined(pull)
      }
      await joined(push, 2)
      for (const pull of pulls) pull.close()
      await happened(push, "disconnect", 2)
      await until(() => push.writable === !immediate)
      observe(`writable, immediate ${immediate}`, push.writable)
    }
  },
  { "writable, immediate false": true, "writable, immediate true": false },
)

scenario(
  "conflate set between two binds does not apply to the first, not even for later peers",
  async ({ zmq, make, bind, joined, settled, observe, take }) => {
    const pull = make(zmq.Pull)
    const first = await bind(pull)
    pull.conflate = true
    await bind(pull)
    const push = make(zmq.Push)
    push.connect(first)
    await joined(push)
    for (let i = 0; i < 5; i++) await push.send(`${i}`)
    // All have to arrive before the first is received.
    await settled()
    observe("received", await take(pull, 5))
  },
  { received: [["0"], ["1"], ["2"], ["3"], ["4"]] },
)

scenario(
  "sendHighWaterMark set after bind does not apply to later peers of that endpoint",
  async ({ zmq, make, bind, joined, happened, observe }) => {
    // Much more than fits into the buffers of a connection.
    const message = payload("random", 1 << 20)
    for (const [before, after] of [
      [1000, 1],
      [1, 1000],
    ]) {
      const push = make(zmq.Push, { linger: 0, sendTimeout: 500, sendHighWaterMark: before })
      const endpoint = await bind(push)
      push.sendHighWaterMark = after
      const pull = make(zmq.Pull, { receiveHighWaterMark: 1 })
      pull.connect(endpoint)
      await joined(push)
      await happened(pull, "handshake")
      let sent = 0
      const send = async () => {
        while (sent < 40) {
          await push.send(message)
          sent++
        }
      }
      await send().catch(() => {})
      observe(`all sent, after bind with ${before}`, sent === 40)
    }
  },
  { "all sent, after bind with 1000": true, "all sent, after bind with 1": false },
)

for (const type of ["Push", "Dealer"] as const) {
  scenario(
    `${type} with conflate keeps the last message`,
    async ({ zmq, make, unused, take, observe }) => {
      const endpoint = await unused()
      const sender = make(zmq[type], { conflate: true, sendTimeout: 0 })
      sender.connect(endpoint)
      for (let i = 0; i < 5; i++) await sender.send(`${i}`)
      observe("writable", sender.writable)
      const pull = type === "Push" ? make(zmq.Pull) : make(zmq.Dealer)
      await pull.bind(endpoint)
      observe("received", await take(pull, 1))
      await sender.send("next")
      observe("afterwards", await take(pull, 1))
    },
    { received: [["4"]], afterwards: [["next"]] },
  )
}

scenario(
  "PULL with conflate keeps the last message",
  async ({ zmq, make, bind, take, until, sleep, observe }) => {
    const pull = make(zmq.Pull, { conflate: true, receiveTimeout: 0 })
    const push = make(zmq.Push)
    push.connect(await bind(pull))
    for (let i = 0; i < 10; i++) await push.send(`${i}`)
    await until(() => pull.readable)
    let last = ""
    await until(async () => {
      const [message] = pull.readable ? await pull.receive() : []
      if (message) last = String(message)
      else await sleep(5)
      return last === "9"
    })
    observe("last", last)
    observe("readable", pull.readable)
    await push.send("again")
    pull.receiveTimeout = -1
    observe("again", await take(pull, 1))
  },
  { last: "9", again: [["again"]] },
)

scenario(
  "SUB with conflate keeps the last message",
  async ({ zmq, make, bind, until, observe }) => {
    const subscriber = make(zmq.Subscriber, { conflate: true })
    const publisher = make(zmq.XPublisher)
    subscriber.subscribe("")
    subscriber.connect(await bind(publisher))
    await publisher.receive()
    for (let i = 0; i < 10; i++) await publisher.send(`${i}`)
    let last = ""
    await until(async () => {
      if (subscriber.readable) last = String((await subscriber.receive())[0])
      return last === "9"
    })
    observe("last", last)
    observe("readable", subscriber.readable)
  },
  { last: "9", readable: false },
)

const noise = payload("random", 200_000)

scenario(
  "PUB drops messages beyond the high-water mark of a subscriber that does not read",
  async ({ zmq, make, rawPeer, bind, until, sleep, observe }) => {
    const publisher = make(zmq.XPublisher, { sendHighWaterMark: 5 })
    const peer = await rawPeer(await bind(publisher), { socketType: "SUB" })
    peer.socket.pause()
    peer.message(Buffer.from("\x01"))
    observe("subscription", await publisher.receive())
    // More than the system's buffers can hold.
    for (let i = 0; i < 200; i++) await publisher.send(["noise", noise])
    observe("writable", publisher.writable)
    peer.socket.resume()
    await until(async () => {
      await publisher.send("end")
      await sleep(5)
      return peer.frames.at(-1) === "message end"
    })
    const arrived = peer.frames.filter((frame) => frame.startsWith("message noise|"))
    observe("some arrived", arrived.length > 0)
    observe("some did not", arrived.length < 200)
    observe("all whole", new Set(arrived).size === 1)
  },
  { writable: true, "some did not": true, "all whole": true },
)

scenario(
  "XPUB with noDrop refuses messages beyond the high-water mark",
  async ({ zmq, make, rawPeer, bind, attempt, until, observe }) => {
    const publisher = make(zmq.XPublisher, { sendHighWaterMark: 5, noDrop: true, sendTimeout: 0 })
    const peer = await rawPeer(await bind(publisher), { socketType: "SUB" })
    peer.socket.pause()
    peer.message(Buffer.from("\x01"))
    observe("subscription", await publisher.receive())
    let last: Outcome = { resolves: undefined }
    while (sent(last)) last = await attempt(() => publisher.send(noise))
    observe("refused", last)
    observe("writable", publisher.writable)
    peer.socket.resume()
    await until(async () => sent(await attempt(() => publisher.send("more"))))
    observe("goes on", true)
  },
  { refused: { rejects: { code: "EAGAIN" } }, "goes on": true },
)

scenario(
  "ROUTER drops messages beyond the high-water mark of a peer, or refuses them with mandatory",
  async ({ zmq, make, rawPeer, bind, joined, attempt, observe }) => {
    const router = make(zmq.Router, { sendHighWaterMark: 5, sendTimeout: 0 })
    const peer = await rawPeer(await bind(router), { socketType: "DEALER", routingId: "slow" })
    await joined(router)
    peer.socket.pause()
    const outcomes = new Set<string>()
    for (let i = 0; i < 100; i++) {
      const [how] = Object.keys(await attempt(() => router.send(["slow", noise])))
      outcomes.add(how!)
    }
    observe("without", [...outcomes])
    observe("writable", router.writable)
    router.mandatory = true
    let last: Outcome = { resolves: undefined }
    while (sent(last)) last = await attempt(() => router.send(["slow", noise]))
    observe("with", last)
  },
  { without: ["resolves"], with: { rejects: { code: "EAGAIN" } } },
)

scenario(
  "XPUB notices a subscription behind more messages than its high-water mark for receiving",
  async ({ zmq, make, bind, subscribed, observe }) => {
    const publisher = make(zmq.XPublisher, { receiveHighWaterMark: 1 })
    const subscriber = make(zmq.XSubscriber)
    subscriber.connect(await bind(publisher))
    for (let i = 0; i < 20; i++) await subscriber.send(`${i}`)
    await subscriber.send("\x01topic")
    await subscribed(publisher, subscriber, "topic")
    await publisher.send("topic")
    observe("received", await subscriber.receive())
    const messages: string[] = []
    while (messages.length < 21) messages.push(String((await publisher.receive())[0]))
    observe("messages", messages)
  },
  { messages: [...Array.from({ length: 20 }, (_, i) => `${i}`), "\x01topic"] },
)
