/** The targets, which are printed but not asserted, because results depend on the machine. */
import { NATIVE, NODE_ZSTD, OURS_INTO, OURS_ZSTD, PEERS } from "./codec/implementations.mjs"
import {
  ARENAS,
  AUTO_DICTIONARY,
  DICTIONARY,
  NO_DICTIONARY,
  ZSTD_AUTO_DICTIONARY,
} from "./corpora/modes.mjs"
import { digits, sizeName } from "./lib/format.mjs"
import { Run } from "./lib/run.mjs"
import {
  FIXED_ZSTD,
  NOT_ENCRYPTED,
  OMQ_TOKIO,
  ON_THREADS,
  ONE_THREAD,
  OURS,
  PYOMQ,
  TCP,
  TWO_THREADS,
  ZSTD,
  ZSTD_ON_THREADS,
} from "./peers/ends.mjs"
import { secondsLost, shareOfBest } from "./reports/changes.mjs"
import { RAW_TCP } from "./reports/latency.mjs"
import { overBestFixed } from "./reports/links.mjs"
import {
  BROKER_CPU,
  CONNECTION_MEMORY,
  DELIVERY_CPU,
  FLOOD,
  HTTP,
  HUB_CPU,
  LONGEST_DELAY,
  MEDIAN,
  PERCENTILE,
  REP,
  ROUND_TRIP,
  ROUTER,
  SENDER_CPU,
  SERVICE_CPU,
} from "./reports/quantities.mjs"

import { overFastest, PYOMQS } from "./reports/schemes.mjs"

/** @typedef {import("./lib/results.mjs").Bench} Bench */
/** @typedef {import("./lib/results.mjs").Measurement} Measurement */

/**
 * @typedef {object} Target
 * @property {Bench} bench
 * @property {string} what
 * @property {{ atLeast: number } | { atMost: number }} goal
 * @property {(run: Run, cell: string) => number | undefined} value  undefined if the target does not apply to the cell
 */

const KIB = 1024
const MIB = 1024 * KIB
const SHAPED = ["100 Mbit/s", "1 Gbit/s"]
const FAST = ["10 Gbit/s", "unshaped"]

/**
 * Divides our messages per second by those of another implementation.
 * @param {string} other @param {(cell: { payload: string, size: number, link: string }) => boolean} applies
 * @param {string} [who]  our contestant
 * @returns {Target["value"]}
 */
const rateOver =
  (other, applies, who = OURS) =>
  (run, cell) => {
    const { payload, size, link } = run.parameters(`${cell}: messages`)
    const applicable = applies({ payload: String(payload), size: Number(size), link: String(link) })
    return applicable ? run.ratio(`${cell}: messages`, who, other) : undefined
  }

/**
 * Returns a target for one cell of the throughput benchmark, relative to another implementation.
 * @param {string} other @param {"lorem" | "json" | "random"} kind @param {number} bytes @param {number} atLeast
 * @returns {Target}
 */
const loopback = (other, kind, bytes, atLeast) => ({
  bench: "throughput",
  what: `${kind} ${sizeName(bytes)}, × ${other}`,
  goal: { atLeast },
  value: rateOver(other, ({ payload, size }) => payload === kind && size === bytes),
})

/** Returns a target for one cell of the throughput benchmark on threads, relative to tcp://. @param {"lorem" | "json" | "random"} kind @param {number} bytes @param {number} atLeast @returns {Target} */
const onThreads = (kind, bytes, atLeast) => ({
  bench: "throughput",
  what: `${kind} ${sizeName(bytes)}, ${ON_THREADS}, × ${TCP}`,
  goal: { atLeast },
  value: rateOver(TCP, ({ payload, size }) => payload === kind && size === bytes, ON_THREADS),
})

