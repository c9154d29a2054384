import type { CaptureMessage, Side, Time } from "../events.js"
import { eachPart, firstParts, variousParts } from "../parts.js"
import { envelopeOf, ID_PARTS, idOf } from "./envelope.js"
import { type Exchange, exchangeOf, type Heard } from "./exchange.js"
import type { SocketPair } from "./socket-pair.js"
import { type AllWaiting, Waiting } from "./waiting.js"

/** The reason why the messages of a connection are not joined. */
export type NotJoined =
  | "the recording does not have the socket types"
  | "encrypted"
  | "messages neither alternate nor have an id in their first part"
  | "messages are missing from the recording"
  | "packets were cut when they were recorded"
  | "too many questions are open"

const NEITHER = "messages neither alternate nor have an id in their first part"
const MISSING = "messages are missing from the recording"

/** What was found in a connection so far. */
export interface Found {
  /** Exchanges that are certain. */
  exchanges: number
  unanswered: number
  unexpected: number
  unknown: number
  notJoined: NotJoined | undefined
  /** Messages that belong to no exchange because of `notJoined`. */
  messages: number
}

/** Maximum number of messages of all connections that wait for their question or answer. */
const WAITING_MAX = 1 << 16
/**
 * Number of exchanges of a connection that are held back at first: only with more of them is it certain
 * that their ids did not match by chance.
 */
const HELD_MAX = 16
/** Questions whose ids are compared with that of a new one. */
const IDS_MAX = 16

/**
 * Joins the messages of one connection.
 *
 * By "envelope": REP answers in order and sends the envelope back, so the nth answer with an envelope
 * belongs to the nth question with it.
 *
 * By "id": if the messages of both sides alternate, each answer belongs to the question before it.
 * Otherwise an answer belongs to the question with the same id, as long as no two open questions have
 * the same one and each answer has that of a question. If neither holds, nothing is joined.
 *
 * Each side's messages come in order, but an answer may come before its question, and waits for it then.
 * That is usual where bytes are missing: what follows them is passed on late, and the gap is reported
 * only after the other side's messages. So up to a gap the messages of both sides are complete, and
 * counting is right. After it, only this is certain: a REQ has one question at a time, if the recording
 * has shown no other order, and ids that do not repeat name one question each.
 */
export class Conversation {
  readonly #connection: number
  readonly #pair: SocketPair
  #asker: Side | undefined
  readonly #open: Waiting
  readonly #early: Waiting
  readonly #all: AllWaiting
  #newest: Time
  #alternates = true
  #hasIds = true
  /** By "id": ids of the last questions, and whether one had that of another. */
  readonly #ids = new Set<string>()
  #idsRepeat = false
  #mayMiss = false
  #hasJoined = false
  /** Whether a message was recorded out of order, as in files from machines whose clocks differ. */
  #isDisordered = false
  /** Undefined once they are known to be exchanges. */
  #held: Exchange[] | undefined = []
  /** Numbers of messages: all, and those of exchanges that are certain and that are held back. */
  #messages = 0
  #joined = 0
  #exchanges = 0
  #heldMessages = 0
  #unanswered = 0
  #unexpected = 0
  #unknown = 0
  #notJoined: NotJoined | undefined

  /** @param mayMiss whether messages before the first one may be missing. */
  constructor(connection: number, pair: SocketPair, all: AllWaiting, mayMiss: boolean) {
    this.#connection = connection
    this.#pair = pair
    this.#asker = pair.asker
    this.#all = all
    this.#open = new Waiting(all)
    this.#early = new Waiting(all)
    if (pair.by === "envelope") this.#held = undefined
    if (mayMiss) this.gap()
  }

