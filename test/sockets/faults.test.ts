/**
 * Connections that break, or deliver bytes slowly or one by one. Messages in flight when one breaks are
 * lost, as over tcp://; none arrives twice or changed, and later messages arrive.
 */
import { describe, expect, onTestFinished, test } from "vitest"
import { Pull, Push } from "zeromq-lz4"

import { payload } from "../../bench/payloads.mjs"
import { createRandom } from "../../bench/random.mjs"
import { ownHost } from "../support/own-host.mjs"
import { dial } from "../support/raw-peer.js"
import { kindly, Relay, type Treat } from "../support/rough-relay.js"
import { eventually, use } from "../support/sockets.js"
import { encodings, lz4 } from "../support/transports.js"
import { handshake } from "../support/zmtp.js"

const json = payload("json", 1 << 18)
const noise = payload("random", 1 << 18)

/** Returns the parts of a message, which its number determines. */
function message(number: number): Uint8Array[] {
  const random = createRandom(`message ${number}`)
  const parts = Array.from({ length: random.below(4) }, () => {
    const start = random.below(100_000)
    return random
      .pick([json, noise])
      .subarray(start, start + random.below(1 << (2 + random.below(16))))
  })
  return [Buffer.from(String(number)), ...parts]
}

const GREETING_BYTES = 64

/** Returns a position in the greeting, the handshake, the first frames, or anywhere. */
function cutting(seed: string): Treat {
  const random = createRandom(seed)
  const place = () =>
    random.pick([
      random.below(GREETING_BYTES + 1),
      GREETING_BYTES + random.below(100),
      random.below(5000),
      random.below(300_000),
    ])
  // The other direction has little more than a handshake, which is sometimes cut.
  return () => ({
    there: { cutAfterBytes: place() },
    back: random.below(3) > 0 ? {} : { cutAfterBytes: random.below(2 * GREETING_BYTES) },
  })
}

const dribbling: Treat = () => ({ there: { dribbleBytes: 3000 }, back: { dribbleBytes: 3000 } })

function dawdling(seed: string): Treat {
  const random = createRandom(seed)
  const treatment = { delayMs: () => random.below(4) }
  return () => ({ there: treatment, back: treatment })
}

/** zeromq.js rejects with EAGAIN when the last connection breaks just before it sends, over tcp:// too. */
async function send(push: Push, parts: Uint8Array[]): Promise<void> {
  try {
    await push.send(parts)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error
    await send(push, parts)
  }
}

interface Journey {
  /** Numbers of the received messages, in order. */
  arrived: number[]
  sent: number
}

/** Sends messages through a relay until it has cut enough connections and messages arrive, and compares them. */
async function travel(
  binding: Push | Pull,
  connecting: Push | Pull,
  { scheme, options }: (typeof encodings)[number],
  relay: Treat,
  enough: (relay: Relay, sent: number) => boolean,
): Promise<Journey> {
  const extra = scheme === lz4.scheme ? [options] : []
  await binding.bind(`${scheme}${ownHost}:*`, ...extra)
  const through = await Relay.open(binding.lastEndpoint as string, relay)
  connecting.connect(`${scheme}${through.address}`, ...extra)
  const [push, pull] = (
    binding instanceof Push ? [binding, connecting] : [connecting, binding]
  ) as [Push, Pull]
  const arrived: number[] = []
  const receive = async () => {
    const parts = await pull.receive()
    const number = Number(parts[0])
    const expected = message(number)
    const isSame = (part: Buffer, i: number) => part.equals(expected[i] ?? new Uint8Array(0))
    if (parts.length !== expected.length || !parts.every(isSame))
      expect.fail(`message ${number} is not what was sent`)
    arrived.push(number)
  }
  let well: number | undefined
  const receiving = (async () => {
    while (well === undefined || (arrived.at(-1) ?? -1) < well) await receive()
  })()
  let sent = 0
  let over = false
  receiving.then(
    () => {
      over = true
    },
    () => {
      over = true
    },
  )
  let sending = Promise.resolve()
  while (!over) {
    sending = send(push, message(sent++))
    await Promise.race([sending, receiving])
    if (well !== undefined || !enough(through, sent)) continue
    through.treat = kindly
    well = sent + 100
  }
  await receiving
  // A sender that is far ahead waits for the receiver. libzmq aborts if a connection breaks in the
  // middle of a message while its socket is closing, so all is delivered before the relay ends.
  while (arrived.at(-1) !== sent - 1) await receive()
  await sending
  return { arrived, sent }
}