/** @type {readonly Target[]} */
const THROUGHPUT = [
  loopback(TCP, "lorem", 64, 10),
  loopback(TCP, "json", KIB, 4.5),
  loopback(TCP, "lorem", 16 * KIB, 3),
  loopback(TCP, "json", 16 * KIB, 3.5),
  loopback(TCP, "random", 16 * KIB, 3.5),
  loopback(TCP, "lorem", 128 * KIB, 1.5),
  loopback(TCP, "json", 128 * KIB, 1.5),
  loopback(TCP, "random", 128 * KIB, 1.5),
  loopback(TCP, "json", MIB, 1.3),
  loopback(TCP, "random", MIB, 1.3),
  loopback(TCP, "random", 16 * MIB, 1.1),
  loopback(PYOMQ, "lorem", 64, 1.8),
  loopback(PYOMQ, "json", KIB, 1.6),
  loopback(PYOMQ, "json", 16 * KIB, 3.5),
  loopback(PYOMQ, "json", 128 * KIB, 3.3),
  onThreads("lorem", 64, 5),
  onThreads("json", KIB, 2),
  onThreads("json", 128 * KIB, 0.8),
  onThreads("random", 128 * KIB, 0.8),
  onThreads("json", MIB, 0.8),
  onThreads("random", MIB, 0.8),
]

/** @param {string} link @param {(cell: { payload: string, size: number }) => boolean} applies @param {string} other */
const rateOnLink = (link, other, applies) =>
  rateOver(other, (cell) => cell.link === link && applies(cell))

/** @param {{ payload: string, size: number }} cell */
const isLargeLorem = ({ payload, size }) => payload === "lorem" && size === 128 * KIB

/**
 * Divides the rate of the default by that of the best fixed option.
 * @param {(cell: { payload: string, size: number, link: string }) => boolean} applies
 * @returns {Target["value"]}
 */
const overFixed = (applies) => (run, cell) => {
  const { payload, size, link } = run.parameters(`${cell}: messages`)
  return applies({ payload: String(payload), size: Number(size), link: String(link) })
    ? overBestFixed(run, cell)
    : undefined
}

/** @param {{ link: string }} cell */
const isShaped = ({ link }) => SHAPED.includes(link)

/** Selects large JSON on links that are hardly a limit. @param {{ payload: string, size: number, link: string }} cell */
const isFastJson = ({ payload, size, link }) =>
  FAST.includes(link) && payload === "json" && size === 128 * KIB

/**
 * Divides the gain of a level over tcp:// by the gain that its compression ratio predicts.
 * @param {number} level @param {number} usual  the expected gain of level 0
 * @returns {Target["value"]}
 */
const levelGain = (level, usual) => (run, cell) => {
  const { link, payload, size } = run.parameters(`${cell}: messages`)
  if (link !== "100 Mbit/s" || !isLargeLorem({ payload: String(payload), size: Number(size) }))
    return
  const name = `${OURS}, level ${level}`
  const gain = run.ratio(`${cell}: messages`, name, TCP)
  const smaller = run.ratio(`${cell}: wire`, `${OURS}, level 0`, name)
  return gain && smaller && gain / (usual * smaller)
}

/** @type {readonly Target[]} */
const LINKS = [
  {
    bench: "links",
    what: "100 Mbit/s, lorem 128 KiB, × tcp://",
    goal: { atLeast: 11.3 },
    value: rateOnLink("100 Mbit/s", TCP, isLargeLorem),
  },
  ...[9, 12].map((level) => ({
    bench: /** @type {const} */ ("links"),
    what: `100 Mbit/s, lorem 128 KiB, level ${level}, × 8.9 tcp:// and its gain in ratio`,
    goal: { atLeast: 1 },
    value: levelGain(level, 8.9),
  })),
  {
    bench: "links",
    what: "1 Gbit/s, lorem 128 KiB, × tcp://",
    goal: { atLeast: 7.3 },
    value: rateOnLink("1 Gbit/s", TCP, isLargeLorem),
  },
  {
    bench: "links",
    what: `from 16 KiB on an unshaped link, × ${PYOMQ}`,
    goal: { atLeast: 1 },
    value: rateOnLink("unshaped", PYOMQ, ({ size }) => size >= 16 * KIB),
  },
  {
    bench: "links",
    what: "100 Mbit/s and 1 Gbit/s, × the best fixed option",
    goal: { atLeast: 0.97 },
    value: overFixed(isShaped),
  },
  {
    bench: "links",
    what: "10 Gbit/s and unshaped, json 128 KiB, × the best fixed option",
    goal: { atLeast: 0.95 },
    value: overFixed(isFastJson),
  },
  {
    bench: "links",
    what: "10 Gbit/s and unshaped, json 128 KiB, × tcp://",
    goal: { atLeast: 0.95 },
    value: rateOver(TCP, isFastJson),
  },
  ...[PYOMQ, OMQ_TOKIO].map((other) => ({
    bench: /** @type {const} */ ("links"),
    what: `100 Mbit/s and 1 Gbit/s, × ${other}`,
    goal: { atLeast: 1 },
    value: rateOver(other, isShaped),
  })),
]

