/** Measures the gain from compression on links of a given speed. See `--help`. */
import { trainDictionary } from "zeromq-lz4/codec"

import { sizeName } from "./lib/format.mjs"
import { benchmark, progress } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { createNetwork, LINKS, whyNot } from "./links/network.mjs"
import { payload } from "./payloads.mjs"
import {
  ARENA_MAX,
  ends,
  FIXED,
  OMQ_TOKIO,
  OURS,
  ours,
  PYOMQ,
  PYOMQ_TCP,
  TCP,
} from "./peers/ends.mjs"
import { pushPull } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"

const options = readOptions(
  "links",
  `Measures PUSH to PULL between two network namespaces, over links of 100 Mbit/s, 1 and 10 Gbit/s and
unlimited speed: Lorem ipsum and JSON, with the default options, with fixed levels, with a dictionary and
with level 12; tcp:// of zeromq.js, pyomq and omq-tokio for comparison. Needs Linux and root (ip netns,
tc tbf); skipped if namespaces cannot be created. About 40 minutes; four minutes with --quick, which
leaves out dictionaries and level 12.`,
)
/** The adaptive default needs longer than --quick allows, whose results for it are lower bounds. */
const seconds = options.quick ? 0.5 : 2

/** @typedef {import("./links/network.mjs").Link} Link */
/** @typedef {import("./peers/peers.mjs").End} End */

/** @type {{ payload: "lorem" | "json", size: number }[]} */
const MESSAGES = [
  { payload: "lorem", size: 128 * 1024 },
  { payload: "json", size: 1024 },
  { payload: "json", size: 128 * 1024 },
]

const SAMPLES = 100

/** @param {"lorem" | "json"} kind */
const dictionaryOf = (kind) =>
  trainDictionary(
    Array.from({ length: SAMPLES }, (_, i) => payload(kind, 1024, 1000 + i)),
    { capacity: 2048 },
  )

const reason = whyNot()
if (reason) {
  progress(`bench:links is skipped: ${reason}`)
  process.exit()
}

const dictionaries = { lorem: await dictionaryOf("lorem"), json: await dictionaryOf("json") }

/** @param {"lorem" | "json"} kind @returns {Record<string, End>} */
const others = (kind) => ({
  [`${OURS}, level 12`]: ours({ level: 12 }),
  [`${OURS}, dictionary`]: { ...ours(), dictionary: dictionaries[kind] },
  [`${OURS}, dictionary, level 9`]: { ...ours({ level: 9 }), dictionary: dictionaries[kind] },
})

/** Returns the contestants, with the same options at both ends. @param {"lorem" | "json"} kind @param {number} size @returns {Record<string, End>} */
const contestants = (kind, size) => ({
  [TCP]: ends[TCP],
  [OURS]: ends[OURS],
  ...Object.fromEntries(
    Object.entries(FIXED)
      .filter(([, { arenas }]) => arenas !== false || size <= ARENA_MAX)
      .map(([name, lz4]) => [name, ours(lz4)]),
  ),
  ...(options.quick ? {} : others(kind)),
  [PYOMQ_TCP]: ends[PYOMQ_TCP],
  [PYOMQ]: ends[PYOMQ],
  [OMQ_TOKIO]: ends[OMQ_TOKIO],
})

const cells = LINKS.flatMap((link) => {
  /** The network that all cells of the link share. @type {ReturnType<typeof createNetwork> | undefined} */
  let network
  return MESSAGES.map(({ payload: kind, size }) => {
    const both = contestants(kind, size)
    return {
      name: `${link.name}, ${kind} ${sizeName(size)}`,
      parameters: { link: link.name, payload: kind, size, seconds },
      contestants: Object.keys(both),
      prepare(/** @type {string} */ name) {
        network ??= createNetwork(link)
        const [sender, receiver] = [both[name], both[name]]
        const messages = payloadMessages(kind, size)
        return pushPull({ sender, receiver, messages, seconds, place: network })
      },
    }
  })
})

await benchmark({ bench: "links", cells, options, versions: socketVersions() })
