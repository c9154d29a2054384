/** How fast lz4+tcp:// is, and how much memory it takes, beside tcp://. `--help` says more. */
import { version as zmqVersion } from "zeromq"

import { aligned, sizeName } from "./format.mjs"
import { median, summary } from "./measure.mjs"
import { readOptions } from "./options.mjs"
import { appendResults, packageVersion, runDetails } from "./results.mjs"
import { startPeer } from "./transport/processes.mjs"
import { cellsOf, rows, targetLines } from "./transport/table.mjs"
import { SAME_THREAD, transports } from "./transport/transports.mjs"

const HELP = `npm run bench:transport -- [options]

Two processes on the loopback interface, over tcp:// of zeromq.js, over lz4+tcp:// and
over lz4+tcp:// with its links on the thread of the application: PUSH to PULL and REQ to
REP with Lorem ipsum, and the memory of idle connections. A full run takes three minutes
and is appended to bench/results.jsonl; node bench/report.mjs then updates the table in
README.md.

  --quick       short and rough; nothing is stored
  --only TEXT   only what has TEXT in its name: "PUSH", "16 KiB", "idle"; nothing is stored
  --rounds N    rounds (default 7, quick 2)
  --help
`

const SIZES = [64, 1024, 16 * 1024, 128 * 1024]
const ROUND_TRIP_BYTES = 64
const CONNECTIONS = 1000
/** Connections that are there before memory is first looked at. */
const FIRST_CONNECTIONS = 200

const args = readOptions(HELP, { full: 7, quick: 2 })
const { rounds } = args
const seconds = args.quick ? 0.25 : 1
const names = Object.keys(transports)

/** @typedef {import("./transport/processes.mjs").Peer} Peer */
/** @typedef {{ binds: Peer, connects: Peer }} Ends */

/** What one run gives, by unit and name. @typedef {{ name: string, unit: string, value: number }} Result */

/**
 * @typedef {object} Work
 * @property {string} name
 * @property {Record<string, number>} parameters
 * @property {(transport: string) => Promise<void>} [prepare]  before the first round
 * @property {(transport: string) => Promise<Result[]>} run
 */

async function main() {
  const details = { ...runDetails(), versions: versions() }
  /** @type {Record<string, Ends>} */
  const ends = {}
  /**
   * One pair of processes per transport for all runs, with new sockets in each: what is measured is
   * then code that has been compiled, not the start of a process. Those that wait take no time.
   * @param {string} transport
   */
  const endsOf = (transport) =>
    (ends[transport] ??= { binds: startPeer(transport), connects: startPeer(transport) })

  try {
    const work = [...SIZES.map((size) => pushPull(endsOf, size)), requestReply(endsOf), idle()]
    const measurements = []
    for (const one of work.filter(({ name }) => name.includes(args.only)))
      measurements.push(...(await measure(one)))
    const cells = cellsOf(measurements)
    console.log(`${aligned(rows(cells))}\n\n${targetLines(cells).join("\n")}`)
    if (!args.quick && !args.only) appendResults("transport", details, measurements)
  } finally {
    for (const { binds, connects } of Object.values(ends)) {
      binds.stop()
      connects.stop()
    }
  }
}

/**
 * Every transport takes its turn in every round.
 * @param {Work} work
 * @returns {Promise<import("./results.mjs").Measurement[]>}
 */
async function measure({ name, parameters, prepare, run }) {
  for (const transport of names) {
    process.stderr.write(`${name}: ${transport}, preparing …\n`)
    await prepare?.(transport)
  }
  /** @type {Map<string, { name: string, implementation: string, unit: string, values: number[] }>} */
  const all = new Map()
  for (let round = 0; round < rounds; round++) {
    process.stderr.write(`${name}: round ${round + 1} of ${rounds} …\n`)
    // Another one begins each round, so that none always follows the same neighbour.
    const first = round % names.length
    for (const implementation of [...names.slice(first), ...names.slice(0, first)])
      for (const { value, ...result } of await run(implementation)) {
        const key = `${result.name} ${implementation}`
        const entry = all.get(key) ?? { ...result, implementation, values: [] }
        entry.values.push(Number(value.toPrecision(4)))
        all.set(key, entry)
      }
  }
  return [...all.values()].map((entry) => ({ ...entry, parameters, ...summary(entry.values) }))
}

/**
 * Messages per second, counted where they arrive, from the first to the last.
 * @param {(transport: string) => Ends} endsOf @param {number} size
 * @returns {Work}
 */
