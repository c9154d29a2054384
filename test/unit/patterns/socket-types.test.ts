/** The behaviour of each socket type, as sequences of events (RFCs 28 to 31, libzmq's sources). */
import { describe, expect, test, vi } from "vitest"

import { Client } from "../../../src/patterns/client.js"
import { Dealer } from "../../../src/patterns/dealer.js"
import { Dish } from "../../../src/patterns/dish.js"
import { Gather } from "../../../src/patterns/gather.js"
import { Pair } from "../../../src/patterns/pair.js"
import { Pub } from "../../../src/patterns/pub.js"
import { Pull } from "../../../src/patterns/pull.js"
import { Push } from "../../../src/patterns/push.js"
import { Radio } from "../../../src/patterns/radio.js"
import { Rep } from "../../../src/patterns/rep.js"
import { Req } from "../../../src/patterns/req.js"
import { Router } from "../../../src/patterns/router.js"
import { Scatter } from "../../../src/patterns/scatter.js"
import { Server } from "../../../src/patterns/server.js"
import { Sub } from "../../../src/patterns/sub.js"
import { SOCKET_TYPES } from "../../../src/patterns/types.js"
import { XPub } from "../../../src/patterns/xpub.js"
import { XSub } from "../../../src/patterns/xsub.js"
import { SOCKET_TYPE_NAMES } from "../../../src/sockets/zmq-numbers.js"
import type { SocketTypeName } from "../../../src/zmtp/socket-types.js"
import { Bench, burst, type Peer, parts } from "../../support/pipes.js"

// Random ones could contain the "|" that separates parts in the texts here.
vi.mock("../../../src/patterns/random-id.js", () => {
  let ids = 0
  return { randomId: () => (ids++ % 100) + 1 }
})

const topic = (text: string) => Buffer.from(text, "latin1")
const taken = async (...peers: Peer[]): Promise<string[][]> => {
  await burst()
  return peers.map(({ connection }) => connection.take())
}

test("socket types have the numbers of libzmq", () => {
  const names = Object.entries(SOCKET_TYPE_NAMES).map(([number, name]) => [
    number,
    new Bench(SOCKET_TYPES[name as SocketTypeName]).type.name,
  ])
  expect(Object.fromEntries(names)).toEqual({
    0: "PAIR",
    1: "PUB",
    2: "SUB",
    3: "REQ",
    4: "REP",
    5: "DEALER",
    6: "ROUTER",
    7: "PULL",
    8: "PUSH",
    9: "XPUB",
    10: "XSUB",
    12: "SERVER",
    13: "CLIENT",
    14: "RADIO",
    15: "DISH",
    16: "GATHER",
    17: "SCATTER",
  })
})

test("receive-only types do not send, and send-only types do not receive", () => {
  for (const Type of [Pull, Gather, Dish]) {
    const bench = new Bench(Type)
    bench.peer()
    expect(bench.send("a")).toBe("ENOTSUP")
  }
  for (const Type of [Push, Pub, Scatter, Radio]) {
    const bench = new Bench(Type)
    const peer = bench.peer()
    peer.says("a")
    expect(bench.receive()).toBe("ENOTSUP")
    expect(bench.type.hasIn()).toBe(false)
  }
})

test.each([
  ["PUSH", Push],
  ["SCATTER", Scatter],
  ["RADIO", Radio],
  ["PUB", Pub],
])("%s lets go of a peer that has sent it a message", (_, Type) => {
  const bench = new Bench(Type)
  const terminated = vi.spyOn(bench.type, "terminated")
  const peer = bench.peer()
  peer.says("a")
  peer.pipe.close()
  expect(terminated).toHaveBeenCalledWith(peer.pipe)
})

describe("PUSH and PULL", () => {
  test("PUSH sends to its peers in turn, and to none without one", async () => {
    const push = new Bench(Push)
    expect([push.type.hasOut(), push.send("0")]).toEqual([false, "EAGAIN"])
    const peers = [push.peer(), push.peer()]
    expect(push.told).toEqual(["writable", "writable"])
    for (const text of ["1", "2|2", "3"]) expect(push.send(text)).toBe(undefined)
    expect(await taken(...peers)).toEqual([["1", "3"], ["2|2"]])
  })

  test("PULL receives from all, including the last messages of lost peers", () => {
    const pull = new Bench(Pull)
    const [a, b] = [pull.peer(), pull.peer()]
    a.says("a1|x")
    a.says("a2")
    b.says("b1")
    a.pipe.close()
    expect(pull.receiveAll()).toEqual(["a1|x", "b1", "a2"])
  })

  test("PULL is notified of each peer that has messages again", () => {
    const pull = new Bench(Pull)
    const a = pull.peer()
    expect(pull.receive()).toBe("EAGAIN")
    pull.told.length = 0
    a.says("1")
    a.says("2")
    expect(pull.told).toEqual(["readable"])
  })
})

