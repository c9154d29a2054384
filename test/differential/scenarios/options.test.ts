/** Options: defaults, values read back, warnings, and when they take effect. */
import { expect } from "vitest"
import type { Dealer } from "zeromq"

import { SOCKET_TYPES, scenario } from "../scenario.js"

/** Names, each with two valid values. */
const READABLE: Record<string, readonly unknown[]> = {
  affinity: [0, 1],
  backlog: [1, 200],
  connectTimeout: [0, 500],
  handshakeInterval: [0, 500],
  heartbeatInterval: [0, 500],
  heartbeatTimeToLive: [100, 6000],
  heartbeatTimeout: [0, 500],
  immediate: [true, false],
  invertMatching: [true, false],
  ipv6: [true, false],
  linger: [0, 500],
  mandatory: [true, false],
  maxMessageSize: [0, 5_000_000_000],
  multicastHops: [1, 5],
  plainPassword: ["secret", null],
  plainServer: [true, false],
  plainUsername: ["user", null],
  rate: [1, 1000],
  receiveHighWaterMark: [0, 5],
  receiveTimeout: [0, 500],
  reconnectInterval: [-1, 500],
  reconnectMaxInterval: [0, 5000],
  recoveryInterval: [1, 1000],
  routingId: ["id", "other"],
  sendHighWaterMark: [0, 5],
  sendTimeout: [0, 500],
  tcpKeepalive: [0, 1],
  tcpKeepaliveIdle: [-1, 50],
  zapDomain: ["domain", "other"],
  zapEnforceDomain: [true, false],
}

const OTHERS = ["type", "securityMechanism", "threadSafe", "lastEndpoint", "closed"]

type Bag = Record<string, unknown>

for (const type of SOCKET_TYPES) {
  scenario(
    `${type}: options have these values at first, and after they are set`,
    async ({ zmq, plain, attempted }) => {
      const socket = plain(zmq[type] as typeof zmq.Dealer) as unknown as Bag
      for (const name of [...Object.keys(READABLE), ...OTHERS])
        if (name in socket) await attempted(`${name} at first`, () => socket[name])
      for (const [name, values] of Object.entries(READABLE)) {
        if (!(name in socket)) continue
        for (const value of values) {
          await attempted(`${name} = ${value}`, () => {
            socket[name] = value
          })
          await attempted(`${name} then`, () => socket[name])
        }
      }
      await attempted("mechanism", () => socket.securityMechanism)
    },
    { "linger then": { returns: 500 } },
  )
}

scenario(
  "options that can only be set",
  async ({ zmq, plain, attempted }) => {
    const sockets: [object, string[]][] = [
      [plain(zmq.Request), ["probeRouter", "correlate", "relaxed"]],
      [plain(zmq.Router), ["probeRouter", "handover"]],
      [plain(zmq.Dealer), ["probeRouter", "conflate"]],
      [plain(zmq.XPublisher), ["noDrop", "manual"]],
      [plain(zmq.Publisher), ["noDrop", "conflate"]],
    ]
    for (const [socket, names] of sockets)
      for (const name of names) {
        await attempted(`get ${name}`, () => (socket as Bag)[name])
        await attempted(`set ${name}`, () => {
          ;(socket as Bag)[name] = true
        })
        await attempted(`set ${name} to text`, () => {
          ;(socket as Bag)[name] = "true"
        })
      }
    const publisher = plain(zmq.XPublisher)
    await attempted("get welcomeMessage", () => publisher.welcomeMessage)
    await attempted("set welcomeMessage", () => {
      publisher.welcomeMessage = "hello"
    })
    await attempted("set verbosity", () => {
      publisher.verbosity = "allSubs"
    })
  },
  { "get probeRouter": { returns: "<undefined>" } },
)

scenario(
  "options given to the constructor",
  async ({ zmq, plain, observe }) => {
    const dealer = plain(zmq.Dealer, {
      linger: 5,
      routingId: "id",
      sendHighWaterMark: 7,
      receiveTimeout: 9,
      maxMessageSize: 1000,
      probeRouter: true,
      immediate: true,
      heartbeatInterval: 100,
    })
    observe("options", [
      dealer.linger,
      dealer.routingId,
      dealer.sendHighWaterMark,
      dealer.receiveTimeout,
      dealer.maxMessageSize,
      dealer.immediate,
      dealer.heartbeatInterval,
    ])
    observe("type", [dealer.type, dealer instanceof zmq.Socket, dealer instanceof zmq.Dealer])
  },
  { options: [5, "id", 7, 9, 1000, true, 100] },
)

/** Collects zeromq.js's warnings while `act` runs. */
async function warnings(act: () => void): Promise<string[]> {
  const seen: string[] = []
  const emitWarning = process.emitWarning
  process.emitWarning = ((warning: string) => {
    seen.push(String(warning))
  }) as typeof process.emitWarning
  try {
    act()
  } finally {
    process.emitWarning = emitWarning
  }
  return seen
}

