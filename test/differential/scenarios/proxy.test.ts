/** Proxy: forwarding, steering and errors. */
import { setImmediate } from "node:timers/promises"
import { expect } from "vitest"
import type { Socket, Proxy as ZmqProxy } from "zeromq"
import { NATIVE_RECEIVE_MS } from "../../../src/sockets/native-pipe.js"
import { keptProxy } from "../../support/kept-proxy.js"
import { ownHost } from "../hosts.js"
import { type Run, scenario } from "../scenario.js"

/** Runs a proxy until the scenario ends. */
function proxyOf<F extends Socket, B extends Socket>(
  { zmq, use }: Run,
  front: F,
  back: B,
): { proxy: ZmqProxy<F, B>; running: Promise<void> } {
  const proxy = keptProxy(new zmq.Proxy(front, back))
  const running = proxy.run()
  running.catch(() => {})
  use({ close: () => proxy.terminate() })
  return { proxy, running }
}

/** Pauses a proxy, which libzmq 4.3.5 does when it is told to resume, and waits until it has noticed. */
async function pause({ scheme, sleep }: Run, proxy: ZmqProxy): Promise<void> {
  if (scheme === "tcp") proxy.resume()
  else proxy.pause()
  // libzmq's proxy looks for commands before it looks for messages. With other endpoints, a receive() of
  // libzmq that began before times out earlier than this sleep, or is handled in the turn after it.
  await sleep(2 * NATIVE_RECEIVE_MS)
  for (let turns = 0; turns < 2; turns++) await setImmediate()
}

/** Resumes a proxy, which libzmq 4.3.5 does when it is told to pause. */
const resume = ({ scheme }: Run, proxy: ZmqProxy) =>
  scheme === "tcp" ? proxy.pause() : proxy.resume()

scenario(
  "REQ and REP through ROUTER and DEALER",
  async (run) => {
    const { zmq, make, bind, observe } = run
    const [front, back] = [make(zmq.Router), make(zmq.Dealer)]
    const [request, reply] = [make(zmq.Request), make(zmq.Reply)]
    const endpoints = [await bind(front), await bind(back)]
    request.connect(endpoints[0]!)
    reply.connect(endpoints[1]!)
    const { proxy, running } = proxyOf(run, front, back)
    for (let i = 0; i < 3; i++) {
      await request.send([`question ${i}`, "part"])
      observe("question", await reply.receive())
      await reply.send(`answer ${i}`)
      observe("answer", await request.receive())
    }
    proxy.terminate()
    observe("running", await running)
    observe("closed", [front.closed, back.closed])
  },
  { answer: ["answer 2"], closed: [true, true] },
)

scenario(
  "PUSH and PULL through PULL and PUSH",
  async (run) => {
    const { zmq, make, bind, take, observe } = run
    const [front, back] = [make(zmq.Pull), make(zmq.Push)]
    const [push, pull] = [make(zmq.Push), make(zmq.Pull)]
    push.connect(await bind(front))
    pull.connect(await bind(back))
    proxyOf(run, front, back)
    for (let i = 0; i < 20; i++) await push.send([`${i}`, "", "end"])
    observe("received", await take(pull, 20))
  },
  { received: expect.arrayContaining([["19", "", "end"]]) },
)

scenario(
  "PUB and SUB through XSUB and XPUB",
  async (run) => {
    const { zmq, make, bind, subscribed, take, observe } = run
    const [front, back] = [make(zmq.XSubscriber), make(zmq.XPublisher)]
    const [publisher, subscriber] = [make(zmq.Publisher), make(zmq.Subscriber)]
    publisher.connect(await bind(front))
    subscriber.connect(await bind(back))
    subscriber.subscribe("a")
    proxyOf(run, front, back)
    await subscribed(publisher, subscriber, "a")
    for (const text of ["b1", "a1", "c", "a2"]) await publisher.send([text, "part"])
    observe("received", await take(subscriber, 2))
  },
  {
    received: [
      ["a1", "part"],
      ["a2", "part"],
    ],
  },
)

scenario(
  "a proxy whose sockets connect",
  async (run) => {
    const { zmq, make, bind, take, observe } = run
    const [front, back] = [make(zmq.Pull), make(zmq.Push)]
    const [push, pull] = [make(zmq.Push), make(zmq.Pull)]
    front.connect(await bind(push))
    back.connect(await bind(pull))
    proxyOf(run, front, back)
    for (let i = 0; i < 5; i++) await push.send(`${i}`)
    observe("received", await take(pull, 5))
  },
  { received: [["0"], ["1"], ["2"], ["3"], ["4"]] },
)

