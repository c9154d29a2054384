import { runInTurns } from "../base/in-turns.js"
import { FormedPart } from "../codec/formed-part.js"
import { type Part, plaintextOf } from "../zmtp/part.js"
import { Distribution } from "./distribution.js"
import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { type Refusal, SocketType } from "./socket-type.js"
import { isSubscription, MultiTopics } from "./subscriptions.js"
import { type Entry, type Notice, Notices, PipeMessages } from "./xpub-notices.js"

/**
 * libzmq's XPUB reads all messages at once, so that no subscription waits behind others. So does
 * ours while they take little memory.
 */
const READ_AHEAD_BYTES = 192 * 1024

const NO_TOPIC = Buffer.alloc(0)

/** The XPUB socket: sends to all peers that subscribed to a topic, and receives their subscriptions. */
export class XPub extends SocketType {
  override readonly name: "XPUB" | "PUB" = "XPUB"
  override readonly ownsReceived = true
  readonly readAheadBytes: number = READ_AHEAD_BYTES
  protected override readonly out: Distribution = new Distribution()
  readonly #topics = new MultiTopics<Pipe>()
  /** Topics that peers asked for. With `manual`, the program decides which of them take effect. */
  readonly #wanted = new MultiTopics<Pipe>()
  #waiting = new Notices(this.queued)
  /** The message received last, if parts follow the notice; the index of the first of these. */
  #rest: Message = []
  #restAt = 0
  #isClosed = false
  /**
   * With `manual`: the pipe that `subscribe` and `cancel` apply to, of the last subscription received.
   */
  #last: Pipe | undefined

  attach(pipe: Pipe): void {
    this.out.attach(pipe)
    const { welcomeMessage } = this.options
    if (welcomeMessage.length > 0) pipe.out.write([welcomeMessage])
    // Let the pipe find its queue empty, so that it reports the next message.
    pipe.checkRead()
  }