/** @typedef {{ payload: string, size: number, link: string }} Cell */
const json = (/** @type {Cell} */ { payload, size }, /** @type {number} */ bytes) =>
  payload === "json" && size === bytes
const isFast = (/** @type {Cell} */ { link }) => FAST.includes(link)
const on =
  (/** @type {string} */ name) =>
  (/** @type {Cell} */ { link }) =>
    link === name

/** Returns a target for zstd+tcp://, relative to the fastest of some contestants. @param {string} what @param {number} atLeast @param {readonly string[]} others @param {(cell: Cell) => boolean} applies @param {string} [who] @returns {Target} */
const inZstd = (what, atLeast, others, applies, who = ZSTD) => ({
  bench: "schemes",
  what,
  goal: { atLeast },
  value: (run, name) => {
    const { payload, size, link } = run.parameters(`${name}: messages`)
    const cell = { payload: String(payload), size: Number(size), link: String(link) }
    return applies(cell) ? overFastest(run, name, others, who) : undefined
  },
})

/** @type {readonly Target[]} */
const SCHEMES = [
  ...[KIB, 128 * KIB].flatMap((size) =>
    SHAPED.map((link) =>
      inZstd(
        `${link}, json ${sizeName(size)}, × lz4+tcp://`,
        size === KIB ? 1.35 : link === "1 Gbit/s" ? 1.5 : 1.4,
        [OURS],
        (cell) => on(link)(cell) && json(cell, size),
      ),
    ),
  ),
  {
    bench: "schemes",
    what: "100 Mbit/s, json 128 KiB, the sender's CPU × lz4+tcp://",
    goal: { atMost: 0.3 },
    value: (run, name) => {
      const { payload, size, link } = run.parameters(`${name}: messages`)
      const applies = link === "100 Mbit/s" && payload === "json" && size === 128 * KIB
      return applies ? run.ratio(`${name}: CPU of the sender`, ZSTD, OURS) : undefined
    },
  },
  inZstd("100 Mbit/s, × pyomq's", 1, PYOMQS, on("100 Mbit/s")),
  inZstd("1 Gbit/s, json 1 KiB, × pyomq's", 0.95, PYOMQS, (cell) => {
    return on("1 Gbit/s")(cell) && json(cell, KIB)
  }),
  ...[ZSTD, ZSTD_ON_THREADS].map((who) =>
    inZstd(
      `1 Gbit/s, json 128 KiB, ${who}, × pyomq's`,
      who === ZSTD ? 0.85 : 1,
      PYOMQS,
      (cell) => on("1 Gbit/s")(cell) && json(cell, 128 * KIB),
      who,
    ),
  ),
  inZstd("1 Gbit/s, lorem 128 KiB, × pyomq's", 0.9, PYOMQS, (cell) => {
    return on("1 Gbit/s")(cell) && isLargeLorem(cell)
  }),
  inZstd("10 Gbit/s and unshaped, × lz4+tcp://", 0.97, [OURS], isFast),
  inZstd("the default, × the best fixed level", 0.97, Object.keys(FIXED_ZSTD), () => true),
]

