import { clockMs } from "../base/runtime.js"
import { FairQueue } from "./fair-queue.js"
import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { randomId } from "./random-id.js"
import { type Refusal, type Routing, SocketType } from "./socket-type.js"

/** The SERVER socket: addresses clients by number; messages have one part (RFC 41). */
export class Server extends SocketType {
  override readonly name = "SERVER"
  protected override readonly in: FairQueue = new FairQueue()
  readonly #out = new Map<number, Pipe>()

  attach(pipe: Pipe): void {
    pipe.serverRoutingId = this.#newId()
    this.#out.set(pipe.serverRoutingId, pipe)
    this.in.attach(pipe)
    this.events.readable()
  }

  override terminated(pipe: Pipe): void {
    this.#out.delete(pipe.serverRoutingId)
    this.in.terminated(pipe)
  }

  override send(message: Message, { routingId }: Routing): Refusal | undefined {
    if (message.length !== 1) return "EINVAL"
    const pipe = this.#out.get(routingId as number)
    if (!pipe) return "EHOSTUNREACH"
    return pipe.out.write(message) ? undefined : "EAGAIN"
  }

  override knows(_message: Message, { routingId }: Routing): boolean {
    return this.#out.has(routingId as number)
  }

  override isUpToDate(_message: Message, { routingId }: Routing): boolean {
    return this.#out.get(routingId as number)?.takesNow(clockMs()) ?? false
  }

  override receive(): Message | Refusal {
    return this.in.receiveSinglePart() ?? "EAGAIN"
  }

  override get routing(): Routing {
    return { routingId: (this.in.from as Pipe).serverRoutingId }
  }

  override hasOut(): boolean {
    return true
  }

  #newId(): number {
    for (;;) {
      const id = randomId()
      if (id !== 0 && !this.#out.has(id)) return id
    }
  }
}
