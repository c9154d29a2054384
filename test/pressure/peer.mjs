/** A process with the ends of a run: sockets that send and check messages as run.ts specifies. */
import * as zmq from "zeromq-lz4"
import * as draft from "zeromq-lz4/draft"

import { ownHost } from "../support/own-host.mjs"
import { checkMessage, makeMessage } from "./parts.mjs"

/**
 * @typedef {object} EndSpec  a socket and its part in a run
 * @property {string} type                        the name of its class
 * @property {Record<string, unknown>} options    of the socket
 * @property {number} sendMark
 * @property {number} receiveMark
 * @property {import("zeromq-lz4").EndpointOptions} endpointOptions
 * @property {string} [scheme]                    of the endpoint that it binds; "lz4+tcp" by default
 * @property {boolean} binds                      or connects
 * @property {import("./parts.mjs").Contents} contents
 * @property {How} how                            how it calls receive()
 * @property {Outgoing[]} sends                   in turn, a message of each
 * @property {string} [group]                     that it sends to or joins
 * @property {boolean} greets                     repeats a hello before its messages, until it has arrived
 * @property {boolean} [saysEnd]                  repeats an end after its messages, until it has arrived
 * @property {boolean} echoes                     sends back what it receives
 * @property {boolean} lockstep                   waits for the echo before it sends again
 * @property {number[]} receives                  the streams for this socket
 * @property {number} skips                       frames received before each message
 * @property {boolean} named                      the first of them is the sender's routing id
 * @property {Order} order                        of the messages of one stream
 * @property {boolean} losesPeers                 peers may disconnect
 */
/**
 * @typedef {{ stream: number, count: number, before: string[] }} Outgoing
 * @typedef {"wait" | "poll" | "readable" | "compute"} How
 * @typedef {"complete" | "gaps" | "recorded"} Order
 */
/**
 * @typedef {object} Status
 * @property {boolean} sent                          all of it
 * @property {Record<number, number>} received       messages, by stream
 * @property {number[]} greeted                      streams whose hello has arrived
 * @property {number[]} ended                        streams whose end has arrived
 * @property {string[]} problems
 * @property {{ sent: import("zeromq-lz4").Traffic, received: import("zeromq-lz4").Traffic }} stats
 */
/** @typedef {{ from: string, stream: number, sequence: number }} Arrival */

const PROBLEMS_MAX = 5
const COMPUTE_EVERY = 7
const COMPUTE_MS = 2
const GREETING_MS = 5

/** Number of turns of the event loop in which a call is tried again, before it is tried once in a millisecond. */
const VAIN_TURNS_MAX = 20

const turn = () => new Promise((resolve) => setImmediate(resolve))
const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))
/** Waits after a number of vain calls: a call in each turn would take the processor from the other ends. */
const pause = (/** @type {number} */ vain) => (vain < VAIN_TURNS_MAX ? turn() : sleep(1))

function compute() {
  const end = performance.now() + COMPUTE_MS
  while (performance.now() < end);
}

class End {
  /** @type {any} */
  #socket
  #spec
  #closing = false
  #working = false
  #sent = false
  #messages = 0
  /** @type {Map<number, number>} The number of messages received of each stream. */
  #received = new Map()
  /** @type {Map<number, number>} The next sequence number of each stream. */
  #due = new Map()
  #greeted = new Set()
  #ended = new Set()
  /** @type {string[]} */
  #problems = []
  /** @type {Arrival[]} Filled if the order is `recorded`. */
  arrivals = []