/** @type {readonly Target[]} */
const CHANGES = [
  {
    bench: "changes",
    what: "Lorem, random and JSON in turn, × the sum of the best levels",
    goal: { atLeast: 0.96 },
    value: (run, cell) =>
      cell.startsWith("payloads in turn") ? shareOfBest(run, cell) : undefined,
  },
  {
    bench: "changes",
    what: "1 Gbit/s, 100 Mbit/s and back, seconds lost at a change",
    goal: { atMost: 0.5 },
    value: (run, cell) => (cell.startsWith("links in turn") ? secondsLost(run, cell) : undefined),
  },
]

/** @type {readonly Target[]} */
const LATENCY = [
  {
    bench: "latency",
    what: "median at 64 B, × tcp://",
    goal: { atMost: 0.5 },
    value: (run, cell) => (cell === "64 B" ? run.ratio(`${cell}: median`, OURS, TCP) : undefined),
  },
  {
    bench: "latency",
    what: "99.9th percentile at 64 B, × tcp://",
    goal: { atMost: 1 },
    value: (run, cell) =>
      cell === "64 B" ? run.ratio(`${cell}: 99.9th percentile`, OURS, TCP) : undefined,
  },
  {
    bench: "latency",
    what: `median at 64 B, ${ON_THREADS}, × tcp://`,
    goal: { atMost: 1.6 },
    value: (run, cell) =>
      cell === "64 B" ? run.ratio(`${cell}: median`, ON_THREADS, TCP) : undefined,
  },
]

/** @param {string} wanted  a cell @param {string} quantity @param {Target["goal"]} goal @returns {Target} */
const burst = (wanted, quantity, goal, other = TCP) => ({
  bench: "bursts",
  what: `${wanted}, ${quantity}, × ${other === TCP ? "tcp://" : other}`,
  goal,
  value: (run, cell) =>
    cell === wanted ? run.ratio(`${cell}: ${quantity}`, OURS, other) : undefined,
})

/** @type {readonly Target[]} */
const BURSTS = [
  burst("one a turn, PUSH to 1", "messages", { atLeast: 1 }),
  burst("one a turn, PUSH to 1", SENDER_CPU, { atMost: 1 }),
  burst("one a turn, PUB to 64", "messages", { atLeast: 5 }),
  burst("one a turn, PUB to 64", SENDER_CPU, { atMost: 0.8 }),
  burst("one a turn, PUB to 512", "messages", { atLeast: 6 }),
  burst("one a turn, PUB to 512", SENDER_CPU, { atMost: 0.4 }),
  burst("20 a turn, PUB to 64", "messages", { atLeast: 5 }),
  burst("20 a turn, PUB to 64", SENDER_CPU, { atMost: 0.4 }),
  burst("20 a turn, PUB to 512", "messages", { atLeast: 6 }),
  burst("20 a turn, PUB to 512", SENDER_CPU, { atMost: 0.4 }),
  burst("16 KiB as fast as it goes, PUB to 64", "messages", { atLeast: 1.8 }),
  burst("16 KiB as fast as it goes, PUB to 64", SENDER_CPU, { atMost: 0.28 }),
  burst(ROUND_TRIP, "median", { atMost: 0.65 }),
  burst(ROUND_TRIP, "median", { atMost: 1.2 }, RAW_TCP),
]

/** Returns the hub's CPU time for each message and spoke. @param {Run} run @param {string} cell @param {string} who */
function hubCost(run, cell, who) {
  const measurement = run.get(`${cell}: ${HUB_CPU}`, who)
  if (!measurement) return Number.NaN
  const { shape, spokes } = measurement.parameters
  return measurement.median / (String(shape).startsWith("PUB") ? Number(spokes) : 1)
}

/** @param {string} wanted  a cell @param {string} quantity @param {Target["goal"]} goal @returns {Target} */
const hub = (wanted, quantity, goal) => ({
  bench: "fan",
  what: `${wanted}, ${quantity}, × tcp://`,
  goal,
  value: (run, cell) =>
    cell === wanted ? run.ratio(`${cell}: ${quantity}`, OURS, TCP) : undefined,
})

