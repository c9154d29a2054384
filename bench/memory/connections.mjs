/** Processes with many connections, and the memory of each one. */
import { openFiles } from "../lib/open-files.mjs"
import { ends, OURS } from "../peers/ends.mjs"
import { startSocket } from "../peers/peers.mjs"
import { freeEndpoint, LOOPBACK } from "../peers/push-pull.mjs"

/** Connections before the first measurement; none if only one connection is measured. */
const BEFORE = 200
/** Connections opened at the same time, limited by the listener's queue. */
const AT_ONCE = 500
/** Open files of a process besides its connections, which need one each. */
const OTHER_FILES = 1000
/** The most connections that a benchmark opens. */
const MOST = 10_000

/** Keeps garbage small in the results of memory(). */
const lean = ["env", "NODE_OPTIONS=--max-semi-space-size=1"]

const { files, within: raised } = openFiles(MOST + BEFORE + OTHER_FILES)
const within = [...raised, ...lean]

/** The number of files that a process may open, and of connections that this allows. */
export const limits = {
  files,
  connections: Math.floor((files - OTHER_FILES - BEFORE) / 1000) * 1000,
}

/** Starts two processes, one bound, the other not yet connected. @param {string} name */
export async function start(name) {
  const end = ends[name]
  const bind = freeEndpoint(end.scheme, LOOPBACK.address)
  const role = { countHandshakes: true }
  const bound = await startSocket(end, { ...role, type: "PULL", bind }, within)
  const connecting = await startSocket(end, { ...role, type: "PUSH" }, within)
  let connections = 0
  return {
    bound,
    connecting,
    /** @param {number} count */
    async connect(count) {
      for (let left = count; left > 0; left -= AT_ONCE) {
        const some = Math.min(left, AT_ONCE)
        await connecting.call("connectAgain", { endpoint: bound.endpoint, count: some })
        connections += some
        await both("shaken", { count: connections })
      }
    },
    both,
    stop() {
      bound.stop()
      connecting.stop()
    },
  }

  /** @param {string} command @param {object} [details] @returns {Promise<[any, any]>} */
  function both(command, details) {
    return Promise.all([bound.call(command, details), connecting.call(command, details)])
  }
}

/** @typedef {{ rss: number, heap: number, wasm: number }} Memory */

/**
 * Measures in new processes each time, because memory is not returned to the system.
 * @param {string} name @param {number} count
 */
export async function idle(name, count) {
  const { connect, both, stop } = await start(name)
  try {
    if (count > 1) await connect(BEFORE)
    await both("fillWasm")
    const before = await both("memory")
    await connect(count)
    const after = await both("memory")
    const each = (/** @type {0 | 1} */ side, /** @type {keyof Memory} */ what) =>
      (after[side][what] - before[side][what]) / count
    return [
      { quantity: "bound side", unit: "KiB", value: each(0, "rss") / 1024 },
      { quantity: "connecting side", unit: "KiB", value: each(1, "rss") / 1024 },
      // For one connection this is noise.
      ...(count > 1
        ? [
            { quantity: "heap, bound side", unit: "KiB", value: each(0, "heap") / 1024 },
            { quantity: "heap, connecting side", unit: "KiB", value: each(1, "heap") / 1024 },
          ]
        : []),
      // The module grows in pages, which a few connections do not fill.
      ...(name === OURS && count >= 1000
        ? [
            { quantity: "wasm, bound side", unit: "B", value: each(0, "wasm") },
            { quantity: "wasm, connecting side", unit: "B", value: each(1, "wasm") },
          ]
        : []),
    ]
  } finally {
    stop()
  }
}