describe("PAIR", () => {
  test("uses its first peer only, and another when that is gone", async () => {
    const pair = new Bench(Pair)
    expect([pair.type.hasIn(), pair.type.hasOut()]).toEqual([false, false])
    const [a, b] = [pair.peer(), pair.peer()]
    b.says("not heard")
    a.says("1")
    pair.send("2")
    expect(pair.receiveAll()).toEqual(["1"])
    expect(await taken(a, b)).toEqual([["2"], []])
    a.pipe.close()
    expect(pair.send("3")).toBe("EAGAIN")
    const c = pair.peer()
    expect(pair.send("4")).toBe(undefined)
    expect(await taken(b, c)).toEqual([[], ["4"]])
  })
})

describe("REQ", () => {
  test("sends a request and receives its reply, and refuses other orders", async () => {
    const req = new Bench(Req)
    const peer = req.peer()
    expect(req.receive()).toBe("EFSM")
    expect(req.send("1|1")).toBe(undefined)
    expect(req.send("2")).toBe("EFSM")
    expect([req.type.hasOut(), req.type.hasIn()]).toEqual([false, false])
    expect(req.receive()).toBe("EAGAIN")
    peer.says("|a|b")
    expect(req.type.hasIn()).toBe(true)
    expect(req.receive()).toBe("a|b")
    expect(req.receive()).toBe("EFSM")
    expect(req.send("2")).toBe(undefined)
    expect(await taken(peer)).toEqual([["|1|1", "|2"]])
  })

  test("asks its peers in turn, and only receives from the one asked", () => {
    const req = new Bench(Req)
    const [a, b] = [req.peer(), req.peer()]
    req.send("1")
    b.says("|from b")
    expect(req.receive()).toBe("EAGAIN")
    a.says("|from a")
    expect(req.receive()).toBe("from a")
    a.says("|late")
    req.send("2")
    a.says("|from a again")
    b.says("|from b")
    expect(req.receive()).toBe("from b")
  })

  test("drops messages received before a request", () => {
    const req = new Bench(Req)
    const peer = req.peer()
    peer.says("|early")
    req.send("1")
    expect(req.receive()).toBe("EAGAIN")
  })

  test("accepts a reply from any peer if the one asked is gone", () => {
    const req = new Bench(Req)
    const [a, b] = [req.peer(), req.peer()]
    req.send("1")
    a.pipe.close()
    b.says("|from b")
    expect(req.receive()).toBe("from b")
  })

  test("with relaxed, a second request cancels the first", async () => {
    const req = new Bench(Req, { relaxed: true })
    const [a, b] = [req.peer(), req.peer()]
    req.send("1")
    expect(req.type.hasOut()).toBe(true)
    req.send("2")
    a.says("|to the first")
    expect(req.receive()).toBe("EAGAIN")
    b.says("|to the second")
    expect(req.receive()).toBe("to the second")
    expect(await taken(a, b)).toEqual([["|1"], ["|2"]])
  })

  test("correlate adds an id to each request, and ignores replies with another", async () => {
    const req = new Bench(Req, { correlate: true, relaxed: true })
    const peer = req.peer()
    req.send("1")
    req.send("2")
    const [[first = "", second = ""] = []] = await taken(peer)
    const [one, two] = [first.slice(0, 4), second.slice(0, 4)]
    expect([first.slice(4), second.slice(4)]).toEqual(["||1", "||2"])
    expect(one).not.toBe(two)
    peer.says(`${one}||late`)
    expect(req.receive()).toBe("EAGAIN")
    peer.says("|without")
    expect(req.receive()).toBe("EAGAIN")
    peer.says(`${two}||right`)
    expect(req.receive()).toBe("right")
  })

  test.each([
    ["a", true],
    ["a|b", true],
    ["", true],
    ["|a", false],
    ["||", false],
    ["1234||a", false],
    ["1234|a", true],
    ["1234|", true],
    ["12345||a", true],
  ])("a reply of %j ends the connection: %s", (text, ends) => {
    const req = new Bench(Req)
    const peer = req.peer()
    req.send("1")
    peer.says(text)
    expect(peer.connection.rejected.length).toBe(ends ? 1 : 0)
  })
})

