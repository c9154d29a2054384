import type { CaptureMessage, Side } from "../events.js"
import { envelopeOf, idOf } from "./envelope.js"
import { type Exchange, exchangeOf, type Heard } from "./exchange.js"
import type { SocketPair } from "./socket-pair.js"

/** Why the messages of a connection are not joined. */
export type NotJoined =
  | "the recording does not have the socket types"
  | "encrypted"
  | "messages neither alternate nor have an id in their first part"
  | "too many questions are open"

const NEITHER = "messages neither alternate nor have an id in their first part"

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

/** The number of questions of all connections that are open. */
export interface OpenQuestions {
  count: number
}

/** Questions that have the same envelope or id, in order, of which the first are answered. */
interface Same {
  all: Heard[]
  answered: number
}

/** Maximum number of questions of all connections that are open. */
const OPEN_MAX = 1 << 16
/**
 * Exchanges of a connection that are held back: if what joins them turns out to be a coincidence before
 * there are more, they are none.
 */
const HELD_MAX = 16

/**
 * Joins the messages of one connection.
 *
 * By "envelope": an answer belongs to the oldest open question with the same envelope, because REP
 * answers in order and sends the envelope back.
 *
 * By "id": if the messages of both sides alternate, each answer belongs to the question before it.
 * Otherwise an answer belongs to the open question with the same id, as long as no two open questions
 * have the same one and each answer has that of an open question. If neither holds, nothing is joined.
 */
export class Conversation {
  readonly #connection: number
  readonly #by: SocketPair["by"]
  #asker: Side | undefined
  readonly #open = new Map<string, Same>()
  readonly #allOpen: OpenQuestions
  #openCount = 0
  #alternates = true
  #hasIds = true
  /** Whether messages may be missing: answers without a question are nothing unusual then. */
  #mayMiss = false
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

  constructor(connection: number, pair: SocketPair, allOpen: OpenQuestions, mayMiss: boolean) {
    this.#connection = connection
    this.#by = pair.by
    this.#asker = pair.asker
    this.#allOpen = allOpen
    this.#mayMiss = mayMiss
    if (pair.by === "envelope") this.#held = undefined
  }

  /** Adds a message. Returns the exchanges that are certain now. */
  add({ from, parts }: CaptureMessage, heard: Heard): Exchange[] {
    if (heard.matches) this.#messages++
    if (this.#notJoined) return []
    this.#asker ??= from
    const key = this.#by === "envelope" ? envelopeOf(parts) : idOf(parts)
    if (from === this.#asker)
      this.#ask(
        key,
        heard,
        parts.some(({ error }) => error),
      )
    else return this.#answer(key, heard)
    return []
  }

  /** Bytes of the connection are missing: what was asked before may have been answered there. */
  gap(): void {
    this.#unknown += this.#forgetOpen()
    this.#mayMiss = true
  }

  /** The connection has ended: what was held back is certain, and what is open is not answered. */
  end(): Exchange[] {
    this.#unanswered += this.#forgetOpen()
    return this.#release()
  }

  /** What was found, without exchanges that are held back; open questions count as unanswered. */
  get found(): Found {
    const isJoined = this.#notJoined === undefined
    return {
      exchanges: this.#exchanges,
      unanswered: isJoined ? this.#unanswered + this.#openMatching() : 0,
      unexpected: isJoined ? this.#unexpected : 0,
      unknown: isJoined ? this.#unknown : 0,
      notJoined: this.#notJoined,
      messages: isJoined ? 0 : this.#messages - this.#joined,
    }
  }

  #ask(key: string | undefined, heard: Heard, isBroken: boolean): void {
    if (this.#by === "envelope" && key === undefined) {
      // REP drops it, unless it only cannot be read here.
      if (isBroken) this.#mayMiss = true
      if (!heard.matches) return
      if (isBroken) this.#unknown++
      else this.#unanswered++
      return
    }
    if (this.#by === "id") {
      if (this.#openCount > 0) this.#alternates = false
      if (key === undefined || this.#open.has(key)) this.#hasIds = false
    }
    if (!this.#alternates && !this.#hasIds) this.#giveUp(NEITHER)
    else if (this.#allOpen.count >= OPEN_MAX) this.#giveUp("too many questions are open")
    else this.#keep(key ?? "", heard)
  }

  #keep(key: string, heard: Heard): void {
    const same = this.#open.get(key)
    if (same) same.all.push(heard)
    else this.#open.set(key, { all: [heard], answered: 0 })
    this.#openCount++
    this.#allOpen.count++
  }

  #answer(key: string | undefined, heard: Heard): Exchange[] {
    const known = key !== undefined && this.#open.has(key) ? key : undefined
    if (this.#by === "id") {
      if (this.#openCount === 0) {
        if (!this.#mayMiss) this.#alternates = false
      } else if (this.#alternates) {
        if (known === undefined) this.#hasIds = false
        const [only = ""] = this.#open.keys()
        return this.#join(only, heard)
      }
    }
    if (known !== undefined) return this.#join(known, heard)
    if (this.#by === "id" && !this.#mayMiss) this.#giveUp(NEITHER)
    else if (heard.matches) this.#unexpected++
    return []
  }

  #join(key: string, heard: Heard): Exchange[] {
    const same = this.#open.get(key) as Same
    const question = same.all[same.answered++] as Heard
    if (same.answered === same.all.length) this.#open.delete(key)
    // Now and then, because this moves all of them.
    else if (2 * same.answered > same.all.length)
      this.#open.set(key, { all: same.all.slice(same.answered), answered: 0 })
    this.#openCount--
    this.#allOpen.count--
    if (!question.matches && !heard.matches) return []
    const exchange = exchangeOf(this.#connection, this.#asker as Side, question, heard)
    const joined = Number(question.matches) + Number(heard.matches)
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

  #giveUp(why: NotJoined): void {
    this.#notJoined = why
    this.#held = []
    this.#heldMessages = 0
    this.#forgetOpen()
  }

  /** Forgets what is open. Returns the number of those that match the filter. */
  #forgetOpen(): number {
    const matching = this.#openMatching()
    this.#allOpen.count -= this.#openCount
    this.#openCount = 0
    this.#open.clear()
    return matching
  }

  #openMatching(): number {
    let matching = 0
    for (const { all, answered } of this.#open.values())
      for (const { matches } of all.slice(answered)) matching += Number(matches)
    return matching
  }
}
