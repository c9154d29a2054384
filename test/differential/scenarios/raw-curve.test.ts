/** Raw peers with CURVE that send commands wrong, in the wrong order, or not at all. */
import { expect } from "vitest"
import type { Pull } from "zeromq"

import { flipped } from "../../support/flipped.js"
import { COMMAND, frame, MORE } from "../../support/zmtp.js"
import { CLIENT, SERVER } from "../curve.js"
import {
  CLIENT_KEYS,
  counterOf,
  INSIDE,
  LOW_ORDER,
  OTHER_KEYS,
  RawCurveClient,
  RawCurveServer,
} from "../raw-curve.js"
import { property, type RawPeer } from "../raw-peer.js"
import { NEVER_MS, type Run, scenario } from "../scenario.js"
import { answers, shown, unique, zap } from "../zap.js"

type Role = "client" | "server"
type RawSide = RawCurveClient | RawCurveServer
type Side = "bound" | "connecting"
// In the gate, one is enough to see that a thread reports the same: which side it is changes nothing in the handshake.
const SIDES: readonly Side[] =
  process.env.ZEROMQ_LZ4_THREAD && !process.env.DIFFERENTIAL_ALL
    ? ["bound"]
    : ["bound", "connecting"]

const PUSH = property("Socket-Type", "PUSH")
const PULL = property("Socket-Type", "PULL")

/** Joins a socket and a raw peer, which has the other role. Nothing was sent yet. */
async function connection(run: Run, socket: Pull, side: Side): Promise<RawPeer> {
  if (side === "bound") return await run.rawConnection(await run.bind(socket))
  const listener = await run.rawListener()
  socket.connect(listener.endpoint)
  await run.until(() => listener.peers.length)
  return listener.peers[0] as RawPeer
}

const greet = ({ peer, role }: RawSide) =>
  peer.greet({ mechanism: "CURVE", asServer: role === "server" })

const has = ({ until }: Run, { peer }: RawSide, name: string) =>
  until(() => peer.commands(name).length)

/** Does the handshake of a client up to WELCOME. */
async function toWelcome(run: Run, client: RawCurveClient): Promise<void> {
  greet(client)
  client.peer.command("HELLO", client.hello())
  await has(run, client, "WELCOME")
}

/** Does the handshake of a server up to INITIATE. */
async function toInitiate(run: Run, server: RawCurveServer): Promise<void> {
  greet(server)
  await has(run, server, "HELLO")
  server.peer.command("WELCOME", server.welcome())
  await has(run, server, "INITIATE")
}

/** Does a handshake. */
async function secure(run: Run, side: RawSide, socket: Pull): Promise<void> {
  if (side.role === "client") {
    await toWelcome(run, side)
    side.peer.command("INITIATE", side.initiate())
    await has(run, side, "READY")
  } else {
    await toInitiate(run, side)
    side.peer.command("READY", side.ready())
  }
  await run.happened(socket, "handshake")
}

type Act<Peer> = (peer: Peer, run: Run, socket: Pull) => void | Promise<void>

/** Sends a command in place of a HELLO. */
const insteadOfHello =
  (
    name: string,
    data: (client: RawCurveClient) => Uint8Array,
    flags = COMMAND,
  ): Act<RawCurveClient> =>
  (client) => {
    greet(client)
    client.peer.command(name, data(client), flags)
  }

const insteadOfInitiate =
  (
    name: string,
    data: (client: RawCurveClient) => Uint8Array,
    flags = COMMAND,
  ): Act<RawCurveClient> =>
  async (client, run) => {
    await toWelcome(run, client)
    client.peer.command(name, data(client), flags)
  }

const insteadOfWelcome =
  (
    name: string,
    data: (server: RawCurveServer) => Uint8Array,
    flags = COMMAND,
  ): Act<RawCurveServer> =>
  async (server, run) => {
    greet(server)
    await has(run, server, "HELLO")
    server.peer.command(name, data(server), flags)
  }