describe("REP", () => {
  test("replies to the sender, with the envelope, and refuses other orders", async () => {
    const rep = new Bench(Rep)
    const [a, b] = [rep.peer(), rep.peer()]
    expect([rep.send("0"), rep.type.hasOut()]).toEqual(["EFSM", false])
    a.says("x|y||question|more")
    b.says("|other")
    expect(rep.receive()).toBe("question|more")
    expect(rep.receive()).toBe("EFSM")
    expect([rep.type.hasIn(), rep.type.hasOut()]).toEqual([false, true])
    expect(rep.send("answer|more")).toBe(undefined)
    expect(rep.receive()).toBe("other")
    rep.send("2")
    expect(await taken(a, b)).toEqual([["x|y||answer|more"], ["|2"]])
  })

  test("ignores invalid requests", () => {
    const rep = new Bench(Rep)
    const a = rep.peer()
    for (const text of ["no delimiter", "a|b|c", "", "a|", "|good"]) a.says(text)
    expect(rep.receive()).toBe("good")
  })

  test("drops a reply to a lost peer, or to a full one", async () => {
    const rep = new Bench(Rep)
    const [a, b] = [rep.peer(), rep.peer({ sendHighWaterMark: 1 })]
    a.says("|1")
    expect(rep.receive()).toBe("1")
    a.pipe.close()
    await burst()
    expect(rep.send("to nobody")).toBe(undefined)
    b.connection.room = 0
    for (const text of ["first", "second"]) {
      b.says(`|${text}`)
      expect(rep.receive()).toBe(text)
      expect(rep.send(text)).toBe(undefined)
    }
    b.connection.drain()
    expect(await taken(b)).toEqual([["|first"]])
  })
})

describe("DEALER", () => {
  test("sends and receives in turn, with unchanged messages", async () => {
    const dealer = new Bench(Dealer)
    const [a, b] = [dealer.peer(), dealer.peer()]
    for (const text of ["1", "|2", "3|"]) dealer.send(text)
    a.says("|a")
    b.says("b|b")
    expect(dealer.receiveAll()).toEqual(["|a", "b|b"])
    expect(await taken(a, b)).toEqual([["1", "3|"], ["|2"]])
  })

  test("probeRouter sends an empty message to each new peer", async () => {
    const dealer = new Bench(Dealer, { probeRouter: true })
    expect(await taken(dealer.peer(), dealer.peer())).toEqual([[""], [""]])
  })
})

describe("ROUTER", () => {
  test("adds the sender's routing id, and sends to the routing id in the first part", async () => {
    const router = new Bench(Router)
    const [a, b] = [router.peer({}, "a"), router.peer({}, "\xff\0b")]
    a.says("1|1")
    b.says("2")
    expect(router.receiveAll()).toEqual(["a|1|1", "\xff\0b|2"])
    router.send("\xff\0b|to b|more")
    router.send("a|")
    expect(await taken(a, b)).toEqual([[""], ["to b|more"]])
  })

  test("gives peers without a routing id a unique one: a zero and four bytes", () => {
    const router = new Bench(Router)
    const names = new Set<string>()
    for (let i = 0; i < 100; i++) {
      router.peer().says("x")
      const [name = ""] = router.receive().split("|x")
      expect([name.length, name[0]]).toEqual([5, "\0"])
      names.add(name)
    }
    expect(names.size).toBe(100)
  })

  test("drops messages to unknown or full peers, and a routing id without a message", async () => {
    const router = new Bench(Router)
    const a = router.peer({ sendHighWaterMark: 1 }, "a")
    a.connection.room = 0
    for (const text of ["nobody|0", "a|1", "a|2", "a"]) expect(router.send(text)).toBe(undefined)
    expect(router.type.hasOut()).toBe(true)
    a.connection.drain()
    expect(await taken(a)).toEqual([["1"]])
  })

  test("mandatory refuses them instead", () => {
    const router = new Bench(Router, { mandatory: true })
    expect(router.type.hasOut()).toBe(false)
    const a = router.peer({ sendHighWaterMark: 1 }, "a")
    a.connection.room = 0
    expect(router.type.hasOut()).toBe(true)
    expect(router.send("nobody|0")).toBe("EHOSTUNREACH")
    expect(router.send("a|1")).toBe(undefined)
    expect(router.send("a|2")).toBe("EAGAIN")
    expect(router.type.hasOut()).toBe(false)
  })

  test("a second peer with the same routing id is ignored, even after the first is gone", async () => {
    const router = new Bench(Router)
    const [first, second] = [router.peer({}, "a"), router.peer({}, "a")]
    first.says("1")
    second.says("2")
    expect(router.receiveAll()).toEqual(["a|1"])
    first.pipe.close()
    await burst()
    router.send("a|lost")
    expect(await taken(first, second)).toEqual([[], []])
    const third = router.peer({}, "a")
    router.send("a|3")
    expect(await taken(third)).toEqual([["3"]])
  })

  test("forgets a peer with another's routing id when it disconnects, whatever it has sent", async () => {
    const router = new Bench(Router)
    const [, second] = [router.peer({}, "a"), router.peer({}, "a")]
    for (const text of ["1", "2"]) second.says(text)
    const terminated = vi.spyOn(router.type, "terminated")
    second.pipe.close()
    await burst()
    expect(terminated).toHaveBeenCalledWith(second.pipe)
    expect(router.receiveAll()).toEqual([])
  })

  test("with handover, the newer peer takes over the routing id", async () => {
    const router = new Bench(Router, { handover: true })
    const [first, second] = [router.peer({}, "a"), router.peer({}, "a")]
    first.says("1")
    second.says("2")
    router.send("a|3")
    expect(router.receiveAll()).toEqual(["a|2"])
    expect(await taken(first, second)).toEqual([[], ["3"]])
    first.pipe.close()
    router.send("a|4")
    expect(await taken(second)).toEqual([["4"]])
  })

  test("a connected peer with a given routing id can be addressed before its handshake", async () => {
    const router = new Bench(Router)
    const peer = router.connect({}, "given")
    router.send("given|1")
    peer.pipe.peerRoutingId = Buffer.from("its own")
    peer.attach()
    router.type.identified(peer.pipe)
    router.send("its own|lost")
    peer.says("2")
    expect(router.receiveAll()).toEqual(["given|2"])
    expect(await taken(peer)).toEqual([["1"]])
  })

  test("a connected peer without one can be addressed after its handshake", async () => {
    const router = new Bench(Router)
    const peer = router.connect()
    router.send("its own|lost")
    peer.pipe.peerRoutingId = Buffer.from("its own")
    peer.attach()
    router.type.identified(peer.pipe)
    router.send("its own|1")
    expect(await taken(peer)).toEqual([["1"]])
  })

  test("knows() returns whether a peer has the routing id", () => {
    const router = new Bench(Router)
    router.peer({}, "a")
    expect([router.type.knows(parts("a|x"), {}), router.type.knows(parts("b|x"), {})]).toEqual([
      true,
      false,
    ])
  })
})