  /** @param {EndSpec} spec */
  constructor(spec) {
    this.#spec = spec
    const { options, type } = spec
    const classes = /** @type {Record<string, any>} */ ({ ...draft, ...zmq })
    const socket = new classes[type](options)
    this.#socket = socket
    // A type that only sends, or only receives, has one mark.
    if ("sendHighWaterMark" in socket) socket.sendHighWaterMark = spec.sendMark
    if ("receiveHighWaterMark" in socket) socket.receiveHighWaterMark = spec.receiveMark
    if (type === "Subscriber") socket.subscribe()
    if (type === "Dish") socket.join(spec.group)
    const reports = ["protocolError", ...(spec.losesPeers ? [] : ["disconnect"])]
    for (const name of reports)
      socket.lz4.on(name, (/** @type {{ error?: Error }} */ { error }) => {
        if (!this.#closing) this.#problem(`${name}: ${error ?? "without an error"}`)
      })
  }

  async bind() {
    const { binds, endpointOptions } = this.#spec
    if (!binds) return undefined
    const { scheme = "lz4+tcp" } = this.#spec
    await this.#socket.bind(`${scheme}://${ownHost}:*`, endpointOptions)
    return this.#socket.lastEndpoint
  }

  /** @param {string[]} endpoints */
  async start(endpoints) {
    const { endpointOptions, receives, greets, type } = this.#spec
    for (const endpoint of endpoints) this.#socket.connect(endpoint, endpointOptions)
    if (type === "XSubscriber" && receives.length > 0) await this.#socket.send(Buffer.of(1))
    if (greets) this.#tell(this.#repeat("hello", () => !this.#working))
  }

  receive() {
    const { receives, lockstep } = this.#spec
    if (receives.length > 0 && !lockstep) this.#tell(this.#receiveAll())
  }

  send() {
    this.#working = true
    this.#tell(this.#sendAll())
  }

  /** @returns {Status} */
  get status() {
    return {
      sent: this.#sent,
      received: Object.fromEntries(this.#received),
      greeted: [...this.#greeted],
      ended: [...this.#ended],
      problems: this.#problems,
      stats: this.#socket.lz4.stats,
    }
  }

  /** Allows peers to disconnect from now on. */
  finish() {
    this.#closing = true
  }

  close() {
    this.#socket.linger = 0
    this.#socket.close()
  }

  /** @param {string} problem */
  #problem(problem) {
    if (this.#problems.length < PROBLEMS_MAX) this.#problems.push(problem)
  }

  /** @param {Promise<void>} work */
  #tell(work) {
    work.catch((error) => {
      if (!this.#closing) this.#problem(error.stack)
    })
  }

  async #sendAll() {
    const { sends, contents, lockstep, saysEnd } = this.#spec
    const greeting = this.#greeting
    if (greeting) await greeting
    const most = Math.max(0, ...sends.map(({ count }) => count))
    for (let i = 0; i < most; i++)
      for (const { stream, count, before } of sends) {
        if (i >= count) continue
        await this.#send([...before, ...makeMessage(stream, i, contents)])
        if (lockstep) this.#check(await this.#receive())
      }
    this.#sent = true
    if (saysEnd) await this.#repeat("end", () => !this.#closing)
  }

  /** @type {Promise<void> | undefined} */
  #greeting

  /**
   * Sends a word for each stream repeatedly.
   * @param {string} word @param {() => boolean} goesOn
   */
  #repeat(word, goesOn) {
    const repeat = async () => {
      while (goesOn()) {
        for (const { stream, before } of this.#spec.sends)
          await this.#send([...before, Buffer.from(`${word} ${stream}`)])
        await sleep(GREETING_MS)
      }
    }
    this.#greeting = repeat()
    return this.#greeting
  }

  /** @param {(Buffer | string)[]} message @param {object} [routing] */
  async #send(message, routing = this.#spec.group ? { group: this.#spec.group } : undefined) {
    for (let vain = 0; ; vain++)
      try {
        const body = message.length === 1 ? message[0] : message
        return await (routing ? this.#socket.send(body, routing) : this.#socket.send(body))
      } catch (error) {
        // A ROUTER may not know its peer yet, and does not wait for a full one.
        const { code } = /** @type {{ code: string }} */ (error)
        if (code !== "EAGAIN" && code !== "EHOSTUNREACH") throw error
        await pause(vain)
      }
  }

  async #receiveAll() {
    while (!this.#closing) {
      const message = await this.#receive()
      if (this.#spec.echoes) await this.#sendBack(message)
      this.#check(message)
      if (this.#spec.how === "compute" && ++this.#messages % COMPUTE_EVERY === 0) compute()
    }
  }

  /** @param {any[]} message */
  #sendBack(message) {
    const routing = message.at(-1)
    return Buffer.isBuffer(routing)
      ? this.#send(message)
      : this.#send(message.slice(0, -1), routing)
  }

  /** @returns {Promise<any[]>} */
  async #receive() {
    const socket = this.#socket
    switch (this.#spec.how) {
      case "poll":
        socket.receiveTimeout = 0
        for (let vain = 0; ; vain++)
          try {
            return await socket.receive()
          } catch (error) {
            if (/** @type {{ code: string }} */ (error).code !== "EAGAIN") throw error
            await pause(vain)
          }
      case "readable":
        for (let vain = 0; !socket.readable; vain++) await pause(vain)
    }
    return socket.receive()
  }

  /** @param {any[]} message */
  #check(message) {
    const { skips, named, contents, order, receives } = this.#spec
    const parts = message.slice(skips).filter(Buffer.isBuffer)
    const [word, number] = parts[0].length < 20 ? String(parts[0]).split(" ") : []
    if (word === "hello") return this.#greeted.add(Number(number))
    if (word === "end") return this.#ended.add(Number(number))
    const found = checkMessage(parts, contents)
    if (found.problem) this.#problem(`content: ${found.problem}`)
    if (!("stream" in found)) return
    const { stream, sequence } = found
    this.#received.set(stream, (this.#received.get(stream) ?? 0) + 1)
    if (!receives.includes(stream)) this.#problem(`stream ${stream} is not for this socket`)
    if (named && String(message[0]) !== `peer-${stream}`)
      this.#problem(`routing id: ${sequence} of stream ${stream} has that of ${message[0]}`)
    const due = this.#due.get(stream) ?? 0
    if (order === "recorded")
      this.arrivals.push({ from: message[0].toString("hex"), stream, sequence })
    else if (order === "complete" ? sequence !== due : sequence < due)
      this.#problem(`order: ${sequence} of stream ${stream} arrived instead of ${due}`)
    this.#due.set(stream, sequence + 1)
  }
}

/** @type {End[]} */
let ends = []
const calls = {
  /** @param {EndSpec[]} specs */
  open: (specs) => {
    ends = specs.map((spec) => new End(spec))
    return Promise.all(ends.map((end) => end.bind()))
  },
  /** @param {string[][]} endpoints */
  start: (endpoints) => Promise.all(ends.map((end, i) => end.start(endpoints[i] ?? []))),
  receive: () => {
    for (const end of ends) end.receive()
  },
  send: () => {
    for (const end of ends) end.send()
  },
  status: () => ends.map(({ status }) => status),
  arrivals: () => ends.map(({ arrivals }) => arrivals),
  finish: () => {
    for (const end of ends) end.finish()
  },
  close: () => {
    for (const end of ends) end.close()
    ends = []
  },
}
/** @typedef {typeof calls} Calls */

process.on(
  "message",
  async (/** @type {{ call: keyof Calls, argument: any }} */ { call, argument }) => {
    try {
      process.send?.({ result: await calls[call](argument) })
    } catch (error) {
      process.send?.({ error: /** @type {Error} */ (error).stack })
    }
  },
)
process.on("disconnect", () => process.exit())