const insteadOfReady =
  (
    name: string,
    data: (server: RawCurveServer) => Uint8Array,
    flags = COMMAND,
  ): Act<RawCurveServer> =>
  async (server, run) => {
    await toInitiate(run, server)
    server.peer.command(name, data(server), flags)
  }

/** A part as over tcp:// without CURVE. */
const CLEAR = frame(Buffer.from("clear"))

const nothing = () => Buffer.alloc(0)
const end = ({ peer }: RawSide): void => {
  peer.socket.end()
}

/** Returns acts in which one bit of a command is not what it should be. */
const flips = <Peer>(
  name: string,
  fields: Record<string, number>,
  act: (name: string, data: (peer: Peer) => Uint8Array) => Act<Peer>,
  data: (peer: Peer) => Uint8Array,
): Record<string, Act<Peer>> =>
  Object.fromEntries(
    Object.entries(fields).map(([field, at]) => [
      `a ${name} with another bit in ${field}`,
      act(name, (peer) => {
        const bytes = data(peer)
        return flipped(bytes, at < 0 ? bytes.length + at : at)
      }),
    ]),
  )

/** Other lengths of a command's data. */
const lengths = <Peer>(
  name: string,
  changes: readonly (number | "empty")[],
  act: (name: string, data: (peer: Peer) => Uint8Array) => Act<Peer>,
  data: (peer: Peer) => Uint8Array,
): Record<string, Act<Peer>> =>
  Object.fromEntries(
    changes.map((change) => [
      change === "empty"
        ? `an empty ${name}`
        : `a ${name} of ${Math.abs(change)} bytes ${change < 0 ? "less" : "more"}`,
      act(name, (peer) => {
        const bytes = Buffer.from(data(peer))
        if (change === "empty") return nothing()
        return change < 0 ? bytes.subarray(0, change) : Buffer.concat([bytes, Buffer.alloc(change)])
      }),
    ]),
  )

const hello = (client: RawCurveClient) => client.hello()
const initiate = (client: RawCurveClient) => client.initiate()
const welcome = (server: RawCurveServer) => server.welcome()
const ready = (server: RawCurveServer) => server.ready()

const METADATA: Record<string, Buffer> = {
  "no metadata": Buffer.alloc(0),
  "one byte of metadata": Buffer.from([0]),
  "two bytes of metadata": Buffer.from([0, 0]),
  "a truncated property": PUSH.subarray(0, -1),
  "a property whose length is beyond its end": Buffer.concat([PUSH, PUSH.subarray(0, 14)]),
  "an incompatible socket type": PULL,
  "an unknown socket type": property("Socket-Type", "NONSENSE"),
  "two socket types, the second of them incompatible": Buffer.concat([PUSH, PULL]),
  "an unknown property": Buffer.concat([property("X-Unknown", "1"), PUSH]),
  "a routing id of 300 bytes": Buffer.concat([PUSH, property("Identity", "i".repeat(300))]),
}

/** Reasons of an ERROR, with their length. */
const REASONS: Record<string, Buffer> = {
  "the reason 300": Buffer.from("\x03300"),
  "the reason 400": Buffer.from("\x03400"),
  "the reason 500": Buffer.from("\x03500"),
  "the reason 200": Buffer.from("\x03200"),
  "the reason 401": Buffer.from("\x03401"),
  "words for a reason": Buffer.from("\x07Invalid"),
  "an empty reason": Buffer.from([0]),
  "no reason": Buffer.alloc(0),
  "a truncated reason": Buffer.from("\x05400"),
  "a reason with more behind it": Buffer.from("\x03400more"),
}

/**
 * What a client does until its handshake is over, or fails. libzmq does not look at the server's key in a
 * vouch, which this package checks.
 */
