/** The API of zeromq.js 5, over libzmq's tcp:// with zeromq.js's module, and with ours over both. */
import { once } from "node:events"
import { createRequire } from "node:module"
import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, onTestFinished, test } from "vitest"
import * as ours from "zeromq-lz4/v5-compat"

import { runScript } from "../support/script.js"
import { lz4, tcp } from "../support/transports.js"

type Compat = typeof ours.default
type Socket = ours.Socket

const native: Compat = createRequire(import.meta.url)("zeromq/v5-compat")

const ways = [
  { name: "zeromq/v5-compat, tcp://", zmq: native, scheme: tcp.scheme },
  { name: "zeromq-lz4/v5-compat, tcp://", zmq: ours.default, scheme: tcp.scheme },
  { name: "zeromq-lz4/v5-compat, lz4+tcp://", zmq: ours.default, scheme: lz4.scheme },
]

test("exports everything that zeromq/v5-compat does, by name and in one object", () => {
  const names = Object.keys(native).sort()
  expect(Object.keys(ours.default).sort()).toEqual(names)
  expect(
    Object.keys(ours)
      .filter((name) => name !== "default")
      .sort(),
  ).toEqual(names)
  expect(ours.createSocket).toBe(ours.socket)
  expect(ours.ZMQ_SNDMORE).toBe(native.ZMQ_SNDMORE)
  expect(new ours.Socket("req")).toBeInstanceOf(native.Socket)
})

describe("options of an endpoint are the last argument", () => {
  const use = (type: ours.SocketType): Socket => {
    const socket = ours.socket(type, { linger: 0 })
    onTestFinished(() => {
      if (!socket.closed) socket.close()
    })
    return socket
  }
  const address = `${lz4.scheme}127.0.0.1:*`
  const level = { level: 9 } as const
  /** Sends what is compressed at level 9 only, and returns how many bytes came. */
  const exchange = async (push: Socket, pull: Socket): Promise<number> => {
    push.send("short but repeated ".repeat(3))
    await once(pull, "message")
    return pull.lz4.stats.received.wireBytes
  }

  test.each<[string, (pull: Socket) => Promise<void>]>([
    [
      "bind(address, options)",
      async (pull) => void (await once(pull.bind(address, level), "bind")),
    ],
    [
      "bind(address, callback, options)",
      (pull) => new Promise((resolve) => pull.bind(address, () => resolve(), level)),
    ],
    ["bindSync(address, options)", async (pull) => pull.bindSync(address, level)],
  ])("%s and connect(address, options)", async (_, bind) => {
    const [push, pull] = [use("push"), use("pull")]
    await bind(pull)
    const endpoint = pull.getsockopt(ours.ZMQ_LAST_ENDPOINT) as string
    push.connect(endpoint, { minCompressSize: 0 })
    expect(await exchange(push, pull)).toBeLessThan(50)
    expect(push.lz4.connections).toHaveLength(1)
  })

  test("mistakes are told", () => {
    const push = use("push")
    expect(() => push.connect("lz4+tcp://127.0.0.1:1234", { level: 99 } as never)).toThrow("level")
    expect(() => push.connect("tcp://127.0.0.1:1234", level)).toThrow("takes no options")
  })
})

