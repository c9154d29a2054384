/** What peers with CURVE, or somebody on the way, can send to a socket during and after a handshake. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { describe, expect, test } from "vitest"
import * as zmq from "zeromq"
import { Dealer, type EndpointOptions, Pull, Push } from "zeromq-lz4"
import { parseKey } from "../../src/curve/keys.js"
import { curveSettings } from "../support/curve.js"
import { CurvePeer, isClosed, isReady } from "../support/curve-peer.js"
import { flipped } from "../support/flipped.js"
import { ownHost } from "../support/own-host.mjs"
import { portOf } from "../support/raw-peer.js"
import { use } from "../support/sockets.js"
import { concat, plainPart } from "../support/wire.js"
import { COMMAND, frame } from "../support/zmtp.js"

const serverText = zmq.curveKeyPair()
const clientText = zmq.curveKeyPair()
const SERVER = { curveServer: true, curveSecretKey: serverText.secretKey }
const CLIENT = {
  curvePublicKey: clientText.publicKey,
  curveSecretKey: clientText.secretKey,
  curveServerKey: serverText.publicKey,
}
const keys = ({ publicKey, secretKey }: { publicKey: string; secretKey: string }) => ({
  publicKey: parseKey("curvePublicKey", publicKey),
  secretKey: parseKey("curveSecretKey", secretKey),
})
const asServer = (socketType: "DEALER" | "PUSH") =>
  curveSettings({ isServer: true, ...keys(serverText) }, { socketType })
const asClient = (socketType: "DEALER" | "PUSH") =>
  curveSettings({ ...keys(clientText), serverKey: keys(serverText).publicKey }, { socketType })

/** The frame of a message as lz4+tcp:// sends it without CURVE. */
const plain = (text: string): Uint8Array => frame(plainPart(Buffer.from(text)))

/** What a peer sends after its handshake, and the reason with which it is refused. */
interface Attack {
  sends: (peer: CurvePeer) => Uint8Array
  /** The messages that are received before. */
  before: string[]
  reason: string | undefined
}

const nothing: string[] = []
const attacks: [what: string, attack: Attack][] = [
  [
    "a MESSAGE for the second time",
    {
      sends: (peer) => {
        const sealed = peer.seal(plain("one"))
        return concat(sealed, sealed)
      },
      before: ["one"],
      reason: "INVALID_SEQUENCE",
    },
  ],
  [
    "a MESSAGE that another has overtaken",
    {
      sends: (peer) => {
        const [one, two] = [peer.seal(plain("one")), peer.seal(plain("two"))]
        return concat(two, one)
      },
      before: ["two"],
      reason: "INVALID_SEQUENCE",
    },
  ],
  [
    "a MESSAGE after that with the last counter, 2^64 - 1",
    {
      sends: (peer) => {
        const sealer = use(peer.sealerFrom(Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 254)))
        return concat(sealer.seal(plain("last")), peer.seal(plain("one more")))
      },
      before: ["last"],
      reason: "INVALID_SEQUENCE",
    },
  ],
  [
    "a MESSAGE that was changed",
    {
      sends: (peer) => flipped(peer.seal(plain("one")), 41),
      before: nothing,
      reason: "CRYPTOGRAPHIC",
    },
  ],
  [
    "a part in the clear",
    { sends: () => plain("one"), before: nothing, reason: "UNEXPECTED_COMMAND" },
  ],
  [
    "a command in the clear",
    {
      sends: () => frame(Buffer.from("\x04PING\0\0"), COMMAND),
      before: nothing,
      reason: "UNEXPECTED_COMMAND",
    },
  ],
  [
    "the second command of its handshake again, INITIATE or READY",
    {
      sends: ({ sent }) => sent[2] as Uint8Array,
      before: nothing,
      reason: "UNEXPECTED_COMMAND",
    },
  ],
  [
    "a handshake again",
    {
      sends: ({ sent }) => concat(...sent.slice(1)),
      before: nothing,
      reason: "UNEXPECTED_COMMAND",
    },
  ],
  [
    "a greeting again",
    { sends: ({ sent }) => sent[0] as Uint8Array, before: nothing, reason: undefined },
  ],
]

