/**
 * CURVE with other implementations. Over plain tcp:// they meet endpoints with `acceptPlain`; over
 * lz4+tcp:// `pyomq` refuses it, or in its older version sends in the clear after the handshake.
 */
import { describe, expect, test } from "vitest"
import * as plain from "zeromq"
import * as zmq from "zeromq-lz4"

import { Relay } from "../support/relay.js"
import { type AnySocket, anyPort, eventually, use } from "../support/sockets.js"
import { lz4, tcp } from "../support/transports.js"
import { isOlderPyomq } from "./python.js"
import { PythonPeer } from "./python-peer.js"

const serverKeys = zmq.curveKeyPair()
const clientKeys = zmq.curveKeyPair()
const otherKeys = zmq.curveKeyPair()

type Role = "server" | "client"
type Side = "ours" | "theirs"

/** The options of a side, by the names of zeromq.js, and by those of pyzmq. */
const OPTIONS = {
  server: { curveServer: true, curveSecretKey: serverKeys.secretKey },
  client: {
    curvePublicKey: clientKeys.publicKey,
    curveSecretKey: clientKeys.secretKey,
    curveServerKey: serverKeys.publicKey,
  },
} as const
const inPython = (options: object) =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name.replace("curve", "curve_").toLowerCase(),
      value,
    ]),
  ) as Record<string, string | boolean>
/** pyomq has the public key of a server set as well. */
const ALSO_IN_PYTHON = { curvePublicKey: serverKeys.publicKey }

const classesOf = (of: typeof plain) => ({
  PAIR: of.Pair,
  PUB: of.Publisher,
  SUB: of.Subscriber,
  XPUB: of.XPublisher,
  XSUB: of.XSubscriber,
  PUSH: of.Push,
  PULL: of.Pull,
  REQ: of.Request,
  REP: of.Reply,
  DEALER: of.Dealer,
  ROUTER: of.Router,
})
const [PLAIN, OURS] = [classesOf(plain), classesOf(zmq as unknown as typeof plain)]
type Type = keyof typeof PLAIN

/** A socket of either side. */
interface End extends AsyncDisposable {
  endpoint: string
  send(...parts: string[]): Promise<unknown>
  /** Receives a message, as text. Parts that are no text only come back to their sender. */
  receive(): Promise<string[]>
}

type Place = { bind: string } | { connect: string }

const text = (hexText: string) => Buffer.from(hexText, "hex").toString("latin1")

