/** Options of sockets that affect the flow of messages. */
import { once } from "node:events"
import { createServer, type Socket as TcpSocket } from "node:net"
import { describe, expect, test } from "vitest"
import { Context, Dealer, Pair, Pull, Push, Request, Router } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { ended } from "../support/ended.js"
import { sendLate } from "../support/late-sender.js"
import { rawPeer } from "../support/raw-peer.js"
import { Relay, type Relayed } from "../support/relay.js"
import { eventually, freePort, join, use } from "../support/sockets.js"
import { lz4, transports } from "../support/transports.js"
import { handshake } from "../support/zmtp.js"

const REFUSED = { code: "EAGAIN", message: "Operation was not possible or timed out" }
const noise = payload("random", 65_536)

describe.each(transports)("over $name", (transport) => {
  const { scheme } = transport

  describe("routing", () => {
    test.each([
      ["DEALER", () => new Dealer({ routingId: "me" }), []],
      ["REQ", () => new Request({ routingId: "me" }), [""]],
    ] as const)("a ROUTER identifies a %s by its routingId", async (_, make, delimiter) => {
      const [router, peer] = [use(new Router()), use(make())]
      await join(router, peer, transport)
      await peer.send("question")
      expect((await router.receive()).map(String)).toEqual(["me", ...delimiter, "question"])
      await router.send(["me", ...delimiter, "answer"])
      expect(String(await peer.receive())).toBe("answer")
    })

    test("a connecting ROUTER may name its peer itself", async () => {
      const [router, dealer] = [use(new Router()), use(new Dealer())]
      await dealer.bind(`${scheme}127.0.0.1:*`)
      router.connect(dealer.lastEndpoint as string, { routingId: "peer" } as object)
      await router.send(["peer", "hello"])
      expect(String(await dealer.receive())).toBe("hello")
      await dealer.send("back")
      expect((await router.receive()).map(String)).toEqual(["peer", "back"])
    })

    test.each([
      ["DEALER", () => new Dealer({ probeRouter: true, routingId: "me" })],
      ["REQ", () => new Request({ probeRouter: true, routingId: "me" })],
      ["ROUTER", () => new Router({ probeRouter: true, routingId: "me" })],
    ])("a %s with probeRouter announces itself with an empty message", async (_, make) => {
      const [router, peer] = [use(new Router()), use(make())]
      await join(router, peer, transport)
      expect((await router.receive()).map(String)).toEqual(["me", ""])
    })

    test.each([
      [true, "second"],
      [false, "first"],
    ])(
      "with handover %s, a routingId that two peers have belongs to the %s one",
      async (handover, owner) => {
        const router = use(new Router({ handover, mandatory: true }))
        const [first, second] = [
          use(new Dealer({ routingId: "me" })),
          use(new Dealer({ routingId: "me" })),
        ]
        let handshakes = 0
        router.events.on("handshake", () => handshakes++)
        const address = await join(router, first, transport)
        await first.send("first")
        expect(String((await router.receive())[1])).toBe("first")
        second.connect(address)
        if (handover) {
          await second.send("second")
          expect(String((await router.receive())[1])).toBe("second")
        } else {
          // The second one has been ignored when the ROUTER receives from a third one.
          await eventually(() => handshakes === 2)
          const third = use(new Dealer())
          third.connect(address)
          await third.send("third")
          expect(String((await router.receive())[1])).toBe("third")
        }
        await router.send(["me", "to whom"])
        expect(String(await (owner === "first" ? first : second).receive())).toBe("to whom")
      },
    )

    test("a ROUTER with mandatory refuses messages that it cannot route, with EHOSTUNREACH", async () => {
      const [router, dealer] = [
        use(new Router({ mandatory: true, sendTimeout: 0 })),
        use(new Dealer({ routingId: "me" })),
      ]
      await join(router, dealer, transport)
      await expect(router.send(["nobody", "text"])).rejects.toMatchObject({ code: "EHOSTUNREACH" })
      await eventually(() => router.send(["me", "text"]))
      expect(String(await dealer.receive())).toBe("text")
      dealer.close()
      await eventually(() =>
        expect(router.send(["me", "text"])).rejects.toMatchObject({ code: "EHOSTUNREACH" }),
      )
    })
  })

  describe("queues", () => {
    test("a ROUTER with mandatory whose queue fills up in a burst continues after it", async () => {
      const [router, dealer] = [
        use(new Router({ mandatory: true, sendHighWaterMark: 10 })),
        use(new Dealer({ routingId: "me" })),
      ]
      await join(router, dealer, transport)
      await eventually(() => router.send(["me", "text"]))
      for (let i = 0; i < 100; i++) await router.send(["me", String(i)])
      expect(String(await dealer.receive())).toBe("text")
      for (let i = 0; i < 100; i++) expect(String(await dealer.receive())).toBe(String(i))
    })

    test("with conflate only the newest message is kept", async () => {
      const [push, pull] = [use(new Push()), use(new Pull({ conflate: true }))]
      await join(pull, push, transport)
      let sent = 0
      let newest = -1
      let reads = 0
      // Messages of a slow sender may be received one by one, so some more may be necessary.
      while (reads === sent) {
        expect(sent).toBeLessThan(10_000)
        for (let i = 0; i < 100; i++) await push.send(`${sent++}`)
        // Each message received is newer than the previous one, and the last one is received.
        while (newest < sent - 1) {
          const received = Number(await pull.receive())
          expect(received).toBeGreaterThan(newest)
          newest = received
          reads++
        }
      }
    })

    test("receiveTimeout and sendTimeout give EAGAIN", async () => {
      const [push, pull] = [
        use(new Push({ sendTimeout: 20 })),
        use(new Pull({ receiveTimeout: 20 })),
      ]
      await expect(push.send("nobody there")).rejects.toMatchObject(REFUSED)
      await join(pull, push, transport)
      await expect(pull.receive()).rejects.toMatchObject(REFUSED)
      await push.send("text")
      pull.receiveTimeout = -1
      expect(String(await pull.receive())).toBe("text")
    })

    test("a reader that stops also stops the writer, and later receives all messages", async () => {
      const [push, pull] = [
        use(new Push({ sendHighWaterMark: 5, sendTimeout: 250 })),
        use(new Pull({ receiveHighWaterMark: 5 })),
      ]
      await join(pull, push, transport)
      let sent = 0
      const fill = async () => {
        for (;;) {
          await push.send([`${sent}`, noise])
          sent++
        }
      }
      await expect(fill()).rejects.toMatchObject(REFUSED)
      // The queues hold 10; the rest is in the system's buffers.
      expect(sent * noise.length).toBeLessThan(2 ** 25)
      for (let i = 0; i < sent; i++) expect(String((await pull.receive())[0])).toBe(`${i}`)
      push.sendTimeout = -1
      await push.send("it goes on")
      expect(String(await pull.receive())).toBe("it goes on")
    })

    test("a slow peer does not delay another peer of the same socket", async () => {
      const router = use(new Router({ sendHighWaterMark: 1 }))
      const [slow, quick] = [
        use(new Dealer({ routingId: "slow", receiveHighWaterMark: 1 })),
        use(new Dealer({ routingId: "quick" })),
      ]
      await join(router, slow, transport)
      quick.connect(router.lastEndpoint as string)
      for (const dealer of [slow, quick]) await dealer.send("hello")
      await router.receive()
      await router.receive()
      // A ROUTER drops messages for a full peer.
      for (let i = 0; i < 1000; i++) await router.send(["slow", noise])
      await router.send(["quick", "text"])
      expect(String(await quick.receive())).toBe("text")
    })

    test.each([
      [0, false],
      [-1, true],
    ])(
      "with linger %i, messages queued for a connection when the socket is closed are delivered: %s",
      async (linger, delivered) => {
        const port = await freePort()
        const context = new Context({ maxSockets: 1 })
        const push = new Push({ context, linger, reconnectInterval: 10 })
        push.connect(`${scheme}127.0.0.1:${port}`)
        await push.send("the last words")
        push.close()
        if (!delivered) {
          await ended(context)
          await sendLate(`${scheme}127.0.0.1:${port}`, "of another")
        }
        const pull = use(new Pull())
        await pull.bind(`${scheme}127.0.0.1:${port}`)
        expect(String(await pull.receive())).toBe(delivered ? "the last words" : "of another")
      },
    )

    test("all messages sent before close() arrive, however many", async () => {
      const COUNT = 500
      const pull = use(new Pull())
      await pull.bind(`${scheme}127.0.0.1:*`)
      const push = new Push({ linger: -1 })
      push.connect(pull.lastEndpoint as string)
      for (let i = 0; i < COUNT; i++) await push.send([`${i}`, noise.subarray(0, 10_000)])
      push.close()
      for (let i = 0; i < COUNT; i++) expect(String((await pull.receive())[0])).toBe(`${i}`)
    })
  })

  describe("connections", () => {
    test("a socket with immediate accepts no message until it has a peer", async () => {
      const port = await freePort()
      const push = use(new Push({ immediate: true, reconnectInterval: 10, sendTimeout: 50 }))
      push.connect(`${scheme}127.0.0.1:${port}`)
      await expect(push.send("too early")).rejects.toMatchObject(REFUSED)
      const pull = use(new Pull())
      await pull.bind(`${scheme}127.0.0.1:${port}`)
      await eventually(() => push.send("in time"))
      expect(String(await pull.receive())).toBe("in time")
    })

    test("heartbeats keep an idle connection open", async () => {
      const options = {
        heartbeatInterval: 20,
        heartbeatTimeout: 60_000,
        heartbeatTimeToLive: 60_000,
      }
      const [a, b] = [use(new Pair(options)), use(new Pair(options))]
      await a.bind(`${scheme}127.0.0.1:*`)
      const relay = use(await Relay.before(a.lastEndpoint as string))
      b.connect(relay.endpoint.replace(lz4.scheme, scheme))
      const lost: string[] = []
      for (const { events } of [a, b]) events.on("disconnect", ({ type }) => lost.push(type))
      await a.send("before")
      await b.receive()
      const [{ fromClient, fromServer }] = relay.connections as [Relayed]
      const has = (stream: Uint8Array[], command: string) =>
        Buffer.concat(stream).toString("latin1").split(command).length > 10
      await eventually(() =>
        [fromClient, fromServer].every(
          (stream) => has(stream, "\x04PING") && has(stream, "\x04PONG"),
        ),
      )
      await b.send("after")
      expect(String(await a.receive())).toBe("after")
      expect(lost).toEqual([])
    })

    test("a peer that does not answer heartbeats loses its connection", async () => {
      const pull = use(new Pull({ heartbeatInterval: 50, heartbeatTimeout: 100 }))
      await pull.bind(`${scheme}127.0.0.1:*`)
      // A PING may come together with READY.
      const silent = use(await rawPeer(pull.lastEndpoint as string, handshake("PUSH")))
      let received = ""
      silent.socket.on("data", (bytes) => {
        received += bytes.toString("latin1")
      })
      await silent.closed
      expect(received).toContain("\x04PING")
    })

    test("a socket reconnects to a bound peer that does not answer heartbeats", async () => {
      const peers: TcpSocket[] = []
      const server = createServer((peer) => {
        peers.push(peer)
        peer.on("error", () => {}) // the connection is closed
        peer.resume().write(handshake("PULL"))
      }).listen(0, "127.0.0.1")
      use({ close: () => peers.forEach((peer) => void peer.destroy()) })
      use(server)
      await once(server, "listening")
      const { port } = server.address() as { port: number }
      const options = { heartbeatInterval: 50, heartbeatTimeout: 100, reconnectInterval: 10 }
      use(new Push(options)).connect(`${scheme}127.0.0.1:${port}`)
      await eventually(() => peers.length >= 2)
    })

    test("a peer that never sends its greeting is disconnected after handshakeInterval", async () => {
      const pull = use(new Pull({ handshakeInterval: 100 }))
      await pull.bind(`${scheme}127.0.0.1:*`)
      const mute = use(await rawPeer(pull.lastEndpoint as string, new Uint8Array()))
      await mute.closed
    })

    test("PLAIN accepts peers with the password, and no others", async () => {
      // A context of its own, because libzmq frees the handler's name some time after close().
      const context = new Context()
      const zap = use(new Router({ context }))
      await zap.bind("inproc://zeromq.zap.01")
      const serving = (async () => {
        for await (const [id, empty, version, request, , , , , user, password] of zap) {
          const ok = `${user}:${password}` === "alice:secret"
          await zap.send([
            id as Buffer,
            empty as Buffer,
            version as Buffer,
            request as Buffer,
            ok ? "200" : "400",
            ok ? "OK" : "no",
            "alice",
            "",
          ])
        }
      })()
      const pull = use(new Pull({ context, plainServer: true, zapDomain: "test" }))
      await pull.bind(`${scheme}127.0.0.1:*`)
      const push = (plainPassword: string) => {
        const one = use(new Push({ plainUsername: "alice", plainPassword }))
        one.connect(pull.lastEndpoint as string)
        return one
      }
      const wrong = push("guess")
      const refused = new Promise((resolve) =>
        wrong.events.on("handshake:error:auth", ({ error }) => resolve(error.status)),
      )
      await wrong.send("let me in")
      expect(await refused).toBe(400)
      await push("secret").send("hello")
      expect(String(await pull.receive())).toBe("hello")
      zap.close()
      await serving
    })
  })
})
