import { isTypeName } from "../../zmtp/socket-types.js"
import type { CaptureConnection } from "../events.js"
import type { Found, NotJoined } from "./conversation.js"
import { type DurationSummary, Durations } from "./durations.js"
import type { Exchange } from "./exchange.js"

/** The exchanges of all connections to a server between two types of sockets. */
export interface ExchangeGroup {
  /** The socket type of the clients, such as "REQ"; undefined if the recording does not have it. */
  client: string | undefined
  /** The socket type of the server, such as "REP"; undefined if the recording does not have it. */
  server: string | undefined
  /** Address and port of the server; undefined for all servers after the first 1000. */
  address: string | undefined
  /** Number of connections. */
  connections: number
  /** Number of exchanges. */
  answered: number
  /** Questions without an answer until the connection, or the recording, ended. */
  unanswered: number
  /** Questions whose answers are not certain, because messages are missing from the recording. */
  unknown: number
  /** Answers without a question: it is not in the recording, counts as unknown, or nobody had asked. */
  unexpected: number
  /** The times from questions to answers; undefined if there are none. */
  times: DurationSummary | undefined
  /** Connections whose messages are not joined, or not to the end, by reason. */
  notJoined: { why: NotJoined; connections: number; messages: number }[]
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** Adds up the connections of a group. */
export class Group {
  readonly #sums: Mutable<Omit<ExchangeGroup, "times" | "notJoined">>
  #times = new Durations()
  readonly #notJoined = new Map<NotJoined, { connections: number; messages: number }>()

  /** Returns the same for the connections of one group. */
  static nameOf({ server, handshakes }: CaptureConnection): string {
    return [typeOf(handshakes.client), typeOf(handshakes.server), server].join(" ")
  }

  /** @param connection one of the group; undefined if it is for all that do not have one. */
  constructor(connection: CaptureConnection | undefined) {
    this.#sums = {
      client: typeOf(connection?.handshakes.client),
      server: typeOf(connection?.handshakes.server),
      address: connection?.server,
      ...{ connections: 0, answered: 0, unanswered: 0, unknown: 0, unexpected: 0 },
    }
  }

  addExchange({ nanoseconds }: Exchange): void {
    this.#sums.answered++
    if (nanoseconds !== undefined) this.#times.add(nanoseconds)
  }

  addFound({ unanswered, unknown, unexpected, notJoined, messages }: Found): void {
    this.#sums.connections++
    this.#sums.unanswered += unanswered
    this.#sums.unknown += unknown
    this.#sums.unexpected += unexpected
    if (!notJoined) return
    const sums = this.#notJoined.get(notJoined) ?? { connections: 0, messages: 0 }
    sums.connections++
    sums.messages += messages
    this.#notJoined.set(notJoined, sums)
  }

  copy(): Group {
    const copy = new Group(undefined)
    Object.assign(copy.#sums, this.#sums)
    copy.#times = this.#times.copy()
    for (const [why, sums] of this.#notJoined) copy.#notJoined.set(why, { ...sums })
    return copy
  }

  get summary(): ExchangeGroup {
    return {
      ...this.#sums,
      times: this.#times.summary,
      notJoined: Array.from(this.#notJoined, ([why, sums]) => ({ why, ...sums })),
    }
  }
}

const typeOf = (handshake: { socketType: string | undefined } | undefined): string | undefined => {
  const type = handshake?.socketType
  return type !== undefined && isTypeName(type) ? type : undefined
}