const ofClient: Record<string, Act<RawCurveClient>> = {
  "the end after its greeting": (client) => {
    greet(client)
    end(client)
  },
  "the end after HELLO": async (client, run) => {
    await toWelcome(run, client)
    end(client)
  },
  "INITIATE instead of HELLO": insteadOfHello("INITIATE", () => Buffer.alloc(300)),
  "READY instead of HELLO": insteadOfHello("READY", () => PUSH),
  "an ERROR instead of HELLO": insteadOfHello("ERROR", () => Buffer.from("\x03400")),
  "a MESSAGE instead of HELLO": insteadOfHello("MESSAGE", () => Buffer.alloc(40)),
  "a part instead of HELLO": (client) => {
    greet(client)
    client.peer.write(CLEAR)
  },
  "a command without a name": (client) => {
    greet(client)
    client.peer.write(Buffer.from([4, 1, 0]))
  },
  "a command whose name is cut short": (client) => {
    greet(client)
    client.peer.write(Buffer.from([4, 3, 5, 72, 69]))
  },
  "an empty command": (client) => {
    greet(client)
    client.peer.write(Buffer.from([4, 0]))
  },
  ...lengths("HELLO", ["empty", -1, 1, 1000], insteadOfHello, hello),
  ...flips(
    "HELLO",
    { "its key": 74, "its counter": 113, "its MAC": 114, "its box": 193 },
    insteadOfHello,
    hello,
  ),
  "a HELLO of version 1.1": insteadOfHello("HELLO", (client) => client.hello({ version: [1, 1] })),
  "a HELLO of version 2.0": insteadOfHello("HELLO", (client) => client.hello({ version: [2, 0] })),
  "a HELLO for another server": insteadOfHello("HELLO", (client) =>
    client.hello({ serverKey: OTHER_KEYS.publicKey }),
  ),
  "a HELLO with a key of low order": insteadOfHello("HELLO", (client) =>
    client.hello({ key: LOW_ORDER }),
  ),
  "HELLO twice": insteadOfInitiate("HELLO", hello),
  "READY instead of INITIATE": insteadOfInitiate("READY", () => PUSH),
  "an ERROR instead of INITIATE": insteadOfInitiate("ERROR", () => Buffer.from("\x03400")),
  "a MESSAGE instead of INITIATE": insteadOfInitiate("MESSAGE", () => Buffer.alloc(40)),
  ...lengths("INITIATE", ["empty", -1, 1], insteadOfInitiate, initiate),
  "an INITIATE without room for a vouch": insteadOfInitiate("INITIATE", (client) =>
    client.initiate().subarray(0, 247),
  ),
  "an INITIATE that ends after its vouch": insteadOfInitiate("INITIATE", (client) =>
    client.initiate().subarray(0, 248),
  ),
  ...flips(
    "INITIATE",
    {
      "the cookie's nonce": 0,
      "the cookie's MAC": 16,
      "the cookie's box": 95,
      "its counter": 103,
      "its MAC": 104,
      "its box": 120,
      "its last byte": -1,
    },
    insteadOfInitiate,
    initiate,
  ),
  "a vouch for another short-term key": insteadOfInitiate("INITIATE", (client) =>
    client.initiate({ vouched: OTHER_KEYS.publicKey }),
  ),
  "a vouch made with another key": insteadOfInitiate("INITIATE", (client) =>
    client.initiate({ vouchKeys: OTHER_KEYS }),
  ),
  "another's long-term key": insteadOfInitiate("INITIATE", (client) =>
    client.initiate({ keys: { ...OTHER_KEYS, secretKey: CLIENT_KEYS.secretKey } }),
  ),
  "a long-term key of low order": insteadOfInitiate("INITIATE", (client) =>
    client.initiate({ keys: { publicKey: LOW_ORDER, secretKey: CLIENT_KEYS.secretKey } }),
  ),
  ...Object.fromEntries(
    Object.entries(METADATA).map(([name, metadata]) => [
      `an INITIATE with ${name}`,
      async (client: RawCurveClient, run: Run, socket: Pull) => {
        await toWelcome(run, client)
        client.peer.command("INITIATE", client.initiate({ metadata }))
        await run.until(() => client.peer.closed || client.peer.commands("READY").length)
        if (client.peer.closed) return
        await run.happened(socket, "handshake")
        client.message("text")
      },
    ]),
  ),
}