function pushPull(endsOf, size) {
  const name = `PUSH → PULL ${sizeName(size)}`
  const warmUpCount = Math.min(20_000, 2 ** 27 / size)
  /** @type {Record<string, number>} */
  const counts = {}

  const perSecond = async (/** @type {string} */ transport, /** @type {number} */ count) => {
    const { binds, connects } = endsOf(transport)
    const endpoint = await binds.call("bind", "Pull")
    await connects.call("connect", "Push", endpoint)
    const [rate] = await Promise.all([
      binds.call("receive", size, count),
      connects.call("send", size, count),
    ])
    await Promise.all([binds.call("close"), connects.call("close")])
    return rate
  }
  return {
    name,
    parameters: { size, seconds },
    async prepare(transport) {
      await perSecond(transport, warmUpCount)
      counts[transport] = Math.ceil(seconds * (await perSecond(transport, warmUpCount)))
    },
    run: async (transport) => [
      { name, unit: "msg/s", value: await perSecond(transport, counts[transport]) },
    ],
  }
}

/**
 * Microseconds of a round trip.
 * @param {(transport: string) => Ends} endsOf
 * @returns {Work}
 */
function requestReply(endsOf) {
  const size = ROUND_TRIP_BYTES
  const name = `REQ ↔ REP ${sizeName(size)}`
  /** @type {Record<string, number>} */
  const counts = {}

  const roundTrips = async (/** @type {string} */ transport, /** @type {number} */ count) => {
    const { binds, connects } = endsOf(transport)
    const endpoint = await binds.call("bind", "Reply")
    await connects.call("connect", "Request", endpoint)
    const [times] = await Promise.all([
      connects.call("ask", size, count),
      binds.call("answer", count),
    ])
    await Promise.all([binds.call("close"), connects.call("close")])
    return /** @type {Float64Array} */ (times).sort()
  }
  return {
    name,
    parameters: { size, seconds },
    async prepare(transport) {
      await roundTrips(transport, 1000)
      counts[transport] = Math.ceil(
        (seconds * 1e6) / median([...(await roundTrips(transport, 1000))]),
      )
    },
    async run(transport) {
      const times = await roundTrips(transport, counts[transport])
      const at = (/** @type {number} */ share) => times[Math.floor(share * times.length)]
      return [
        { name: `${name}, median`, unit: "µs", value: at(0.5) },
        { name: `${name}, 99th percentile`, unit: "µs", value: at(0.99) },
      ]
    },
  }
}

/**
 * The memory of one more connection on which nothing happens. In new processes each time, because
 * memory that was used once is not given back.
 * @returns {Work}
 */
function idle() {
  const name = "idle connection"
  return {
    name,
    parameters: { connections: CONNECTIONS },
    async run(transport) {
      const binds = startPeer(transport, { lean: true })
      const connects = startPeer(transport, { lean: true })
      try {
        const endpoint = await binds.call("bind", "Pull")
        await connects.call("open", "Push")
        const both = (/** @type {string} */ name, /** @type {number} */ count) =>
          Promise.all([binds.call(name, count), connects.call(name, count)])
        const connect = async (/** @type {number} */ count, /** @type {number} */ total) => {
          await connects.call("connectAgain", endpoint, count)
          await both("shaken", total)
        }
        await both("watch", 0)
        await connect(FIRST_CONNECTIONS, FIRST_CONNECTIONS)
        await both("fillWasm", 0)
        const [boundBefore, connectedBefore] = await both("memory", 0)
        await connect(CONNECTIONS, FIRST_CONNECTIONS + CONNECTIONS)
        const [boundAfter, connectedAfter] = await both("memory", 0)

        const kib = (/** @type {{ rss: number }} */ before, /** @type {{ rss: number }} */ after) =>
          (after.rss - before.rss) / CONNECTIONS / 1024
        const wasmBytes = (boundAfter.wasm - boundBefore.wasm) / CONNECTIONS
        return [
          { name: `${name}, bound side`, unit: "KiB", value: kib(boundBefore, boundAfter) },
          {
            name: `${name}, connecting side`,
            unit: "KiB",
            value: kib(connectedBefore, connectedAfter),
          },
          ...(transport === SAME_THREAD // where it can be seen
            ? [{ name: `${name}, wasm memory`, unit: "B", value: wasmBytes }]
            : []),
        ]
      } finally {
        binds.stop()
        connects.stop()
      }
    },
  }
}

const versions = () => ({
  node: process.versions.node,
  zeromq: packageVersion("zeromq"),
  libzmq: zmqVersion,
})

await main()
