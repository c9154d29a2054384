/** Creates two network namespaces, connected by a pair of virtual Ethernet devices. Needs Linux and root. */
import { execFileSync } from "node:child_process"

import { onPath } from "../../scripts/lib/files.mjs"

/** The addresses of the two ends, which RFC 2544 reserves for benchmarks. */
const ADDRESSES = ["198.18.0.1", "198.18.0.2"]

/**
 * Limits of `tc` for both ends; none for unlimited speed. The burst is hardly more than the shaper needs
 * for the rate, because bytes in a burst are not shaped.
 * @typedef {{ rate: string, burst: string }} Shape
 */
/** @typedef {{ name: string, shape?: Shape }} Link */

export const SLOW = { name: "100 Mbit/s", shape: { rate: "100mbit", burst: "16kb" } }
export const MIDDLING = { name: "1 Gbit/s", shape: { rate: "1gbit", burst: "128kb" } }
/** @type {readonly Link[]} */
export const LINKS = [
  SLOW,
  MIDDLING,
  { name: "10 Gbit/s", shape: { rate: "10gbit", burst: "1mb" } },
  { name: "unshaped" },
]

/** @param {string} program @param {string[]} args */
const run = (program, ...args) =>
  execFileSync(program, args, { stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" })

/** Returns why namespaces cannot be created; undefined if they can. */
export function whyNot() {
  if (process.platform !== "linux") return "network namespaces require Linux"
  for (const program of ["ip", "tc"])
    if (!onPath(program)) return `${program} is not on PATH: apt-get install iproute2`
  if (process.getuid?.() !== 0) return "network namespaces require root"
  try {
    createNetwork({ name: "" }).remove()
  } catch (error) {
    return String(/** @type {{ stderr?: string }} */ (error).stderr ?? error).trim()
  }
}

let networks = 0

/**
 * Creates a network, all of it in namespaces, which are deleted when this process ends at the latest.
 * @param {Link} link
 */
export function createNetwork({ shape }) {
  const name = `zeromq-lz4-${process.pid}-${++networks}`
  const namespaces = [`${name}-a`, `${name}-b`]
  const device = "bench"
  const remove = () => {
    process.off("exit", remove)
    for (const namespace of namespaces)
      try {
        run("ip", "netns", "delete", namespace)
      } catch {
        // It was not created.
      }
  }
  const reshape = (/** @type {Shape} */ { rate, burst }, how = "change") => {
    const bucket = ["rate", rate, "burst", burst, "latency", "50ms"]
    for (const namespace of namespaces)
      run("tc", "-netns", namespace, "qdisc", how, "dev", device, "root", "tbf", ...bucket)
  }
  process.on("exit", remove)
  try {
    for (const namespace of namespaces) run("ip", "netns", "add", namespace)
    const [first, second] = namespaces
    run(
      "ip",
      "-netns",
      first,
      "link",
      "add",
      device,
      "type",
      "veth",
      "peer",
      device,
      "netns",
      second,
    )
    for (const [i, namespace] of namespaces.entries()) {
      run("ip", "-netns", namespace, "address", "add", `${ADDRESSES[i]}/30`, "dev", device)
      run("ip", "-netns", namespace, "link", "set", device, "up")
    }
    if (shape) reshape(shape, "add")
  } catch (error) {
    remove()
    throw error
  }
  const within = namespaces.map((namespace) => ["ip", "netns", "exec", namespace])
  return { address: ADDRESSES[0], receiver: within[0], sender: within[1], reshape, remove }
}
