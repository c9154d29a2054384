/** What compression gains on links of a given speed. `--help` says more. */
import { trainDictionary } from "zeromq-lz4/codec"

import { sizeName } from "./lib/format.mjs"
import { benchmark, progress } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { readOptions } from "./lib/options.mjs"
import { createNetwork, whyNot } from "./links/network.mjs"
import { payload } from "./payloads.mjs"
import { ends, OMQ_TOKIO, OURS, ours, PYOMQ, PYOMQ_TCP, TCP } from "./peers/ends.mjs"
import { pushPull } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"

const options = readOptions(
  "links",
  `PUSH to PULL between two network namespaces, over a link of 100 Mbit/s, of 1 and 10 Gbit/s, and of no
set speed: Lorem ipsum and JSON, with levels, a dictionary and arenas; tcp:// of zeromq.js, pyomq and
omq-tokio for comparison. Needs Linux and root (ip netns, tc tbf); nothing is measured where
namespaces cannot be made. About eight minutes.`,
)
const seconds = options.quick ? 0.1 : 0.5

/** @typedef {import("./links/network.mjs").Link} Link */
/** @typedef {import("./peers/peers.mjs").End} End */

/** @type {Link[]} */
const LINKS = [
  { name: "100 Mbit/s", shape: { rate: "100mbit", burst: "16kb" } },
  { name: "1 Gbit/s", shape: { rate: "1gbit", burst: "128kb" } },
  { name: "10 Gbit/s", shape: { rate: "10gbit", burst: "1mb" } },
  { name: "unshaped", shape: undefined },
]

/** @type {{ payload: "lorem" | "json", size: number }[]} */
const MESSAGES = [
  { payload: "lorem", size: 128 * 1024 },
  { payload: "json", size: 1024 },
  ...(options.quick ? [] : [{ payload: /** @type {const} */ ("json"), size: 128 * 1024 }]),
]

const SAMPLES = 100
const LEVELS = [0, 3, 9, 12]

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

/** Both ends are alike. @param {"lorem" | "json"} kind @returns {Record<string, End>} */
const contestants = (kind) => ({
  [TCP]: ends[TCP],
  [OURS]: ends[OURS],
  ...Object.fromEntries(LEVELS.map((level) => [`${OURS}, level ${level}`, ours({ level })])),
  [`${OURS}, dictionary`]: { ...ours(), dictionary: dictionaries[kind] },
  [`${OURS}, arenas`]: ours({ arenas: true }),
  [`${OURS}, arenas, dictionary, level 9`]: {
    ...ours({ arenas: true, level: 9 }),
    dictionary: dictionaries[kind],
  },
  [PYOMQ_TCP]: ends[PYOMQ_TCP],
  [PYOMQ]: ends[PYOMQ],
  [OMQ_TOKIO]: ends[OMQ_TOKIO],
})

const cells = LINKS.flatMap((link) => {
  /** One for all cells of the link. @type {ReturnType<typeof createNetwork> | undefined} */
  let network
  return MESSAGES.map(({ payload: kind, size }) => {
    const both = contestants(kind)
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