describe.each(ways)("$name", ({ zmq, scheme }) => {
  const use = (type: ours.SocketType, options: Record<string, unknown> = {}): Socket => {
    const socket = zmq.socket(type, { linger: 0, ...options })
    onTestFinished(() => {
      if (!socket.closed) socket.close()
    })
    return socket
  }

  const bound = async (socket: Socket): Promise<string> => {
    const listening = once(socket, "bind")
    socket.bind(`${scheme}127.0.0.1:*`)
    expect(await listening).toEqual([`${scheme}127.0.0.1:*`])
    return socket.getsockopt(zmq.ZMQ_LAST_ENDPOINT) as string
  }

  const pair = async (binds: ours.SocketType, connects: ours.SocketType, options = {}) => {
    const [a, b] = [use(binds), use(connects, options)]
    b.connect(await bound(a))
    return [a, b] as const
  }

  const next = async (socket: Socket): Promise<string[]> =>
    (await once(socket, "message")).map(String)

  test("sockets have a type, options by number and by name, and can be closed", () => {
    const socket = use("dealer", { identity: "me", backlog: 75 })
    expect(socket.type).toBe("dealer")
    expect(socket.constructor.name).toBe("Socket")
    expect(socket.getsockopt(zmq.ZMQ_BACKLOG)).toBe(75)
    expect(socket.identity).toBe("me")
    expect(socket.setsockopt("backlog", 50)).toBe(socket)
    expect(socket.backlog).toBe(50)
    socket.setsockopt(zmq.ZMQ_SNDHWM, 7)
    expect(socket.getsockopt(zmq.ZMQ_SNDHWM)).toBe(7)
    expect(() => socket.setsockopt(12345, 1)).toThrow("Unknown option")
    expect(socket.closed).toBe(false)
    expect(socket.close()).toBe(socket)
    expect(socket.closed).toBe(true)
  })

  test("unknown types are refused", () => {
    expect(() => zmq.socket("nothing" as never)).toThrow("Invalid socket type: nothing")
  })

  test("PUSH and PULL: messages arrive in order, and a callback tells that each was sent", async () => {
    const [pull, push] = await pair("pull", "push")
    const received: string[] = []
    const all = new Promise<void>((resolve) => {
      pull.on("message", (...parts) => {
        received.push(parts.map(String).join("|"))
        if (received.length === 4) resolve()
      })
    })
    await new Promise<void>((resolve, reject) => {
      push.send("1", 0, (error) => (error ? reject(error) : resolve()))
    })
    push.send(["2", Buffer.from("3")])
    push.send("4", zmq.ZMQ_SNDMORE)
    push.send("5", zmq.ZMQ_SNDMORE).send("6")
    push.send("x".repeat(10_000))
    await all
    expect(received).toEqual(["1", "2|3", "4|5|6", "x".repeat(10_000)])
  })

  test("REQ and REP", async () => {
    const [rep, req] = await pair("rep", "req")
    rep.on("message", (message) => rep.send(`re: ${message}`))
    for (const text of ["1", "2"]) {
      req.send(text)
      expect(await next(req)).toEqual([`re: ${text}`])
    }
  })

  test.each([
    ["router", "dealer"],
    ["xrep", "xreq"],
  ] as const)("%s and %s, with identities", async (binds, connects) => {
    const [router, dealer] = await pair(binds, connects, { identity: "me" })
    dealer.send(["1", "2"])
    expect(await next(router)).toEqual(["me", "1", "2"])
    router.send(["me", "3"])
    expect(await next(dealer)).toEqual(["3"])
  })

  test("PAIR and PAIR", async () => {
    const [a, b] = await pair("pair", "pair")
    b.send("1")
    expect(await next(a)).toEqual(["1"])
    a.send("2")
    expect(await next(b)).toEqual(["2"])
  })

  test("XPUB and SUB: topics are subscribed to, and cancelled", async () => {
    const [xpub, sub] = await pair("xpub", "sub")
    sub.subscribe("a")
    expect(await next(xpub)).toEqual(["\x01a"])
    xpub.send(["b", "not for it"])
    xpub.send(["a", "1"])
    expect(await next(sub)).toEqual(["a", "1"])
    sub.unsubscribe("a")
    expect(await next(xpub)).toEqual(["\x00a"])
    expect(() => xpub.subscribe("a")).toThrow("Subscriber socket required")
  })

  test("PUB and XSUB", async () => {
    const pub = use("pub")
    const xsub = use("xsub")
    xsub.connect(await bound(pub))
    xsub.send("\x01a")
    const message = next(xsub)
    const timer = setInterval(() => pub.send(["a", "1"]), 5)
    expect(await message).toEqual(["a", "1"])
    clearInterval(timer)
  })

  test("bindSync() binds and gives an address", async () => {
    const pull = use("pull")
    pull.bindSync(`${scheme}127.0.0.1:*`)
    const address = pull.getsockopt(zmq.ZMQ_LAST_ENDPOINT) as string
    const push = use("push")
    push.connect(address)
    push.send("1")
    expect(await next(pull)).toEqual(["1"])
  })

  test("what was sent arrives if the socket is disconnected at once", async () => {
    const router = use("router")
    const address = await bound(router)
    const dealer = use("dealer", { identity: "me", linger: -1 })
    dealer.connect(address)
    dealer.send(["a", "b"])
    dealer.disconnect(address)
    expect(await next(router)).toEqual(["me", "a", "b"])
  })

  test("unbind() tells when it is done, and the address is free again", async () => {
    const pull = use("pull")
    const address = await bound(pull)
    await new Promise<void>((resolve, reject) => {
      pull.on("unbind", (at) => expect(at).toBe(address))
      pull.unbind(address, (error) => (error ? reject(error) : resolve()))
    })
    // libzmq frees it a little later.
    const isFree = () =>
      new Promise<boolean>((resolve) => {
        use("pull").bind(address, (error) => resolve(!error))
      })
    while (!(await isFree())) await turn()
  })

  test("an address in use is reported to the callback, or as an error", async () => {
    const address = await bound(use("pull"))
    const error = await new Promise<Error | undefined>((resolve) => {
      use("pull").bind(address, resolve)
    })
    expect(error).toMatchObject({ code: "EADDRINUSE" })
    const other = use("pull")
    const [emitted] = await new Promise<unknown[]>((resolve) => {
      other.once("error", (...all) => resolve(all))
      other.bind(address)
    })
    expect(emitted).toMatchObject({ code: "EADDRINUSE" })
  })

  test("a paused socket gives its messages after resume()", async () => {
    const [pull, push] = await pair("pull", "push")
    pull.pause()
    let paused = true
    const received: boolean[] = []
    const all = new Promise<void>((resolve) => {
      pull.on("message", (text) => {
        received.push(paused)
        if (`${text}` === "last") resolve()
      })
    })
    push.send("1")
    await new Promise<void>((resolve) => {
      push.send("2", 0, () => resolve())
    })
    paused = false
    pull.resume()
    push.send("last")
    await all
    expect(received).toEqual([false, false, false])
  })

  test("monitor() tells what happens to connections", async () => {
    const pull = use("pull").monitor()
    const heard = (socket: Socket, name: string) =>
      new Promise<string>((resolve) => {
        socket.on(name, (_, address) => resolve(address))
      })
    const listening = heard(pull, "listen")
    const accepted = heard(pull, "accept")
    const address = await bound(pull)
    expect(await listening).toBe(address)
    const push = use("push").monitor()
    const connected = heard(push, "connect")
    push.connect(address)
    expect(await connected).toBe(address)
    await accepted
    const gone = heard(push, "disconnect")
    pull.close()
    expect(await gone).toBe(address)
  })

  /** The ways to set an option of CURVE. */
  const setters = {
    properties: (socket: Socket, name: string, value: unknown) =>
      Object.assign(socket, { [name]: value }),
    "setsockopt() by name": (socket: Socket, name: string, value: unknown) =>
      socket.setsockopt(name as never, value),
    "setsockopt() by number": (socket: Socket, name: string, value: unknown) =>
      socket.setsockopt(zmq[`ZMQ_${name.toUpperCase()}` as "ZMQ_CURVE_SERVER"], value),
  }

  test.each(Object.entries(setters))("CURVE, with keys as %s", async (_, set) => {
    const [serverKeys, clientKeys] = [zmq.curveKeypair(), zmq.curveKeypair()]
    const [router, dealer] = [use("router"), use("dealer")]
    set(router, "curve_server", 1)
    set(router, "curve_secretkey", serverKeys.secret)
    set(dealer, "curve_publickey", clientKeys.public)
    set(dealer, "curve_secretkey", clientKeys.secret)
    set(dealer, "curve_serverkey", serverKeys.public)
    for (const [socket, isServer] of [
      [router, 1],
      [dealer, 0],
    ] as const) {
      expect(socket.getsockopt(zmq.ZMQ_MECHANISM)).toBe(2)
      expect(socket.getsockopt("curve_server" as never)).toBe(isServer)
      expect(() => socket.getsockopt(zmq.ZMQ_CURVE_SECRETKEY)).toThrow("Invalid argument")
    }
    dealer.connect(await bound(router))
    dealer.send(["1", "2"])
    const [id, ...parts] = await once(router, "message")
    expect(parts.map(String)).toEqual(["1", "2"])
    router.send([id, "3"])
    expect(await next(dealer)).toEqual(["3"])
  })

  test("CURVE: a client with another server's key does not get in, one with the right key does", async () => {
    const [serverKeys, clientKeys] = [zmq.curveKeypair(), zmq.curveKeypair()]
    const pull = use("pull", { curve_server: 1, curve_secretkey: serverKeys.secret }).monitor()
    const own = { curve_publickey: clientKeys.public, curve_secretkey: clientKeys.secret }
    const address = await bound(pull)
    const wrong = use("push", { ...own, curve_serverkey: clientKeys.public })
    const gone = once(pull, "disconnect")
    wrong.connect(address)
    wrong.send("wrong")
    await gone
    const right = use("push", { ...own, curve_serverkey: serverKeys.public })
    right.connect(address)
    right.send("right")
    expect(await next(pull)).toEqual(["right"])
  })

  test.each([
    ["pull", "push", "push", "pull"],
    ["router", "dealer", "req", "rep"],
  ] as const)("proxy() from %s to %s", async (front, back, first, last) => {
    const [frontend, backend] = [use(front), use(back)]
    const [one, other] = [use(first), use(last)]
    one.connect(await bound(frontend))
    other.connect(await bound(backend))
    zmq.proxy(frontend, backend)
    one.send("question")
    expect(await next(other)).toEqual(["question"])
    if (last !== "rep") return
    other.send("answer")
    expect(await next(one)).toEqual(["answer"])
  })
})