describe("PUB and XPUB", () => {
  test("a message goes to matching subscribers, once", async () => {
    const pub = new Bench(Pub)
    const [a, b, c] = [pub.peer(), pub.peer(), pub.peer()]
    a.pipe.command("SUBSCRIBE", topic("x"))
    a.pipe.command("SUBSCRIBE", topic("xy"))
    b.pipe.command("SUBSCRIBE", topic(""))
    c.says("\x01y") // like a peer of ZMTP 3.0
    for (const text of ["x", "xyz|1", "y", "z", "", "|x"]) pub.send(text)
    expect(await taken(a, b, c)).toEqual([
      ["x", "xyz|1"],
      ["x", "xyz|1", "y", "z", "", "|x"],
      ["y"],
    ])
    a.pipe.command("CANCEL", topic("x"))
    c.says("\x00y")
    for (const text of ["x", "xy", "y"]) pub.send(text)
    expect(await taken(a, b, c)).toEqual([["xy"], ["x", "xy", "y"], []])
  })

  test("PUB drops messages for full peers or without peers; it never waits", async () => {
    const pub = new Bench(Pub)
    expect([pub.type.hasOut(), pub.send("nobody")]).toEqual([true, undefined])
    const a = pub.peer({ sendHighWaterMark: 1 })
    a.pipe.command("SUBSCRIBE", topic(""))
    a.connection.room = 0
    for (const text of ["1", "2"]) expect(pub.send(text)).toBe(undefined)
    a.connection.drain()
    expect(await taken(a)).toEqual([["1"]])
  })

  test("noDrop refuses a message if a matching subscriber is full", () => {
    const pub = new Bench(Pub, { noDrop: true })
    const a = pub.peer({ sendHighWaterMark: 1 })
    a.pipe.command("SUBSCRIBE", topic("x"))
    a.connection.room = 0
    expect([pub.send("x1"), pub.send("x2"), pub.send("y")]).toEqual([
      undefined,
      "EAGAIN",
      undefined,
    ])
  })

  test("XPUB drops its notices when it is closed, and creates none for lost peers", () => {
    const xpub = new Bench(XPub)
    const a = xpub.peer()
    for (const text of ["\x01t", "\x01u", "message"]) a.says(text)
    xpub.type.close()
    a.pipe.close()
    expect(xpub.receiveAll()).toEqual([])
  })

  test("invertMatching sends to subscribers that do not match", async () => {
    const pub = new Bench(Pub, { invertMatching: true })
    const [a, b] = [pub.peer(), pub.peer()]
    a.pipe.command("SUBSCRIBE", topic("x"))
    for (const text of ["x", "y"]) pub.send(text)
    expect(await taken(a, b)).toEqual([["y"], ["x", "y"]])
  })

  test.each([
    ["none", ["\x01t", "\x00t"]],
    ["allSubs", ["\x01t", "\x01t", "\x01t", "\x00t"]],
    ["allSubsUnsubs", ["\x01t", "\x01t", "\x01t", "\x00t", "\x00t"]],
  ] as const)("XPUB receives subscriptions with verbosity %s", (verbosity, notices) => {
    const xpub = new Bench(XPub, { verbosity })
    const [a, b] = [xpub.peer(), xpub.peer()]
    a.pipe.command("SUBSCRIBE", topic("t"))
    a.pipe.command("SUBSCRIBE", topic("t"))
    b.pipe.command("SUBSCRIBE", topic("t"))
    a.pipe.command("CANCEL", topic("t"))
    b.pipe.command("CANCEL", topic("t"))
    expect(xpub.receiveAll()).toEqual(notices)
  })

  test("a cancel without a subscription is received too", () => {
    const xpub = new Bench(XPub)
    xpub.peer().pipe.command("CANCEL", topic("t"))
    expect(xpub.receiveAll()).toEqual(["\x00t"])
  })

  test.each([
    ["none", ["\x00a", "\x00b"]],
    ["allSubsUnsubs", ["\x00a", "\x00b", "\x00c"]],
  ] as const)(
    "XPUB receives the cancels of a lost peer, with verbosity %s",
    (verbosity, notices) => {
      const xpub = new Bench(XPub, { verbosity })
      const [a, b] = [xpub.peer(), xpub.peer()]
      for (const text of ["a", "b", "c"]) a.pipe.command("SUBSCRIBE", topic(text))
      b.pipe.command("SUBSCRIBE", topic("c"))
      xpub.receiveAll()
      a.pipe.close()
      expect(xpub.receiveAll()).toEqual(notices)
    },
  )

  test("XPUB receives other messages unchanged", () => {
    const xpub = new Bench(XPub)
    const a = xpub.peer()
    for (const text of ["hello|\x01world", "", "\x02"]) a.says(text)
    expect(xpub.receiveAll()).toEqual(["hello|\x01world", "", "\x02"])
  })

  test("a welcome message goes to each new peer first", async () => {
    const xpub = new Bench(XPub, { welcomeMessage: Buffer.from("hi") })
    const a = xpub.peer()
    a.pipe.command("SUBSCRIBE", topic(""))
    xpub.send("1")
    expect(await taken(a)).toEqual([["hi", "1"]])
  })

  test("manual: the program sets the subscriptions of the peer whose notice it received last", async () => {
    const xpub = new Bench(XPub, { manual: true })
    const [a, b] = [xpub.peer(), xpub.peer()]
    a.pipe.command("SUBSCRIBE", topic("a"))
    b.pipe.command("SUBSCRIBE", topic("b"))
    xpub.send("a1")
    expect(xpub.receive()).toBe("\x01a")
    xpub.type.subscribe(topic("A"))
    expect(xpub.receive()).toBe("\x01b")
    xpub.type.subscribe(topic("B"))
    for (const text of ["a", "A", "b", "B"]) xpub.send(text)
    expect(await taken(a, b)).toEqual([["A"], ["B"]])
    b.pipe.command("CANCEL", topic("b"))
    expect(xpub.receive()).toBe("\x00b")
    xpub.type.cancel(topic("B"))
    xpub.send("B")
    expect(await taken(a, b)).toEqual([[], []])
    a.pipe.close()
    expect(xpub.receiveAll()).toEqual(["\x00a"])
  })

  test("a subscription of a peer whose pipe has ended is not counted", () => {
    const xpub = new Bench(XPub)
    const [ended, other] = [xpub.peer(), xpub.peer()]
    ended.connection.room = 0
    ended.pipe.out.write(parts("welcome"))
    ended.pipe.finish(() => {}, true)
    expect(ended.pipe.command("SUBSCRIBE", topic("a"))).toBe(true)
    expect(xpub.receiveAll()).toEqual([])
    other.pipe.command("SUBSCRIBE", topic("a"))
    other.pipe.command("CANCEL", topic("a"))
    expect(xpub.receiveAll()).toEqual(["\x01a", "\x00a"])
  })

  test("an XPUB that does not receive handles every peer, however often they change their topics", async () => {
    const xpub = new Bench(XPub)
    const restless = xpub.peer()
    for (let i = 0; i < 200_000; i++) {
      restless.pipe.command("SUBSCRIBE", topic(`${i % 7}`))
      restless.says(`\x00${i % 7}`)
    }
    restless.pipe.command("SUBSCRIBE", topic("kept"))
    const later = xpub.peer()
    expect(later.pipe.command("SUBSCRIBE", topic("later"))).toBe(true)
    for (const text of ["0", "kept", "later"]) xpub.send(text)
    expect(await taken(restless, later)).toEqual([["kept"], ["later"]])
    expect(restless.connection.resumes).toBe(0)
  })

  test("an XPUB receives all changes as long as fewer than 65,536 are queued", () => {
    const xpub = new Bench(XPub)
    const a = xpub.peer()
    const expected: string[] = []
    for (let i = 0; i < 32_768; i++) {
      a.pipe.command("SUBSCRIBE", topic(`${i}`))
      a.pipe.command("CANCEL", topic(`${i}`))
      expected.push(`\x01${i}`, `\x00${i}`)
    }
    expect(xpub.receiveAll()).toEqual(expected)
  })

  test.each([
    { what: "", options: {} },
    { what: " with verbosity allSubs", options: { verbosity: "allSubs" as const } },
    { what: " with verbosity allSubsUnsubs", options: { verbosity: "allSubsUnsubs" as const } },
    { what: " with manual", options: { manual: true } },
  ])("of more, an XPUB$what receives the resulting changes, in order", ({ options }) => {
    const xpub = new Bench(XPub, options)
    const [a, b] = [xpub.peer(), xpub.peer()]
    a.pipe.command("SUBSCRIBE", topic("heard"))
    expect(xpub.receiveAll()).toEqual(["\x01heard"])
    a.pipe.command("SUBSCRIBE", topic("1"))
    a.pipe.command("CANCEL", topic("heard"))
    for (let i = 0; i < 30_000; i++) {
      b.pipe.command("CANCEL", topic(`never ${i}`))
      b.pipe.command("SUBSCRIBE", topic(`short ${i}`))
      b.pipe.command("SUBSCRIBE", topic(`short ${i}`))
      b.pipe.command("CANCEL", topic(`short ${i}`))
      const passing = xpub.peer()
      passing.pipe.command("SUBSCRIBE", topic("passing"))
      passing.pipe.close()
    }
    b.pipe.command("SUBSCRIBE", topic("2"))
    // Those that were queued while there were fewer are kept.
    const told = xpub.receiveAll()
    expect(told.length).toBeLessThan(65_600)
    const state = new Map<string, number>()
    for (const one of told) {
      const at = one.slice(1)
      const count = state.get(at) ?? (at === "heard" ? 1 : 0)
      state.set(at, Math.max(0, count + (one[0] === "\x01" ? 1 : -1)))
    }
    const wanted = [...state].filter(([, count]) => count > 0).map(([text]) => text)
    expect(wanted.filter((text) => !text.startsWith("short"))).toEqual(["1", "2"])
    expect(told.slice(0, 2)).toEqual(["\x011", "\x00heard"])
  })

  test("messages that an XPUB does not receive only stop their peer, at its mark", async () => {
    const xpub = new Bench(XPub)
    // Messages below 192 KiB in total do not stop a peer.
    const [one, two, three, four] = ["1", "2", "3", "4"].map((text) => text.padEnd(3 * 2 ** 14))
    const [busy, other] = [xpub.peer({ receiveHighWaterMark: 4 }), xpub.peer()]
    expect([one, "\x01a", two, three].map((text) => busy.says(text))).toEqual(Array(4).fill(true))
    expect(busy.says(four)).toBe(false)
    expect([other.says("\x01b"), other.says("x")]).toEqual([true, true])
    for (const text of ["a", "b"]) xpub.send(text)
    expect(await taken(busy, other)).toEqual([["a"], ["b"]])
    expect([xpub.receive(), xpub.receive()]).toEqual([one, "\x01a"])
    expect(busy.connection.resumes).toBe(0)
    expect(xpub.receive()).toBe(two)
    expect(busy.connection.resumes).toBe(1)
    expect(xpub.receiveAll()).toEqual([three, four, "\x01b", "x"])
    xpub.told.length = 0
    busy.says("5")
    expect(xpub.told).toEqual(["readable"])
    expect(xpub.receiveAll()).toEqual(["5"])
  })

  test("an XPUB that does not receive drops the topics of lost peers, and keeps received messages", async () => {
    const xpub = new Bench(XPub)
    const a = xpub.peer()
    for (const text of ["\x01topic", "1", "2"]) a.says(text)
    a.pipe.close()
    await burst()
    xpub.peer().pipe.command("SUBSCRIBE", topic("topic"))
    expect(xpub.receiveAll()).toEqual(["\x01topic", "1", "2", "\x00topic", "\x01topic"])
  })

  test("an XPUB continues after messages that were dropped with their pipe", () => {
    const xpub = new Bench(XPub)
    const [a, b] = [xpub.peer(), xpub.peer()]
    a.says("dropped")
    b.says("kept")
    a.pipe.finish(() => {}, false)
    expect(xpub.receiveAll()).toEqual(["kept"])
  })

  test("a PUB keeps neither messages nor notices, and stops no peer", () => {
    const pub = new Bench(Pub, { manual: true })
    const a = pub.peer({ receiveHighWaterMark: 1 })
    for (let i = 0; i < 100; i++) {
      expect([a.says("message"), a.says("\x01topic"), a.says("\x00topic")]).not.toContain(false)
    }
    expect([pub.type.hasIn(), pub.receive()]).toEqual([false, "ENOTSUP"])
    expect(a.pipe.checkRead()).toBe(false)
  })

  test("a peer of PUB has at most 262,144 topics", async () => {
    const pub = new Bench(Pub)
    const a = pub.peer()
    for (let i = 0; i < (1 << 18) + 10; i++) a.pipe.command("SUBSCRIBE", topic(`${i};`))
    pub.send(`${(1 << 18) - 1};`)
    pub.send(`${1 << 18};`)
    expect(await taken(a)).toEqual([["262143;"]])
  })
})

