import type { CaptureConnection, CaptureError, CaptureEvent, Side } from "../events.js"
import { isShipment } from "../parts.js"
import { Conversation, type Found, type NotJoined } from "./conversation.js"
import { type Exchange, heardIn } from "./exchange.js"
import { type ExchangeGroup, Group } from "./group.js"
import { socketPair } from "./socket-pair.js"
import { Unjoined } from "./unjoined.js"
import type { AllWaiting } from "./waiting.js"

/** All exchanges of a capture. */
export interface ExchangeSummary {
  /** Those with the most exchanges first. */
  groups: ExchangeGroup[]
  /** The exchanges that took longest, at most 10, the longest first. */
  slowest: Exchange[]
}

const SLOWEST = 10
const GROUPS_MAX = 1000
const CUT: NotJoined = "packets were cut when they were recorded"
/** Errors that lose no message, or only the last one. */
const HARMLESS: readonly string[] = ["ERR_CAPTURE_TRUNCATED", "ERR_LZ4_UNKNOWN_SENTINEL"]

/**
 * Joins questions and answers of REQ, REP, DEALER and ROUTER (and of the drafts CLIENT and SERVER), as
 * docs/inspect.md describes it. Memory is bounded.
 */
export class Exchanges {
  readonly #groups = new Map<string, Group>()
  /** Those that are not closed; undefined for types that exchange nothing. */
  readonly #conversations = new Map<CaptureConnection, Conversation | Unjoined | undefined>()
  /** Those of which messages are missing. */
  readonly #gaps = new WeakSet<CaptureConnection>()
  /** Whether packets were cut, so that messages may be missing anywhere. */
  #areCut = false
  readonly #waiting: AllWaiting = { count: 0 }
  readonly #slowest: Exchange[] = []

  /**
   * Adds an event; call it with all events of a capture, in order. Returns the exchanges that it makes
   * certain: the first ones between DEALER and ROUTER are held back for some messages.
   *
   * @param matches whether the event matches a filter. An exchange counts if its question or its
   * answer does, and other messages if they do.
   */
  add(event: CaptureEvent, matches = true): Exchange[] {
    const { connection } = event
    if (!connection) return []
    switch (event.type) {
      case "message":
        // A dictionary is part of no exchange, refused or not.
        if (isShipment(event.message)) return []
        return this.#hear(event, matches)
      case "command":
        if (connection.encrypted && event.command.name === "MESSAGE")
          this.#unjoined(connection, event.command.from, matches)
        return []
      case "error":
        this.#miss(connection, event.error)
        return []
      case "close":
        return this.#end(connection)
      default:
        return []
    }
  }

  /** Sums up what was added so far. What is open counts as not answered. */
  summary(): ExchangeSummary {
    const copies = new Map(Array.from(this.#groups, ([name, group]) => [name, group.copy()]))
    for (const [connection, conversation] of this.#conversations)
      if (conversation) addFound(copies, connection, conversation.found)
    return {
      groups: Array.from(copies.values(), ({ summary }) => summary).sort(
        (a, b) => weightOf(b) - weightOf(a),
      ),
      slowest: [...this.#slowest],
    }
  }

  #miss(connection: CaptureConnection, { code }: CaptureError): void {
    if (HARMLESS.includes(code)) return
    if (code === "ERR_CAPTURE_CUT") {
      // Only the first one is reported.
      this.#areCut = true
      for (const conversation of this.#conversations.values()) conversation?.giveUp(CUT)
    }
    this.#gaps.add(connection)
    this.#conversations.get(connection)?.gap()
  }

  #hear(
    { connection, message, packet }: Extract<CaptureEvent, { type: "message" }>,
    matches: boolean,
  ): Exchange[] {
    const conversation = this.#conversation(connection, () => this.#begun(connection))
    if (conversation instanceof Unjoined) conversation.add(message.from, matches)
    if (!(conversation instanceof Conversation)) return []
    return this.#counted(connection, conversation.add(message, heardIn(message, packet, matches)))
  }

  #unjoined(connection: CaptureConnection, from: Side, matches: boolean): void {
    const conversation = this.#conversation(connection, () => new Unjoined("encrypted"))
    if (conversation instanceof Unjoined) conversation.add(from, matches)
  }

  #end(connection: CaptureConnection): Exchange[] {
    const conversation = this.#conversations.get(connection)
    this.#conversations.delete(connection)
    const exchanges = this.#counted(connection, conversation?.end() ?? [])
    if (conversation) addFound(this.#groups, connection, conversation.found)
    return exchanges
  }

  #counted(connection: CaptureConnection, exchanges: Exchange[]): Exchange[] {
    for (const exchange of exchanges) {
      groupOf(this.#groups, connection).addExchange(exchange)
      this.#rank(exchange)
    }
    return exchanges
  }

  #rank(exchange: Exchange): void {
    const { nanoseconds } = exchange
    if (nanoseconds === undefined) return
    if (this.#slowest.length === SLOWEST && nanoseconds <= timeOf(this.#slowest.at(-1))) return
    this.#slowest.push(exchange)
    this.#slowest.sort((a, b) => timeOf(b) - timeOf(a)).splice(SLOWEST)
  }

  #conversation(
    connection: CaptureConnection,
    make: () => Conversation | Unjoined | undefined,
  ): Conversation | Unjoined | undefined {
    if (!this.#conversations.has(connection)) this.#conversations.set(connection, make())
    return this.#conversations.get(connection)
  }

  #begun(connection: CaptureConnection): Conversation | Unjoined | undefined {
    const pair = socketPair(connection)
    if (pair === "unknown") return new Unjoined("the recording does not have the socket types")
    if (pair && this.#areCut) return new Unjoined(CUT)
    const { client, server } = connection.handshakes
    // The handshake comes before all messages.
    const hasBeginning = connection.begun || (client?.socketType && server?.socketType)
    const mayMiss = !hasBeginning || this.#gaps.has(connection)
    return pair && new Conversation(connection.id, pair, this.#waiting, mayMiss)
  }
}

const timeOf = (exchange: Exchange | undefined): number => exchange?.nanoseconds ?? 0

const weightOf = ({ answered, unanswered, notJoined }: ExchangeGroup): number =>
  answered + unanswered + notJoined.reduce((sum, { messages }) => sum + messages, 0)

/** Adds what was found in a connection, if it is worth mentioning, to its group. */
function addFound(groups: Map<string, Group>, connection: CaptureConnection, found: Found): void {
  if (!isNothing(found)) groupOf(groups, connection).addFound(found)
}

const isNothing = ({ exchanges, unanswered, unexpected, unknown, messages }: Found): boolean =>
  exchanges + unanswered + unexpected + unknown + messages === 0

function groupOf(groups: Map<string, Group>, connection: CaptureConnection): Group {
  const name = Group.nameOf(connection)
  const known = groups.get(name) ?? groups.get("")
  if (known && (groups.has(name) || groups.size >= GROUPS_MAX)) return known
  const isOther = groups.size >= GROUPS_MAX
  const group = new Group(isOther ? undefined : connection)
  groups.set(isOther ? "" : name, group)
  return group
}
