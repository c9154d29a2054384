/** Messages through a proxy that delays, splits and cuts connections, determined by a seed. */
import { expect, test } from "vitest"

import { createRandom } from "../../bench/random.mjs"
import { Relay, type Treatment } from "../support/rough-relay.js"
import { SEED } from "../support/seed.js"
import { ALL } from "./extent.js"
import type { Arrival } from "./peer.mjs"
import { exchange, type Run } from "./run.js"
import { SHAPES } from "./shapes.js"

const MESSAGES = ALL ? 1_000_000 : 100_000
const PEERS = 4

/** One direction of a connection, which the seed and its name determine. */
function slow(name: string): Treatment {
  const random = createRandom(`proxy ${SEED} ${name}`)
  const oneIn = (count: number) => random.below(count) === 0
  return {
    delayMs: () => (oneIn(10) ? random.below(5) : 0),
    pieceBytes: () => (oneIn(4) ? random.between(1, 9) : random.between(10, 60_000)),
  }
}
function unreliable(name: string): Treatment {
  const random = createRandom(`cuts ${SEED} ${name}`)
  return { ...slow(name), cutAfterBytes: random.between(20_000, 400_000) }
}

/** Runs peers that reach the hub through one relay. */
async function throughRelay(
  treat: (name: string) => Treatment,
  run: Omit<Run, "binds" | "through">,
) {
  let relay: Promise<Relay> | undefined
  const through = async (endpoint: string) => {
    relay ??= Relay.open(endpoint, (connection) => ({
      there: treat(`${connection} there`),
      back: slow(`${connection} back`),
    }))
    return `lz4+tcp://${(await relay).address}`
  }
  const outcome = await exchange({ ...run, binds: "hub", through })
  return { ...outcome, connections: (await relay)?.connections ?? 0 }
}

const usual = {
  peers: PEERS,
  receiveMark: 100,
  sendMark: 1000,
  how: "wait",
  bytes: 200,
  content: "mixed",
  partsMax: 3,
  count: MESSAGES / 2 / PEERS,
  peerOptions: { autoDictionary: true },
} as const

test(`delayed and split messages arrive once, in order and unchanged, seed ${SEED}`, async () => {
  const { problems } = await throughRelay(slow, {
    ...usual,
    shape: SHAPES["n PUSH → PULL"]!,
  })
  expect(problems.join("\n")).toBe("")
})

/** Returns messages out of order or repeated, by the connections that a ROUTER identifies. */
function breaches(arrivals: readonly Arrival[]): string[] {
  const seen = new Set<string>()
  const last = new Map<string, Arrival>()
  const first = new Map<string, Arrival>()
  const found: string[] = []
  for (const arrival of arrivals) {
    const { from, stream, sequence } = arrival
    const before = last.get(from)
    if (seen.has(`${stream} ${sequence}`)) found.push(`${sequence} of ${stream} twice`)
    if (before && before.stream !== stream)
      found.push(`${stream} and ${before.stream} on one connection`)
    if (before && before.sequence >= sequence)
      found.push(`${sequence} of ${stream} after ${before.sequence}`)
    seen.add(`${stream} ${sequence}`)
    last.set(from, arrival)
    if (!before) first.set(from, arrival)
  }
  // A connection ends before the next one of the same peer begins.
  const spans = [...first.values()].sort((a, b) => a.stream - b.stream || a.sequence - b.sequence)
  for (const [i, next] of spans.entries()) {
    const before = last.get(spans[i - 1]?.from ?? "")
    if (before?.stream === next.stream && before.sequence >= next.sequence)
      found.push(`${next.sequence} of ${next.stream} in two connections at once`)
  }
  return found
}

test(`messages over connections that are cut arrive at most once, in order and complete, seed ${SEED}`, async () => {
  const { problems, arrivals, connections } = await throughRelay(unreliable, {
    ...usual,
    shape: SHAPES["n DEALER → ROUTER"]!,
    cuts: true,
  })
  expect(problems.join("\n")).toBe("")
  expect(breaches(arrivals)).toEqual([])
  expect(connections).toBeGreaterThan(3 * PEERS)
  // The number lost in a cut depends on the system's buffers, which hold many compressed messages.
  expect(arrivals.length).toBeGreaterThan(usual.count / 10)
})
