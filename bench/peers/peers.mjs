/** Starts and controls processes with sockets of this package and of other implementations. */
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"

import { changed } from "../../scripts/lib/files.mjs"
import { shown } from "../../scripts/lib/paths.mjs"
import { pythonPath } from "../../scripts/lib/python.mjs"
import { rustPeerPath } from "../../scripts/lib/rust.mjs"
import { Skipped } from "../lib/harness.mjs"

const path = (/** @type {string} */ relative) => fileURLToPath(new URL(relative, import.meta.url))
const NODE = [process.execPath, path("socket.mjs")]

/** Commands that run the sockets of a module, without the set-up argument. @type {Record<string, string[]>} */
const PROGRAMS = {
  zeromq: NODE,
  "zeromq-lz4": NODE,
  pyomq: [pythonPath, path("../../test/interop/python_peer.py")],
  "omq-tokio": [rustPeerPath("release")],
}

/** @type {Set<() => void>} */
const running = new Set()
process.on("exit", () => {
  for (const stop of running) stop()
})

/** Time after which a message must have been lost; a command takes seconds. */
const PATIENCE_MS = 120_000

/**
 * One end of a connection.
 * @typedef {object} End
 * @property {keyof typeof PROGRAMS} module
 * @property {string} scheme
 * @property {import("zeromq-lz4").EndpointOptions} [lz4]  options of our endpoints
 * @property {Uint8Array} [dictionary]
 * @property {object} [options]  of the socket, with the module's names
 */

/** The role of an end in a benchmark. @typedef {Partial<import("./socket.mjs").Setup> & { type: string }} Role */

/**
 * @typedef {object} Peer
 * @property {number} pid
 * @property {string} endpoint
 * @property {any} ready  the first line of its output
 * @property {(name: string, command?: object) => Promise<any>} call
 * @property {() => void} stop
 */

/**
 * Starts a process with a socket, or with `copies` of it.
 * @param {End} end @param {Role} role @param {readonly string[]} [within]  a command that runs the process
 */
export function startSocket({ module, lz4, dictionary, options }, role, within = []) {
  const setup = {
    module,
    lz4,
    ...(dictionary && { dictionary: Buffer.from(dictionary).toString("hex") }),
    ...role,
    options: { ...options, ...role.options },
  }
  return startPeer([...within, ...PROGRAMS[module]], setup)
}

/**
 * Runs a program with the protocol of serve.mjs, and the set-up as its last argument.
 * @param {readonly string[]} command @param {object} setup
 * @returns {Promise<Peer>}
 */
export async function startPeer([program, ...args], setup) {
  const executable = [program, ...args].filter((word) => word.startsWith("/"))
  for (const file of executable) if (!changed(file)) throw new Skipped(`${shown(file)} is missing`)
  const child = spawn(program, [...args, JSON.stringify(setup)], {
    stdio: ["pipe", "pipe", "inherit"],
  })
  const what = shown(args.at(-1) ?? program)
  let stopped = false
  const stop = () => {
    stopped = true
    running.delete(stop)
    child.kill("SIGKILL") // it has nothing to clean up
  }
  running.add(stop)
  /** @type {Promise<never>} */
  const ended = new Promise((_, reject) => {
    child.once("error", reject)
    child.once("close", (code, signal) => {
      if (!stopped) reject(new Error(`${what} ended: ${signal ?? code}`))
    })
  })
  ended.catch(() => {}) // reported by answer()
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const answer = async () => {
    const next = lines.next().then(({ done, value }) => (done ? ended : value))
    const late = setTimeout(PATIENCE_MS, undefined, { ref: false }).then(() => {
      throw new Error(`${what} has not answered for ${PATIENCE_MS / 1000} seconds`)
    })
    return JSON.parse(await Promise.race([next, ended, late]))
  }
  const ready = await answer()
  return {
    pid: /** @type {number} */ (child.pid),
    endpoint: ready.endpoint,
    ready,
    call: (name, command) => {
      child.stdin.write(`${JSON.stringify({ do: name, ...command })}\n`)
      return answer()
    },
    stop,
  }
}