/** @type {readonly Target[]} */
const FAN = [
  hub("PUB → SUB 64 B, 64", "messages", { atLeast: 4 }),
  hub("PUB → SUB 64 B, 512", "messages", { atLeast: 5 }),
  hub("PUB → SUB 16 KiB, 64", "messages", { atLeast: 1.8 }),
  hub("PUB → SUB 16 KiB, 64", HUB_CPU, { atMost: 0.25 }),
  hub("PUSH → PULL 64 B, 512", "messages", { atLeast: 10 }),
  {
    bench: "fan",
    what: "CPU per message of 512 peers × that of 8, × what it is over tcp://",
    goal: { atMost: 1.1 },
    value(run, cell) {
      if (!cell.endsWith(", 512")) return
      const few = cell.replace(/512$/, "8")
      const growth = (/** @type {string} */ who) => hubCost(run, cell, who) / hubCost(run, few, who)
      const value = growth(OURS) / growth(TCP)
      return Number.isNaN(value) ? undefined : value
    },
  },
]

/** @param {string} quantity @param {number} few  peers to compare with @returns {Target} */
const growth = (quantity, few) => ({
  bench: "scale",
  what: `${quantity}, × that with ${few}`,
  goal: { atMost: 1.5 },
  value(run, cell) {
    const [shape, peers] = cell.split(", ")
    const least = run.get(`${shape}, ${few}: ${quantity}`, OURS)
    const many = run.get(`${cell}: ${quantity}`, OURS)
    return least && many && Number(peers) > few ? many.median / least.median : undefined
  },
})

/** The memory of 64 connections is less than the noise. @type {readonly Target[]} */
const SCALE = [growth(DELIVERY_CPU, 64), growth(CONNECTION_MEMORY, 512)]

/**
 * Returns a target for the time of an answer: at most so many times that over tcp://, or a millisecond.
 * @param {string} who  a service @param {number} times @returns {Target}
 */
const question = (who, times) => ({
  bench: "services",
  what: `median answer of ${who}, × ${times} tcp:// or 1 ms`,
  goal: { atMost: 1 },
  value(run, cell) {
    const name = `${cell}: ${who}, ${MEDIAN}`
    const [theirs, ours] = [run.get(name, TCP), run.get(name, OURS)]
    return theirs && ours && ours.median / Math.max(times * theirs.median, 1)
  },
})

/** @param {string} what @param {(size: number) => boolean} applies @param {number} atLeast @returns {Target} */
const flood = (what, applies, atLeast) => ({
  bench: "services",
  what: `floods of ${what}, × tcp://`,
  goal: { atLeast },
  value: (run, cell) =>
    applies(Number(run.parameters(`${cell}: ${FLOOD}`).size))
      ? run.ratio(`${cell}: ${FLOOD}`, OURS, TCP)
      : undefined,
})

/** @param {string} what @param {string} quantity @param {Target["goal"]} goal @returns {Target} */
const manyClients = (what, quantity, goal) => ({
  bench: "services",
  what: `many clients, ${what}, × tcp://`,
  goal,
  value: (run, cell) =>
    cell.includes(" clients, ") ? run.ratio(`${cell}: ${quantity}`, OURS, TCP) : undefined,
})

/** @type {readonly Target[]} */
const SERVICES = [
  question(ROUTER, 4),
  question(REP, 4),
  question(HTTP, 2),
  flood("64 KiB", (size) => size === 64 * KIB, 1.4),
  flood("1 KiB and less", (size) => size <= KIB, 3),
  manyClients("answers", "answers", { atLeast: 1 }),
  manyClients("99th percentile", PERCENTILE, { atMost: 1.3 }),
  manyClients(SERVICE_CPU, SERVICE_CPU, { atMost: 1 }),
]

/** @param {string} wanted  a cell @param {string} who @param {string} quantity @param {Target["goal"]} goal @returns {Target} */
const broker = (wanted, who, quantity, goal) => ({
  bench: "brokers",
  what: `${wanted}, ${who}, ${quantity}, × ${TCP}`,
  goal,
  value: (run, cell) => (cell === wanted ? run.ratio(`${cell}: ${quantity}`, who, TCP) : undefined),
})

