/**
 * Raw peers with PLAIN (RFC 24) that send commands wrong, or in the wrong order. Left out are commands in
 * frames without COMMAND, which libzmq takes and this package refuses.
 */
import { setImmediate } from "node:timers/promises"
import { expect } from "vitest"
import type { Pull } from "zeromq"

import { COMMAND, frame, LONG } from "../../support/zmtp.js"
import { property, type RawPeer } from "../raw-peer.js"
import { NEVER_MS, type Run, scenario } from "../scenario.js"
import { answers, zap } from "../zap.js"

type Act = (peer: RawPeer, run: Run) => void | Promise<void>

const CREDENTIALS = Buffer.from("\x02me\x06secret")
const PUSH = property("Socket-Type", "PUSH")
const nothing = Buffer.alloc(0)
/** A part as over tcp://. */
const CLEAR = frame(Buffer.from("clear"))

/** Something that a peer writes. */
type Send = (peer: RawPeer) => void

const sends =
  (name: string, data: Uint8Array = nothing): Send =>
  (peer) =>
    peer.command(name, data)

const sendsPart: Send = (peer) => peer.write(CLEAR)

/** An ERROR by the name that libzmq has for it with PLAIN. */
const refuses =
  (reason: string): Send =>
  (peer) =>
    peer.write(frame(Buffer.from(`^RROR${reason}`), COMMAND))

const has = ({ until }: Run, peer: RawPeer, name: string) =>
  until(() => peer.commands(name).length || peer.closed)

/** How far a handshake has come before a peer does what it does. */
const greeted: Act = (peer) => peer.greet({ mechanism: "PLAIN" })

const welcomed: Act = async (peer, run) => {
  await greeted(peer, run)
  peer.command("HELLO", CREDENTIALS)
  await has(run, peer, "WELCOME")
}

const secured: Act = async (peer, run) => {
  await welcomed(peer, run)
  peer.command("INITIATE", PUSH)
  await has(run, peer, "READY")
}

const asked: Act = async (peer, run) => {
  peer.greet({ mechanism: "PLAIN", asServer: true })
  await has(run, peer, "HELLO")
}

const initiated: Act = async (peer, run) => {
  await asked(peer, run)
  peer.command("WELCOME")
  await has(run, peer, "INITIATE")
}

const after =
  (stage: Act, ...all: readonly Send[]): Act =>
  async (peer, run) => {
    await stage(peer, run)
    for (const send of all) send(peer)
  }

const text: Send = (peer) => peer.message("text")

/** Sends what an act writes byte by byte. */
const inBytes =
  (act: Act): Act =>
  async (peer, run) => {
    const { socket } = peer
    socket.setNoDelay()
    let last = Promise.resolve()
    peer.write = (bytes) => {
      for (const byte of bytes)
        last = last.then(async () => {
          socket.write(Buffer.from([byte]))
          await setImmediate()
        })
    }
    await act(peer, run)
    await last
  }

/** What a client does. */
const CLIENTS: Record<string, Act> = {
  "a HELLO with empty credentials": async (peer, run) => {
    await greeted(peer, run)
    peer.command("HELLO", Buffer.alloc(2))
    await has(run, peer, "WELCOME")
    peer.command("INITIATE", PUSH)
    peer.message("text")
  },
  "a HELLO with the head of a long frame": async (peer, run) => {
    await greeted(peer, run)
    const body = Buffer.concat([Buffer.from("\x05HELLO"), CREDENTIALS])
    peer.write(Buffer.from([COMMAND | LONG, 0, 0, 0, 0, 0, 0, 0, body.length, ...body]))
    await has(run, peer, "WELCOME")
    peer.command("INITIATE", PUSH)
    peer.message("text")
  },
  "a HELLO with a password that is too long": after(
    greeted,
    sends("HELLO", Buffer.from("\x02me\x07secret")),
  ),
  "INITIATE in place of HELLO": after(greeted, sends("INITIATE", PUSH)),
  "READY in place of HELLO": after(greeted, sends("READY", PUSH)),
  "an ERROR in place of HELLO": after(greeted, sends("ERROR", Buffer.from("\x03400"))),
  "a part in place of HELLO": after(greeted, sendsPart),
  "a command without a name": after(greeted, sends("")),
  "HELLO twice": after(welcomed, sends("HELLO", CREDENTIALS)),
  "an ERROR in place of INITIATE": after(welcomed, sends("ERROR", Buffer.from("\x03400"))),
  "a part in place of INITIATE": after(welcomed, sendsPart),
  "an INITIATE that is cut short": after(welcomed, sends("INITIATE", PUSH.subarray(0, -1))),
  "an INITIATE of another type": after(welcomed, sends("INITIATE", property("Socket-Type", "REP"))),
  "an INITIATE without a type": after(welcomed, sends("INITIATE"), text),
  "INITIATE twice": after(secured, sends("INITIATE", PUSH), text),
  "HELLO after the handshake": after(secured, sends("HELLO", CREDENTIALS), text),
  "an ERROR after the handshake": after(secured, sends("ERROR", Buffer.from("\x03400")), text),
  "all of it in single bytes": inBytes(after(secured, text)),
}