for (const how of ["new", "bound", "connected", "disconnected", "unbound"] as const) {
  scenario(
    `options that warn when the socket is ${how}`,
    async ({ zmq, plain, bind, at, observe }) => {
      for (const type of ["Dealer", "Router", "Request", "XPublisher", "Subscriber"] as const) {
        const socket = plain(zmq[type] as typeof zmq.Dealer)
        if (how === "bound") await bind(socket)
        if (how === "connected" || how === "disconnected") socket.connect(at("127.0.0.1:9"))
        if (how === "disconnected") socket.disconnect(at("127.0.0.1:9"))
        if (how === "unbound") await socket.unbind(await bind(socket))
        const bag = socket as unknown as Bag
        const warned: string[] = []
        const names = {
          ...READABLE,
          probeRouter: [true],
          correlate: [true],
          relaxed: [true],
          handover: [true],
          noDrop: [true],
          manual: [false],
          welcomeMessage: ["hello"],
          verbosity: ["allSubs", null],
        }
        for (const [name, values] of Object.entries(names)) {
          if (!(name in socket)) continue
          for (const value of values) {
            const seen = await warnings(() => {
              try {
                bag[name] = value
              } catch {
                // tested elsewhere
              }
            })
            for (const text of seen) warned.push(`${name}: ${text}`)
          }
        }
        observe(type, warned)
      }
      const subscriber = plain(zmq.Subscriber)
      if (how === "bound") await bind(subscriber)
      observe("subscribe", await warnings(() => subscriber.subscribe("a")))
      const router = plain(zmq.Router)
      const endpoint = await bind(plain(zmq.Dealer))
      router.connect(endpoint)
      observe(
        "connect",
        await warnings(() => router.connect(at("127.0.0.1:9"), { routingId: "x" })),
      )
    },
    { subscribe: [] },
  )
}

scenario(
  "which calls make later options warn",
  async ({ zmq, plain, bind, at, observe }) => {
    const [good, bad] = [at("127.0.0.1:9"), at("127.0.0.1")]
    const calls: Record<string, (dealer: Dealer) => unknown> = {
      "failed bind": (dealer) => dealer.bind(bad),
      "failed bindSync": (dealer) => dealer.bindSync(bad),
      "failed connect": (dealer) => dealer.connect(bad),
      "failed unbind": (dealer) => dealer.unbind(good),
      "failed disconnect": (dealer) => dealer.disconnect(good),
      "two connects, one disconnect": (dealer) => {
        dealer.connect(good)
        dealer.connect(good)
        dealer.disconnect(good)
      },
      "bind, disconnect": async (dealer) => dealer.disconnect(await bind(dealer)),
      "bind, unbind twice": async (dealer) => {
        const endpoint = await bind(dealer)
        await dealer.unbind(endpoint)
        await dealer.unbind(endpoint)
      },
      "bind, close": async (dealer) => {
        await bind(dealer)
        dealer.close()
      },
    }
    for (const [name, call] of Object.entries(calls)) {
      const dealer = plain(zmq.Dealer)
      await (async () => call(dealer))().catch(() => {})
      observe(
        name,
        await warnings(() => {
          try {
            dealer.ipv6 = true
          } catch {
            // closed
          }
        }),
      )
    }
    const subscriber = plain(zmq.Subscriber)
    subscriber.connect(good)
    subscriber.connect(good)
    subscriber.disconnect(good)
    observe(
      "SUB, two connects, one disconnect",
      await warnings(() => {
        subscriber.ipv6 = true
      }),
    )
  },
  { "failed connect": [], "failed bind": [expect.any(String)] },
)

scenario(
  "values that cannot be set warn if they have the right type",
  async ({ zmq, plain, bind, observe }) => {
    const dealer = plain(zmq.Dealer)
    await bind(dealer)
    const wrong: [string, unknown][] = [
      ["ipv6", 1],
      ["backlog", "5"],
      ["maxMessageSize", null],
      ["affinity", true],
      ["routingId", 5],
      ["backlog", -1],
      ["routingId", ""],
    ]
    for (const [name, value] of wrong) {
      const seen = await warnings(() => {
        try {
          ;(dealer as unknown as Bag)[name] = value
        } catch {
          // tested elsewhere
        }
      })
      observe(`${name} = ${value}`, seen)
    }
  },
  { "ipv6 = 1": [], "backlog = -1": [expect.any(String)] },
)