describe("SUB and XSUB", () => {
  test("SUB sends its subscriptions to current and new peers", async () => {
    const sub = new Bench(Sub)
    sub.type.subscribe(topic("early"))
    const a = sub.peer()
    sub.type.subscribe(topic("late"))
    const b = sub.peer()
    expect(await taken(a, b)).toEqual([
      ["SUBSCRIBE early", "SUBSCRIBE late"],
      ["SUBSCRIBE early", "SUBSCRIBE late"],
    ])
    sub.type.cancel(topic("early"))
    sub.type.cancel(topic("unknown"))
    expect(await taken(a, b)).toEqual([["CANCEL early"], ["CANCEL early"]])
  })

  test("a topic is cancelled after as many unsubscriptions as subscriptions", async () => {
    const sub = new Bench(Sub)
    const a = sub.peer()
    sub.type.subscribe(topic("t"))
    sub.type.subscribe(topic("t"))
    sub.type.cancel(topic("t"))
    a.says("t1")
    expect(sub.receiveAll()).toEqual(["t1"])
    expect((await taken(a)).flat()).not.toContain("CANCEL t")
    sub.type.cancel(topic("t"))
    expect(await taken(a)).toEqual([["CANCEL t"]])
    a.says("t2")
    expect(sub.receiveAll()).toEqual([])
  })

  test("SUB ignores messages that do not match", () => {
    const sub = new Bench(Sub)
    sub.type.subscribe(topic("t"))
    const a = sub.peer()
    for (const text of ["x", "t1|x", "", "x|t", "t2"]) a.says(text)
    expect(sub.type.hasIn()).toBe(true)
    expect(sub.receiveAll()).toEqual(["t1|x", "t2"])
    expect(sub.type.hasIn()).toBe(false)
  })

  test("SUB with invertMatching ignores messages that match", () => {
    const sub = new Bench(Sub, { invertMatching: true })
    sub.type.subscribe(topic("t"))
    const a = sub.peer()
    for (const text of ["t", "x"]) a.says(text)
    expect(sub.receiveAll()).toEqual(["x"])
  })

  test("subscriptions are sent again over a new connection, without other queued messages", async () => {
    const sub = new Bench(Sub)
    const a = sub.connect()
    for (const text of ["a", "b"]) sub.type.subscribe(topic(text))
    sub.type.cancel(topic("b"))
    a.pipe.hiccup()
    a.attach()
    expect(await taken(a)).toEqual([["SUBSCRIBE a"]])
  })

  test("XSUB subscribes by messages, sends each subscription, and each last cancel", async () => {
    const xsub = new Bench(XSub)
    const a = xsub.peer()
    for (const text of ["\x01t", "\x01t", "\x00t", "\x00t", "\x00t", "hello|\x02x"]) xsub.send(text)
    expect(await taken(a)).toEqual([["SUBSCRIBE t", "SUBSCRIBE t", "CANCEL t", "hello|\x02x"]])
  })

  test("XSUB subscribes by any part of a message, and omits cancels that are not the last", async () => {
    const xsub = new Bench(XSub)
    const a = xsub.peer()
    const sent = ["\x01t|\x01u", "hello|\x01t", "\x00t|hello|\x00v|\x00t|end", "\x00v|\x00w"]
    for (const text of sent) xsub.send(text)
    expect(await taken(a)).toEqual([["\x01t|\x01u", "hello|\x01t", "hello|\x00t|end"]])
    expect(await taken(xsub.peer())).toEqual([["SUBSCRIBE u"]])
  })
})

