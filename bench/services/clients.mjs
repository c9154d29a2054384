/** A process that asks, one question at a time or with many sockets, and that can flood meanwhile. */
import { Agent, get } from "node:http"

import { readMessages } from "../lib/messages.mjs"
import { serve } from "../peers/serve.mjs"

/**
 * @typedef {object} Setup
 * @property {string} module
 * @property {object} [lz4]  of the endpoints
 * @property {Record<string, string>} services  endpoints, the first for floods and `askTogether`
 * @property {number} askers  number of sockets for `askTogether`
 * @property {number} floods  number of sockets that flood
 */

const QUESTION = "question"

serve(async (/** @type {Setup} */ { module, lz4, services, askers, floods }) => {
  const zmq = await import(module)
  const rest = module === "zeromq-lz4" ? [lz4] : []
  const agent = new Agent({ keepAlive: true })
  const [first] = Object.values(services)
  const connected = (/** @type {string} */ type, /** @type {string} */ endpoint) => {
    const socket = new zmq[type]({ linger: 0 })
    socket.connect(endpoint, ...rest)
    return socket
  }
  const socketsOf = (/** @type {string} */ type, /** @type {number} */ count) =>
    Array.from({ length: count }, () => connected(type, first))

  /** Sends a question and waits for its answer, by service. @type {Record<string, () => Promise<unknown>>} */
  const questions = Object.fromEntries(
    Object.entries(services).map(([name, endpoint]) => {
      if (endpoint.startsWith("http:")) return [name, () => fetched(endpoint)]
      const socket = connected("Request", endpoint)
      return [
        name,
        async () => {
          await socket.send(QUESTION)
          await socket.receive()
        },
      ]
    }),
  )
  const fetched = (/** @type {string} */ url) =>
    new Promise((resolve) => {
      get(url, { agent }, (response) => response.resume().on("end", () => resolve(undefined)))
    })

  const dealers = socketsOf("Dealer", floods)
  const requests = socketsOf("Request", askers)
  let isFlooding = false
  let sent = 0
  /** @type {Promise<unknown>} */
  let flooding = Promise.resolve()

  const commands = {
    /** Begins to send the messages of a file as fast as possible. */
    flood(/** @type {{ file: string }} */ { file }) {
      const messages = readMessages(file)
      isFlooding = true
      flooding = Promise.all(
        dealers.map(async (dealer) => {
          for (let i = 0; isFlooding; i++) {
            await dealer.send(messages[i % messages.length])
            sent++
          }
        }),
      )
    },

    /** Ends the flood, and returns the number of messages sent in total. */
    async endFlood() {
      isFlooding = false
      await flooding
      return { sent }
    },

    /** Asks a service for some time, one question at a time. Returns the milliseconds of each. */
    async ask(/** @type {{ service: string, seconds: number }} */ { service, seconds }) {
      const question = questions[service]
      const times = []
      for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
        const start = performance.now()
        await question()
        times.push(performance.now() - start)
      }
      return { times }
    },

    /**
     * Asks with all sockets for some time, one question at a time each. Returns the milliseconds of each
     * answer, and the seconds until the last one.
     */
    async askTogether(/** @type {{ file: string, seconds: number }} */ { file, seconds }) {
      const messages = readMessages(file)
      /** @type {number[]} */
      const times = []
      const begin = performance.now()
      const end = begin + seconds * 1000
      await Promise.all(
        requests.map(async (socket, at) => {
          for (let i = at; performance.now() < end; i++) {
            const start = performance.now()
            await socket.send(messages[i % messages.length])
            await socket.receive()
            times.push(performance.now() - start)
          }
        }),
      )
      return { times, seconds: (performance.now() - begin) / 1000 }
    },
  }
  return { ready: {}, commands }
})
