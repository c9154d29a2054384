import { setInterval } from "../base/runtime.js"
import type { BridgeHandlers, BridgeSpec, Joined } from "../bridge/bridge.js"
import { Totals } from "../bridge/totals.js"
import { printableJson } from "../capture/printable.js"
import { counted } from "../capture/reports/report.js"
import { visible } from "../capture/visible.js"
import { ProtocolError } from "../codec/errors.js"
import type { Settings } from "../codec/options.js"
import type { Traffic } from "../codec/traffic.js"
import { isOurs } from "../transport/address.js"
import { adviceOn } from "./bridge-advice.js"
import type { BridgeState } from "./bridge-metrics.js"
import { errorText } from "./errors.js"

/** Seconds between checks of how much compression saves. */
const ADVICE_SECONDS = 5

/** Prints a line: `words` as text, or `type` and `fields` as JSON. */
export type BridgeLog = (type: string, words: string, fields: object) => void

/** Prints lines on standard output, with the time in UTC. */
export const bridgeLog =
  (json: boolean): BridgeLog =>
  (type, words, fields) => {
    const time = new Date().toISOString()
    console.log(json ? printableJson({ type, time, ...fields }) : visible(`${time} ${words}`))
  }

export class Report implements BridgeHandlers {
  readonly #to: string
  readonly #maxConnections: number
  readonly #log: BridgeLog
  readonly #totals = new Totals()
  readonly #state = {
    ...{ open: 0, joined: 0, unreachable: 0, full: 0, isEnding: false },
    isReachable: undefined as boolean | undefined,
    errors: new Map<string, number>(),
  }
  /** Errors counted when a side failed, which `ended` reports again. */
  readonly #counted = new WeakSet<Error>()
  /** The last error of `--to` that was printed: repeated ones are printed once. */
  #unreachable: string | undefined
  #full = false
  /** Undefined once advice was given. */
  #adviceFor: { settings: Settings; isLevelChosen: boolean } | undefined

  constructor({ to, maxConnections }: Pick<BridgeSpec, "to" | "maxConnections">, log: BridgeLog) {
    this.#to = to
    this.#maxConnections = maxConnections
    this.#log = log
  }

  joined({ number, from, to, counts }: Joined): void {
    this.#state.open++
    this.#state.joined++
    this.#state.isReachable = true
    this.#totals.begin(number, counts)
    this.#unreachable = undefined
    const fields = { connection: number, from, to }
    this.#log("connected", `#${number} connected: ${from} to ${to}`, fields)
  }

  failed({ number }: Joined, side: string, error: Error): void {
    this.#failed(number, side, error)
    this.#counted.add(error)
  }

  refused(from: string, error: Error): void {
    this.#failed(null, from, error)
  }

  /** @param connection the number of a pair; null if there is none. */
  #failed(connection: number | null, side: string, error: Error): void {
    const what = error instanceof ProtocolError ? "protocol error" : "error"
    // With CURVE, either side can exceed what the sender's option allows.
    const limitOf = (name: string) =>
      flag(name === "maxMessageSize" && !isOurs(side) ? "maxPlainMessageSize" : name)
    const why = error.message
      .replace(/\bmax(PlainMessageSize|MessageSize|Parts)\b/g, limitOf)
      .replace(
        /the mechanism "CURVE";.*/,
        "$&; for CURVE, see --from-curve-server and --to-server-key",
      )
    const fields = { connection, side, ...errorFields(error, why) }
    const number = connection === null ? "" : `#${connection} `
    this.#countError(error)
    this.#log("error", `${number}${what} by ${side}: ${why}`, fields)
  }

  ended({ number, counts }: Joined, error: Error | undefined, isForRoom: boolean): void {
    this.#state.open--
    if (!isForRoom) this.#full = false
    this.#totals.end(number)
    const reason = error && !(error instanceof ProtocolError) ? error : undefined
    if (reason && !isForRoom && !this.#counted.has(reason)) this.#countError(reason)
    const why = reason ? ` (${errorText(reason)})` : ""
    const { sent, received } = counts()
    const flows = `${trafficText("sent", sent)}; ${trafficText("received", received)}`
    this.#log("closed", `#${number} closed${why}: ${flows}`, {
      connection: number,
      error: reason ? errorFields(reason, errorText(reason)) : null,
      sent: trafficOf((name) => sent[name]),
      received: trafficOf((name) => received[name]),
    })
    this.#advise()
  }

  unreachable(from: string, error: Error): void {
    this.#state.isReachable = false
    this.#state.unreachable++
    const line = `cannot connect to ${this.#to}: ${errorText(error)}`
    const fields = { to: this.#to, closed: from, ...errorFields(error, errorText(error)) }
    if (line !== this.#unreachable) this.#log("unreachable", `${line}; closed ${from}`, fields)
    this.#unreachable = line
  }

  full(from: string): void {
    this.#state.full++
    const maxConnections = this.#maxConnections
    const line = `there are ${maxConnections} connections, which is --max-connections; closed ${from}`
    if (!this.#full) this.#log("full", line, { maxConnections, closed: from })
    this.#full = true
  }

  /** Prints a line of statistics every `seconds`, about the traffic since the previous one. */
  repeatStatistics(seconds: number): NodeJS.Timeout {
    let before = this.#read()
    return setInterval(() => {
      const now = this.#read()
      const sent = trafficOf((name) => now.sent[name] - before.sent[name])
      const received = trafficOf((name) => now.received[name] - before.received[name])
      before = now
      const perSecond = (traffic: Traffic) =>
        trafficOf((name) => Math.round(traffic[name] / seconds))
      const flows = [
        trafficText("sent", perSecond(sent), "/s"),
        trafficText("received", perSecond(received), "/s"),
      ]
      const fields = { seconds, connections: this.#state.open, sent, received }
      this.#log("statistics", `connections: ${this.#state.open}; ${flows.join("; ")}`, fields)
    }, seconds * 1000)
  }

  /** Prints advice once, as soon as it is known that what is sent does not get smaller. */
  repeatAdvice(settings: Settings, isLevelChosen: boolean): NodeJS.Timeout {
    this.#adviceFor = { settings, isLevelChosen }
    return setInterval(() => this.#advise(), ADVICE_SECONDS * 1000)
  }

  #advise(): void {
    if (!this.#adviceFor) return
    const { settings, isLevelChosen } = this.#adviceFor
    const advice = adviceOn(this.#totals.total("sent"), settings, isLevelChosen)
    if (!advice) return
    this.#adviceFor = undefined
    this.#log("advice", advice.words, { message: advice.words, options: advice.options })
  }

  ending(): void {
    this.#state.isEnding = true
  }

  get state(): BridgeState {
    return { ...this.#state, ...this.#read() }
  }

  #countError(error: Error): void {
    const { code = "unknown" } = error as NodeJS.ErrnoException
    const { errors } = this.#state
    errors.set(code, (errors.get(code) ?? 0) + 1)
  }

  #read(): Record<"sent" | "received", Traffic> {
    return { sent: this.#totals.total("sent"), received: this.#totals.total("received") }
  }
}

/** Returns the command-line option for an option of the package. */
export const flag = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`

/** Returns the fields of an error for JSON; `why` need not repeat the code. */
function errorFields(error: Error, why: string): { code: string | null; message: string } {
  const { code } = error as NodeJS.ErrnoException
  return { code: code ?? null, message: code ? why.replace(`${code}: `, "") : why }
}

/** Returns traffic with what `count` returns for each of its counts. */
const trafficOf = (count: (name: keyof Traffic) => number): Traffic => ({
  messages: count("messages"),
  plainBytes: count("plainBytes"),
  wireBytes: count("wireBytes"),
})

/** Formats the traffic of one direction; `per` is a period, or empty for the total. */
function trafficText(way: string, { messages, plainBytes, wireBytes }: Traffic, per = ""): string {
  const ratio = wireBytes > 0 ? ` (${(plainBytes / wireBytes).toFixed(2)} ×)` : ""
  return `${way} ${counted(messages, "message")}${per}, ${plainBytes} bytes${per} as ${wireBytes}${per} on the wire${ratio}`
}
