/** One of the two processes of bench/corpora.mjs: sends or receives the events of a corpus. */
import { serve } from "../transport/serve.mjs"
import { corpora, eventsOf } from "./corpora.mjs"

const corpus = corpora.find(({ name }) => name === process.argv[2])
if (!corpus) throw new Error(`no corpus ${process.argv[2]}`)

/** @type {Uint8Array[]} */
let events
/** @type {any} */
let socket

const open = async (/** @type {string} */ scheme, /** @type {string} */ type) => {
  const zmq = await import(scheme === "tcp://" ? "zeromq" : "zeromq-lz4")
  socket = new zmq[type]({ linger: 0 })
}

serve({
  /** @param {string} scheme */
  async bind(scheme) {
    await open(scheme, "Pull")
    await socket.bind(`${scheme}127.0.0.1:*`)
    return socket.lastEndpoint
  },

  /** @param {string} scheme @param {string} endpoint @param {object} options */
  async connect(scheme, endpoint, options) {
    await open(scheme, "Push")
    socket.connect(endpoint, ...(scheme === "tcp://" ? [] : [options]))
    events ??= eventsOf(corpus)
  },

  /** Sends the corpus so many times; bytes on the wire for one of plaintext. @param {number} times */
  async send(times) {
    for (let i = 0; i < times; i++) for (const event of events) await socket.send(event)
  },

  ratio() {
    if (!socket.lz4) return 1
    const { plainBytes, wireBytes } = socket.lz4.stats.sent
    return wireBytes / plainBytes
  },

  /** Messages per second. @param {number} count */
  async receive(count) {
    await socket.receive()
    const start = performance.now()
    for (let i = 1; i < count; i++) await socket.receive()
    return (1000 * (count - 1)) / (performance.now() - start)
  },

  close() {
    socket.close()
  },
})
