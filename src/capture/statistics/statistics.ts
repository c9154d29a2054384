import { addTraffic, type Traffic } from "../../codec/traffic.js"
import { isTypeName } from "../../zmtp/socket-types.js"
import type { CaptureConnection, CaptureEvent, CaptureMessage, Side } from "../events.js"
import { shipmentIn, variousParts } from "../parts.js"
import { sealedBytes } from "../sealed-bytes.js"
import { type PeriodTraffic, Seconds } from "./seconds.js"
import { Subscriptions } from "./subscriptions.js"
import { Topics, topicName } from "./topics.js"

/** Traffic of one socket type or topic. */
export interface NamedTraffic extends Traffic {
  /** The socket type, or the topic: in hexadecimal after "hex " if it is not UTF-8. */
  name: string
  /** Set if the name is in hexadecimal: a topic that is text may begin with "hex " too. */
  hex?: true
}

/** Traffic of messages of certain sizes. */
export interface SizeTraffic extends Traffic {
  /** Minimum plaintext of these messages, in bytes. */
  min: number
  /** They have less plaintext than this, in bytes; undefined for the largest ones. */
  end: number | undefined
}

/** The traffic of a capture, in several ways. */
export interface StatisticsSummary {
  /** Traffic of all messages that decode. */
  total: Traffic
  /** Traffic by the type of the sending socket; "?" if the recording does not have it. */
  types: NamedTraffic[]
  /**
   * Traffic by topic, those with the most bytes on the wire first: of messages of PUB, XPUB and RADIO,
   * and of more than one part by senders of an unknown type. "" is for messages that begin with no topic
   * that is known.
   */
  topics: NamedTraffic[]
  /**
   * Traffic that is not in `topics`, because there were too many: some of it may belong to topics that
   * are.
   */
  otherTopics: Traffic | undefined
  /** Traffic by the size of messages, small ones first. */
  sizes: SizeTraffic[]
  /** Traffic by second, or by longer periods, in order; without those that have none. */
  periods: PeriodTraffic[]
  /** The length of a period, in seconds: a power of 2. */
  periodSeconds: number
  /** Dictionaries, which nothing else here counts. */
  dictionaries: { count: number; wireBytes: number }
  /** Messages of which a part does not decode, which nothing else here counts. */
  undecoded: { messages: number; wireBytes: number }
  /** MESSAGE commands of CURVE, of which nothing else is known, and their bytes. */
  encrypted: { messages: number; bytes: number }
}

/** The smallest sizes that are counted together: each 4 times as large as the one before. */
const SIZES = [0, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576]

const TYPES_MAX = 20

/** Adds up the traffic of a capture, as docs/inspect.md describes it. Memory is bounded. */
export class Statistics {
  readonly #total = nothing()
  readonly #types = new Map<string, Traffic>()
  readonly #topics = new Topics()
  readonly #sizes: Traffic[] = SIZES.map(nothing)
  readonly #seconds = new Seconds()
  readonly #subscriptions = new Subscriptions()
  readonly #dictionaries = { count: 0, wireBytes: 0 }
  readonly #undecoded = { messages: 0, wireBytes: 0 }
  readonly #encrypted = { messages: 0, bytes: 0 }

  /**
   * Adds an event; call it with all events of a capture, in order.
   *
   * @param matches whether the event matches a filter, and counts.
   */
  add(event: CaptureEvent, matches = true): void {
    this.#subscriptions.add(event)
    if (!matches) return
    if (event.type === "message") this.#addMessage(event.connection, event.message)
    if (event.type !== "command") return
    const sealed = sealedBytes(event.connection, event.command)
    if (sealed === undefined) return
    this.#encrypted.messages++
    this.#encrypted.bytes += sealed
  }

  /** Sums up what was added so far. */
  summary(): StatisticsSummary {
    const { length, periods } = this.#seconds.periods
    return {
      total: { ...this.#total },
      types: named([...this.#types].sort(([, a], [, b]) => b.wireBytes - a.wireBytes)),
      topics: this.#topics.sorted.map(([key, traffic]) => ({ ...topicName(key), ...traffic })),
      otherTopics: this.#topics.others && { ...this.#topics.others },
      sizes: this.#sizes.map((traffic, i) => ({
        min: SIZES[i] as number,
        end: SIZES[i + 1],
        ...traffic,
      })),
      periods,
      periodSeconds: length,
      dictionaries: { ...this.#dictionaries },
      undecoded: { ...this.#undecoded },
      encrypted: { ...this.#encrypted },
    }
  }

  #addMessage(connection: CaptureConnection, message: CaptureMessage): void {
    const { from, time, wireBytes, plainBytes } = message
    if (shipmentIn(message)) {
      this.#dictionaries.count++
      this.#dictionaries.wireBytes += wireBytes
      return
    }
    if (variousParts(message).some(({ error }) => error)) {
      this.#undecoded.messages++
      this.#undecoded.wireBytes += wireBytes
      return
    }
    const traffic: Traffic = { messages: 1, plainBytes, wireBytes }
    addTraffic(this.#total, traffic)
    addTraffic(this.#typeOf(connection, from), traffic)
    const larger = SIZES.findIndex((min) => plainBytes < min)
    addTraffic(this.#sizes.at(larger < 0 ? -1 : larger - 1) as Traffic, traffic)
    if (time !== undefined) this.#seconds.add(time, traffic)
    const topic = this.#subscriptions.topicOf(connection, message)
    if (topic !== undefined) this.#topics.add(topic, traffic)
  }

  #typeOf(connection: CaptureConnection, from: Side): Traffic {
    const type = connection.handshakes[from]?.socketType
    // A peer may send any text.
    const isKnown = type !== undefined && isTypeName(type) && this.#types.size < TYPES_MAX
    const name = isKnown ? type : "?"
    const traffic = this.#types.get(name) ?? nothing()
    this.#types.set(name, traffic)
    return traffic
  }
}

function nothing(): Traffic {
  return { messages: 0, plainBytes: 0, wireBytes: 0 }
}

const named = (all: readonly (readonly [string, Traffic])[]): NamedTraffic[] =>
  all.map(([name, traffic]) => ({ name, ...traffic }))