/** What a client may do differently. */
const ALLOWED: Record<string, Parameters<RawCurveClient["hello"]>[0]> = {
  "something else than zeros in HELLO's padding": { padding: 1 },
  "something else than zeros in HELLO's box": { plain: Buffer.alloc(64, 1) },
  "the counter 0 in HELLO": { counter: 0 },
  "a large counter in HELLO": { counter: 1000 },
}
for (const [name, options] of Object.entries(ALLOWED))
  ofClient[name] = async (client, run, socket) => {
    greet(client)
    client.peer.command("HELLO", client.hello(options))
    await has(run, client, "WELCOME")
    client.peer.command("INITIATE", client.initiate())
    await has(run, client, "READY")
    await run.happened(socket, "handshake")
    client.message("text")
  }
for (const counter of [0, 1, 1000])
  ofClient[`the counter ${counter} in INITIATE, and larger ones after it`] = async (
    client,
    run,
    socket,
  ) => {
    await toWelcome(run, client)
    client.peer.command("INITIATE", client.initiate({ counter }))
    await has(run, client, "READY")
    await run.happened(socket, "handshake")
    client.send(client.sealed(0, "text", 1001))
  }
ofClient["a MESSAGE with the counter of INITIATE"] = async (client, run, socket) => {
  await toWelcome(run, client)
  client.peer.command("INITIATE", client.initiate({ counter: 1000 }))
  await has(run, client, "READY")
  await run.happened(socket, "handshake")
  client.send(client.sealed(0, "text", 1000))
}

/**
 * What a server does until its handshake is over, or fails. A second WELCOME is left out, which libzmq takes,
 * and a WELCOME with a key of low order, which ends libzmq's process.
 */
const ofServer: Record<string, Act<RawCurveServer>> = {
  "the end after its greeting": async (server, run) => {
    greet(server)
    await has(run, server, "HELLO")
    end(server)
  },
  "the end after WELCOME": async (server, run) => {
    await toInitiate(run, server)
    end(server)
  },
  "HELLO instead of WELCOME": insteadOfWelcome("HELLO", () => Buffer.alloc(194)),
  "a short READY instead of WELCOME": insteadOfWelcome("READY", () => Buffer.alloc(20)),
  "READY instead of WELCOME": insteadOfWelcome("READY", () => Buffer.alloc(60)),
  "a MESSAGE instead of WELCOME": insteadOfWelcome("MESSAGE", () => Buffer.alloc(40)),
  "a part instead of WELCOME": async (server, run) => {
    greet(server)
    await has(run, server, "HELLO")
    server.peer.write(CLEAR)
  },
  "an empty command": async (server, run) => {
    greet(server)
    await has(run, server, "HELLO")
    server.peer.write(Buffer.from([4, 0]))
  },
  ...lengths("WELCOME", ["empty", -1, 1], insteadOfWelcome, welcome),
  ...flips("WELCOME", { "its nonce": 0, "its MAC": 16, "its box": 159 }, insteadOfWelcome, welcome),
  "a WELCOME made with another key": insteadOfWelcome("WELCOME", (server) =>
    server.welcome(undefined, OTHER_KEYS.secretKey),
  ),
  "INITIATE instead of READY": insteadOfReady("INITIATE", () => Buffer.alloc(300)),
  "a MESSAGE instead of READY": insteadOfReady("MESSAGE", () => Buffer.alloc(40)),
  "a part instead of READY": async (server, run) => {
    await toInitiate(run, server)
    server.peer.write(CLEAR)
  },
  ...lengths("READY", ["empty", -1, 1], insteadOfReady, ready),
  "a READY without room for a MAC": insteadOfReady("READY", (server) =>
    server.ready().subarray(0, 23),
  ),
  ...flips(
    "READY",
    { "its counter": 7, "its MAC": 8, "its box": 24, "its last byte": -1 },
    insteadOfReady,
    ready,
  ),
  ...Object.fromEntries(
    Object.entries(METADATA).map(([name, metadata]) => [
      `a READY with ${name}`,
      async (server: RawCurveServer, run: Run, socket: Pull) => {
        await toInitiate(run, server)
        server.peer.command("READY", server.ready(metadata))
        await run.until(() => server.peer.closed || run.eventTypes(socket).includes("handshake"))
        if (!server.peer.closed) server.message("text")
      },
    ]),
  ),
  "a MESSAGE with the counter of READY": async (server, run, socket) => {
    await toInitiate(run, server)
    server.peer.command("READY", server.ready(PUSH, 1000))
    await run.happened(socket, "handshake")
    server.send(server.sealed(0, "text", 1000))
  },
  "a large counter in READY, and larger ones after it": async (server, run, socket) => {
    await toInitiate(run, server)
    server.peer.command("READY", server.ready(PUSH, 1000))
    await run.happened(socket, "handshake")
    server.send(server.sealed(0, "text", 1001))
  },
}
for (const [name, reason] of Object.entries(REASONS)) {
  ofServer[`an ERROR with ${name} instead of WELCOME`] = insteadOfWelcome("ERROR", () => reason)
  ofServer[`an ERROR with ${name} instead of READY`] = insteadOfReady("ERROR", () => reason)
}

