import type { Message } from "./message.js"
import type { Pipe } from "./pipe.js"
import { PipeArray } from "./pipe-array.js"

/** A set of pipes that receives from each one with messages in turn (libzmq's fq_t). */
export class FairQueue {
  /** The pipes, those with messages first. */
  readonly #pipes = new PipeArray("fqIndex")
  #active = 0
  #current = 0
  /** The pipe of the message received last. */
  from: Pipe | undefined

  attach(pipe: Pipe): void {
    this.#pipes.add(pipe)
    this.activated(pipe)
  }

  activated(pipe: Pipe): void {
    this.#pipes.swap(this.#pipes.indexOf(pipe), this.#active)
    this.#active++
  }

  has(pipe: Pipe): boolean {
    return this.#pipes.indexOf(pipe) >= 0
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

  receive(): Message | undefined {
    while (this.#active > 0) {
      const pipe = this.#pipes.at(this.#current)
      const message = pipe.read()
      if (message !== undefined) {
        this.from = pipe
        this.#current = (this.#current + 1) % this.#active
        return message
      }
      this.#deactivate()
    }
    return undefined
  }

  hasIn(): boolean {
    while (this.#active > 0) {
      if (this.#pipes.at(this.#current).checkRead()) return true
      this.#deactivate()
    }
    return false
  }

  #deactivate(): void {
    this.#active--
    this.#pipes.swap(this.#current, this.#active)
    if (this.#current === this.#active) this.#current = 0
  }
}