describe("subscriptions beyond the high-water mark", () => {
  const names = Array.from({ length: 2500 }, (_, i) => String(i).padStart(4, "0"))
  const commands = (name: string) => names.map((topic) => `${name} ${topic}`)
  const mark = { sendHighWaterMark: 2 }

  test("of a SUB all go to every peer, before it is connected and after that, each time", async () => {
    const sub = new Bench(Sub)
    const early = sub.connect(mark)
    const there = sub.peer(mark)
    for (const topic of names) sub.type.subscribe(Buffer.from(topic))
    early.attach()
    const late = sub.connect(mark).attach()
    for (const got of await taken(early, there, late))
      expect(got.sort()).toEqual(commands("SUBSCRIBE"))
    for (let i = 0; i < 2; i++) {
      early.pipe.detach([])
      early.pipe.hiccup()
      early.attach()
      expect((await taken(early)).flat().sort()).toEqual(commands("SUBSCRIBE"))
    }
  })

  test("of an XSUB too, and cancels, while a peer does not read", async () => {
    const xsub = new Bench(XSub)
    const peer = xsub.peer(mark)
    for (const topic of names) xsub.send(`\x01${topic}`)
    await taken(peer)
    peer.connection.room = 0
    for (const topic of names) xsub.send(`\x00${topic}`)
    for (let i = 0; i < 10_000; i++) {
      xsub.send(`\x01again ${i}`)
      xsub.send(`\x00again ${i}`)
    }
    peer.connection.drain()
    expect(peer.connection.take().sort()).toEqual(commands("CANCEL"))
  })

  test("are groups of a DISH", async () => {
    const dish = new Bench(Dish)
    const peer = dish.connect(mark)
    for (const group of [...names, ...names]) dish.type.join(topic(group))
    peer.attach()
    expect(new Set((await taken(peer)).flat())).toEqual(new Set(commands("JOIN")))
    for (const group of names) dish.type.leave(topic(group))
    expect(await taken(peer)).toEqual([commands("LEAVE")])
  })
})

