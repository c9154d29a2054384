/** Measures what a byte of a stranger's can cost. See `--help`. */
import { once } from "node:events"
import { connect } from "node:net"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"

import { inputs, serverKeys } from "./costs/inputs.mjs"
import { benchmark } from "./lib/harness.mjs"
import { readOptions } from "./lib/options.mjs"
import { cpuSeconds, usage } from "./lib/usage.mjs"
import { ACCEPTING_PLAIN, ends, ON_THREADS, OURS, ours, TCP } from "./peers/ends.mjs"
import { startPeer } from "./peers/peers.mjs"
import { socketVersions } from "./peers/versions.mjs"
import { BYTE_CPU, BYTE_MEMORY } from "./reports/quantities.mjs"

const options = readOptions(
  "costs",
  `Measures what each kind of input of a stranger costs for a byte on the wire, over tcp:// of zeromq.js and
over lz4+tcp://, also with thread: true, and for peers of tcp:// with acceptPlain: the CPU time of a socket
that receives all, and the peak memory of one that receives nothing. What is sent is the shortest of its
kind, on as few connections as matter. The machine may be busy: CPU time is that of the process, whose
threads all count. Linux. About ten minutes.`,
)

/** Milliseconds between looks at the CPU time of a process, and the looks without any until its work is over. */
const LOOK_MS = 50
const QUIET_LOOKS = 6
/** CPU seconds between two looks of a process that does nothing. */
const QUIET_SECONDS = 0.001
const GREETING_BYTES = 64
/** Connections that are opened at the same time, limited by the listener's queue. */
const AT_ONCE = 250

/** @typedef {import("./costs/inputs.mjs").Input} Input */
/** @typedef {import("./peers/peers.mjs").Peer} Peer */
/** @typedef {{ connections: number, times: number }} Extent */

const PROGRAM = [
  process.execPath,
  "--no-warnings",
  fileURLToPath(new URL("costs/victim.mjs", import.meta.url)),
]

/** @type {Record<string, import("./peers/peers.mjs").End>} */
const VICTIMS = { [TCP]: ends[TCP], [OURS]: ends[OURS], [ON_THREADS]: ends[ON_THREADS] }
/** Speaks tcp:// with a peer that announces nothing, as these. */
const PLAIN_VICTIM = ours({ acceptPlain: true })

/**
 * Waits until a process has nothing to do any more, and `progress` does not change.
 * @param {number} pid @param {() => number} progress
 */
async function settled(pid, progress) {
  let before = { cpu: cpuSeconds(pid), progress: progress() }
  for (let looks = 0; looks < QUIET_LOOKS; looks++) {
    await setTimeout(LOOK_MS)
    const now = { cpu: cpuSeconds(pid), progress: progress() }
    if (now.cpu - before.cpu > QUIET_SECONDS || now.progress !== before.progress) looks = 0
    before = now
  }
}

/**
 * Opens a connection, and sends a body once the other side has sent something.
 * @param {number} port @param {Buffer} opening @param {Buffer} body
 */
async function open(port, opening, body) {
  const socket = connect(port, "127.0.0.1").on("error", () => {})
  socket.write(opening)
  const closed = once(socket, "close")
  // libzmq takes no message before it has sent its own READY, behind its greeting.
  const answer = body.length > 0 ? GREETING_BYTES + 1 : 1
  while (socket.bytesRead < answer && !socket.destroyed)
    await Promise.race([once(socket, "data"), closed])
  socket.resume()
  if (body.length > 0) socket.write(body)
  return socket
}

/**
 * Sends an input, and waits until the victim is done with it. Returns the bytes.
 * @param {Peer} victim @param {Buffer} opening @param {Buffer} unit @param {Extent} extent
 */
async function attack(victim, opening, unit, { connections, times }) {
  const port = Number(victim.endpoint.slice(victim.endpoint.lastIndexOf(":") + 1))
  const body = Buffer.alloc(unit.length * times, unit)
  /** @type {import("node:net").Socket[]} */
  const sockets = []
  while (sockets.length < connections) {
    const some = Math.min(AT_ONCE, connections - sockets.length)
    const opened = Array.from({ length: some }, () => open(port, opening, body))
    sockets.push(...(await Promise.all(opened)))
  }
  // What the system has not taken yet counts as well.
  const progress = () =>
    sockets.reduce(
      (sum, one) => sum + one.bytesRead + Number(one.destroyed) - one.writableLength,
      0,
    )
  await settled(victim.pid, progress)
  for (const socket of sockets) socket.destroy()
  return connections * (opening.length + body.length)
}

/**
 * @param {Input} input @param {string} name  of the contestant
 * @returns {Promise<import("./lib/harness.mjs").Contestant>}
 */
async function prepare({ victim: type, curve, opening, lz4, tcp, parts, ...extent }, name) {
  const isPlain = name === TCP || name === ACCEPTING_PLAIN
  const unit = /** @type {Buffer} */ (isPlain ? tcp : lz4)
  const keys = { curveServer: true, curveSecretKey: serverKeys.secretKey }
  const end = VICTIMS[name] ?? PLAIN_VICTIM
  const setup = { ...end, type, options: { handshakeInterval: 0, ...(curve && keys) } }
  const start = (/** @type {boolean} */ receives) => startPeer(PROGRAM, { ...setup, receives })
  const receiving = await start(true)

  const cpu = async () => {
    const before = await receiving.call("received")
    const work = () => attack(receiving, opening, unit, extent)
    const { result: bytes, used } = await usage({ receiving }, work)
    const after = await receiving.call("received")
    const expected = (parts ?? 0) * extent.times * extent.connections
    if (after.parts - before.parts < expected)
      throw new Error(`${name} received ${after.parts - before.parts} parts, not ${expected}`)
    return (used.receiving.cpu * 1e6) / bytes
  }
  const memory = async () => {
    const idle = await start(false)
    try {
      const { rss } = await idle.call("memory")
      const work = () => attack(idle, opening, unit, extent.held ?? extent)
      const { result: bytes, used } = await usage({ idle }, work)
      return (used.idle.memory - rss) / bytes
    } finally {
      idle.stop()
    }
  }
  await cpu()
  return {
    run: async () => [
      { quantity: BYTE_CPU, unit: "µs/B", value: await cpu() },
      { quantity: BYTE_MEMORY, unit: "B/B", value: await memory() },
    ],
    stop: () => receiving.stop(),
  }
}

const cells = (await inputs()).map((input) => {
  const { name, victim, connections, times, lz4, tcp, parts } = input
  const isBoth = tcp && parts
  return {
    name,
    parameters: { type: victim, connections, times, bytes: lz4.length },
    contestants: [...(tcp ? [TCP] : []), OURS, ON_THREADS, ...(isBoth ? [ACCEPTING_PLAIN] : [])],
    prepare: (/** @type {string} */ contestant) => prepare(input, contestant),
  }
})
await benchmark({ bench: "costs", cells, options, versions: socketVersions() })