scenario(
  "DEALER to DEALER, both ways",
  async (run) => {
    const { zmq, make, bind, observe } = run
    const [front, back] = [make(zmq.Dealer), make(zmq.Dealer)]
    const [a, b] = [make(zmq.Dealer), make(zmq.Dealer)]
    a.connect(await bind(front))
    b.connect(await bind(back))
    proxyOf(run, front, back)
    await a.send(["to", "b"])
    observe("b", await b.receive())
    await b.send("to a")
    observe("a", await a.receive())
  },
  { a: ["to a"], b: ["to", "b"] },
)

scenario(
  "pause and resume can be called repeatedly",
  async (run) => {
    const { zmq, make, bind, take, attempted, observe } = run
    const [front, back] = [make(zmq.Pull), make(zmq.Push)]
    const [push, pull] = [make(zmq.Push), make(zmq.Pull)]
    push.connect(await bind(front))
    pull.connect(await bind(back))
    const { proxy, running } = proxyOf(run, front, back)
    await push.send("before")
    observe("before", await take(pull, 1))
    await attempted("pause", () => proxy.pause())
    await attempted("pause again", () => proxy.pause())
    await attempted("resume", () => proxy.resume())
    await attempted("resume again", () => proxy.resume())
    proxy.terminate()
    await attempted("running", () => running)
    observe("closed", [front.closed, back.closed])
  },
  { before: [["before"]], pause: { returns: "<undefined>" }, closed: [true, true] },
)

for (const scheme of ["", "tcp"])
  scenario(
    `${scheme && "over tcp://, "}a paused proxy leaves messages in their queues, and gives senders their turns`,
    async (run) => {
      const { zmq, make, bind, joined, take, observe } = run
      const arrived = async () => {
        await run.arrived()
        if (scheme) await run.settledNative()
      }
      const [front, back] = [make(zmq.Pull), make(zmq.Push)]
      const [a, b, pull] = [make(zmq.Push), make(zmq.Push), make(zmq.Pull)]
      if (scheme) await front.bind(`tcp://${ownHost}:*`)
      else await bind(front)
      const endpoint = front.lastEndpoint as string
      for (const [i, push] of [a, b].entries()) {
        push.connect(endpoint)
        await joined(front, i + 1)
      }
      pull.connect(await bind(back))
      await joined(back)
      const { proxy } = proxyOf(run, front, back)
      await pause(run, proxy)
      for (const text of ["a1", "a2", "a3"]) await a.send(text)
      await arrived()
      for (const text of ["b1", "b2", "b3"]) await b.send(text)
      await arrived()
      observe("readable", pull.readable)
      resume(run, proxy)
      observe("received", await take(pull, 6))
    },
    { readable: false, received: [["a1"], ["b1"], ["a2"], ["b2"], ["a3"], ["b3"]] },
  )

scenario(
  "messages wait for the first worker in the queues of their senders",
  async (run) => {
    const { zmq, make, bind, joined, arrived, take, observe } = run
    const [front, back] = [make(zmq.Router), make(zmq.Dealer)]
    const endpoint = await bind(front)
    const clients = ["a", "b", "c"].map((routingId) => make(zmq.Dealer, { routingId }))
    for (const [i, client] of clients.entries()) {
      client.connect(endpoint)
      await joined(front, i + 1)
    }
    const reply = await bind(back)
    proxyOf(run, front, back)
    for (const client of clients) {
      for (const text of ["1", "2"]) await client.send(["", text])
      await arrived()
    }
    const worker = make(zmq.Dealer)
    worker.connect(reply)
    observe(
      "received",
      (await take(worker, 6)).map((parts) => parts.join("")),
    )
  },
  { received: ["a1", "b1", "c1", "a2", "b2", "c2"] },
)

scenario(
  "terminate ends a paused proxy that has messages",
  async (run) => {
    const { zmq, make, bind, joined, settled, attempted, observe } = run
    const [front, back] = [make(zmq.Pull), make(zmq.Push)]
    const [push, pull] = [make(zmq.Push), make(zmq.Pull)]
    push.connect(await bind(front))
    pull.connect(await bind(back))
    await joined(front)
    const { proxy, running } = proxyOf(run, front, back)
    await pause(run, proxy)
    for (let i = 0; i < 3; i++) await push.send(`${i}`)
    await settled()
    proxy.terminate()
    await attempted("running", () => running)
    observe("closed", [front.closed, back.closed])
    observe("readable", pull.readable)
  },
  { running: { resolves: "<undefined>" }, closed: [true, true], readable: false },
)

