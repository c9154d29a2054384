/** CURVE's handshake and messages, in both roles, against libzmq's over tcp://. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { afterEach, describe, expect, test } from "vitest"
import * as zmq from "zeromq"
import * as lz4 from "zeromq-lz4"

import { parseKey } from "../../../src/curve/keys.js"
import type { HandshakeSettings } from "../../../src/zmtp/mechanism.js"
import { curveSettings, someBytes } from "../../support/curve.js"
import { CurvePeer, isClosed, isReady } from "../../support/curve-peer.js"
import { COMMAND, frame, message } from "../../support/zmtp.js"

const serverText = zmq.curveKeyPair()
const clientText = zmq.curveKeyPair()
const keys = ({ publicKey, secretKey }: ReturnType<typeof zmq.curveKeyPair>) => ({
  publicKey: parseKey("curvePublicKey", publicKey),
  secretKey: parseKey("curveSecretKey", secretKey),
})
const serverKeys = keys(serverText)
const clientKeys = keys(clientText)

const open: { close(): void }[] = []
afterEach(() => {
  for (const end of open.splice(0).reverse()) end.close()
})
const kept = <End extends { close(): void }>(end: End): End => {
  open.push(end)
  return end
}

/** Connects to a socket of zeromq.js that is a CURVE server. */
async function clientOf(socket: zmq.Socket, settings: HandshakeSettings): Promise<CurvePeer> {
  kept(socket)
  await socket.bind("tcp://127.0.0.1:*")
  const port = Number(socket.lastEndpoint?.split(":").at(-1))
  return kept(new CurvePeer(connect(port, "127.0.0.1"), settings))
}

/** Lets a socket of zeromq.js that is a CURVE client connect. */
async function serverOf(socket: zmq.Socket, settings: HandshakeSettings): Promise<CurvePeer> {
  kept(socket)
  const listener = createServer()
  listener.listen(0, "127.0.0.1")
  await once(listener, "listening")
  const address = listener.address()
  if (typeof address !== "object") expect.fail("no port")
  socket.connect(`tcp://127.0.0.1:${address?.port}`)
  const [connection] = (await once(listener, "connection")) as [Socket]
  listener.close()
  return kept(new CurvePeer(connection, settings))
}

const asServer = { curveServer: true, curveSecretKey: serverText.secretKey }
const asClient = {
  curvePublicKey: clientText.publicKey,
  curveSecretKey: clientText.secretKey,
  curveServerKey: serverText.publicKey,
}
const client = (rest: Partial<HandshakeSettings> = {}) =>
  curveSettings({ ...clientKeys, serverKey: serverKeys.publicKey }, rest)
const server = (rest: Partial<HandshakeSettings> = {}) =>
  curveSettings({ isServer: true, ...serverKeys }, rest)

describe.each(["client", "server"])("as the %s of a libzmq peer", (role) => {
  const dealer = (): Promise<CurvePeer> =>
    role === "client"
      ? clientOf(theirs, client({ socketType: "DEALER" }))
      : serverOf(theirs, server({ socketType: "DEALER" }))
  let theirs: zmq.Dealer

  test("messages of all sizes go both ways", async () => {
    theirs = new zmq.Dealer({ linger: 0, ...(role === "client" ? asServer : asClient) })
    const peer = await dealer()
    await peer.until(isReady)
    const sizes = [0, 1, 221, 222, 223, 255, 256, 5000, 131_072, 200_000, 3_000_000]
    for (const [i, size] of sizes.entries()) {
      const parts = [someBytes(size), Buffer.from("end")]
      peer.send(message(...parts))
      const received = await theirs.receive()
      expect(received.map((part) => Buffer.compare(part, parts.shift() as Buffer))).toEqual([0, 0])
      const back = [someBytes(size), Buffer.from("back")]
      await theirs.send(back)
      await peer.until(({ messages }) => messages.length > i)
      expect(peer.messages[i]?.map((part, n) => Buffer.compare(part, back[n] as Buffer))).toEqual([
        0, 0,
      ])
    }
  })

  test("many small messages in one write", async () => {
    theirs = new zmq.Dealer({ linger: 0, ...(role === "client" ? asServer : asClient) })
    const peer = await dealer()
    await peer.until(isReady)
    const one = message(Buffer.from("small"))
    peer.send(Buffer.concat(Array(900).fill(one)))
    for (let i = 0; i < 900; i++) expect(String(await theirs.receive())).toBe("small")
    for (let i = 0; i < 900; i++) await theirs.send(`back ${i}`)
    await peer.until(({ messages }) => messages.length === 900)
    expect(peer.messages.map(String)).toEqual(Array.from({ length: 900 }, (_, i) => `back ${i}`))
  })
})

