/** Every pair of socket types, with all options that can vary. */
import { describe, expect, test } from "vitest"

import { payload } from "../../bench/payloads.mjs"
import { SEED } from "../support/seed.js"
import { coveringRows, type Row } from "./covering.js"
import { ALL, SECONDS, SHARE } from "./extent.js"
import { meanBytes } from "./parts.mjs"
import { exchange } from "./run.js"
import { SHAPES } from "./shapes.js"

const ENCODINGS = {
  plain: {},
  dictionary: { dictionary: payload("json", 2048) },
  autoDictionary: { autoDictionary: { trigger: 20 } },
  arenas: { arenas: true },
  "level 9": { level: 9 },
  zstd: {},
  "zstd, autoDictionary": { autoDictionary: { trigger: 20 }, level: 1 },
} as const

const factors = {
  shape: Object.keys(SHAPES),
  peers: [3, 4, 6],
  mark: [1, 2, 10, 100, 1000],
  bytes: [100, 1000, 10_000, 100_000, 1_048_576, "mixed"],
  content: ["text", "random", "mixed"],
  partsMax: [1, 3],
  how: ["wait", "poll", "readable", "compute"],
  late: [false, true],
  encoding: Object.keys(ENCODINGS) as (keyof typeof ENCODINGS)[],
  threads: ["no", "hub", "peers", "both"],
  binds: ["hub", "peers"],
} as const

type Combination = Row<typeof factors>

/** Bytes of one run over all its peers: on the wire, and as plaintext. */
const WIRE_BYTES = ALL ? 5e6 : 2.5e6
const PLAIN_BYTES = ALL ? 30e6 : 15e6
const MESSAGES_MAX = ALL ? 6000 : 3000
/** Limits if the receiver pauses. */
const COMPUTE_MESSAGES_MAX = 2000
/** Limits if only one or two messages are in transit at a time. */
const STEPS_MAX = 300
const STREAM_MESSAGES_MIN = 5

function countOf({ shape: name, mark, how, peers, threads, ...contents }: Combination): number {
  const shape = SHAPES[name]
  const bytes = contents.content === "text" ? PLAIN_BYTES : WIRE_BYTES
  const most = [MESSAGES_MAX, bytes / meanBytes(contents)]
  if (how === "compute") most.push(COMPUTE_MESSAGES_MAX)
  const isThreaded = threads !== "no"
  if (shape?.lockstep || (mark <= 2 && (isThreaded || shape?.fromHub))) most.push(STEPS_MAX)
  return Math.max(STREAM_MESSAGES_MIN, Math.floor(Math.min(...most) / peers))
}

async function check(combination: Combination): Promise<void> {
  const { shape, mark, encoding, threads, ...others } = combination
  const scheme = encoding.startsWith("zstd") ? "zstd+tcp" : "lz4+tcp"
  const options = (isThreaded: boolean) => ({ ...ENCODINGS[encoding], thread: isThreaded })
  const { problems } = await exchange({
    ...others,
    scheme,
    shape: SHAPES[shape] as (typeof SHAPES)[string],
    sendMark: mark,
    receiveMark: mark,
    hubOptions: options(threads === "hub" || threads === "both"),
    peerOptions: options(threads === "peers" || threads === "both"),
    count: countOf(combination),
  })
  expect(problems.join("\n"), JSON.stringify(combination)).toBe("")
}

const named = ({ shape, peers, mark, bytes, content, partsMax, how, late, ...more }: Combination) =>
  `${shape}, ${peers} peers, mark ${mark}, ${bytes} bytes of ${content}, 1-${partsMax} parts, ` +
  `${how}${late ? " late" : ""}, ${more.encoding}, threads: ${more.threads}, ${more.binds} bind`

describe(`messages arrive once, in order and unchanged, seed ${SEED}`, () => {
  const all = coveringRows(factors, SEED, ALL ? 3 : 2)
  const rows = all.slice(0, Math.ceil(SHARE * all.length))
  test.each(rows.map((row) => [named(row), row] as const))("%s", (_, row) => check(row))
})

if (SECONDS > 0)
  test(
    `also in other combinations, for ${SECONDS} seconds`,
    async () => {
      const end = performance.now() + SECONDS * 1000
      for (let round = 1; performance.now() < end; round++)
        for (const row of coveringRows(factors, `${SEED}-${round}`))
          if (performance.now() < end) await check(row)
    },
    SECONDS * 1000 + 60_000,
  )
