/**
 * One of the two processes that bench/transport.mjs has for each transport: does what it is told
 * over IPC. It keeps its sockets until `close`, so that a command finds those of the one before.
 */
import { payload } from "../payloads.mjs"
import { transports } from "./transports.mjs"

/**
 * The module, when links live on this thread.
 * @type {{ memory: WebAssembly.Memory, zl_receiving_open: (low: number, high: number) => number } | undefined}
 */
let wasm

// The package keeps its module to itself, so it is noted when it is made. (Node has others.)
WebAssembly.Instance = class extends WebAssembly.Instance {
  /** @param {WebAssembly.Module} module @param {WebAssembly.Imports} [imports] */
  constructor(module, imports) {
    super(module, imports)
    if ("zl_receiving_open" in this.exports) wasm = /** @type {any} */ (this.exports)
  }
}

const { scheme, module, options } = transports[process.argv[2]]
const rest = options ? [options] : []
const zmq = await import(module)

/** @type {any} */
let socket
let handshakes = 0
/** @type {() => void} */
let shaken = () => {}

/** Instances enough that nothing learns them, few enough to be made before the clock starts. */
const POOL_BYTES = 2 ** 21
/** @type {Map<number, Uint8Array[]>} */
const pools = new Map()

/** @param {number} size */
function payloadsOf(size) {
  const made = pools.get(size)
  if (made) return made
  const count = Math.min(1024, POOL_BYTES / size)
  const pool = Array.from({ length: count }, (_, seed) => payload("lorem", size, seed))
  pools.set(size, pool)
  return pool
}

const commands = {
  /** @param {string} type */
  open(type) {
    socket = new zmq[type]({ linger: 0 })
  },

  /** @param {string} type */
  async bind(type) {
    commands.open(type)
    await socket.bind(`${scheme}127.0.0.1:*`, ...rest)
    return socket.lastEndpoint
  },

  /** @param {string} type @param {string} endpoint */
  connect(type, endpoint) {
    commands.open(type)
    socket.connect(endpoint, ...rest)
  },

  close() {
    socket.close()
  },

  /** @param {number} size @param {number} count */
  async send(size, count) {
    const payloads = payloadsOf(size)
    for (let i = 0; i < count; i++) await socket.send(payloads[i % payloads.length])
  },

  /** Messages per second, from the first to the last. @param {number} size @param {number} count */
  async receive(size, count) {
    let bytes = (await socket.receive())[0].length
    const start = performance.now()
    for (let i = 1; i < count; i++) bytes += (await socket.receive())[0].length
    const seconds = (performance.now() - start) / 1000
    if (bytes !== size * count) throw new Error(`${bytes} bytes came instead of ${size * count}`)
    return (count - 1) / seconds
  },

  /** Microseconds of each round trip. @param {number} size @param {number} count */
  async ask(size, count) {
    const payloads = payloadsOf(size)
    const times = new Float64Array(count)
    for (let i = 0; i < count; i++) {
      const start = performance.now()
      await socket.send(payloads[i % payloads.length])
      await socket.receive()
      times[i] = (performance.now() - start) * 1000
    }
    return times
  },

  /** @param {number} count */
  async answer(count) {
    for (let i = 0; i < count; i++) await socket.send((await socket.receive())[0])
  },

  /** Counts handshakes from now on. */
  watch() {
    socket.events.on("handshake", () => {
      handshakes++
      shaken()
    })
  },

  /** Connects the socket again and again. @param {string} endpoint @param {number} count */
  connectAgain(endpoint, count) {
    for (let i = 0; i < count; i++) socket.connect(endpoint, ...rest)
  },

  /** Waits for so many handshakes since `watch`. @param {number} count */
  async shaken(count) {
    while (handshakes < count) await new Promise((resolve) => (shaken = () => resolve(undefined)))
  },

  /** Leaves less than a page of the module's memory free, so that what is taken next makes it grow. */
  fillWasm() {
    if (!wasm) return
    const { memory, zl_receiving_open } = wasm
    const { byteLength } = memory.buffer
    while (memory.buffer.byteLength === byteLength) zl_receiving_open(0, 0)
  },

  /** Bytes in use, without what garbage collection frees on this thread. */
  async memory() {
    for (let i = 0; i < 5; i++) {
      globalThis.gc?.()
      await new Promise((resolve) => setTimeout(resolve, 40))
    }
    return { rss: process.memoryUsage.rss(), wasm: wasm?.memory.buffer.byteLength ?? 0 }
  },
}

process.on("message", async (/** @type {{ id: number, name: string, args: unknown[] }} */ call) => {
  const { id, name, args } = call
  try {
    const command = /** @type {any} */ (commands)[name]
    process.send?.({ id, result: await command(...args) })
  } catch (error) {
    process.send?.({ id, error: String(/** @type {Error} */ (error).stack) })
  }
})
