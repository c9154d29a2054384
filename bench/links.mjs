/** Measures the gain from compression on links of a given speed. See `--help`. */
import { trainDictionary } from "zeromq-lz4/codec"

import { benchmark, progress } from "./lib/harness.mjs"
import { readOptions } from "./lib/options.mjs"
import { linkCells } from "./links/cells.mjs"
import { whyNot } from "./links/network.mjs"
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

/** @typedef {import("./peers/peers.mjs").End} End */

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

const cells = linkCells(seconds, contestants)

await benchmark({ bench: "links", cells, options, versions: socketVersions() })