/** What a server does. */
const SERVERS: Record<string, Act> = {
  "a WELCOME with data": after(asked, sends("WELCOME", Buffer.alloc(1))),
  "HELLO in place of WELCOME": after(asked, sends("HELLO", CREDENTIALS)),
  "READY in place of WELCOME": after(asked, sends("READY", PUSH)),
  "an ERROR in place of WELCOME": after(asked, refuses("\x03400")),
  "an ERROR that is cut short": after(asked, refuses("\x04400")),
  "a part in place of WELCOME": after(asked, sendsPart),
  "WELCOME twice": after(initiated, sends("WELCOME")),
  "a READY that is cut short": after(initiated, sends("READY", PUSH.subarray(0, -1))),
  "a READY of another type": after(initiated, sends("READY", property("Socket-Type", "REQ"))),
  "an ERROR in place of READY": after(initiated, refuses("\x03500")),
  "INITIATE in place of READY": after(initiated, sends("INITIATE", PUSH)),
  "READY twice": after(initiated, sends("READY", PUSH), sends("READY", PUSH), text),
  "all of it in single bytes": inBytes(after(initiated, sends("READY", PUSH), text)),
}

/** Lets peers act one after another, each with a socket of its own, and notes what the sockets report and receive. */
async function play(run: Run, acts: Record<string, Act>, isServer: boolean): Promise<void> {
  const { zmq, make, bind, rawConnection, rawListener } = run
  const { attempt, receiveAtLast, until, events, eventTypes, settled, observe } = run
  if (!isServer) await zap(run, answers[200])
  const sockets: [name: string, pull: Pull, peer: RawPeer][] = []
  const received = new Map<string, unknown>()
  const own = isServer ? { plainUsername: "me", plainPassword: "secret" } : { plainServer: true }
  for (const [name, act] of Object.entries(acts)) {
    const pull = make(zmq.Pull, { ...own, reconnectInterval: NEVER_MS })
    const receiving = async () => received.set(name, await attempt(() => receiveAtLast(pull)))
    receiving()
    let peer: RawPeer
    if (isServer) {
      const listener = await rawListener()
      pull.connect(listener.endpoint)
      await until(() => listener.peers.length)
      peer = listener.peers[0] as RawPeer
    } else peer = await rawConnection(await bind(pull))
    await act(peer, run)
    const isOver = (type: string) => type === "disconnect" || type.startsWith("handshake:error")
    await until(() => received.has(name) || eventTypes(pull).some(isOver))
    sockets.push([name, pull, peer])
  }
  await settled()
  for (const [name, pull, peer] of sockets) {
    // libzmq may keep a connection that it refuses, and end it when `handshakeInterval` is over.
    const refused = eventTypes(pull).findIndex((type) => type.startsWith("handshake:error"))
    const reported = refused < 0 ? events(pull) : events(pull).slice(0, refused + 1)
    observe(name, [reported, received.get(name)])
    observe(`${name}: sent`, peer.frames)
  }
}

scenario("sockets and raw PLAIN clients", (run) => play(run, CLIENTS, false), {
  "all of it in single bytes": [expect.any(Array), { resolves: ["text"] }],
})

scenario("sockets and raw PLAIN servers", (run) => play(run, SERVERS, true), {
  "all of it in single bytes": [expect.any(Array), { resolves: ["text"] }],
})