  override terminated(pipe: Pipe): void {
    const { manual } = this.options
    const tells = this.notifies ? this.#notifyOfEnd(pipe) : undefined
    if (manual) runInTurns(this.#wanted.removeAll(pipe, tells))
    runInTurns(this.#topics.removeAll(pipe, manual ? undefined : tells))
    if (this.#last === pipe) this.#last = undefined
    this.out.terminated(pipe)
  }

  override send(message: Message): Refusal | undefined {
    this.#match(message)
    if (this.options.noDrop && !this.out.checkHwm()) return "EAGAIN"
    this.out.sendToMatching(message)
    return undefined
  }

  override hasRoomFor(message: Message): boolean {
    this.#match(message)
    return !this.options.noDrop || this.out.checkHwm()
  }

  #match(message: Message): void {
    const out = this.out
    out.unmatch()
    const first = message[0] as Part
    // Decoding a part only to find that everybody gets it would be in vain.
    const isUnread = first instanceof FormedPart && this.#topics.areEmpty
    this.#topics.match(isUnread ? NO_TOPIC : plaintextOf(first), (pipe) => out.match(pipe))
    if (this.options.invertMatching) out.reverseMatch()
  }

  override hasOut(): boolean {
    return true
  }

  override receive(): Message | Refusal {
    if (!this.hasIn()) return "EAGAIN"
    if (this.#rest.length > 0) return this.#toNotice(this.#rest, this.#restAt)
    const entry = this.#waiting.shift() as Entry
    if (entry instanceof PipeMessages) return this.#toNotice(entry.read(), 0)
    const { pipe, subscribe, topic } = entry
    if (this.options.manual) this.#last = this.out.has(pipe) ? pipe : undefined
    return [Buffer.from(`${subscribe ? "\x01" : "\x00"}${topic}`, "latin1")]
  }

  override hasIn(): boolean {
    if (this.#rest.length > 0) return true
    for (let first = this.#waiting.first(); first; first = this.#waiting.first()) {
      if (!(first instanceof PipeMessages) || first.hasMessage()) return true
      // The pipe was dropped together with its messages.
      this.#waiting.shift()
    }
    return false
  }

  /** Subscribes the peer whose subscription was received last. Has an effect with `manual` only. */
  override subscribe(topic: Buffer): void {
    if (this.options.manual && this.#last) this.#topics.add(topic, this.#last)
  }

  override cancel(topic: Buffer): void {
    if (this.options.manual && this.#last) this.#topics.remove(topic, this.#last)
  }

  /**
   * Applies subscriptions at once, whatever else is queued. Peers that speak ZMTP 3.0 send them as
   * messages, as do programs with an XSUB. Other messages stay in their pipe, whose limits stop the
   * peer.
   */
  takes(pipe: Pipe, received: Message): boolean {
    const message = received as Buffer[] // it keeps no forms
    if (message.some(isSubscription)) {
      // As in libzmq, each part may be a subscription. If it follows an ordinary part, its notice
      // is the last part of the same message.
      const rest: Buffer[] = []
      for (const part of message) {
        const notice = isSubscription(part)
          ? this.#subscription(pipe, part[0] === 1, part.subarray(1))
          : undefined
        if (notice && rest.length === 0) this.#notify(notice)
        else if (notice || !isSubscription(part)) rest.push(part)
      }
      if (rest.length === 0) return true
      message.length = 0
      for (const part of rest) message.push(part)
    }
    if (!this.notifies) return true
    this.#waiting.pushMessageOf(pipe)
    return false
  }

  /**
   * Takes the messages out of the pipe, so that the pipe and its topics can go before the program
   * has received them.
   */
  ending(pipe: Pipe): void {
    this.#waiting.takeOut(pipe)
    pipe.checkRead() // finds the pipe empty, which terminates it
  }

  override command(pipe: Pipe, name: string, data: Buffer): boolean {
    if (name !== "SUBSCRIBE" && name !== "CANCEL") return true
    const notice = this.#subscription(pipe, name === "SUBSCRIBE", data)
    if (notice) this.#notify(notice)
    return true
  }

  override readActivated(): void {
    this.events.readable()
  }

  /** Whether the program receives subscriptions and messages. */
  protected get notifies(): boolean {
    return !this.#isClosed
  }

  /** Drops all notices, in case something still refers to the socket. */
  override close(): void {
    this.#isClosed = true
    this.#waiting = new Notices(this.queued)
    this.#rest = []
  }

  /** Returns the parts from `start` up to the next notice, and keeps the others for the next call. */
  #toNotice(message: Message, start: number): Message {
    let end = start
    do end++
    while (end < message.length && !isSubscription(message[end - 1] as Buffer))
    this.#rest = end < message.length ? message : []
    this.#restAt = end
    return message.slice(start, end)
  }

  /** Adds or removes a subscription of a peer. Returns the notice for the program, if one is due. */
  #subscription(pipe: Pipe, subscribe: boolean, topic: Buffer): Notice | undefined {
    const { manual, verbosity } = this.options
    const perPipe = manual || verbosity === "allSubsUnsubs"
    const topics = manual ? this.#wanted : this.#topics
    if (!subscribe) {
      const removed = topics.remove(topic, pipe)
      if (!perPipe && removed === "others") return undefined
      return notice(false, topic, pipe, perPipe, removed !== "not found")
    }
    if (topics.isFull(pipe, topic)) return undefined
    const { count } = topics.of(pipe)
    const isFirst = topics.add(topic, pipe)
    const isChange = perPipe ? topics.of(pipe).count > count : isFirst
    if (!manual && !isFirst && verbosity === "none") return undefined
    return notice(true, topic, pipe, perPipe, isChange)
  }

  /** Returns a callback that notifies the program of the topics of a pipe that has ended. */
  #notifyOfEnd(pipe: Pipe): (topic: Buffer, wasLast: boolean) => void {
    const { manual, verbosity } = this.options
    const perPipe = manual || verbosity === "allSubsUnsubs"
    return (topic, wasLast) => {
      if (wasLast || perPipe) this.#notify(notice(false, topic, pipe, perPipe, true))
    }
  }

  #notify(notice: Notice): void {
    if (!this.notifies) return
    this.#waiting.push(notice)
    this.events.readable()
  }
}

function notice(
  subscribe: boolean,
  topic: Buffer,
  pipe: Pipe,
  perPipe: boolean,
  isChange: boolean,
): Notice {
  return { subscribe, topic: topic.toString("latin1"), pipe, perPipe, isChange }
}
