/** Peers that break rules, alongside peers that keep them. */

import type { Curve } from "../../src/curve/curve.js"
import { concat, plainPart, SENTINELS } from "../support/wire.js"
import { frame, frameHead, greeting, handshake, MORE, message } from "../support/zmtp.js"
import { serverKey } from "./curve.js"
import type { Compiled } from "./engine.js"
import type { Network, Socket } from "./network.js"
import { portOf } from "./programs.js"
import { Random } from "./random.js"
import type { HostileSpec, TypeName } from "./scenario.js"
import type { EventLoop } from "./world.js"

/** The beginning of hostile peers' addresses. */
export const HOSTILE = "127.0.2."

/** The names of types in ZMTP. */
const NAMES: Readonly<Partial<Record<TypeName, string>>> = {
  Publisher: "PUB",
  Subscriber: "SUB",
  Request: "REQ",
  Reply: "REP",
  XPublisher: "XPUB",
  XSubscriber: "XSUB",
}

const zmtpName = (type: TypeName): string => NAMES[type] ?? type.toUpperCase()

const PINGS = 3000
/** Number of subscriptions, and of connections, of a flood of them. */
const TOPICS = 3000
const CONNECTS = 40
/** Milliseconds between two of these connections. */
const CONNECTS_EVERY_MS = 0.2

/** Returns what a peer with CURVE sends that has the server's key, and no answer from it yet. */
function encrypted(random: Random, curve: Curve): Uint8Array {
  const noise = (bytes: number) => Uint8Array.from({ length: bytes }, () => random.below(256))
  const command = (name: string, ...data: Uint8Array[]) =>
    frame(concat(Uint8Array.of(name.length), Buffer.from(name), ...data), 4)
  const secretKey = noise(32)
  const counter = noise(8)
  const key = curve.sharedKey(serverKey(), secretKey) as Uint8Array
  const box = curve.box(key, concat(Buffer.from("CurveZMQHELLO---"), counter), new Uint8Array(64))
  const version = Uint8Array.of(1, 0)
  const padding = new Uint8Array(72)
  const hello = command("HELLO", version, padding, curve.publicKey(secretKey), counter, box)
  const changed = hello.slice()
  changed[random.between(90, 201)] = random.below(256)
  return concat(
    greeting({ mechanism: "CURVE" }),
    random.pick([
      hello, // and waits
      changed,
      concat(hello, hello),
      concat(hello, command("INITIATE", noise(400))),
      concat(hello, frame(plainPart(noise(20)))),
      command("HELLO", noise(194)),
      command("MESSAGE", noise(100)),
      frame(plainPart(noise(20))),
      noise(200),
    ]),
  )
}

function bytesOf({ kind, seed }: HostileSpec, type: TypeName, curve: Curve): Uint8Array {
  const random = new Random(seed)
  const noise = (bytes: number) => Uint8Array.from({ length: bytes }, () => random.below(256))
  const hello = handshake(zmtpName(type))
  switch (kind) {
    case "noise":
      return noise(random.between(1, 3000))
    case "greeting":
      return random.pick([greeting({ major: 1 }), greeting({ mechanism: "CURVE" }), noise(10)])
    case "frame":
      return concat(
        hello,
        random.pick([
          Uint8Array.of(0xf8, 1, 0),
          frame(noise(20), 4),
          frameHead(2n ** 63n),
          concat(frameHead(70_000, 4), noise(100)),
        ]),
      )
    case "envelope":
      return concat(
        hello,
        random.pick([
          frame(noise(random.below(40))),
          frame(noise(3)),
          frame(concat(SENTINELS.LZ4D)),
        ]),
      )
    case "block":
      return concat(
        hello,
        frame(
          concat(
            SENTINELS.LZ4B,
            Uint8Array.of(100, 0, 0, 0, 0, 0, 0, 0),
            noise(random.between(1, 60)),
          ),
        ),
      )
    case "flood": {
      const ping = frame(
        concat(Uint8Array.of(4), Buffer.from("PING"), Uint8Array.of(0, 0), noise(16)),
        4,
      )
      return concat(hello, ...Array.from({ length: PINGS }, () => ping))
    }
    case "topics": {
      const command = (name: string, topic: string) =>
        frame(Buffer.concat([Buffer.of(name.length), Buffer.from(name + topic)]), 4)
      const pieces = [hello]
      for (let i = 0; i < TOPICS; i++)
        pieces.push(command(random.chance(0.7) ? "SUBSCRIBE" : "CANCEL", `x${random.below(500)}`))
      return concat(...pieces)
    }
    case "connects":
    case "messages": {
      // A peer that announces nothing is a plain one where plain ones are accepted.
      const part = () => plainPart(noise(random.below(100)))
      const messages = [
        message(part()),
        message(plainPart(noise(0)), part()),
        message(part(), part()),
      ]
      return concat(
        hello,
        ...Array.from({ length: random.between(1, 20) }, () => random.pick(messages)),
      )
    }
    case "half":
      return concat(hello, frame(plainPart(noise(30)), MORE), frameHead(1000), noise(10))
    case "curve":
      return encrypted(random, curve)
    default:
      return new Uint8Array(0)
  }
}

/** Dials, writes, and stays or leaves. */
export function attack(
  spec: HostileSpec,
  partner: TypeName,
  network: Network,
  loop: EventLoop,
  number: number,
  { oracle }: Compiled,
): void {
  const isFlood = spec.kind === "connects"
  for (let i = 0; i < (isFlood ? CONNECTS : 1); i++)
    loop.setTimeout(connect, spec.atMs + i * CONNECTS_EVERY_MS)

  function connect() {
    const port = portOf(spec.to, spec.index)
    const options = { port, allowHalfOpen: true, localAddress: `${HOSTILE}${number + 1}` }
    const socket = network.dial(loop, options) as Socket
    socket.on("error", () => {})
    // A peer that floods does not read.
    if (spec.kind === "flood") socket.pause()
    socket.on("connect", () => socket.write(bytesOf(spec, partner, oracle)))
    socket.on("end", () => socket.destroy())
    const stayMs = new Random(spec.seed, 1).pick([1, 30, 400])
    loop.setTimeout(() => socket.destroy(), isFlood ? 2 : stayMs)
  }
}