test.each(["tcp", "lz4+tcp"])(
  "over %s://, arguments that are no options are ignored, as by zeromq.js",
  async (scheme) => {
    const got = await runScript(`
    const compat = require("zeromq-lz4/v5-compat")
    const [pull, push] = [compat.socket("pull"), compat.socket("push")]
    const got = new Promise((resolve) => pull.on("message", (part) => resolve(String(part))))
    const addresses = ["${scheme}://127.0.0.1:*"]
    addresses.forEach(pull.bindSync, pull)
    pull.bindSync(addresses[0], null)
    const endpoint = pull.getsockopt(compat.ZMQ_LAST_ENDPOINT)
    ;[endpoint].forEach(push.connect, push)
    push.connect(endpoint, () => {})
    push.connect(endpoint, null)
    push.send("1")
    return got`)
    expect(got).toBe("1")
  },
)

test("also works if zeromq.js's exports cannot be changed, even for a moment", async () => {
  const got = await runScript(`
    Object.freeze(require("zeromq"))
    const compat = require("zeromq-lz4/v5-compat")
    const [pull, push] = [compat.socket("pull"), compat.socket("push")]
    const got = new Promise((resolve) => pull.on("message", (part) => resolve(String(part))))
    pull.bindSync("lz4+tcp://127.0.0.1:*")
    push.connect(pull.getsockopt(compat.ZMQ_LAST_ENDPOINT)).send("1")
    return got`)
  expect(got).toBe("1")
})