scenario(
  "receiveTimeout and sendTimeout take effect at once, also for bound endpoints",
  async ({ zmq, make, bind, attempted }) => {
    const dealer = make(zmq.Dealer)
    await bind(dealer)
    dealer.receiveTimeout = 0
    dealer.sendTimeout = 0
    await attempted("receive", () => dealer.receive())
    await attempted("send", () => dealer.send("text"))
  },
  { receive: { rejects: { code: "EAGAIN" } }, send: { rejects: { code: "EAGAIN" } } },
)

scenario(
  "receiveTimeout does not affect a pending receive()",
  async ({ zmq, make, bind, attempted, observe }) => {
    const [pull, push] = [make(zmq.Pull), make(zmq.Push)]
    const endpoint = await bind(pull)
    const receiving = pull.receive()
    pull.receiveTimeout = 10
    const other = make(zmq.Pull, { receiveTimeout: 50 })
    await bind(other)
    await attempted("a later one", () => other.receive())
    push.connect(endpoint)
    await push.send("text")
    observe("received", await receiving)
  },
  { "a later one": { rejects: { code: "EAGAIN" } }, received: ["text"] },
)

scenario(
  "probeRouter set after connect applies to the next connect",
  async ({ zmq, make, bind, observe }) => {
    const dealer = make(zmq.Dealer, { routingId: "D" })
    const [a, b] = [make(zmq.Router), make(zmq.Router)]
    dealer.connect(await bind(a))
    dealer.probeRouter = true
    dealer.connect(await bind(b))
    observe("b", await b.receive())
    await dealer.send("1")
    await dealer.send("2")
    observe("a", await a.receive())
    observe("b then", await b.receive())
  },
  { a: ["D", "1"], b: ["D", ""] },
)

scenario(
  "relaxed and correlate take effect at once",
  async ({ zmq, make, bind, attempted, observe, receiveAtLast }) => {
    const [router, request] = [make(zmq.Router), make(zmq.Request, { sendTimeout: 0 })]
    request.connect(await bind(router))
    await request.send("1")
    observe("1", (await router.receive()).length)
    await attempted("strict", () => request.send("2"))
    request.relaxed = true
    request.correlate = true
    await attempted("relaxed", () => request.send("3"))
    const question = await router.receive()
    observe("3", question.length)
    await router.send([...question.slice(0, 3), "answer"])
    observe("answer", await receiveAtLast(request))
  },
  { 1: 3, strict: { rejects: { code: "EFSM" } }, 3: 4, answer: ["answer"] },
)

for (const next of ["a reply", "a connection", "sendTimeout", "a receive()"] as const)
  scenario(
    `relaxed set while send() waits lets it send with the next event: ${next}`,
    async ({ zmq, make, bind, joined, settled, sleep, observe }) => {
      const sendTimeout = next === "sendTimeout" ? 3000 : -1
      const [router, request] = [make(zmq.Router), make(zmq.Request, { sendTimeout })]
      request.connect(await bind(router))
      await request.send("1")
      const [id] = await router.receive()
      let sent = false
      const sending = request.send("2").then(() => {
        sent = true
      })
      if (next !== "sendTimeout") await settled()
      else await sleep(200)
      request.relaxed = true
      if (next !== "sendTimeout") await settled()
      else await sleep(20)
      observe("at once", [sent, request.writable])
      if (next === "a reply") await router.send([id!, "", "answer"])
      if (next === "a connection") {
        request.connect(await bind(make(zmq.Router)))
        await joined(request, 2)
      }
      if (next === "a receive()") {
        await router.send([id!, "", "answer"])
        observe("answer", await request.receive())
      }
      await sending
      observe("after it", sent)
    },
    { "at once": [false, true], "after it": true },
  )

for (const next of ["nothing", "a message"] as const)
  scenario(
    `a ROUTER whose send() waits sends after mandatory was unset with the next event: ${next}`,
    async ({ zmq, make, bind, settled, observe }) => {
      const router = make(zmq.Router, { mandatory: true })
      const dealer = make(zmq.Dealer)
      const endpoint = await bind(router)
      let sent = false
      const sending = router.send(["nobody", "text"]).then(() => {
        sent = true
      })
      router.mandatory = false
      await settled()
      observe("at once", sent)
      if (next === "nothing") return
      dealer.connect(endpoint)
      await dealer.send("text")
      await sending
      observe("after it", sent)
    },
    next === "nothing" ? { "at once": false } : { "at once": false, "after it": true },
  )

scenario(
  "handover set after bind takes effect at once",
  async ({ zmq, make, bind, observe }) => {
    const router = make(zmq.Router)
    const endpoint = await bind(router)
    const [first, second] = [
      make(zmq.Dealer, { routingId: "same" }),
      make(zmq.Dealer, { routingId: "same" }),
    ]
    first.connect(endpoint)
    await first.send("first")
    observe("router", await router.receive())
    router.handover = true
    second.connect(endpoint)
    await second.send("second")
    observe("router then", await router.receive())
  },
  { "router then": ["same", "second"] },
)
