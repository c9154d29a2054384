import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { PipeArray } from "./pipe-array.js"

/** A set of pipes that sends each message to the next one with room (libzmq's lb_t). */
export class LoadBalancer {
  /** The pipes, those with room first. */
  readonly #pipes = new PipeArray("lbIndex")
  #active = 0
  #current = 0

  attach(pipe: Pipe): void {
    this.#pipes.add(pipe)
    this.activated(pipe)
  }

  activated(pipe: Pipe): void {
    this.#pipes.swap(this.#pipes.indexOf(pipe), this.#active)
    this.#active++
  }

  terminated(pipe: Pipe): void {
    const index = this.#pipes.indexOf(pipe)
    if (index < this.#active) {
      this.#active--
      this.#pipes.swap(index, this.#active)
      if (this.#current === this.#active) this.#current = 0
    }
    this.#pipes.remove(pipe)
  }

  /** Sends to the next pipe in turn and returns it; undefined if no pipe has room. */
  send(message: Message): Pipe | undefined {
    while (this.#active > 0) {
      const pipe = this.#pipes.at(this.#current)
      if (pipe.write(message)) {
        if (++this.#current >= this.#active) this.#current = 0
        return pipe
      }
      this.#active--
      if (this.#current < this.#active) this.#pipes.swap(this.#current, this.#active)
      else this.#current = 0
    }
    return undefined
  }

  hasOut(): boolean {
    while (this.#active > 0) {
      if (this.#pipes.at(this.#current).checkWrite()) return true
      this.#active--
      this.#pipes.swap(this.#current, this.#active)
      if (this.#current === this.#active) this.#current = 0
    }
    return false
  }
}
