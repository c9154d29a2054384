/** A process with one or more equal sockets of zeromq.js or of this package. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { setImmediate, setTimeout } from "node:timers/promises"

import { collectGarbage } from "../lib/garbage.mjs"
import { readMessages } from "../lib/messages.mjs"
import { serve } from "./serve.mjs"
import { fillWasm, wasmBytes } from "./wasm.mjs"

/** Classes by their names in ZMTP. @type {Record<string, string>} */
const CLASSES = {
  PUSH: "Push",
  PULL: "Pull",
  PUB: "Publisher",
  SUB: "Subscriber",
  REQ: "Request",
  REP: "Reply",
  DEALER: "Dealer",
}

/**
 * @typedef {object} Setup
 * @property {string} module
 * @property {string} type
 * @property {string} [bind]
 * @property {string} [connect]
 * @property {object} [options]  of the socket
 * @property {number} [ioThreads]  of a context for it
 * @property {number} [maxSockets]  of a context for them
 * @property {object} [lz4]  of the endpoint
 * @property {string} [dictionary]  of the endpoint, as hex
 * @property {number} [copies]  sockets, 1 by default
 * @property {boolean} [countHandshakes]
 */

serve(async (/** @type {Setup} */ setup) => {
  const { module, type, bind, connect, options, lz4, dictionary } = setup
  const { copies = 1, countHandshakes, ioThreads, maxSockets } = setup
  const zmq = await import(module)
  const ofEndpoint = { ...lz4, ...(dictionary && { dictionary: Buffer.from(dictionary, "hex") }) }
  const rest = module === "zeromq-lz4" ? [ofEndpoint] : []
  const ofContext = { ...(ioThreads && { ioThreads }), ...(maxSockets && { maxSockets }) }
  const isOwn = Object.keys(ofContext).length > 0
  const context = isOwn ? { context: new zmq.Context(ofContext) } : {}

  let handshakes = 0
  const open = async () => {
    const socket = new zmq[CLASSES[type]]({ linger: 0, ...context, ...options })
    if (type === "SUB") socket.subscribe()
    if (countHandshakes) socket.events.on("handshake", () => handshakes++)
    if (bind) await socket.bind(bind, ...rest)
    if (connect) socket.connect(connect, ...rest)
    return socket
  }
  /** @type {any[]} */
  const sockets = []
  for (let i = 0; i < copies; i++) sockets.push(await open())

  const commands = {
    /**
     * Sends the messages of a file repeatedly, until each socket has sent `count`, and waits for a turn of
     * the event loop after each `burst` messages.
     */
    async pump(
      /** @type {{ file: string, count: number, burst?: number }} */ { file, count, burst = 0 },
    ) {
      const messages = readMessages(file)
      await Promise.all(
        sockets.map(async (socket) => {
          for (let i = 1; i <= count; i++) {
            await socket.send(messages[i % messages.length])
            if (i % burst === 0) await setImmediate()
          }
        }),
      )
    },

    /** Sends the messages of each file for some time, and an empty message at the end. */
    async sendInTurn(
      /** @type {{ files: string[], eachMs: number, from: number, until: number }} */
      { files, eachMs, from, until },
    ) {
      const kinds = files.map(readMessages)
      await setTimeout(from - Date.now())
      for (let i = 0, now = Date.now(); now < until; i++, now = Date.now()) {
        const messages = kinds[Math.floor((now - from) / eachMs) % kinds.length]
        await sockets[0].send(messages[i % messages.length])
      }
      await sockets[0].send("")
    },

    /** Receives until an empty message, and returns the bytes of each period after a start time. */
    async arrivals(/** @type {{ eachMs: number, from: number }} */ { eachMs, from }) {
      /** @type {number[]} */
      const bytes = []
      for (;;) {
        const { length } = (await sockets[0].receive())[0]
        if (length === 0) return { bytes: Array.from(bytes, (each) => each ?? 0) }
        const at = Math.max(0, Math.floor((Date.now() - from) / eachMs))
        bytes[at] = (bytes[at] ?? 0) + length
      }
    },

    /** Sends messages at a steady rate, and returns the event loop's delays meanwhile, in milliseconds. */
    async stream(
      /** @type {{ file: string, count: number, perSecond: number }} */ { file, count, perSecond },
    ) {
      const messages = readMessages(file)
      const [socket] = sockets
      const delays = monitorEventLoopDelay({ resolution: 1 })
      delays.enable()
      const start = performance.now()
      for (let i = 0; i < count; i++) {
        const early = start + (i * 1000) / perSecond - performance.now()
        await (early > 0 ? setTimeout(early) : setImmediate())
        await socket.send(messages[i % messages.length])
      }
      delays.disable()
      return { longest: delays.max / 1e6, percentile99: delays.percentile(99) / 1e6 }
    },

    /** Receives `count` messages with each socket, and returns their bytes and the time from first to last. */
    async drain(/** @type {{ count: number, probeBytes?: number }} */ { count, probeBytes = 0 }) {
      let bytes = 0
      let start = Number.POSITIVE_INFINITY
      await Promise.all(
        sockets.map(async (socket) => {
          for (let i = 0; i < count; ) {
            const { length } = (await socket.receive()).at(-1)
            if (length === probeBytes) continue
            if (i++ === 0) start = Math.min(start, performance.now())
            bytes += length
          }
        }),
      )
      return { bytes, seconds: (performance.now() - start) / 1000 }
    },

    /** Returns the microseconds of each round trip. */
    async ask(/** @type {{ file: string, count: number }} */ { file, count }) {
      const messages = readMessages(file)
      const [socket] = sockets
      const times = []
      for (let i = 0; i < count; i++) {
        const start = performance.now()
        await socket.send(messages[i % messages.length])
        await socket.receive()
        times.push((performance.now() - start) * 1000)
      }
      return { times }
    },

    async answer(/** @type {{ count: number }} */ { count }) {
      const [socket] = sockets
      for (let i = 0; i < count; i++) await socket.send((await socket.receive())[0])
    },

    async sendOne(/** @type {{ parts: string[] }} */ { parts }) {
      await sockets[0].send(parts.map((part) => Buffer.from(part, "hex")))
    },

    /** Waits until each socket has received a message, so that all subscriptions work. */
    async reached() {
      await Promise.all(sockets.map((socket) => socket.receive()))
    },

    /** Returns the plaintext and wire bytes of received parts. */
    received: () => sockets[0].lz4.stats.received,

    /** Connects the socket `count` times. */
    connectAgain(/** @type {{ endpoint: string, count: number }} */ { endpoint, count }) {
      for (let i = 0; i < count; i++) sockets[0].connect(endpoint, ...rest)
    },

    /** Waits until there have been `count` connections in total. */
    async shaken(/** @type {{ count: number }} */ { count }) {
      while (handshakes < count) await setTimeout(5)
    },

    fillWasm,

    /** Returns the bytes in use, after garbage collection on this thread. */
    async memory() {
      for (let i = 0; i < 5; i++) {
        collectGarbage()
        await setTimeout(40)
      }
      const { rss, heapUsed } = process.memoryUsage()
      return { rss, heap: heapUsed, wasm: wasmBytes() }
    },
  }
  return { ready: { endpoint: sockets[0].lastEndpoint }, commands }
})