describe("SERVER and CLIENT", () => {
  test("SERVER replies by routing id number, with messages of one part", async () => {
    const server = new Bench(Server)
    const [a, b] = [server.peer(), server.peer()]
    a.says("1")
    expect(server.receive()).toBe("1")
    const { routingId } = server.type.routing as { routingId: number }
    expect(routingId).toBeGreaterThan(0)
    expect(server.type.send(parts("2"), { routingId })).toBe(undefined)
    expect(server.type.send(parts("2|2"), { routingId })).toBe("EINVAL")
    expect(server.type.send(parts("2"), { routingId: 0 })).toBe("EHOSTUNREACH")
    expect(await taken(a, b)).toEqual([["2"], []])
    a.pipe.close()
    expect(server.type.send(parts("3"), { routingId })).toBe("EHOSTUNREACH")
  })

  test.each([
    ["SERVER", Server],
    ["CLIENT", Client],
    ["GATHER", Gather],
  ])("%s ignores messages of several parts", (_, Type) => {
    const bench = new Bench(Type)
    const a = bench.peer()
    for (const text of ["1|1", "2"]) a.says(text)
    expect(bench.receiveAll()).toEqual(["2"])
  })

  test.each([
    ["CLIENT", Client],
    ["SCATTER", Scatter],
  ])("%s refuses to send several parts", async (_, Type) => {
    const bench = new Bench(Type)
    const a = bench.peer()
    expect([bench.send("1|1"), bench.send("2")]).toEqual(["EINVAL", undefined])
    expect(await taken(a)).toEqual([["2"]])
  })
})

