/** The slow network of the demo. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

import { createNetwork, SLOW, whyNot } from "../bench/links/network.mjs"

const MBIT_PER_SECOND = 100

/** @typedef {import("node:child_process").ChildProcess} Process */

/**
 * @typedef {object} Network
 * @property {string} described
 * @property {(file: "sender.mjs" | "receiver.mjs") => Promise<Process>} start  starts one of its ends
 * @property {string} address  the receiver's
 * @property {(port: number) => Promise<string>} reach  returns where senders reach the receiver's port
 * @property {() => void} remove
 */

/** Makes the network: of namespaces, or if that is not possible of a process that passes on what comes. */
export function slowNetwork() {
  const reason = whyNot()
  return reason === undefined ? namespaces() : relay(reason)
}

/** @returns {Promise<Network>} */
async function namespaces() {
  const { address, sender, receiver, remove } = createNetwork(SLOW)
  return {
    described: `${MBIT_PER_SECOND} Mbit/s between two network namespaces of this machine`,
    start: (file) => start(file, [], file === "sender.mjs" ? sender : receiver),
    address,
    reach: async (port) => `${address}:${port}`,
    remove,
  }
}

/** @param {string} reason @returns {Promise<Network>} */
async function relay(reason) {
  const child = await start("relay.mjs", [String((MBIT_PER_SECOND * 1e6) / 8 / 1000)])
  const port = await ask(child, "port")
  return {
    described: `${MBIT_PER_SECOND} Mbit/s, as a process between the others that passes on no more (${reason})`,
    start,
    address: "127.0.0.1",
    async reach(target) {
      await ask(child, target)
      return `127.0.0.1:${port}`
    },
    remove: () => child.kill(),
  }
}

/** Starts a process. @param {string} file @param {string[]} args @param {string[]} within  a command before it */
async function start(file, args = [], within = []) {
  const script = fileURLToPath(new URL(file, import.meta.url))
  const [program, ...rest] = [...within, process.execPath, script, ...args]
  const child = spawn(program, rest, { stdio: ["ignore", "inherit", "inherit", "ipc"] })
  child.on("exit", (code, signal) => {
    if (code === 0 || signal === "SIGTERM") return
    console.error(`${file} ended with ${signal ?? code}`)
    process.exit(1)
  })
  await once(child, "message")
  return child
}

/** Sends an order, and returns the answer. @param {Process} child @param {object | string | number} order */
export async function ask(child, order) {
  const answer = once(child, "message")
  child.send(order)
  return (await answer)[0]
}
