/** Calls that are refused: busy, closed, timed out, wrong arguments. */
import { expect } from "vitest"
import type { Dealer } from "zeromq"

import { scenario } from "../scenario.js"

scenario(
  "a second receive() while one waits is EBUSY, and the first still completes",
  async ({ zmq, make, bind, attempted, observe }) => {
    const [pull, push] = [make(zmq.Pull), make(zmq.Push)]
    push.connect(await bind(pull))
    const first = pull.receive()
    await attempted("second", () => pull.receive())
    await push.send("text")
    observe("first", await first)
  },
  { second: { throws: { code: "EBUSY" } }, first: ["text"] },
)

scenario(
  "a second send() while one waits is EBUSY, and the first still completes",
  async ({ zmq, make, bind, attempted, observe }) => {
    const [pull, push] = [make(zmq.Pull), make(zmq.Push)]
    const endpoint = await bind(push)
    const first = push.send("first")
    await attempted("second", () => push.send("second"))
    pull.connect(endpoint)
    await first
    observe("received", await pull.receive())
  },
  { second: { throws: { code: "EBUSY" } }, received: ["first"] },
)

scenario(
  "a pending send() does not block receive() on the same socket, nor the reverse",
  async ({ zmq, make, bind, attempted, observe }) => {
    const [a, b] = [make(zmq.Dealer), make(zmq.Dealer)]
    b.connect(await bind(a))
    const received = a.receive()
    const sending = a.send("to b")
    await attempted("receive", () => a.receive())
    await sending
    observe("b", await b.receive())
    await b.send("to a")
    observe("a", await received)
  },
  { receive: { throws: { code: "EBUSY" } }, a: ["to a"] },
)

// Only a REP: with a REQ, zeromq.js sometimes does not notice the answer.
scenario(
  "a program goes on after receive() before a send() that is pending too is tried",
  async ({ zmq, make, bind, attempt, observe }) => {
    const [reply, request] = [make(zmq.Reply), make(zmq.Request)]
    request.connect(await bind(reply))
    const received = reply.receive().then(async (message) => {
      for (let steps = 0; steps < 10; steps++) await undefined
      observe("received", message)
      observe("writable", reply.writable)
      observe("another send", await attempt(() => reply.send("another")))
    })
    const sent = reply.send("answer").then(() => observe("sent", true))
    await request.send("question")
    await Promise.all([received, sent])
    observe("answer", await request.receive())
  },
  { writable: true, "another send": { throws: { code: "EBUSY" } }, answer: ["answer"] },
)

scenario(
  "all calls are EBUSY during bind",
  async ({ zmq, make, at, attempted, observe }) => {
    const dealer = make(zmq.Dealer)
    const binding = dealer.bind(at("127.0.0.1:*"))
    await attempted("send", () => dealer.send("text"))
    await attempted("receive", () => dealer.receive())
    await attempted("connect", () => dealer.connect(at("127.0.0.1:9")))
    await attempted("disconnect", () => dealer.disconnect(at("127.0.0.1:9")))
    await attempted("bind", () => dealer.bind(at("127.0.0.1:*")))
    await attempted("unbind", () => dealer.unbind(at("127.0.0.1:9")))
    await attempted("bindSync", () => dealer.bindSync(at("127.0.0.1:*")))
    observe("closed", dealer.closed)
    await attempted("binding", () => binding)
    await attempted("connect then", () => dealer.connect(at("127.0.0.1:9")))
  },
  { send: { throws: { code: "EBUSY" } }, binding: { resolves: "<undefined>" } },
)

scenario(
  "calls are EBUSY during a bind that fails",
  async ({ zmq, plain, at, attempt, attempted, observe }) => {
    const pull = plain(zmq.Pull)
    const binding = attempt(() => pull.bind(at("127.0.0.1")))
    for (const name of ["first", "second", "third"])
      await attempted(name, () => pull.bind(at("127.0.0.1:*")))
    observe("binding", await binding)
    await attempted("afterwards", () => pull.bind(at("127.0.0.1:*")))
  },
  { third: { throws: { code: "EBUSY" } }, afterwards: { resolves: "<undefined>" } },
)