async function pythonEnd(
  module: "pyomq" | "zmq",
  type: Type,
  options: object,
  place: Place,
): Promise<End> {
  const subscribe = type === "SUB" ? [""] : []
  const peer = await PythonPeer.start({
    module,
    type,
    options: inPython(options),
    subscribe,
    ...place,
  })
  return {
    endpoint: peer.endpoint,
    send: (...parts) =>
      peer.do({
        do: "sendOne",
        parts: parts.map((part) => Buffer.from(part, "latin1").toString("hex")),
      }),
    receive: async () => {
      const { parts } = await peer.do({ do: "receiveOne", timeoutMs: -1 })
      return (parts ?? []).map(text)
    },
    [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
  }
}

async function endOf(socket: plain.Socket): Promise<End> {
  if (socket instanceof plain.Subscriber) socket.subscribe()
  const both = socket as plain.Dealer
  return {
    endpoint: socket.lastEndpoint ?? "",
    send: (...parts) => both.send(parts.map((part) => Buffer.from(part, "latin1"))),
    receive: async () => (await both.receive()).map((part) => part.toString("latin1")),
    async [Symbol.asyncDispose]() {
      socket.close()
    },
  }
}

async function zeromqJsEnd(type: Type, options: object, place: Place): Promise<End> {
  const socket = use(new PLAIN[type](options))
  if ("bind" in place) await socket.bind(place.bind)
  else socket.connect(place.connect)
  return endOf(socket)
}

type Start = (type: Type, options: object, place: Place) => Promise<End>
const peers: readonly { by: string; start: Start; also: object }[] = [
  { by: "zeromq.js", start: zeromqJsEnd, also: {} },
  { by: "pyzmq", start: (...all) => pythonEnd("zmq", ...all), also: {} },
  { by: "pyomq", start: (...all) => pythonEnd("pyomq", ...all), also: ALSO_IN_PYTHON },
]

/** The types that go together, the one first that begins. */
const PAIRS: readonly (readonly [Type, Type])[] = [
  ["PUSH", "PULL"],
  ["PUB", "SUB"],
  ["PUB", "XSUB"],
  ["XPUB", "SUB"],
  ["XPUB", "XSUB"],
  ["REQ", "REP"],
  ["REQ", "ROUTER"],
  ["DEALER", "REP"],
  ["DEALER", "ROUTER"],
  ["DEALER", "DEALER"],
  ["PAIR", "PAIR"],
]

const publishes = (type: Type) => type === "PUB" || type === "XPUB"

/** Exchanges messages between sockets of two types. */
async function exchange([first, second]: readonly [Type, Type], a: End, b: End): Promise<void> {
  if (publishes(first)) {
    if (second === "XSUB") await b.send("\x01")
    let isThere = false
    const received = b.receive().finally(() => {
      isThere = true
    })
    // A publisher does not tell when it has the subscription.
    await eventually(async () => {
      await a.send("question", "", "more")
      return isThere
    })
    expect(await received).toEqual(["question", "", "more"])
    return
  }
  for (const question of ["question", "q".repeat(300), "q".repeat(100_000)]) {
    await a.send(...(second === "REP" && first === "DEALER" ? ["", question] : [question]))
    const asked = await b.receive()
    expect(asked.at(-1)).toBe(question)
    if (first === "PUSH") continue
    await b.send(...asked.slice(0, -1), `re: ${question}`)
    expect((await a.receive()).at(-1)).toBe(`re: ${question}`)
  }
}

/** Which socket of a pair is ours, and what it does. */
const ways = (["server", "client"] as const).flatMap((role) =>
  (["ours", "theirs"] as const).flatMap((binds) =>
    (["first", "second"] as const).map((place) => ({ role, binds, place })),
  ),
)

/** pyzmq has the libzmq of zeromq.js. */
const waysWith = (by: string) =>
  by === "pyzmq" ? ways.filter(({ binds, place }) => binds === "ours" && place === "first") : ways

/** Binds or connects one of our sockets. */
async function place(socket: AnySocket, where: Place): Promise<void> {
  if ("bind" in where) await socket.bind(where.bind, { acceptPlain: true })
  else socket.connect(where.connect, { acceptPlain: true })
}

const bytesOf = ({ connections }: Relay) =>
  Buffer.concat(connections.flatMap(({ fromClient, fromServer }) => [...fromClient, ...fromServer]))

describe.each(peers)("over tcp:// with $by", ({ by, start, also }) => {
  describe.each(waysWith(by))(
    "we are the $role, $binds bind, ours is the $place",
    ({ role, binds, place: at }) => {
      test.each(PAIRS)("%s and %s", async (...pair) => {
        const [ourType, theirType] = at === "first" ? pair : [pair[1], pair[0]]
        const socket = use(new OURS[ourType](OPTIONS[role])) as unknown as AnySocket
        if (socket instanceof zmq.Subscriber) socket.subscribe()
        const theirRole = role === "server" ? "client" : "server"
        const theirOptions = { ...OPTIONS[theirRole], ...(theirRole === "server" && also) }
        let relay: Relay
        let theirs: End
        if (binds === "ours") {
          await place(socket, { bind: anyPort(lz4) })
          relay = use(await Relay.before(socket.lastEndpoint as string))
          theirs = await start(theirType, theirOptions, {
            connect: relay.endpoint.replace("lz4+", ""),
          })
        } else {
          theirs = await start(theirType, theirOptions, { bind: anyPort(tcp) })
          relay = use(await Relay.before(theirs.endpoint))
          await place(socket, { connect: relay.endpoint })
        }
        await using peer = theirs
        await using ours = await endOf(socket as unknown as plain.Socket)
        await exchange(pair, ...((at === "first" ? [ours, peer] : [peer, ours]) as [End, End]))
        expect(socket.securityMechanism).toBe("curve")
        const seen = bytesOf(relay)
        expect(seen.includes("MESSAGE")).toBe(true)
        expect(seen.includes("question")).toBe(false)
      })
    },
  )
})

// -- Clients that are refused ------------------------------------------------------

const ZAP = "inproc://zeromq.zap.01"

/** Wrong keys of a client. */
const WRONG = {
  "another server's key": { ...OPTIONS.client, curveServerKey: otherKeys.publicKey },
  "no keys": {},
}
/** Pairs that do not belong together, which pyomq does not take. */
const UNPAIRED = {
  "a public key that is not its own": { ...OPTIONS.client, curvePublicKey: otherKeys.publicKey },
  "a secret key that is not its own": { ...OPTIONS.client, curveSecretKey: otherKeys.secretKey },
}

describe.each(peers)("$by over tcp://", ({ by, start }) => {
  test.each(Object.entries({ ...WRONG, ...(by !== "pyomq" && UNPAIRED) }))(
    "a client with %s is refused, and another is not",
    async (_, keys) => {
      const pull = use(new zmq.Pull(OPTIONS.server))
      await pull.bind(anyPort(lz4), { acceptPlain: true })
      const endpoint = (pull.lastEndpoint as string).replace("lz4+", "")
      const refused = new Promise<void>((resolve) => {
        pull.events.on("disconnect", () => resolve())
      })
      await using wrong = await start("PUSH", keys, { connect: endpoint })
      void wrong
      await refused
      await using right = await start("PUSH", OPTIONS.client, { connect: endpoint })
      await right.send("let me in")
      expect(String(await pull.receive())).toBe("let me in")
    },
  )

  test("a ZAP handler sees the client's key, refuses one client and accepts another", async () => {
    const context = new zmq.Context()
    const zap = use(new zmq.Reply({ context }))
    await zap.bind(ZAP)
    const seen: string[] = []
    const serving = async () => {
      for await (const [version, id, , , , mechanism, key] of zap) {
        seen.push(`${mechanism} ${key?.length}`)
        const status = seen.length === 1 ? "400" : "200"
        await zap.send([version as Buffer, id as Buffer, status, "", "", ""])
      }
    }
    serving().catch(() => {})
    const pull = use(new zmq.Pull({ ...OPTIONS.server, context, zapDomain: "here" }))
    await pull.bind(anyPort(lz4), { acceptPlain: true })
    const endpoint = (pull.lastEndpoint as string).replace("lz4+", "")
    const refused = new Promise<number>((resolve) => {
      pull.events.on("handshake:error:auth", ({ error }) => resolve(error.status))
    })
    await using first = await start("PUSH", OPTIONS.client, { connect: endpoint })
    void first
    expect(await refused).toBe(400)
    await using second = await start("PUSH", OPTIONS.client, { connect: endpoint })
    await second.send("let me in")
    expect(String(await pull.receive())).toBe("let me in")
    expect(seen.every((one) => one === "CURVE 32")).toBe(true)
  })
})

// -- pyomq over lz4+tcp:// ---------------------------------------------------------

test.each<{ binds: Side; role: Role }>([
  { binds: "ours", role: "server" },
  { binds: "theirs", role: "server" },
  { binds: "ours", role: "client" },
  { binds: "theirs", role: "client" },
])(
  "pyomq's lz4+tcp:// does not encrypt: it refuses, or is refused ($binds bind, we are the $role)",
  async ({ binds, role }) => {
    const pull = use(new zmq.Pull(OPTIONS[role]))
    const failed = new Promise<string>((resolve) => {
      pull.lz4.on("protocolError", ({ error }) => resolve(error.message))
    })
    const theirs = role === "server" ? OPTIONS.client : { ...OPTIONS.server, ...ALSO_IN_PYTHON }
    if (binds === "ours") await pull.bind(anyPort(lz4))
    const place =
      binds === "ours" ? { connect: pull.lastEndpoint as string } : { bind: anyPort(lz4) }
    const starting = pythonEnd("pyomq", "PUSH", theirs, place)
    if (!isOlderPyomq) {
      await expect(starting).rejects.toThrow("internal error")
      return
    }
    await using peer = await starting
    if (binds === "theirs") pull.connect(peer.endpoint)
    await peer.send("in the clear")
    expect(await failed).toBe("ERR_ZMTP_CURVE: a frame is no MESSAGE: the peer does not encrypt")
  },
)
