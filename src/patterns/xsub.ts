import { plainMessage } from "../zmtp/part.js"
import { Distribution } from "./distribution.js"
import { FairQueue } from "./fair-queue.js"
import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { Prefetch } from "./prefetch.js"
import { type Refusal, SocketType } from "./socket-type.js"
import { isSubscription, Topics } from "./subscriptions.js"

/** The XSUB socket: receives the topics that it subscribed to with messages of its own. */
export class XSub extends SocketType {
  override readonly name: "XSUB" | "SUB" = "XSUB"
  override readonly resubscribes = true
  override readonly connectsOnce: boolean = false
  override readonly mayKeepForms: boolean = true
  protected override readonly in: FairQueue = new FairQueue()
  protected readonly topics: Topics = new Topics()
  protected override readonly out: Distribution = new Distribution()
  readonly #fetched = new Prefetch(this.in, (message) => this.accepts(message))

  attach(pipe: Pipe): void {
    this.in.attach(pipe)
    this.out.attach(pipe)
    this.hiccuped(pipe)
    this.events.readable()
  }

  override terminated(pipe: Pipe): void {
    this.in.terminated(pipe)
    this.#fetched.terminated(pipe)
    this.out.terminated(pipe)
  }

  /** Sends all subscriptions again, because a new connection knows none of them. */
  override hiccuped(pipe: Pipe): void {
    for (const topic of this.topics) pipe.out.writeCommand("SUBSCRIBE", topic, true)
  }

  override writeActivated(pipe: Pipe): void {
    this.out.activated(pipe)
  }

  override send(parts: Message): Refusal | undefined {
    // Any of them may be a subscription.
    const message = plainMessage(parts)
    const [first] = message as [Buffer]
    if (message.length === 1 && isSubscription(first)) {
      if (first[0] === 1) this.subscribe(first.subarray(1))
      else this.cancel(first.subarray(1))
      return undefined
    }
    // As in libzmq, each part may be a subscription, which is sent with the other parts.
    const passed = message.some(isSubscription) ? message.filter(this.#passes, this) : parts
    if (passed.length > 0) this.out.sendToAll(passed)
    return undefined
  }

  /**
   * Applies a part if it is a subscription. Returns whether to send it: a cancellation is sent only if
   * the topic has no other subscription of this socket.
   */
  #passes(part: Buffer): boolean {
    if (!isSubscription(part)) return true
    const topic = part.subarray(1)
    if (part[0] === 0) return this.topics.remove(topic)
    this.topics.add(topic)
    return true
  }

  override hasOut(): boolean {
    return true
  }

  override receive(): Message | Refusal {
    return this.hasIn() ? this.#fetched.take().message : "EAGAIN"
  }

  override hasIn(): boolean {
    return this.#fetched.fetch()
  }

  isReading(pipe: Pipe): boolean {
    return this.#fetched.isOf(pipe)
  }

  /** Returns whether the program receives a message. */
  protected accepts(_message: Message): boolean {
    return true
  }

  override subscribe(topic: Buffer): void {
    const isFirst = this.topics.add(topic)
    this.out.commandToAll("SUBSCRIBE", Buffer.from(topic), isFirst)
  }

  override cancel(topic: Buffer): void {
    if (this.topics.remove(topic)) this.out.commandToAll("CANCEL", Buffer.from(topic), true)
  }
}