const REFUSED = "handshake:error:protocol"

/** Sends something after a good handshake. */
const then =
  (act: Act<RawSide>): Act<RawSide> =>
  async (peer, run, socket) => {
    await secure(run, peer, socket)
    await act(peer, run, socket)
  }

/** Sends a message, and something that is refused. */
const thenRefused = (act: (peer: RawSide) => void): Act<RawSide> =>
  then(async (peer, { happened }, socket) => {
    act(peer)
    await happened(socket, REFUSED)
  })

/** Sends a MESSAGE with another bit. */
const changed = (at: number, bits = 1) =>
  then((peer) => {
    const data = peer.sealed(0, "text")
    peer.send(flipped(data, at < 0 ? data.length + at : at, bits))
  })

/** What either side does after the handshake. COMMAND outside, as RFC 26 has it, makes libzmq lose a part. */
const afterwards: Record<string, Act<RawSide>> = {
  "a part": then((peer) => peer.message("text")),
  "two parts": then((peer) => peer.message("two", "parts")),
  "an incomplete message, and the end": then((peer) => {
    peer.send(peer.sealed(INSIDE.more, "one"))
    end(peer)
  }),
  "bits inside that mean nothing": then((peer) => peer.send(peer.sealed(0xfc, "text"))),
  "MORE outside and inside": then((peer) => {
    peer.send(peer.sealed(INSIDE.more, "two"), MORE)
    peer.message("parts")
  }),
  "an empty part": then((peer) => peer.message("")),
  "a part of 100,000 bytes": then((peer) => peer.message(Buffer.alloc(100_000, 7))),
  "the largest counter, and one more MESSAGE": thenRefused((peer) => {
    peer.send(peer.sealed(0, "text", 2n ** 64n - 1n))
    peer.message("not this")
  }),
  "a MESSAGE twice": thenRefused((peer) => {
    const data = peer.sealed(0, "text")
    peer.send(data)
    peer.send(data)
  }),
  "a MESSAGE that another has overtaken": thenRefused((peer) => {
    const [one, two] = [peer.sealed(0, "one"), peer.sealed(0, "two")]
    peer.send(two)
    peer.send(one)
  }),
  "counters that leave numbers out": then((peer) => peer.send(peer.sealed(0, "text", 500))),
  "a counter that is 0": then((peer) => peer.send(peer.sealed(0, "text", 0))),
  "a MESSAGE with another high bit in its counter": changed(0),
  "a MESSAGE with another bit in its counter": changed(7, 8),
  "a MESSAGE with another bit in its MAC": changed(8),
  "a MESSAGE with another bit in its flags": changed(24),
  "a MESSAGE with another bit in its last byte": changed(-1),
  "a MESSAGE of a byte less": then((peer) => peer.send(peer.sealed(0, "text").subarray(0, -1))),
  "a MESSAGE of a byte more": then((peer) =>
    peer.send(Buffer.concat([peer.sealed(0, "text"), Buffer.alloc(1)])),
  ),
  "an empty MESSAGE": then((peer) => peer.send(nothing())),
  "a MESSAGE without room for flags": then((peer) =>
    peer.send(Buffer.concat([counterOf(100), Buffer.alloc(16)])),
  ),
  "a part in the clear": then(({ peer }) => peer.write(CLEAR)),
  "an empty frame": then(({ peer }) => peer.write(Buffer.from([0, 0]))),
  "a frame that is shorter than a name": then(({ peer }) =>
    peer.write(Buffer.from([0, 3, 7, 77, 69])),
  ),
  "a command in the clear": then(({ peer }) => peer.command("PING", Buffer.alloc(2))),
  HELLO: then(({ peer }) => peer.command("HELLO", Buffer.alloc(194))),
  "the last command of the handshake again": then((peer) =>
    peer.role === "client"
      ? peer.peer.command("INITIATE", peer.initiate())
      : peer.peer.command("READY", peer.ready()),
  ),
  "an ERROR in the clear": then(({ peer }) => peer.command("ERROR", Buffer.from("\x03400"))),
  "an unknown command inside": then((peer) => {
    peer.command("NONSENSE", "data")
    peer.message("text")
  }),
  "a command without a name inside": then((peer) => {
    peer.send(peer.sealed(INSIDE.command, "\0"))
    peer.message("text")
  }),
  "an ERROR inside": then((peer) => {
    peer.command("ERROR", "\x03400")
    peer.message("text")
  }),
  "a PING inside": then(async (peer, { until, observe }) => {
    peer.command("PING", "\0\0context")
    await until(() => peer.received.length)
    observe("answer", peer.received)
    peer.message("text")
  }),
  "the end": then(end),
}

