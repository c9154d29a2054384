import { isTypeName } from "../../zmtp/socket-types.js"
import type { CaptureConnection } from "../events.js"
import type { Found, NotJoined } from "./conversation.js"
import { Durations } from "./durations.js"
import type { Exchange } from "./exchange.js"
import type { ExchangeGroup } from "./exchanges.js"

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