const sides = [
  {
    binds: "the sender",
    sockets: () => [
      use(new Push({ sendHighWaterMark: 20 })),
      use(new Pull({ reconnectInterval: 1, receiveHighWaterMark: 20 })),
    ],
  },
  {
    binds: "the receiver",
    sockets: () => [
      use(new Pull({ receiveHighWaterMark: 20 })),
      use(new Push({ reconnectInterval: 1, sendHighWaterMark: 20 })),
    ],
  },
] as const

describe.each(encodings)("over $name", (transport) => {
  describe.each(sides)("when $binds binds", ({ binds, sockets }) => {
    test.each(["cut 1", "cut 2"])(
      "connections cut anywhere recover, with the seed %j",
      async (seed) => {
        const [binding, connecting] = sockets()
        const cut = cutting(seed)
        // `there` of `cut` is for the sender's bytes. If the sender binds, they travel `back`.
        const treat: Treat =
          binds === "the receiver"
            ? cut
            : (connection) => {
                const { there, back } = cut(connection)
                return { there: back, back: there }
              }
        const { arrived } = await travel(
          binding as Push,
          connecting as Pull,
          transport,
          treat,
          (relay) => {
            if (relay.connections < 40) return false
            relay.cut() // the next connection lasts
            return true
          },
        )
        expect(new Set(arrived).size).toBe(arrived.length)
        // A binding receiver reads from an old connection and the next in turn, over tcp:// too.
        if (binds === "the sender") expect(arrived).toEqual([...arrived].sort((a, b) => a - b))
      },
    )

    test.each([
      ["arrive byte by byte", dribbling],
      ["arrive late", dawdling("dawdling")],
    ])("all messages that %s arrive, in order", async (_, treat) => {
      const [binding, connecting] = sockets()
      const { arrived } = await travel(
        binding as Push,
        connecting as Pull,
        transport,
        treat,
        (_, sent) => sent >= 100,
      )
      expect(arrived).toEqual(Array.from(arrived, (_, i) => i))
    })
  })
})

test("peers that flood a socket with messages they may not send do not stop others", async () => {
  const pull = use(new Pull({ maxMessageSize: 1 << 20 }))
  await pull.bind("lz4+tcp://127.0.0.1:*")
  let errors = 0
  pull.lz4.on("protocolError", () => errors++)
  const push = use(new Push())
  push.connect(pull.lastEndpoint as string)

  const floods = [
    Buffer.alloc(1 << 18, "GET / HTTP/1.1\r\n"),
    payload("random", 1 << 18),
    Buffer.concat([handshake("PUSH"), payload("random", 1 << 18)]),
  ]
  let flooding = true
  const flood = (bytes: Uint8Array) => {
    const socket = dial(pull.lastEndpoint as string)
    socket.on("error", () => {})
    socket.on("close", () => flooding && flood(bytes))
    socket.resume().end(bytes)
    onTestFinished(() => {
      socket.destroy()
    })
  }
  onTestFinished(() => {
    flooding = false
  })
  for (const bytes of floods) for (let i = 0; i < 5; i++) flood(bytes)
  await eventually(() => errors >= 100)
  for (let i = 0; i < 200; i++) {
    const parts = message(i)
    await push.send(parts)
    const received = await pull.receive()
    expect(Buffer.concat(received).equals(Buffer.concat(parts))).toBe(true)
  }
})
