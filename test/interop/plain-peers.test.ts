/** Peers that speak tcp:// by mistake, where lz4+tcp:// is expected (RFC.md section 2). */
import { on, once } from "node:events"
import { expect, test } from "vitest"
import * as plain from "zeromq"
import * as zmq from "zeromq-lz4"

import { anyPort, use } from "../support/sockets.js"
import { lz4, tcp } from "../support/transports.js"
import { PythonPeer } from "./python-peer.js"
import { receivingAhead } from "./stream.js"

/** A plain socket that the test controls. */
interface PlainPeer extends AsyncDisposable {
  endpoint: string
  send(part: string): Promise<unknown>
  receive(): Promise<unknown>
}

type Place = { bind: string } | { connect: string }
type Mistaken = "PUSH" | "XPUB" | "REQ" | "DEALER"

const hex = (text: string): string => Buffer.from(text).toString("hex")

async function pyzmqPeer(type: Mistaken, place: Place): Promise<PlainPeer> {
  const peer = await PythonPeer.start({ module: "zmq", type, ...place })
  return {
    endpoint: peer.endpoint,
    send: (part) => peer.do({ do: "sendOne", parts: [hex(part)] }),
    receive: () => peer.do({ do: "receiveOne", timeoutMs: -1 }),
    [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
  }
}

const CLASSES = {
  PUSH: plain.Push,
  XPUB: plain.XPublisher,
  REQ: plain.Request,
  DEALER: plain.Dealer,
}

async function zeromqJsPeer(type: Mistaken, place: Place): Promise<PlainPeer> {
  const socket = use(new CLASSES[type]())
  if ("bind" in place) await socket.bind(place.bind)
  else socket.connect(place.connect)
  return {
    endpoint: socket.lastEndpoint as string,
    send: (part) => socket.send(part),
    receive: () => (socket as plain.Dealer).receive(),
    async [Symbol.asyncDispose]() {
      socket.close()
    },
  }
}

const UNKNOWN = "ERR_LZ4_UNKNOWN_SENTINEL: part 0 begins with 68 65 6c 6c"
const TOO_SHORT = "ERR_LZ4_PART_TOO_SHORT: part 0"

const pairs = [
  { theirs: "PUSH", ours: () => new zmq.Pull(), good: () => new zmq.Push(), seen: UNKNOWN },
  { theirs: "XPUB", ours: subscriber, good: () => new zmq.XPublisher(), seen: UNKNOWN },
  { theirs: "DEALER", ours: () => new zmq.Router(), good: () => new zmq.Dealer(), seen: UNKNOWN },
  // It begins with the empty delimiter.
  { theirs: "REQ", ours: () => new zmq.Router(), good: () => new zmq.Dealer(), seen: TOO_SHORT },
] as const

function subscriber(): zmq.Subscriber & zmq.Lz4Socket {
  const socket = new zmq.Subscriber()
  socket.subscribe()
  return socket
}

const peers = [
  { by: "pyzmq", start: pyzmqPeer },
  { by: "zeromq.js", start: zeromqJsPeer },
]
const cases = peers.flatMap((peer) =>
  pairs.flatMap((pair) => ["ours", "theirs"].map((binds) => ({ ...peer, ...pair, binds }))),
)

test.each(cases)(
  "a plain $theirs of $by loses its connection when it sends, and no other does; $binds binds",
  async ({ start, theirs, ours, good, seen, binds }) => {
    const [receiver, sender] = [use(ours()), use(good())]
    const errors: zmq.ProtocolErrorEvent[] = []
    receiver.lz4.on("protocolError", (event) => errors.push(event))
    const disconnected = once(receiver.lz4, "disconnect")
    await receiver.bind(anyPort(lz4))
    const endpoint = receiver.lastEndpoint as string
    sender.connect(endpoint)
    const receive = receivingAhead(receiver)
    const exchange = async () => {
      for (let i = 0; i < 100; i++) {
        await sender.send(`message ${i}`)
        expect(String((await receive()).at(-1))).toBe(`message ${i}`)
      }
    }
    if (sender instanceof zmq.XPublisher) await sender.receive()
    await exchange()

    const place =
      binds === "ours" ? { connect: endpoint.slice("lz4+".length) } : { bind: "tcp://127.0.0.1:*" }
    await using peer = await start(theirs, place)
    if (binds === "theirs") receiver.connect(`lz4+${peer.endpoint}`)
    if (theirs === "XPUB") await peer.receive()
    await peer.send("hello")

    const [{ remoteAddress, remotePort }] = await disconnected
    await exchange()
    expect(errors).toMatchObject([{ remoteAddress, remotePort }])
    expect(errors[0]?.error.message).toContain(seen)
  },
)

test.each([{ binds: "ours" }, { binds: "theirs" }])(
  "a plain peer that continues to send reconnects no sooner than reconnectInterval; $binds binds",
  async ({ binds }) => {
    const reconnectInterval = 50
    const attempts = 6
    const pull = use(new zmq.Pull({ reconnectInterval }))
    const push = use(new plain.Push({ reconnectInterval, sendHighWaterMark: 1 }))
    const start = performance.now()
    if (binds === "ours") {
      await pull.bind(anyPort(lz4))
      push.connect((pull.lastEndpoint as string).slice("lz4+".length))
    } else {
      await push.bind(anyPort(tcp))
      pull.connect(`lz4+${push.lastEndpoint}`)
    }
    const sending = (async () => {
      const large = Buffer.alloc(1 << 16, "hello")
      // zeromq.js rejects with EAGAIN if it is closed, or if the connection ends when it is about to send.
      while (!push.closed) await push.send(large).catch(({ code }) => expect(code).toBe("EAGAIN"))
    })()

    let refused = 0
    for await (const _ of on(pull.lz4, "protocolError")) if (++refused === attempts) break
    // Different clocks make each pause a little shorter or longer; a busy machine only makes it longer.
    expect(performance.now() - start).toBeGreaterThan((attempts - 1) * (reconnectInterval - 2))
    push.close()
    await sending
  },
)
