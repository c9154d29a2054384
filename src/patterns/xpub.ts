import { Queue } from "../transport/queue.js"
import { Distribution } from "./distribution.js"
import type { Message, Pipe } from "./pipe.js"
import { type Refusal, SocketType } from "./socket-type.js"
import { MultiTopics } from "./subscriptions.js"

/** Topics that one peer may be subscribed to, and bytes of them; what is beyond is not taken in. */
const TOPICS_MAX = 1 << 18
const TOPICS_MAX_BYTES = 16 << 20
/** Notices that may wait for `receive`, and bytes of them; peers have to wait beyond. */
const NOTICES_MAX = 1 << 16
const NOTICES_MAX_BYTES = 16 << 20

/** What waits to be received, and the pipe that it is of. */
interface Notice {
  message: Message
  pipe: Pipe | undefined
}

/** Publishes to all peers that want a topic, and receives what they want. */
export class XPub extends SocketType {
  override readonly name: "XPUB" | "PUB" = "XPUB"
  readonly #out = new Distribution()
  readonly #topics = new MultiTopics<Pipe>()
  /** What peers want, where the program decides what they get. */
  readonly #wanted = new MultiTopics<Pipe>()
  readonly #notices = new Queue<Notice>()
  #noticeBytes = 0
  /** The peers that wait until notices are received. */
  readonly #stopped = new Set<Pipe>()
  /** Of the subscription that was received last, for one to be chosen for it. */
  #last: Pipe | undefined

  attach(pipe: Pipe): void {
    this.#out.attach(pipe)
    const { welcomeMessage } = this.options
    if (welcomeMessage.length > 0) pipe.write([welcomeMessage])
    this.readActivated(pipe)
  }

  terminated(pipe: Pipe): void {
    const { manual, verbosity } = this.options
    this.#stopped.delete(pipe)
    if (manual) {
      this.#wanted.removeAll(pipe, (topic) => this.#notify(false, topic, undefined))
      this.#topics.removeAll(pipe, () => {})
    } else {
      const always = verbosity === "allSubsUnsubs"
      this.#topics.removeAll(pipe, (topic, wasLast) => {
        if (wasLast || always) this.#notify(false, topic, undefined)
      })
    }
    if (this.#last === pipe) this.#last = undefined
    this.#out.terminated(pipe)
  }

  /** Subscriptions of ZMTP 3.0 come as messages, as do those of programs with an XSUB. */
  override readActivated(pipe: Pipe): void {
    for (let message = pipe.read(); message !== undefined; message = pipe.read()) {
      const [first] = message as [Buffer]
      if (first.length > 0 && (first[0] as number) <= 1) {
        this.#subscription(pipe, first[0] === 1, first.subarray(1))
        if (message.length > 1) this.#receive(message.slice(1))
      } else this.#receive(message)
    }
  }

  override command(pipe: Pipe, name: string, data: Buffer): boolean {
    if (name === "SUBSCRIBE") this.#subscription(pipe, true, data)
    else if (name === "CANCEL") this.#subscription(pipe, false, data)
    if (this.#notices.length < NOTICES_MAX && this.#noticeBytes < NOTICES_MAX_BYTES) return true
    this.#stopped.add(pipe)
    return false
  }

  override writeActivated(pipe: Pipe): void {
    this.#out.activated(pipe)
    this.events.writable()
  }

  override send(message: Message): Refusal | undefined {
    const { invertMatching, noDrop } = this.options
    const out = this.#out
    out.unmatch()
    this.#topics.match(message[0] as Buffer, (pipe) => out.match(pipe))
    if (invertMatching) out.reverseMatch()
    if (noDrop && !out.checkHwm()) return "EAGAIN"
    out.sendToMatching(message)
    return undefined
  }

  override hasOut(): boolean {
    return true
  }

  override receive(): Message | Refusal {
    const notice = this.#notices.shift()
    if (!notice) return "EAGAIN"
    if (this.options.manual)
      this.#last = notice.pipe && this.#out.has(notice.pipe) ? notice.pipe : undefined
    this.#noticeBytes -= bytesOf(notice.message)
    if (
      this.#stopped.size > 0 &&
      this.#notices.length <= NOTICES_MAX / 2 &&
      this.#noticeBytes <= NOTICES_MAX_BYTES / 2
    )
      this.#resume()
    return notice.message
  }

  override hasIn(): boolean {
    return this.#notices.length > 0
  }

  /** With the option manual: subscribes the peer whose wish was received last. */
  override subscribe(topic: Buffer): void {
    if (this.options.manual && this.#last) this.#topics.add(topic, this.#last)
  }

  override cancel(topic: Buffer): void {
    if (this.options.manual && this.#last) this.#topics.remove(topic, this.#last)
  }

  /** Takes a message of a peer that is no subscription. */
  protected takeMessage(message: Message): void {
    this.#push({ message, pipe: undefined })
  }

  #push(notice: Notice): void {
    this.#notices.push(notice)
    this.#noticeBytes += bytesOf(notice.message)
    this.events.readable()
  }

  /** Whether the program hears of subscriptions. */
  protected get notifies(): boolean {
    return true
  }

  #receive(message: Message): void {
    this.takeMessage(message)
  }

  #subscription(pipe: Pipe, subscribe: boolean, topic: Buffer): void {
    const { manual, verbosity } = this.options
    if (manual) {
      if (subscribe && isFull(this.#wanted, pipe, topic)) return
      if (subscribe) this.#wanted.add(topic, pipe)
      else this.#wanted.remove(topic, pipe)
      this.#notify(subscribe, topic, pipe)
    } else if (subscribe) {
      if (isFull(this.#topics, pipe, topic)) return
      const isFirst = this.#topics.add(topic, pipe)
      if (isFirst || verbosity !== "none") this.#notify(true, topic, pipe)
    } else {
      const removed = this.#topics.remove(topic, pipe)
      if (removed !== "others" || verbosity === "allSubsUnsubs") this.#notify(false, topic, pipe)
    }
  }

  #notify(subscribe: boolean, topic: Buffer, pipe: Pipe | undefined): void {
    if (!this.notifies && !this.options.manual) return
    const message = Buffer.alloc(1 + topic.length)
    message[0] = subscribe ? 1 : 0
    message.set(topic, 1)
    this.#push({ message: [message], pipe })
  }

  #resume(): void {
    const stopped = [...this.#stopped]
    this.#stopped.clear()
    for (const pipe of stopped) pipe.connection?.resume()
  }
}

function isFull(topics: MultiTopics<Pipe>, pipe: Pipe, topic: Buffer): boolean {
  const { count, bytes } = topics.of(pipe)
  return count >= TOPICS_MAX || bytes + topic.length > TOPICS_MAX_BYTES
}

function bytesOf(message: Message): number {
  let bytes = 0
  for (const part of message) bytes += part.length
  return bytes
}