scenario(
  "all calls are EBUSY during unbind",
  async ({ zmq, make, bind, at, attempted }) => {
    const dealer = make(zmq.Dealer)
    const unbinding = dealer.unbind(await bind(dealer))
    await attempted("send", () => dealer.send("text"))
    await attempted("receive", () => dealer.receive())
    await attempted("connect", () => dealer.connect(at("127.0.0.1:9")))
    await attempted("bind", () => dealer.bind(at("127.0.0.1:*")))
    await attempted("unbind", () => dealer.unbind(at("127.0.0.1:9")))
    await attempted("unbinding", () => unbinding)
  },
  { send: { throws: { code: "EBUSY" } }, unbinding: { resolves: "<undefined>" } },
)

scenario(
  "calls are EBUSY during an unbind that is the first call of a socket",
  async ({ zmq, make, at, attempt, attempted, observe }) => {
    const dealer = make(zmq.Dealer, { sendTimeout: 0, receiveTimeout: 0 })
    const unbinding = attempt(() => dealer.unbind(at("127.0.0.1:9")))
    await attempted("send", () => dealer.send("text"))
    await attempted("receive", () => dealer.receive())
    observe("unbinding", await unbinding)
  },
  { send: { throws: { code: "EBUSY" } }, receive: { throws: { code: "EBUSY" } } },
)

scenario(
  "options can be read and set during bind",
  async ({ zmq, make, at, attempted, observe }) => {
    const dealer = make(zmq.Dealer)
    const binding = dealer.bind(at("127.0.0.1:*"))
    await attempted("get", () => dealer.sendHighWaterMark)
    await attempted("set", () => {
      dealer.linger = 5
    })
    await binding
    observe("linger", dealer.linger)
  },
  { get: { returns: 1000 } },
)

scenario(
  "close during bind takes effect when bind is done",
  async ({ zmq, make, at, attempted, observe }) => {
    const dealer = make(zmq.Dealer)
    const binding = dealer.bind(at("127.0.0.1:*"))
    dealer.close()
    observe("closed at once", dealer.closed)
    await attempted("binding", () => binding)
    observe("closed then", dealer.closed)
  },
  { "closed at once": false, "closed then": true },
)

scenario(
  "close during unbind takes effect when unbind is done",
  async ({ zmq, make, bind, attempted, observe }) => {
    const dealer = make(zmq.Dealer)
    const unbinding = dealer.unbind(await bind(dealer))
    dealer.close()
    observe("closed at once", dealer.closed)
    await attempted("unbinding", () => unbinding)
    observe("closed then", dealer.closed)
  },
  { "closed at once": false, "closed then": true },
)

scenario(
  "a closed socket refuses all calls with EBADF",
  async ({ zmq, make, bind, at, attempted, observe }) => {
    const dealer = make(zmq.Dealer)
    const endpoint = await bind(dealer)
    dealer.close()
    await attempted("send", () => dealer.send("text"))
    await attempted("receive", () => dealer.receive())
    await attempted("connect", () => dealer.connect(at("127.0.0.1:9")))
    await attempted("disconnect", () => dealer.disconnect(at("127.0.0.1:9")))
    await attempted("bind", () => dealer.bind(at("127.0.0.1:*")))
    await attempted("bindSync", () => dealer.bindSync(at("127.0.0.1:*")))
    await attempted("unbind", () => dealer.unbind(endpoint))
    await attempted("close again", () => dealer.close())
    await attempted("get linger", () => dealer.linger)
    await attempted("set linger", () => {
      dealer.linger = 0
    })
    await attempted("set sendTimeout", () => {
      dealer.sendTimeout = 0
    })
    await attempted("get lastEndpoint", () => dealer.lastEndpoint)
    await attempted("get routingId", () => dealer.routingId)
    await attempted("get type", () => dealer.type)
    observe("closed", dealer.closed)
    observe("writable", dealer.writable)
    observe("readable", dealer.readable)
    const router = make(zmq.Router)
    router.close()
    const to = at("127.0.0.1:9")
    await attempted("connect a ROUTER", () => router.connect(to))
    await attempted("with a routing id", () => router.connect(to, { routingId: "id" }))
  },
  { send: { throws: { code: "EBADF" } }, "close again": { returns: "<undefined>" }, closed: true },
)

