/** Measures the default options with payloads and links that change. See `--help`. */
import { setTimeout } from "node:timers/promises"

import { benchmark, progress } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { createNetwork, MIDDLING, SLOW, whyNot } from "./links/network.mjs"
import { ends, FIXED, OURS, ours } from "./peers/ends.mjs"
import { connected } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { LINK_PHASES } from "./reports/changes.mjs"

const options = readOptions(
  "changes",
  `Measures PUSH to PULL between two network namespaces, with messages of 128 KiB, the default options and
each fixed level: a stream that changes from Lorem ipsum to random bytes to JSON every three seconds, and
a link that changes from 1 Gbit/s to 100 Mbit/s and back. Needs Linux and root (ip netns, tc tbf); skipped
if namespaces cannot be created. About half an hour; six minutes with --quick, which runs everything
once.`,
  5,
)
const runs = options.quick ? 1 : options.runs

/** @typedef {import("./links/network.mjs").Link} Link */
/** @typedef {ReturnType<typeof createNetwork>} Network */

const SIZE = 128 * 1024
const PAYLOAD_MS = 3000
const LINK_MS = 6000
/** Time for both processes to read their messages. */
const SOON_MS = 500
/** Low marks: after a change, messages that were queued before it would count in the wrong phase. */
const MARKS = { sender: { sendHighWaterMark: 8 }, receiver: { receiveHighWaterMark: 8 } }

/** Without arenas: parts of this size are not put into arenas anyway. */
const contestants = Object.fromEntries([
  [OURS, ends[OURS]],
  ...Object.entries(FIXED)
    .filter(([, { arenas }]) => arenas !== false)
    .map(([name, lz4]) => [name, ours(lz4)]),
])

/**
 * Sends, and returns the MB/s of plaintext received in each phase, without the first phases of a new
 * connection.
 * @param {{ push: import("./peers/peers.mjs").Peer, pull: import("./peers/peers.mjs").Peer }} pair
 * @param {{ files: string[], eachMs: number, phases: readonly string[], unmeasured: number }} what
 * @param {(from: number) => Promise<void>} [meanwhile]
 */
async function phasesOf({ push, pull }, { files, eachMs, phases, unmeasured }, meanwhile) {
  const from = Date.now() + SOON_MS
  const until = from + eachMs * (unmeasured + phases.length)
  const [{ bytes }] = await Promise.all([
    pull.call("arrivals", { eachMs, from }),
    push.call("sendInTurn", { files, eachMs, from, until }),
    meanwhile?.(from),
  ])
  return phases.map((quantity, i) => ({
    quantity,
    unit: "MB/s",
    value: (bytes[unmeasured + i] ?? 0) / eachMs / 1000,
  }))
}

/** @param {string} name @param {Network} network */
const pairOf = (name, network) => {
  const end = contestants[name]
  return connected({ ...end, options: MARKS.sender }, { ...end, options: MARKS.receiver }, network)
}

const payloadCells = [SLOW, MIDDLING].map((link) => {
  /** @type {Network | undefined} */
  let network
  return {
    name: `payloads in turn, ${link.name}`,
    parameters: { link: link.name, size: SIZE, phaseSeconds: PAYLOAD_MS / 1000 },
    contestants: Object.keys(contestants),
    async prepare(/** @type {string} */ name) {
      network ??= createNetwork(link)
      const pair = await pairOf(name, network)
      const kinds = /** @type {const} */ (["lorem", "random", "json"])
      const what = {
        files: kinds.map((kind) => payloadMessages(kind, SIZE).path),
        eachMs: PAYLOAD_MS,
        phases: kinds,
        unmeasured: kinds.length,
      }
      return { run: () => phasesOf(pair, what), stop: pair.stop }
    },
  }
})

const linkCells = /** @type {const} */ (["json", "lorem"]).map((kind) => {
  /** @type {Network | undefined} */
  let network
  return {
    name: `links in turn, ${kind}`,
    parameters: { payload: kind, size: SIZE, phaseSeconds: LINK_MS / 1000 },
    contestants: Object.keys(contestants),
    async prepare(/** @type {string} */ name) {
      const made = network ?? createNetwork(MIDDLING)
      network = made
      const pair = await pairOf(name, made)
      const what = {
        files: [payloadMessages(kind, SIZE).path],
        eachMs: LINK_MS,
        phases: LINK_PHASES,
        unmeasured: 1,
      }
      const change = async (/** @type {number} */ from) => {
        // A packet larger than a shrunk token bucket would wait forever.
        const { burst } = MIDDLING.shape
        for (const [i, { shape }] of [SLOW, MIDDLING].entries()) {
          await setTimeout(from + (1 + i) * LINK_MS - Date.now())
          made.reshape({ rate: shape.rate, burst })
        }
      }
      return { run: () => phasesOf(pair, what, change), stop: pair.stop }
    },
  }
})

const reason = whyNot()
if (reason) {
  progress(`bench:changes is skipped: ${reason}`)
  process.exit()
}

await benchmark({
  bench: "changes",
  cells: [...payloadCells, ...linkCells],
  options: { ...options, runs },
  versions: socketVersions(),
})