scenario(
  "an XSUB over tcp:// in a paused proxy subscribes at publishers that connect",
  async (run) => {
    const { zmq, make, bind, attempted, settled, take, observe } = run
    const [front, back] = [make(zmq.XSubscriber), make(zmq.XPublisher)]
    await front.bind("tcp://127.0.0.1:*")
    const endpoint = front.lastEndpoint as string
    const [first, second] = [make(zmq.XPublisher), make(zmq.XPublisher)]
    const subscriber = make(zmq.Subscriber)
    first.connect(endpoint)
    subscriber.connect(await bind(back))
    subscriber.subscribe("a")
    const { proxy } = proxyOf(run, front, back)
    observe("first", await first.receive())
    await pause(run, proxy)
    for (const text of ["a1", "a2"]) await first.send(text)
    await settled()
    second.connect(endpoint)
    second.receiveTimeout = 60_000
    await attempted("second", () => second.receive())
    observe("readable", subscriber.readable)
    resume(run, proxy)
    observe("received", await take(subscriber, 2))
  },
  { second: { resolves: ["hex:0161"] }, readable: false, received: [["a1"], ["a2"]] },
)

scenario(
  "a ROUTER with mandatory ends the proxy at a message that it cannot route",
  async (run) => {
    const { zmq, make, bind, joined, attempted, observe } = run
    const [front, back] = [make(zmq.Pull), make(zmq.Router, { mandatory: true })]
    const [push, dealer] = [make(zmq.Push), make(zmq.Dealer, { routingId: "known" })]
    push.connect(await bind(front))
    dealer.connect(await bind(back))
    await joined(back)
    const { proxy, running } = proxyOf(run, front, back)
    await push.send(["known", "message"])
    observe("received", await dealer.receive())
    await push.send(["unknown", "message"])
    await attempted("running", () => running)
    observe("closed", [front.closed, back.closed])
    await attempted("pause", () => proxy.pause())
    await attempted("run", () => proxy.run())
  },
  {
    received: ["message"],
    running: { rejects: { code: "EHOSTUNREACH" } },
    closed: [true, true],
    pause: { throws: { code: "EBADF" } },
    run: { throws: { code: "EINVAL" } },
  },
)

scenario(
  "a proxy that can forward nothing runs until it is terminated",
  async (run) => {
    const { zmq, make, bind, settled, observe } = run
    const [front, back] = [make(zmq.Pull), make(zmq.Pull)]
    await bind(front)
    await bind(back)
    const { proxy, running } = proxyOf(run, front, back)
    const over = running.then(() => "over")
    observe("before", await Promise.race([over, settled()]))
    proxy.terminate()
    observe("after", await over)
    observe("closed", [front.closed, back.closed])
  },
  { after: "over", closed: [true, true] },
)

scenario(
  "sockets of a terminated proxy are EBUSY until it has ended",
  async (run) => {
    const { zmq, make, bind, attempted, observe } = run
    const [front, back] = [make(zmq.Dealer), make(zmq.Dealer)]
    await bind(front)
    await bind(back)
    const { proxy, running } = proxyOf(run, front, back)
    proxy.terminate()
    observe("closed", [front.closed, back.closed])
    observe("send", await run.attempt(() => front.send("a")))
    await attempted("running", () => running)
    await attempted("terminate", () => proxy.terminate())
  },
  { closed: [false, false], send: { throws: { code: "EBUSY" } } },
)

scenario(
  "terminate ends the proxy and closes its sockets",
  async (run) => {
    const { zmq, make, bind, attempted, observe } = run
    const [front, back] = [make(zmq.Router), make(zmq.Dealer)]
    await bind(front)
    await bind(back)
    const { proxy, running } = proxyOf(run, front, back)
    observe("ends", [proxy.frontEnd === front, proxy.backEnd === back])
    observe("closed", [front.closed, back.closed])
    await attempted("terminate", () => proxy.terminate())
    await attempted("running", () => running)
    observe("closed then", [front.closed, back.closed])
    await attempted("terminate again", () => proxy.terminate())
    await attempted("pause", () => proxy.pause())
    await attempted("resume", () => proxy.resume())
  },
  { ends: [true, true], "closed then": [true, true], pause: { throws: { code: "EBADF" } } },
)

scenario(
  "pause, resume and terminate of a proxy that has not run",
  async ({ zmq, make, attempted }) => {
    const proxy = new zmq.Proxy(make(zmq.Router), make(zmq.Dealer))
    await attempted("pause", () => proxy.pause())
    await attempted("resume", () => proxy.resume())
    await attempted("terminate", () => proxy.terminate())
  },
  { pause: { throws: { code: "EBADF" } } },
)

