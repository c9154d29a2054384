import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { type Refusal, SocketType } from "./socket-type.js"

/** The PAIR socket: exchanges messages with one peer, the first to connect. */
export class Pair extends SocketType {
  override readonly name = "PAIR"
  override readonly sendTellsRoom = true
  #pipe: Pipe | undefined
  /** The pipe that follows once the messages of `#pipe`, which this side has released, are read. */
  #next: Pipe | undefined

  override get decidesNow(): boolean {
    return !this.#pipe?.out.outlivesConnection
  }

  attach(pipe: Pipe): void {
    if (this.#pipe?.isReleased && !this.#next) this.#next = pipe
    else if (this.#pipe) pipe.abandon()
    else this.#use(pipe)
  }

  #use(pipe: Pipe): void {
    this.#pipe = pipe
    this.events.readable()
    this.events.writable()
  }

  override terminated(pipe: Pipe): void {
    if (this.#next === pipe) this.#next = undefined
    if (this.#pipe !== pipe) return
    this.#pipe = undefined
    const next = this.#next
    this.#next = undefined
    if (next) this.#use(next)
  }

  override readActivated(): void {
    this.events.readable()
  }

  override writeActivated(): void {
    this.events.writable()
  }

  override send(message: Message): Refusal | undefined {
    return this.#pipe?.out.write(message) ? undefined : "EAGAIN"
  }

  override receive(): Message | Refusal {
    return this.#pipe?.read() ?? "EAGAIN"
  }

  override hasIn(): boolean {
    return this.#pipe?.checkRead() ?? false
  }

  override hasOut(): boolean {
    return this.#pipe?.out.checkWrite() ?? false
  }
}