const LEVEL_0 = `${OURS}, level 0`
const LINKED = "1 Gbit/s on both sides, PUSH to PULL, 128 KiB"

/** @type {readonly Target[]} */
const BROKERS = [
  broker("PUSH to PULL, 128 KiB", LEVEL_0, "messages", { atLeast: 1 }),
  broker("PUSH to PULL, 128 KiB", LEVEL_0, BROKER_CPU, { atMost: 1.6 }),
  broker("PUSH to PULL, 128 KiB", `${OURS}, level 9`, BROKER_CPU, { atMost: 1.6 }),
  broker("PUSH to PULL, 16 KiB", LEVEL_0, "messages", { atLeast: 1.2 }),
  broker("PUSH to PULL, 16 KiB", LEVEL_0, BROKER_CPU, { atMost: 1.2 }),
  broker("PUSH to PULL, 1 MiB", LEVEL_0, "messages", { atLeast: 1 }),
  broker("DEALER to DEALER, 16 KiB", LEVEL_0, "messages", { atLeast: 1.2 }),
  broker("DEALER to DEALER, 128 KiB", LEVEL_0, "messages", { atLeast: 1 }),
  broker("PUB to 8 SUBs, 16 KiB", LEVEL_0, BROKER_CPU, { atMost: 1 }),
  broker(LINKED, LEVEL_0, "messages", { atLeast: 3 }),
  broker(LINKED, `${ZSTD}, level 1`, "messages", { atLeast: 4 }),
]

/** @param {string} wanted  a cell @param {string} quantity @param {Target["goal"]} goal @returns {Target} */
const withCurve = (wanted, quantity, goal, other = TCP) => ({
  bench: "curve",
  what: `${wanted}, ${quantity}, × ${other === TCP ? `${TCP} with CURVE` : other}`,
  goal,
  value: (run, cell) =>
    cell === wanted ? run.ratio(`${cell}: ${quantity}`, OURS, other) : undefined,
})

/** @type {readonly Target[]} */
const CURVE = [
  withCurve("json 64 B", "messages", { atLeast: 4 }),
  withCurve("json 1 KiB", "messages", { atLeast: 2.5 }),
  withCurve("json 16 KiB", "messages", { atLeast: 1.2 }),
  withCurve("json 128 KiB", "messages", { atLeast: 0.7 }),
  withCurve("PUB → SUB 64 B, 64", "messages", { atLeast: 2.2 }),
  withCurve("PUB → SUB 1 KiB, 64", "messages", { atLeast: 1.5 }),
  withCurve(ROUND_TRIP, "median", { atMost: 0.75 }),
  ...["json 1 KiB, no arenas", "json 1 KiB", "json 128 KiB"].map((cell) =>
    withCurve(`100 Mbit/s, ${cell}`, "messages", { atLeast: 0.95 }, NOT_ENCRYPTED),
  ),
]

/** @type {readonly Target[]} */
const THREADS = [
  {
    bench: "threads",
    what: `${LONGEST_DELAY} of the event loop, ${ON_THREADS}, ms`,
    goal: { atMost: 10 },
    value: (run, cell) => run.get(`${cell}: ${LONGEST_DELAY}`, ON_THREADS)?.median,
  },
  {
    bench: "threads",
    what: `to two peers, ${TWO_THREADS} × ${ONE_THREAD}`,
    goal: { atLeast: 1.7 },
    value: (run, cell) => run.ratio(`${cell}: messages`, TWO_THREADS, ONE_THREAD),
  },
]

const SIDES = ["bound side", "connecting side"]

/** Returns the idle cell with the most connections. @param {Run} run */
const largestIdle = (run) => run.cells.filter((cell) => cell.startsWith("idle, ")).at(-1)

/** Selects the idle cells that have targets. */
const isMany = (/** @type {string} */ cell) => ["idle, 4000", "idle, 10000"].includes(cell)