/** What a side does last, after which it is silent. */
const silent: {
  client: Record<string, Act<RawCurveClient>>
  server: Record<string, Act<RawCurveServer>>
} = {
  client: {
    "its greeting": greet,
    HELLO: (client, run) => toWelcome(run, client),
  },
  server: {
    "its greeting": greet,
    WELCOME: (server, run) => toInitiate(run, server),
  },
}

const OF: Record<Role, Record<string, Act<never>>> = {
  client: { ...ofClient, ...afterwards },
  server: { ...ofServer, ...afterwards },
}

/** Lets a raw peer act, and notes what the socket reports and receives until that is over. */
async function play(
  run: Run,
  role: Role,
  side: Side,
  act: Act<never>,
  options: object = {},
): Promise<void> {
  const { zmq, make, attempt, until, eventTypes, events, settled, observe } = run
  const keys = role === "client" ? SERVER : CLIENT
  const pull = make(zmq.Pull, { ...keys, reconnectInterval: NEVER_MS, ...options })
  let received: unknown
  const receiving = async () => {
    received = await attempt(() => pull.receive())
  }
  receiving()
  const raw = await connection(run, pull, side)
  const peer = role === "client" ? new RawCurveClient(raw) : new RawCurveServer(raw)
  await act(peer as never, run, pull)
  const isSecured = () => eventTypes(pull).includes("handshake")
  await until(() => {
    const types = eventTypes(pull)
    return received || types.includes("disconnect") || (isSecured() && types.includes(REFUSED))
  })
  await settled()
  // libzmq may keep a connection that it refuses after the handshake, and read no more of it: its event
  // has overwritten errno, which says why.
  const last = isSecured() ? eventTypes(pull).indexOf(REFUSED) + 1 : 0
  observe("events", last ? events(pull).slice(0, last) : events(pull))
  observe("received", received)
  if (!last) observe("closed", raw.closed)
}