test("libzmq's subscriptions are MESSAGEs, and ours are understood", async () => {
  const sub = new zmq.Subscriber({ linger: 0, ...asClient })
  sub.subscribe("topic")
  const ours = await serverOf(sub, server({ socketType: "PUB" }))
  await ours.until(
    ({ told, messages }) => told.includes("command SUBSCRIBE") || messages.length > 0,
  )
  ours.send(message(Buffer.from("topic"), Buffer.from("one")))
  expect((await sub.receive()).map(String)).toEqual(["topic", "one"])

  const xpub = new zmq.XPublisher({ linger: 0, ...asServer })
  const peer = await clientOf(xpub, client({ socketType: "SUB" }))
  await peer.until(isReady)
  peer.send(frame(Buffer.from("\x09SUBSCRIBEtopic"), COMMAND))
  expect((await xpub.receive()).map(String)).toEqual(["\x01topic"])
})

test("libzmq answers PING", async () => {
  const peer = await clientOf(new zmq.Pair({ linger: 0, ...asServer }), client())
  await peer.until(isReady)
  peer.send(frame(Buffer.from("\x04PING\0\0context"), COMMAND))
  await peer.until(({ told }) => told.includes("command PONG"))
})

test("ZAP is asked for the client's long-term key, and its refusal reaches the client", async () => {
  const zap = kept(new zmq.Reply({ linger: 0 }))
  await zap.bind("inproc://zeromq.zap.01")
  const answer = async (status: string) => {
    const [version, id, , , , mechanism, key] = await zap.receive()
    expect([String(version), String(mechanism)]).toEqual(["1.0", "CURVE"])
    expect(key).toEqual(Buffer.from(clientKeys.publicKey))
    await zap.send(["1.0", id as Buffer, status, "", "", ""])
  }
  const pair = () => new zmq.Pair({ linger: 0, zapDomain: "test", ...asServer })
  const let_in = await clientOf(pair(), client())
  await answer("200")
  await let_in.until(isReady)
  const refused = await clientOf(pair(), client())
  await answer("400")
  await refused.until(({ told }) => told.some((what) => what.includes('refused with "400"')))
  zap.unbind("inproc://zeromq.zap.01")
})

test("libzmq refuses a HELLO for another server, and so do we", async () => {
  const wrong = curveSettings({ ...clientKeys, serverKey: clientKeys.publicKey })
  const peer = await clientOf(new zmq.Pair({ linger: 0, ...asServer }), wrong)
  await peer.until(isClosed)
  expect(peer.told).toEqual(["closed"])

  const ours = await serverOf(
    new zmq.Pair({ linger: 0, ...asClient, curveServerKey: clientText.publicKey }),
    server(),
  )
  await ours.until(({ told }) => told.length > 0)
  expect(ours.told[0]).toMatch(/^failed CRYPTOGRAPHIC: /)
})

test("libzmq refuses what is sent in the clear after the handshake", async () => {
  const theirs = new zmq.Pair({ linger: 0, ...asServer })
  const peer = await clientOf(theirs, client())
  await peer.until(isReady)
  peer.sendInTheClear(frame(Buffer.from("hello")))
  await peer.until(isClosed)
})

test.each([{ thread: false }, { thread: true }])(
  "an lz4+tcp:// socket with %o refuses the same, and says why",
  async (options) => {
    const pull = kept(new lz4.Pull({ linger: 0, ...asServer }))
    await pull.bind("lz4+tcp://127.0.0.1:*", options)
    const refused = new Promise<string>((resolve) => {
      pull.lz4.on("protocolError", ({ error }) => resolve(error.message))
    })
    const event = new Promise<string | undefined>((resolve) => {
      pull.events.on("handshake:error:protocol", ({ error }) => resolve(error.code))
    })
    const port = Number(pull.lastEndpoint?.split(":").at(-1))
    const settings = client({ socketType: "PUSH" })
    const peer = kept(new CurvePeer(connect(port, "127.0.0.1"), settings))
    await peer.until(isReady)
    // As in the plain form of a part.
    peer.send(message(Buffer.from("\0\0\0\0sealed")))
    expect(String(await pull.receive())).toBe("sealed")
    peer.sendInTheClear(message(Buffer.from("\0\0\0\0in the clear")))
    await peer.until(isClosed)
    expect(await refused).toBe("ERR_ZMTP_CURVE: a frame is no MESSAGE: the peer does not encrypt")
    expect(await event).toBe("ERR_ZMTP_UNEXPECTED_COMMAND")
  },
)