/** @type {readonly Target[]} */
const MEMORY = [
  ...SIDES.map((side) => ({
    bench: /** @type {const} */ ("memory"),
    what: `an idle connection of 4,000 and of 10,000, ${side}, × tcp://`,
    goal: { atMost: 0.25 },
    value: (/** @type {Run} */ run, /** @type {string} */ cell) =>
      isMany(cell) ? run.ratio(`${cell}: ${side}`, OURS, TCP) : undefined,
  })),
  ...SIDES.map((side) => ({
    bench: /** @type {const} */ ("memory"),
    what: `an idle connection of 4,000 and of 10,000, ${side}, bytes of wasm memory`,
    goal: { atMost: 256 },
    value: (/** @type {Run} */ run, /** @type {string} */ cell) =>
      isMany(cell) ? run.get(`${cell}: wasm, ${side}`, OURS)?.median : undefined,
  })),
  ...SIDES.map((side) => ({
    bench: /** @type {const} */ ("memory"),
    what: `an idle connection of 4,000 and of 10,000, ${side}, ${ZSTD} × ${OURS}`,
    goal: { atMost: 1.1 },
    value: (/** @type {Run} */ run, /** @type {string} */ cell) =>
      isMany(cell) ? run.ratio(`${cell}: ${side}`, ZSTD, OURS) : undefined,
  })),
  ...SIDES.map((side) => ({
    bench: /** @type {const} */ ("memory"),
    what: `an idle connection of the most × one of 1000, ${side}`,
    goal: { atMost: 1.1 },
    value: (/** @type {Run} */ run, /** @type {string} */ cell) => {
      const most = run.get(`${cell}: ${side}`, OURS)
      const some = run.get(`idle, 1000: ${side}`, OURS)
      return cell === largestIdle(run) && most && some && most !== some
        ? most.median / some.median
        : undefined
    },
  })),
]

/** @param {string} what @param {string} quantity @param {number} atMost @returns {Target} */
const milliseconds = (what, quantity, atMost) => ({
  bench: "start",
  what: `${what}, ms`,
  goal: { atMost },
  value: (run, cell) => run.get(`${cell}: ${quantity}`, OURS)?.median,
})

/** @type {readonly Target[]} */
const START = [
  milliseconds("first bind of a process", "first bind", 5),
  milliseconds("first message of a process", "first message", 5),
  milliseconds("first load of the codec", "first load", 10),
]

/** @param {"encode" | "decode"} wanted @param {string} ours @returns {Target["value"]} */
const nativeFrom16KiB = (wanted, ours) => (run, cell) => {
  const { operation, size } = run.parameters(cell)
  return operation === wanted && Number(size) >= 16 * KIB
    ? run.ratio(cell, NATIVE, ours)
    : undefined
}

/** @type {readonly Target[]} */
const CODEC = [
  {
    bench: "codec",
    what: "encode from 16 KiB, × native",
    goal: { atLeast: 0.85 },
    value: nativeFrom16KiB("encode", OURS),
  },
  {
    bench: "codec",
    what: `decode from 16 KiB, ${OURS_INTO}, × native`,
    goal: { atLeast: 0.6 },
    value: nativeFrom16KiB("decode", OURS_INTO),
  },
  ...PEERS.map((name) => ({
    bench: /** @type {const} */ ("codec"),
    what: `everything, ${OURS_INTO}, × ${name}`,
    goal: { atLeast: 1 },
    value: (/** @type {Run} */ run, /** @type {string} */ cell) => run.ratio(cell, name, OURS_INTO),
  })),
  ...[KIB, 128 * KIB].map((bytes) => ({
    bench: /** @type {const} */ ("codec"),
    what: `${sizeName(bytes)}, ${OURS_ZSTD}, × ${NODE_ZSTD}`,
    goal: { atLeast: bytes === KIB ? 3 : 0.7 },
    value: (/** @type {Run} */ run, /** @type {string} */ cell) =>
      run.parameters(cell).size === bytes ? run.ratio(cell, NODE_ZSTD, OURS_ZSTD) : undefined,
  })),
  {
    bench: "codec",
    what: "1 KiB, × lz4-napi",
    goal: { atLeast: 2 },
    value: (run, cell) =>
      run.parameters(cell).size === KIB ? run.ratio(cell, "lz4-napi", OURS) : undefined,
  },
  {
    bench: "codec",
    what: "64 B, µs a call",
    goal: { atMost: 0.3 },
    value: (run, cell) =>
      run.parameters(cell).size === 64 ? run.get(cell, OURS)?.median : undefined,
  },
]