// Two sockets for each, of which libzmq frees one on a thread of its own, were too many.
test.each(["zeromq", "zeromq-lz4"])(
  "%s/v5-compat: as many sockets as the context allows, and an error for one more",
  async (name) => {
    const counts = await runScript(`
    const compat = require("${name}/v5-compat")
    process.on("unhandledRejection", (error) => { throw error })
    compat.Context.setMaxSockets(4)
    const sockets = []
    try {
      for (;;) sockets.push(compat.socket("push"))
    } catch ({ code }) {
      return [code, sockets.length]
    }`)
    expect(counts).toEqual(["EMFILE", 4])
  },
)

// zeromq.js receives again and again then, and the unbind never ends.
test("a message that arrives during unbind() does not hold up the process", async () => {
  const unbound = await runScript(`
    const compat = require("zeromq-lz4/v5-compat")
    const [router, dealer] = [compat.socket("router"), compat.socket("dealer")]
    router.bindSync("lz4+tcp://127.0.0.1:*")
    const endpoint = router.getsockopt(compat.ZMQ_LAST_ENDPOINT)
    dealer.connect(endpoint)
    dealer.send("first")
    await new Promise((resolve) => router.once("message", resolve))
    await new Promise(setImmediate)
    dealer.send("second")
    const unbound = await new Promise((resolve) => router.unbind(endpoint, (error) => resolve(String(error))))
    router.close()
    dealer.close()
    return unbound`)
  expect(unbound).toBe("undefined")
})

test("zeromq/v5-compat itself does not know lz4+tcp://", () => {
  expect(() => native.socket("push").connect("lz4+tcp://127.0.0.1:1")).toThrow("Protocol not")
})
