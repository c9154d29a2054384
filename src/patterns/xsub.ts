import { Distribution } from "./distribution.js"
import { FairQueue } from "./fair-queue.js"
import type { Message, Pipe } from "./pipe.js"
import { type Refusal, SocketType } from "./socket-type.js"
import { Topics } from "./subscriptions.js"

/** Receives what was subscribed to with messages of its own. */
export class XSub extends SocketType {
  override readonly name: "XSUB" | "SUB" = "XSUB"
  override readonly resubscribes = true
  override readonly connectsOnce: boolean = false
  protected readonly in: FairQueue = new FairQueue()
  protected readonly topics: Topics = new Topics()
  readonly #out = new Distribution()

  attach(pipe: Pipe): void {
    this.in.attach(pipe)
    this.#out.attach(pipe)
    this.hiccuped(pipe)
    this.events.readable()
  }

  terminated(pipe: Pipe): void {
    this.in.terminated(pipe)
    this.#out.terminated(pipe)
  }

  /** Subscribes again: the peer knows nothing of what was before. */
  override hiccuped(pipe: Pipe): void {
    for (const topic of this.topics) pipe.writeCommand("SUBSCRIBE", topic)
  }

  override readActivated(pipe: Pipe): void {
    this.in.activated(pipe)
    this.events.readable()
  }

  override writeActivated(pipe: Pipe): void {
    this.#out.activated(pipe)
  }

  override send(message: Message): Refusal | undefined {
    const [first] = message as [Buffer]
    const isSubscription = first.length > 0 && (first[0] as number) <= 1
    if (isSubscription && message.length === 1) {
      if (first[0] === 1) this.subscribe(first.subarray(1))
      else this.cancel(first.subarray(1))
    } else this.#out.sendToAll(message)
    return undefined
  }

  override hasOut(): boolean {
    return true
  }

  override receive(): Message | Refusal {
    return this.in.receive() ?? "EAGAIN"
  }

  override hasIn(): boolean {
    return this.in.hasIn()
  }

  override subscribe(topic: Buffer): void {
    this.topics.add(topic)
    this.#out.commandToAll("SUBSCRIBE", Buffer.from(topic))
  }

  override cancel(topic: Buffer): void {
    if (this.topics.remove(topic)) this.#out.commandToAll("CANCEL", Buffer.from(topic))
  }
}