scenario(
  "subscribe and unsubscribe on a closed socket",
  async ({ zmq, make, bind, attempted }) => {
    const subscriber = make(zmq.Subscriber)
    await bind(subscriber)
    subscriber.close()
    await attempted("subscribe", () => subscriber.subscribe("a"))
    await attempted("unsubscribe", () => subscriber.unsubscribe("a"))
  },
  { subscribe: { throws: expect.anything() } },
)

scenario(
  "pending calls are rejected with EAGAIN when the socket is closed",
  async ({ zmq, make, bind, attempt, observe }) => {
    const dealer = make(zmq.Dealer)
    await bind(dealer)
    const receiving = attempt(() => dealer.receive())
    const sending = attempt(() => dealer.send("text"))
    dealer.close()
    observe("receiving", await receiving)
    observe("sending", await sending)
  },
  {
    receiving: { rejects: { code: "EAGAIN" } },
    sending: { rejects: { code: "EAGAIN" } },
  },
)

scenario(
  "receiveTimeout",
  async ({ zmq, make, bind, attempted, observe }) => {
    const [pull, push] = [make(zmq.Pull, { receiveTimeout: 0 }), make(zmq.Push)]
    push.connect(await bind(pull))
    await attempted("0", () => pull.receive())
    pull.receiveTimeout = 40
    await attempted("40", () => pull.receive())
    pull.receiveTimeout = 100_000
    const receiving = pull.receive()
    await push.send("in time")
    observe("100000", await receiving)
  },
  { 0: { rejects: { code: "EAGAIN" } }, 40: { rejects: { code: "EAGAIN" } }, 100000: ["in time"] },
)

scenario(
  "a receive() that timed out consumes no message",
  async ({ zmq, make, bind, attempted, observe }) => {
    const [pull, push] = [make(zmq.Pull, { receiveTimeout: 20 }), make(zmq.Push)]
    const endpoint = await bind(pull)
    await attempted("first", () => pull.receive())
    push.connect(endpoint)
    await push.send("late")
    pull.receiveTimeout = -1
    observe("second", await pull.receive())
  },
  { second: ["late"] },
)

scenario(
  "a message whose send() timed out is not delivered",
  async ({ zmq, make, bind, attempted, observe, joined }) => {
    const [push, pull] = [make(zmq.Push, { sendTimeout: 20 }), make(zmq.Pull)]
    const endpoint = await bind(push)
    await attempted("first", () => push.send("first"))
    push.sendTimeout = -1
    pull.connect(endpoint)
    await joined(push)
    await push.send("second")
    observe("received", await pull.receive())
  },
  { first: { rejects: { code: "EAGAIN" } }, received: ["second"] },
)

scenario(
  "async iteration ends when the socket is closed",
  async ({ zmq, make, bind, observe }) => {
    const [pull, push] = [make(zmq.Pull), make(zmq.Push)]
    push.connect(await bind(pull))
    for (let i = 0; i < 3; i++) await push.send(`${i}`)
    const received: string[] = []
    for await (const [message] of pull) {
      received.push(String(message))
      if (received.length === 3) setTimeout(() => pull.close(), 5)
    }
    observe("received", received)
    observe("closed", pull.closed)
    const rest: unknown[] = []
    for await (const message of pull) rest.push(message)
    observe("again", rest)
  },
  { received: ["0", "1", "2"], closed: true, again: [] },
)

