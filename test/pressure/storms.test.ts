/** Connections that come and go, and one that stays. */
import { once } from "node:events"
import { expect, test } from "vitest"
import { Push } from "zeromq-lz4"

import { createRandom } from "../../bench/random.mjs"
import { rawPeer } from "../support/raw-peer.js"
import { SEED } from "../support/seed.js"
import { concat, plainPart } from "../support/wire.js"
import { handshake, message } from "../support/zmtp.js"
import { ALL } from "./extent.js"
import { makeMessage } from "./parts.mjs"
import { exchange, VISITOR_STREAMS } from "./run.js"
import { SHAPES } from "./shapes.js"

const CONNECTIONS = ALL ? 10_000 : 1000
const AT_ONCE = 25
const MESSAGES = 3

const contents = { bytes: "mixed", content: "mixed", partsMax: 2 } as const
const random = createRandom(`storms ${SEED}`)
const visitors = Array.from({ length: CONNECTIONS }, (_, i) => VISITOR_STREAMS + i)
/** Others break off in the middle: after some bytes, and perhaps only when they are answered. */
const polite = visitors.filter(() => random.below(3) > 0)
const unfinished = concat(handshake("PUSH"), message(plainPart(Buffer.alloc(5000))))
const breaks = visitors.map(() => ({
  bytes: random.between(1, unfinished.length - 1),
  answered: random.below(2) === 0,
}))

async function visit(endpoint: string, stream: number): Promise<void> {
  const push = new Push()
  push.connect(endpoint)
  for (let i = 0; i < MESSAGES; i++) await push.send(makeMessage(stream, i, contents))
  push.close() // sent messages still arrive
}

/** Ends at some point between its first byte and an incomplete message. */
async function breakOff(endpoint: string, stream: number): Promise<void> {
  const { bytes, answered } = breaks[stream - VISITOR_STREAMS]!
  const peer = await rawPeer(endpoint, unfinished.subarray(0, bytes))
  if (answered) await once(peer.socket, "data")
  peer.close()
}

test(`${CONNECTIONS} connections that come and go do not affect others, seed ${SEED}`, async () => {
  const { problems } = await exchange({
    ...contents,
    shape: SHAPES["n PUSH → PULL"]!,
    peers: 2,
    receiveMark: 10,
    sendMark: 100,
    how: "wait",
    binds: "hub",
    count: ALL ? 20_000 : 3000,
    visitors: { streams: polite, count: MESSAGES },
    meanwhile: async (endpoint) => {
      for (let i = 0; i < visitors.length; i += AT_ONCE)
        await Promise.all(
          visitors
            .slice(i, i + AT_ONCE)
            .map((stream) =>
              polite.includes(stream) ? visit(endpoint, stream) : breakOff(endpoint, stream),
            ),
        )
    },
  })
  expect(problems.join("\n")).toBe("")
})