describe("RADIO and DISH", () => {
  const send = (radio: Bench, group: string, text: string) =>
    radio.type.send(parts(text), { group: topic(group) })

  test("a message goes to peers that joined exactly its group", async () => {
    const radio = new Bench(Radio)
    const [a, b] = [radio.peer(), radio.peer()]
    a.pipe.command("JOIN", topic("g"))
    a.pipe.command("JOIN", topic("g"))
    b.pipe.command("JOIN", topic("gg"))
    for (const group of ["g", "gg", "x"]) send(radio, group, group)
    expect(send(radio, "g", "1|1")).toBe("EINVAL")
    expect(await taken(a, b)).toEqual([["g|g"], ["gg|gg"]])
    a.pipe.command("LEAVE", topic("g"))
    b.pipe.close()
    for (const group of ["g", "gg"]) send(radio, group, group)
    expect(await taken(a, b)).toEqual([[], []])
  })

  test("a group name of over 255 bytes cannot be joined", async () => {
    const radio = new Bench(Radio)
    const a = radio.peer()
    for (const length of [255, 256]) {
      a.pipe.command("JOIN", topic("g".repeat(length)))
      send(radio, "g".repeat(length), `${length}`)
    }
    expect((await taken(a)).flat().map((text) => text.split("|")[1])).toEqual(["255"])
  })

  test("DISH joins at all its peers, and receives the groups it has joined", async () => {
    const dish = new Bench(Dish)
    dish.type.join(topic("g"))
    const a = dish.peer()
    dish.type.join(topic("h"))
    dish.type.leave(topic("g"))
    expect(await taken(a)).toEqual([["JOIN g", "JOIN h", "LEAVE g"]])
    for (const text of ["g|1", "h|2"]) a.says(text)
    expect(dish.receive()).toBe("2")
    expect(dish.type.routing).toEqual({ group: topic("h") })
    expect(dish.receive()).toBe("EAGAIN")
  })

  test.each([
    ["h", true],
    ["h|a|b", true],
    [`${"h".repeat(256)}|a`, true],
    [`${"h".repeat(255)}|a`, false],
  ])("a message to DISH of %j ends the connection: %s", (text, ends) => {
    const dish = new Bench(Dish)
    const a = dish.peer()
    a.says(text)
    expect(a.connection.rejected.length).toBe(ends ? 1 : 0)
  })
})