scenario(
  "async iteration throws on a timeout",
  async ({ zmq, make, bind, attempted }) => {
    const pull = make(zmq.Pull, { receiveTimeout: 20 })
    await bind(pull)
    await attempted("iterate", async () => {
      for await (const _ of pull);
    })
  },
  { iterate: { rejects: { code: "EAGAIN" } } },
)

scenario(
  "async iteration calls the receive() of a subclass, but not after close",
  async ({ zmq, make, bind, observe }) => {
    let calls = 0
    class Counting extends zmq.Pull {
      override receive(): Promise<[Buffer]> {
        calls++
        return super.receive() as Promise<[Buffer]>
      }
    }
    const [pull, push] = [make(Counting), make(zmq.Push)]
    push.connect(await bind(pull))
    for (let i = 0; i < 3; i++) await push.send(`${i}`)
    for await (const [message] of pull) if (String(message) === "2") break
    observe("calls", calls)
    pull.close()
    for await (const _ of pull);
    observe("calls after close", calls)
  },
  { calls: 3, "calls after close": 3 },
)

scenario(
  "a second iteration beside a pending one is refused, and the first continues",
  async ({ zmq, make, bind, observe, attempted }) => {
    const [pull, push] = [make(zmq.Pull), make(zmq.Push)]
    push.connect(await bind(pull))
    const [one, two] = [pull[Symbol.asyncIterator](), pull[Symbol.asyncIterator]()]
    const first = one.next()
    await attempted("second", () => two.next())
    await push.send("message")
    const { value, done } = await first
    observe("first", [String(value), done])
    pull.close()
    await attempted("first after close", () => one.next())
    await attempted("second after close", () => two.next())
  },
  { second: { rejects: { code: "EBUSY" } }, first: ["message", false] },
)

scenario(
  "bind, connect, unbind and disconnect refuse wrong arguments",
  async ({ zmq, make, attempted }) => {
    const dealer = make(zmq.Dealer) as Dealer & Record<string, (...args: unknown[]) => unknown>
    for (const method of ["bind", "bindSync", "unbind", "connect", "disconnect"] as const) {
      const call = dealer[method] as unknown as (...args: unknown[]) => unknown
      await attempted(`${method}()`, () => call.call(dealer))
      await attempted(`${method}(5)`, () => call.call(dealer, 5))
      await attempted(`${method}(null)`, () => call.call(dealer, null))
    }
  },
  { "bind()": { throws: { name: "TypeError" } } },
)

scenario(
  "unknown options are refused",
  async ({ zmq, make, attempted }) => {
    // @ts-expect-error: unknown option
    await attempted("constructor", () => make(zmq.Push, { nonsense: 5 }))
    const push = make(zmq.Push)
    await attempted("set", () => {
      // @ts-expect-error: unknown option
      push.nonsense = 5
    })
    await attempted("wrong type", () => {
      // @ts-expect-error: a number
      push.linger = "5"
    })
    await attempted("wrong type of boolean", () => {
      // @ts-expect-error: a boolean
      push.immediate = 1
    })
    await attempted("out of range", () => {
      push.sendHighWaterMark = -5
    })
    await attempted("of another type of socket", () => {
      // @ts-expect-error: of SUB
      push.receiveTimeout = 5
    })
  },
  { set: { throws: { name: "TypeError" } } },
)