const facts = { events: expect.any(Array) }

for (const role of ["client", "server"] as const)
  for (const side of SIDES) {
    for (const [name, act] of Object.entries(OF[role]))
      scenario(
        `a ${side} socket, and a raw CURVE ${role}: ${name}`,
        (run) => play(run, role, side, act),
        facts,
      )
    for (const [name, act] of Object.entries(silent[role]))
      scenario(
        `a ${side} socket, and a raw CURVE ${role} that is silent after ${name}`,
        (run) => play(run, role, side, act as Act<never>, { handshakeInterval: 300 }),
        facts,
      )
  }

for (const [name, initiate] of Object.entries({
  "another connection's cookie": (client: RawCurveClient, other: RawCurveClient) =>
    client.initiate({ cookie: other.welcome().cookie }),
  "another connection's INITIATE": (_: RawCurveClient, other: RawCurveClient) => other.initiate(),
}))
  scenario(
    `a raw CURVE client sends ${name}`,
    async (run) => {
      const { zmq, make, bind, rawConnection, happened, until, observe, events, settled } = run
      const pull = make(zmq.Pull, SERVER)
      const endpoint = await bind(pull)
      const [client, other] = [
        new RawCurveClient(await rawConnection(endpoint)),
        new RawCurveClient(await rawConnection(endpoint)),
      ]
      for (const one of [client, other]) await toWelcome(run, one)
      client.peer.command("INITIATE", initiate(client, other))
      await happened(pull, "disconnect")
      await until(() => client.peer.closed)
      await settled()
      observe("events", events(pull))
      // The other one is none the worse for it.
      other.peer.command("INITIATE", other.initiate())
      await has(run, other, "READY")
      await happened(pull, "handshake")
      other.message("text")
      observe("received", await pull.receive())
    },
    { events: expect.any(Array), received: ["text"] },
  )

scenario(
  "the greeting and the commands of a CURVE server and of a client",
  async (run) => {
    const { zmq, make, observe } = run
    const dealer = { routingId: "me" }
    for (const role of ["client", "server"] as const) {
      const options = role === "client" ? SERVER : CLIENT
      const socket = make(zmq.Dealer, { ...options, ...dealer })
      const raw = await connection(run, socket, "bound")
      const peer = role === "client" ? new RawCurveClient(raw) : new RawCurveServer(raw)
      const metadata = property("Socket-Type", "DEALER")
      if (peer.role === "client") {
        await toWelcome(run, peer)
        raw.command("INITIATE", peer.initiate({ metadata }))
        await has(run, peer, "READY")
      } else {
        await toInitiate(run, peer)
        raw.command("READY", peer.ready(metadata))
      }
      await run.happened(socket, "handshake")
      await socket.send(["two", "parts"])
      await run.until(() => peer.received.length === 2)
      observe(`to a ${role}`, {
        // libzmq tells the length of its routing id before, and does not say who is the server.
        greeting: [raw.greeting.subarray(10, 32), raw.greeting.subarray(33)],
        commands: [raw.commands("HELLO"), raw.commands("WELCOME")].map((commands) =>
          commands.map(({ length }) => length),
        ),
        metadata: peer.metadata(),
        received: peer.received,
        counters: raw.encrypted().map((data) => data.subarray(0, 8).toString("hex")),
      })
    }
  },
  { "to a client": expect.any(Object), "to a server": expect.any(Object) },
)

// -- ZAP ---------------------------------------------------------------------------

