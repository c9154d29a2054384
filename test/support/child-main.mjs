/** The process that child.ts starts. */
import { readdirSync, readFileSync } from "node:fs"

/**
 * @typedef {object} Memory
 * @property {number} rss
 * @property {number} heap          of JavaScript
 * @property {number} arrayBuffers  of JavaScript
 * @property {number} wasm          of the instance that all codecs share
 */

/**
 * @typedef {object} Resources  of a process, including its threads
 * @property {number} descriptors
 * @property {number} threads
 * @property {number} active     handles and requests on the event loop of this thread
 * @property {number} listeners  of the process's events
 */

/** Limit for what happens soon on an idle machine, and in many times that on a busy one. */
const LIMIT_MS = 200_000

/** @type {WebAssembly.Exports[]} */
const instances = []
let made = 0

// Records each instance, because the package does not export them. Only the first is referenced
// strongly: the others belong to large parts and must remain collectable.
WebAssembly.Instance = class extends WebAssembly.Instance {
  /** @param {WebAssembly.Module} module @param {WebAssembly.Imports} [imports] */
  constructor(module, imports) {
    super(module, imports)
    made++
    if (instances.length === 0) instances.push(this.exports)
  }
}

const { Codec, ProtocolError } = await import("zeromq-lz4/codec")
const { CaptureReader } = await import("zeromq-lz4/capture")

Codec.createSync().close()
const sharedExports = () => instances[0]
const instancesMade = () => made

const smallBlocks = () => {
  const file = new URL("../../build/zeromq-lz4-small-blocks.wasm", import.meta.url)
  return new WebAssembly.Module(readFileSync(file))
}

const fillWasmMemory = () => {
  // Memory grows by whole pages of 64 KiB to hold the region, which is at its end.
  const { memory, zl_scratch } = /** @type {Record<string, any>} */ (instances[0])
  zl_scratch(0, 2 << 20)
  zl_scratch(1, memory.buffer.byteLength)
}

const memoryNow = () => {
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage()
  const memory = /** @type {WebAssembly.Memory} */ (instances[0]?.memory)
  return { rss, heap: heapUsed, arrayBuffers, wasm: memory.buffer.byteLength }
}

const memory = async () => {
  // Array buffers and weak references are only released between turns of the event loop.
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return memoryNow()
}

/** @returns {Resources} */
const resources = () => ({
  descriptors: readdirSync("/proc/self/fd").length,
  threads: readdirSync("/proc/self/task").length,
  active: process.getActiveResourcesInfo().filter((name) => name !== "Timeout").length,
  listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
})

const sockets = () => {
  // A worker needs these streams, which are created on first use.
  void [process.stdout, process.stderr]
  return import("zeromq-lz4")
}

/**
 * Waits for a condition, for some minutes at most.
 * @param {() => boolean} condition
 */
const until = async (condition) => {
  const deadline = performance.now() + LIMIT_MS
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`still not: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/**
 * Returns memory and resources, once there are no more resources than before, or after some minutes.
 * @param {Resources} [before]
 */
const snapshot = async (before) => {
  const deadline = performance.now() + LIMIT_MS
  const isMore = (/** @type {Resources} */ now) =>
    before &&
    (now.descriptors > before.descriptors ||
      now.threads > before.threads ||
      now.active > before.active)
  while (isMore(resources()) && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 10))
  return { ...(await memory()), ...resources() }
}

process.once("message", async (/** @type {{ source: string, argument: unknown }} */ task) => {
  const module = `export default ${task.source}`
  const { default: work } = await import(`data:text/javascript,${encodeURIComponent(module)}`)
  const child = {
    CaptureReader,
    Codec,
    ProtocolError,
    memory,
    memoryNow,
    sharedExports,
    instancesMade,
    fillWasmMemory,
    smallBlocks,
    sockets,
    until,
    snapshot,
  }
  const alive = setInterval(() => {}, 1 << 30) // idle sockets do not keep a process alive
  const result = await work(child, task.argument)
  clearInterval(alive)
  process.send?.({ result }, () => process.disconnect())
})