for (const [type, partner, method] of [
  ["Publisher", "Subscriber", "receive"],
  ["Push", "Pull", "receive"],
  ["Subscriber", "Publisher", "send"],
  ["Pull", "Push", "send"],
] as const)
  scenario(
    `${type} refuses ${method}()`,
    async ({ zmq, plain, bind, attempted, attempt, observe }) => {
      // The class has no property for this timeout.
      const option = method === "receive" ? 27 : 28
      const call = (socket: Dealer) => (method === "receive" ? socket.receive() : socket.send("x"))
      for (const connects of [false, true]) {
        const socket = plain(zmq[type] as typeof zmq.Dealer)
        if (connects) socket.connect(await bind(plain(zmq[partner] as typeof zmq.Dealer)))
        else await bind(socket)
        const { setInt32Option } = socket as unknown as {
          setInt32Option(option: number, value: number): void
        }
        setInt32Option.call(socket, option, 0)
        await attempted("at once", () => call(socket))
        setInt32Option.call(socket, option, 20)
        await attempted("after a timeout", () => call(socket))
        setInt32Option.call(socket, option, -1)
        const pending = attempt(() => call(socket))
        socket.close()
        observe("when closed", await pending)
      }
    },
    { "at once": { rejects: { code: "ENOTSUP" } } },
  )

scenario(
  "close() refuses arguments, and leaves the socket open",
  async ({ zmq, make, bind, take, attempted, observe }) => {
    const [pull, push] = [make(zmq.Pull), make(zmq.Push)]
    push.connect(await bind(pull))
    const close = pull.close as (...args: unknown[]) => void
    await attempted("close", () => close.call(pull, 1))
    const binding = bind(pull)
    await attempted("close while blocked", () => close.call(pull, 1))
    await binding
    await push.send("text")
    observe("received", await take(pull, 1))
  },
  { close: { throws: { name: "TypeError" } }, received: [["text"]] },
)

scenario(
  "send() refuses a second argument at once",
  async ({ zmq, plain, bind, attempted }) => {
    for (const how of ["new", "bound"]) {
      const push = plain(zmq.Push)
      if (how === "bound") await bind(push)
      await attempted(how, () => (push.send as (...args: unknown[]) => unknown)("text", {}))
    }
  },
  { new: { throws: { name: "TypeError" } } },
)

scenario(
  "bindSync binds before it returns",
  async ({ zmq, make, plain, at, attempted, observe }) => {
    const [pull, push] = [make(zmq.Pull), make(zmq.Push)]
    await attempted("bindSync", () => pull.bindSync(at("127.0.0.1:*")))
    observe("lastEndpoint", pull.lastEndpoint)
    push.connect(pull.lastEndpoint as string)
    await push.send("text")
    observe("received", await pull.receive())
    await attempted("in use", () => plain(zmq.Pull).bindSync(pull.lastEndpoint as string))
  },
  { bindSync: { returns: "<undefined>" }, "in use": { throws: { code: "EADDRINUSE" } } },
)

scenario(
  "calls before the first endpoint: a second one is EBUSY, and the first keeps its timeout",
  async ({ zmq, make, bind, attempted, observe }) => {
    const [a, b] = [make(zmq.Dealer), make(zmq.Dealer)]
    const received = a.receive()
    const sent = a.send("to b")
    a.receiveTimeout = 0
    a.sendTimeout = 0
    await attempted("receive", () => a.receive())
    await attempted("send", () => a.send("more"))
    a.connect(await bind(b))
    await sent
    observe("b", await b.receive())
    await b.send("to a")
    observe("a", await received)
  },
  { receive: { throws: { code: "EBUSY" } }, send: { throws: { code: "EBUSY" } }, a: ["to a"] },
)

scenario(
  "a call before a failed disconnect() stays pending",
  async ({ zmq, make, bind, at, attempted, observe }) => {
    const [pull, push] = [make(zmq.Pull), make(zmq.Push)]
    const received = pull.receive()
    pull.receiveTimeout = 0
    await attempted("disconnect", () => pull.disconnect(at("127.0.0.1:9")))
    await attempted("receive", () => pull.receive())
    pull.connect(await bind(push))
    await push.send("text")
    observe("received", await received)
  },
  { receive: { throws: { code: "EBUSY" } }, received: ["text"] },
)