/** @param {string} corpus @param {string} mode @param {number} atMost @returns {Target} */
const wire = (corpus, mode, atMost) => ({
  bench: "corpora",
  what: `${corpus}, ${mode}, % on the wire`,
  goal: { atMost },
  value: (run, cell) => (cell === corpus ? run.get(`${cell}: wire`, mode)?.median : undefined),
})

/** @param {string} corpus @param {string} mode @param {number} atLeast @returns {Target} */
const linkSpeed = (corpus, mode, atLeast) => ({
  bench: "corpora",
  what: `${corpus}, ${mode}, × msg/s of ${NO_DICTIONARY}`,
  goal: { atLeast },
  value: (run, cell) =>
    cell === corpus ? run.ratio(`${cell}: link`, mode, NO_DICTIONARY) : undefined,
})

/** @type {readonly Target[]} */
const CORPORA = [
  wire("tiny", AUTO_DICTIONARY, 45),
  wire("tiny", ARENAS, 40),
  linkSpeed("tiny", AUTO_DICTIONARY, 0.9),
  linkSpeed("tiny", ARENAS, 0.9),
  wire("small", NO_DICTIONARY, 70),
  wire("small", DICTIONARY, 40),
  {
    bench: "corpora",
    what: `small, ${ZSTD_AUTO_DICTIONARY}, wire bytes × those of lz4+tcp://`,
    goal: { atMost: 0.75 },
    value: (run, cell) =>
      cell === "small"
        ? run.ratio(`${cell}: wire`, ZSTD_AUTO_DICTIONARY, AUTO_DICTIONARY)
        : undefined,
  },
  {
    bench: "corpora",
    what: "wire bytes × those with the dictionary of zstd's trainer",
    goal: { atMost: 1.03 },
    value: (run, cell) => run.get(`${cell}: × zstd's trainer`, DICTIONARY)?.median,
  },
]

/** @type {readonly Target[]} */
export const TARGETS = [
  ...LINKS,
  ...SCHEMES,
  ...CHANGES,
  ...THROUGHPUT,
  ...CORPORA,
  ...LATENCY,
  ...BURSTS,
  ...FAN,
  ...SCALE,
  ...SERVICES,
  ...BROKERS,
  ...CURVE,
  ...THREADS,
  ...MEMORY,
  ...START,
  ...CODEC,
]

/**
 * Returns a line for each target that was measured, with the result of its worst cell.
 * @param {Partial<Record<Bench, readonly Measurement[]>>} measured
 */
export const targetLines = (measured) =>
  TARGETS.flatMap(({ bench, what, goal, value }) => {
    const run = new Run(measured[bench] ?? [])
    const reached = run.cells.flatMap((cell) => {
      const number = value(run, cell)
      return number === undefined ? [] : [{ cell, number }]
    })
    if (reached.length === 0) return []
    const [limit, sign] = "atLeast" in goal ? [goal.atLeast, 1] : [goal.atMost, -1]
    const missed = reached.filter(({ number }) => sign * number < sign * limit)
    const worst = reached.reduce((a, b) => (sign * b.number < sign * a.number ? b : a))
    const where = `${digits(worst.number)} at worst (${worst.cell})`
    const howMany = missed.length > 0 ? `; missed in ${missed.length} of ${reached.length}` : ""
    const relation = sign > 0 ? "≥" : "≤"
    return [
      `${missed.length === 0 ? "met   " : "MISSED"}  ${bench}: ${what}: target ${relation} ${limit}: ${where}${howMany}`,
    ]
  })
