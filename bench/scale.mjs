/** Measures what a connection costs with many of them. See `--help`. */

import { benchmark, progress } from "./lib/harness.mjs"
import { payloadMessages } from "./lib/messages.mjs"
import { openFiles } from "./lib/open-files.mjs"
import { readOptions } from "./lib/options.mjs"
import { usage } from "./lib/usage.mjs"
import { ends, OURS, TCP } from "./peers/ends.mjs"
import { PROBE_BYTES, reachAll, UNLIMITED } from "./peers/fan-out.mjs"
import { startSocket } from "./peers/peers.mjs"
import { countFor, freeEndpoint, LOOPBACK } from "./peers/push-pull.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { CONNECTION_HEAP, CONNECTION_MEMORY, DELIVERY_CPU } from "./reports/quantities.mjs"

const options = readOptions(
  "scale",
  `Measures one socket with 64, 512, 4,096 and 16,384 peers, or as many as the limit of open files allows:
PUB to SUBs, and PUSHes to a PULL, 200 messages of 64 B in each turn of the event loop, over tcp:// of
zeromq.js and over lz4+tcp://. Prints the CPU time of the socket's process for each delivery, and its memory
for each connection. Linux. About twenty minutes.`,
)
const seconds = options.quick ? 0.1 : 0.4

const PEERS = options.quick ? [64, 512] : [64, 512, 4096, 16_384]
const SIZE = 64
/** Peers that connect before the first measurement of memory. */
const BEFORE = 16
/** Most sockets of one process: each of zeromq.js has other open files besides its connection. */
const TOGETHER = 4096
/** Open files of a process besides its connections. */
const OTHER_FILES = 1000
/** Messages in a turn of the event loop, the same for few and for many peers: they share the cost of a write. */
const BURST = 200

/** @typedef {import("./peers/peers.mjs").Peer} Peer */
/** Processes of peers that carry out each command together. @typedef {Pick<Peer, "call" | "stop">} Crowd */

/**
 * @typedef {object} Shape
 * @property {string} hub
 * @property {string} peer
 * @property {object} options  of the peers
 * @property {(hub: Peer, spokes: Crowd) => Promise<void>} open  resolves when all peers are connected
 * @property {(hub: Peer, spokes: Crowd, details: { file: string, each: number, peers: number }) => Promise<unknown>} exchange
 *   `each` messages for each peer
 */

/** @type {Record<string, Shape>} */
const SHAPES = {
  "PUB → SUB": {
    hub: "PUB",
    peer: "SUB",
    options: { receiveHighWaterMark: 0 },
    open: (hub, spokes) => reachAll({ hub, spokes }),
    exchange: (hub, spokes, { file, each }) =>
      Promise.all([
        spokes.call("drain", { count: each, probeBytes: PROBE_BYTES }),
        hub.call("pump", { file, count: each, burst: BURST }),
      ]),
  },
  "PUSH → PULL": {
    hub: "PULL",
    peer: "PUSH",
    options: {},
    async open() {},
    exchange: (hub, spokes, { file, each, peers }) =>
      Promise.all([
        hub.call("drain", { count: each * peers }),
        spokes.call("pump", { file, count: each, burst: BURST }),
      ]),
  },
}

const { files, within } = openFiles(Math.max(...PEERS) + OTHER_FILES)
/** Keeps garbage small in the results of memory(). */
const lean = ["env", "NODE_OPTIONS=--max-semi-space-size=1"]

/** @param {readonly Peer[]} processes @returns {Crowd} */
const together = (processes) => ({
  call: (name, command) => Promise.all(processes.map((one) => one.call(name, command))),
  stop() {
    for (const one of processes) one.stop()
  },
})

/**
 * Measures in new processes.
 * @param {Shape} shape @param {number} peers @param {string} name
 */
async function measure(shape, peers, name) {
  const end = ends[name]
  /** @type {Peer[]} */
  const processes = []
  const hub = await startSocket(
    end,
    {
      type: shape.hub,
      bind: freeEndpoint(end.scheme, LOOPBACK.address),
      options: shape.hub === "PUB" ? UNLIMITED[end.module] : {},
      countHandshakes: true,
    },
    [...within, ...lean],
  )
  let connections = 0
  const connect = async (/** @type {number} */ copies) => {
    const details = { type: shape.peer, connect: hub.endpoint, options: shape.options }
    // Contexts have 1,023 sockets at most by default.
    const role = { ...details, copies, maxSockets: copies + 1 }
    processes.push(await startSocket(end, role, within))
    connections += copies
    await hub.call("shaken", { count: connections })
  }
  const spokes = () => together(processes)
  const { path: file } = payloadMessages("json", SIZE)
  const exchange = async (/** @type {number} */ each) => {
    const start = performance.now()
    await shape.exchange(hub, spokes(), { file, each, peers: connections })
    return { seconds: (performance.now() - start) / 1000 }
  }
  const countOfBursts = async () =>
    Math.ceil((await countFor(exchange, BURST, seconds)) / BURST) * BURST
  try {
    await connect(BEFORE)
    await shape.open(hub, spokes())
    await countOfBursts()
    await hub.call("fillWasm")
    const before = await hub.call("memory")

    while (connections < peers) await connect(Math.min(peers - connections, TOGETHER))
    await shape.open(hub, spokes())
    const each = await countOfBursts()
    const { used } = await usage({ hub }, () => exchange(each))
    const after = await hub.call("memory")
    const perConnection = (/** @type {"rss" | "heap"} */ what) =>
      (after[what] - before[what]) / (peers - BEFORE) / 1024
    return [
      { quantity: DELIVERY_CPU, unit: "µs", value: (used.hub.cpu / (each * peers)) * 1e6 },
      { quantity: CONNECTION_MEMORY, unit: "KiB", value: perConnection("rss") },
      { quantity: CONNECTION_HEAP, unit: "KiB", value: perConnection("heap") },
    ]
  } finally {
    hub.stop()
    spokes().stop()
  }
}

const most = Math.max(...PEERS.filter((peers) => peers + OTHER_FILES <= files))
if (most < Math.max(...PEERS))
  progress(
    `${most} peers at most: a process may open ${files} files, and prlimit cannot raise this`,
  )

const cells = Object.entries(SHAPES).flatMap(([name, shape]) =>
  PEERS.filter((peers) => peers <= most).map((peers) => ({
    name: `${name}, ${peers}`,
    parameters: { shape: name, peers, size: SIZE, burst: BURST, seconds },
    contestants: [TCP, OURS],
    prepare: (/** @type {string} */ who) => ({ run: () => measure(shape, peers, who) }),
  })),
)

await benchmark({ bench: "scale", cells, options, versions: socketVersions() })