  /** Adds a message. Returns the exchanges that are certain now. */
  add(message: CaptureMessage, heard: Heard): Exchange[] {
    const { from } = message
    if (heard.matches) this.#messages++
    const { by } = this.#pair
    const key =
      by === "envelope" ? envelopeOf(eachPart(message)) : idOf(firstParts(message, ID_PARTS))
    const isBroken =
      by === "envelope" && key === undefined && variousParts(message).some(({ error }) => error)
    // Whatever it is, it cannot be counted.
    if (isBroken) this.gap()
    if (this.#notJoined) return []
    this.#asker ??= from
    if (from !== this.#asker) return this.#answer(key, heard)
    if (!isBroken) return this.#ask(key, heard)
    if (heard.matches) this.#unknown++
    return []
  }

  /** Messages of the connection are missing: what was asked before may have been answered there. */
  gap(): void {
    if (this.#notJoined) return
    this.#mayMiss = true
    const isCertain =
      this.#pair.by === "envelope"
        ? this.#pair.oneAtATime && !this.#isDisordered
        : // Without an exchange it is not even certain who asks.
          this.#hasIds && !this.#idsRepeat && this.#hasJoined
    if (!isCertain) {
      this.giveUp(MISSING)
      return
    }
    this.#unknown += this.#open.clear()
    this.#unexpected += this.#early.clear()
    this.#alternates = false
    // Ids have to prove once more that they do not repeat.
    if (this.#pair.by === "id") this.#held ??= []
  }

  /** The connection has ended: what was held back is certain, and what is open is not answered. */
  end(): Exchange[] {
    if (this.#pair.by === "id" && this.#early.size > 0 && !this.#mayMiss) this.giveUp(NEITHER)
    this.#unanswered += this.#open.clear()
    this.#unexpected += this.#early.clear()
    return this.#release()
  }

  /** What was found, without exchanges that are held back; open questions count as unanswered. */
  get found(): Found {
    const isJoined = this.#notJoined === undefined
    return {
      exchanges: this.#exchanges,
      unanswered: isJoined ? this.#unanswered + this.#open.matching : 0,
      unexpected: isJoined ? this.#unexpected + this.#early.matching : 0,
      unknown: isJoined ? this.#unknown : 0,
      notJoined: this.#notJoined,
      messages: isJoined ? 0 : this.#messages - this.#joined,
    }
  }

  #ask(key: string | undefined, heard: Heard): Exchange[] {
    const { by, oneAtATime } = this.#pair
    if (by === "envelope" && key === undefined) {
      // REP drops it.
      if (heard.matches) this.#unanswered++
      return []
    }
    if (by === "id") {
      if (this.#open.size + this.#early.size > 0) this.#alternates = false
      if (key === undefined || this.#open.has(key)) this.#hasIds = false
      else this.#noteId(key)
      if (!this.#checkIds()) return []
    }
    const answer = key === undefined ? undefined : this.#early.first(key)
    if (answer) {
      this.#early.take(key as string)
      return this.#join(heard, answer)
    }
    if (this.#mayMiss) {
      if (oneAtATime) this.#unknown += this.#open.clear()
      // It comes late, and so its answer may have been counted already.
      if (this.#newest !== undefined && (heard.time === undefined || heard.time <= this.#newest)) {
        if (heard.matches) this.#unknown++
        return []
      }
    }
    this.#wait(this.#open, key ?? "", heard)
    return []
  }

  #answer(key: string | undefined, heard: Heard): Exchange[] {
    const { time } = heard
    if (time !== undefined && (this.#newest === undefined || time > this.#newest))
      this.#newest = time
    const { by, oneAtATime } = this.#pair
    const known = key !== undefined && this.#open.has(key) ? key : undefined
    const only = by === "id" && this.#alternates ? this.#open.firstKey : undefined
    if (by === "id") {
      if (key === undefined || (only !== undefined && known === undefined)) this.#hasIds = false
      if (!this.#checkIds()) return []
    }
    const joins = only ?? known
    const question = joins === undefined ? undefined : this.#open.first(joins)
    const isCounted = !(oneAtATime && this.#mayMiss)
    if (joins !== undefined && question && (isCounted || isAfter(heard, question))) {
      this.#open.take(joins)
      return this.#join(question, heard)
    }
    if (isCounted && (by === "id" || key !== undefined)) this.#wait(this.#early, key ?? "", heard)
    else if (heard.matches) this.#unexpected++
    return []
  }

  #noteId(id: string): void {
    if (this.#ids.has(id)) this.#idsRepeat = true
    this.#ids.add(id)
    const [oldest = ""] = this.#ids
    if (this.#ids.size > IDS_MAX) this.#ids.delete(oldest)
  }

  /** Gives up if nothing says any more which answer belongs to which question. */
  #checkIds(): boolean {
    const areUsable = this.#hasIds && !(this.#mayMiss && this.#idsRepeat)
    if (this.#alternates || areUsable) return true
    this.giveUp(this.#mayMiss ? MISSING : NEITHER)
    return false
  }

  #wait(waiting: Waiting, key: string, heard: Heard): void {
    if (this.#all.count >= WAITING_MAX) this.giveUp("too many questions are open")
    else waiting.add(key, heard)
  }

  #join(question: Heard, answer: Heard): Exchange[] {
    this.#hasJoined = true
    if (this.#open.size > 0 || !isAfter(answer, question)) this.#isDisordered = true
    if (!question.matches && !answer.matches) return []
    const exchange = exchangeOf(this.#connection, this.#asker as Side, question, answer)
    const joined = Number(question.matches) + Number(answer.matches)
    if (!this.#held) {
      this.#joined += joined
      this.#exchanges++
      return [exchange]
    }
    this.#held.push(exchange)
    this.#heldMessages += joined
    return this.#held.length > HELD_MAX ? this.#release() : []
  }

  #release(): Exchange[] {
    const held = this.#held ?? []
    this.#held = undefined
    this.#exchanges += held.length
    this.#joined += this.#heldMessages
    this.#heldMessages = 0
    return held
  }

  /** Joins nothing any more, and nothing that was held back. */
  giveUp(why: NotJoined): void {
    this.#notJoined ??= why
    this.#held = []
    this.#heldMessages = 0
    this.#open.clear()
    this.#early.clear()
    this.#ids.clear()
  }
}

const isAfter = (answer: Heard, question: Heard): boolean =>
  answer.time !== undefined && question.time !== undefined && answer.time >= question.time