describe.each([{ thread: false }, { thread: true }])("a socket with %o", (options) => {
  /** Returns a socket and a peer of it, which are connected. */
  async function join(
    role: "client" | "server",
    socket: Dealer,
    sends?: number,
  ): Promise<CurvePeer> {
    use(socket)
    if (role === "client") {
      await socket.bind(`lz4+tcp://${ownHost}:*`, options)
      const port = portOf(socket.lastEndpoint as string)
      return use(new CurvePeer(connect(port, ownHost), asClient("DEALER")))
    }
    const listener = createServer()
    await once(listener.listen(0, ownHost), "listening")
    const { port } = listener.address() as { port: number }
    socket.connect(`lz4+tcp://${ownHost}:${port}`, options)
    const [connection] = (await once(listener, "connection")) as [Socket]
    listener.close()
    return use(new CurvePeer(connection, asServer("DEALER"), sends))
  }

  describe.each(["client", "server"] as const)("and a %s that sends", (role) => {
    test.each(attacks)("%s", async (_, { sends, before, reason }) => {
      const dealer = new Dealer(role === "client" ? SERVER : CLIENT)
      const refused = new Promise<string>((resolve) => {
        dealer.lz4.on("protocolError", ({ error }) => resolve(error.message))
      })
      const codes: (string | undefined)[] = []
      dealer.events.on("handshake:error:protocol", ({ error }) => codes.push(error.code))
      const disconnected = new Promise<void>((resolve) => {
        dealer.events.on("disconnect", () => resolve())
      })
      const peer = await join(role, dealer)
      await peer.until(isReady)
      // Whatever comes behind is not received.
      peer.sendInTheClear(concat(sends(peer), peer.seal(plain("not this"))))
      for (const text of before) expect((await dealer.receive()).map(String)).toEqual([text])
      await peer.until(isClosed)
      expect(await refused).toMatch(/^ERR_ZMTP_CURVE: /)
      await disconnected
      expect(codes).toEqual(reason === undefined ? [] : [`ERR_ZMTP_${reason}`])
      dealer.receiveTimeout = 0
      await expect(dealer.receive()).rejects.toMatchObject({ code: "EAGAIN" })
    })
  })

  test("receives what came with READY before a message that was changed", async () => {
    const dealer = new Dealer(CLIENT)
    const refused = new Promise<string>((resolve) => {
      dealer.lz4.on("protocolError", ({ error }) => resolve(error.message))
    })
    const peer = await join("server", dealer, 2)
    await peer.until(isReady)
    const ready = peer.sent[2] as Uint8Array
    peer.sendInTheClear(
      concat(ready, peer.seal(plain("one")), flipped(peer.seal(plain("two")), 41)),
    )
    expect((await dealer.receive()).map(String)).toEqual(["one"])
    expect(await refused).toMatch(/^ERR_ZMTP_CURVE: /)
  })

  test("ends a connection whose peer stops after WELCOME, and serves others meanwhile", async () => {
    const pull = use(new Pull({ ...SERVER, handshakeInterval: 300 }))
    await pull.bind(`lz4+tcp://${ownHost}:*`, options)
    const endpoint = pull.lastEndpoint as string
    const socket = connect(portOf(endpoint), ownHost)
    const peer = use(new CurvePeer(socket, asClient("PUSH"), 2))
    // It has WELCOME then.
    await peer.until(({ sent }) => sent.length === 3)
    await serves(pull, endpoint, options)
    await peer.until(isClosed)
    expect(peer.told).toEqual(["closed"])
    await serves(pull, endpoint, options)
  })

  test("is none the worse for a HELLO that comes 100,000 times", async () => {
    const pull = use(new Pull(SERVER))
    await pull.bind(`lz4+tcp://${ownHost}:*`, options)
    const endpoint = pull.lastEndpoint as string
    const refused = new Promise<string>((resolve) => {
      pull.lz4.on("protocolError", ({ error }) => resolve(error.message))
    })
    const socket = connect(portOf(endpoint), ownHost)
    const peer = use(new CurvePeer(socket, asClient("PUSH"), 2))
    await peer.until(({ sent }) => sent.length === 3)
    const hello = peer.sent[1] as Uint8Array
    for (let i = 0; i < 100; i++)
      peer.sendInTheClear(concat(...Array.from({ length: 1000 }, () => hello)))
    await peer.until(isClosed)
    expect(await refused).toBe("ERR_ZMTP_HANDSHAKE: the command HELLO was not expected")
    await serves(pull, endpoint, options)
  })
})

/** Shows that a socket receives from a good client. */
async function serves(pull: Pull, endpoint: string, options: EndpointOptions): Promise<void> {
  const push = use(new Push(CLIENT))
  push.connect(endpoint, options)
  await push.send("good")
  expect(String(await pull.receive())).toBe("good")
}