scenario(
  "pause, resume and terminate refuse arguments",
  async (run) => {
    const { zmq, make, bind, attempted, observe } = run
    const [front, back] = [make(zmq.Router), make(zmq.Dealer)]
    await bind(front)
    await bind(back)
    const { proxy } = proxyOf(run, front, back)
    for (const name of ["pause", "resume", "terminate"] as const)
      await attempted(name, () => (proxy[name] as (one: number) => void)(1))
    observe("closed", [front.closed, back.closed])
  },
  { terminate: { throws: { name: "TypeError" } }, closed: [false, false] },
)

scenario(
  "run requires endpoints on both sides",
  async ({ zmq, make, bind, attempted }) => {
    const [front, back] = [make(zmq.Router), make(zmq.Dealer)]
    const proxy = new zmq.Proxy(front, back)
    await attempted("none", () => proxy.run())
    await bind(front)
    await attempted("front only", () => proxy.run())
    await attempted("arguments", () => (proxy.run as (one: number) => unknown)(1))
    const other = new zmq.Proxy(back, front)
    await attempted("back only", () => other.run())
  },
  { none: { throws: { code: "EINVAL" } }, "front only": { throws: { code: "EINVAL" } } },
)

scenario(
  "sockets in a running proxy are EBUSY",
  async (run) => {
    const { zmq, make, bind, at, attempted, observe } = run
    const [front, back] = [make(zmq.Router), make(zmq.Dealer)]
    const endpoint = await bind(front)
    await bind(back)
    const { proxy, running } = proxyOf(run, front, back)
    await attempted("send", () => front.send(["a", "b"]))
    await attempted("receive", () => front.receive())
    await attempted("bind", () => front.bind(at("127.0.0.1:*")))
    await attempted("bindSync", () => front.bindSync(at("127.0.0.1:*")))
    await attempted("unbind", () => front.unbind(endpoint))
    await attempted("connect", () => back.connect(at("127.0.0.1:9")))
    await attempted("disconnect", () => back.disconnect(at("127.0.0.1:9")))
    await attempted("run again", () => new zmq.Proxy(front, back).frontEnd === front)
    observe("closed", front.closed)
    proxy.terminate()
    await attempted("running", () => running)
  },
  { send: { throws: { code: "EBUSY" } }, bind: { throws: { code: "EBUSY" } } },
)

scenario(
  "close of a socket in a proxy takes effect when the proxy ends",
  async (run) => {
    const { zmq, make, bind, attempted, observe } = run
    const [front, back] = [make(zmq.Router), make(zmq.Dealer)]
    await bind(front)
    await bind(back)
    const { proxy, running } = proxyOf(run, front, back)
    front.close()
    observe("closed", front.closed)
    proxy.terminate()
    await attempted("running", () => running)
    observe("closed then", [front.closed, back.closed])
  },
  { closed: false, "closed then": [true, true] },
)

scenario(
  "Proxy refuses values that are not sockets, and closed sockets",
  async ({ zmq, make, bind, attempted }) => {
    const [front, back] = [make(zmq.Router), make(zmq.Dealer)]
    await bind(front)
    await bind(back)
    // @ts-expect-error: two sockets are needed
    await attempted("none", () => new zmq.Proxy())
    // @ts-expect-error: two sockets are needed
    await attempted("one", () => new zmq.Proxy(front))
    // @ts-expect-error: two sockets are needed
    await attempted("objects", () => new zmq.Proxy({}, {}))
    const proxy = new zmq.Proxy(front, back)
    front.close()
    await attempted("run", () => proxy.run())
  },
  { none: { throws: { name: "TypeError" } }, run: { throws: expect.anything() } },
)

for (const other of ["inproc", "tcp"] as const) {
  scenario(
    `a proxy whose back end is ${other}`,
    async (run) => {
      const { zmq, make, bind, inproc, observe } = run
      const [front, back] = [make(zmq.Router), make(zmq.Dealer)]
      const [request, reply] = [make(zmq.Request), make(zmq.Reply)]
      request.connect(await bind(front))
      await back.bind(other === "inproc" ? inproc() : "tcp://127.0.0.1:*")
      reply.connect(back.lastEndpoint as string)
      proxyOf(run, front, back)
      await request.send(["question", "part"])
      observe("question", await reply.receive())
      await reply.send(["answer", ""])
      observe("answer", await request.receive())
    },
    { question: ["question", "part"], answer: ["answer", ""] },
  )
}