for (const [name, metadata] of Object.entries(METADATA))
  scenario(
    `ZAP is asked about a raw CURVE client with ${name}`,
    async (run) => {
      const { zmq, make, bind, rawConnection, observe, events, until, happened, settled } = run
      const requests = await zap(run, answers[200])
      const pull = make(zmq.Pull, { ...SERVER, zapDomain: "domain" })
      const endpoint = await bind(pull)
      // A good client first, so that the handler is known to be there.
      const good = new RawCurveClient(await rawConnection(endpoint))
      await secure(run, good, pull)
      const client = new RawCurveClient(await rawConnection(endpoint))
      await toWelcome(run, client)
      client.peer.command("INITIATE", client.initiate({ metadata }))
      await until(() => client.peer.closed || client.peer.commands("READY").length)
      if (client.peer.closed) await happened(pull, "disconnect")
      else await happened(pull, "handshake", 2)
      await until(() => requests.length === 2)
      await settled()
      observe("events", events(pull))
      observe("requests", shown(requests))
    },
    { requests: [expect.arrayContaining(["CURVE"]), expect.arrayContaining(["CURVE"])] },
  )

for (const [name, broken] of Object.entries({
  "does not open": (client: RawCurveClient) => flipped(client.initiate(), 110),
  "has a vouch of another": (client: RawCurveClient) => client.initiate({ vouchKeys: OTHER_KEYS }),
}))
  scenario(
    `ZAP is not asked about an INITIATE that ${name}`,
    async (run) => {
      const { zmq, make, observe, happened, settled } = run
      const requests = await zap(run, answers[200])
      const pull = make(zmq.Pull, { ...SERVER, zapDomain: "domain" })
      const client = new RawCurveClient(await connection(run, pull, "bound"))
      await toWelcome(run, client)
      client.peer.command("INITIATE", broken(client))
      await happened(pull, "disconnect")
      await settled()
      observe("requests", requests.length)
    },
    { requests: 0 },
  )

for (const [name, sent] of Object.entries({
  "INITIATE again": (client: RawCurveClient) => client.peer.command("INITIATE", client.initiate()),
  "a MESSAGE": (client: RawCurveClient) => client.message("early"),
  "an ERROR": (client: RawCurveClient) => client.peer.command("ERROR", Buffer.from("\x03400")),
}))
  scenario(
    `a raw CURVE client sends ${name} before ZAP has answered`,
    async (run) => {
      const { zmq, make, plain, until, attempt, observe, happened, settled, events } = run
      const handler = plain(zmq.Reply)
      const name = "inproc://zeromq.zap.01"
      await until(async () => "resolves" in (await attempt(() => handler.bind(name))))
      const pull = make(zmq.Pull, { ...SERVER, zapDomain: "domain" })
      const client = new RawCurveClient(await connection(run, pull, "bound"))
      await toWelcome(run, client)
      client.peer.command("INITIATE", client.initiate())
      await handler.receive()
      sent(client)
      await happened(pull, "disconnect")
      await settled()
      observe("events", events(pull))
    },
    { events: expect.any(Array) },
  )

for (const code of [400, 500] as const)
  scenario(
    `a raw CURVE client that ZAP refuses with ${code}`,
    async (run) => {
      const { zmq, make, observe, settled, until, events, happened } = run
      await zap(run, answers[code])
      const pull = make(zmq.Pull, { ...SERVER, zapDomain: "domain" })
      const client = new RawCurveClient(await connection(run, pull, "bound"))
      await toWelcome(run, client)
      client.peer.command("INITIATE", client.initiate())
      await until(() => client.peer.commands("ERROR").length)
      observe("error", client.peer.commands("ERROR"))
      await settled()
      client.peer.close()
      await happened(pull, "disconnect")
      observe("events", unique(events(pull)))
    },
    { error: [`hex:03${Buffer.from(`${code}`).toString("hex")}`] },
  )
