import type { Message, Pipe } from "./pipe.js"

/** Receives from each pipe that has messages in turn (libzmq's fq_t). */
export class FairQueue {
  /** Those with messages come first. */
  readonly #pipes: Pipe[] = []
  #active = 0
  #current = 0
  /** Where the message that was received last came from. */
  from: Pipe | undefined

  attach(pipe: Pipe): void {
    pipe.fqIndex = this.#pipes.push(pipe) - 1
    this.activated(pipe)
  }

  activated(pipe: Pipe): void {
    this.#swap(pipe.fqIndex, this.#active)
    this.#active++
  }

  has(pipe: Pipe): boolean {
    return pipe.fqIndex >= 0
  }

  terminated(pipe: Pipe): void {
    const index = pipe.fqIndex
    if (index < this.#active) {
      this.#active--
      this.#swap(index, this.#active)
      if (this.#current === this.#active) this.#current = 0
    }
    this.#erase(pipe)
  }

  receive(): Message | undefined {
    while (this.#active > 0) {
      const pipe = this.#pipes[this.#current] as Pipe
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
      if ((this.#pipes[this.#current] as Pipe).checkRead()) return true
      this.#deactivate()
    }
    return false
  }

  #deactivate(): void {
    this.#active--
    this.#swap(this.#current, this.#active)
    if (this.#current === this.#active) this.#current = 0
  }

  #swap(a: number, b: number): void {
    const pipes = this.#pipes
    const first = pipes[a] as Pipe
    const second = pipes[b] as Pipe
    pipes[a] = second
    pipes[b] = first
    second.fqIndex = a
    first.fqIndex = b
  }

  #erase(pipe: Pipe): void {
    const last = this.#pipes.pop() as Pipe
    if (last !== pipe) {
      this.#pipes[pipe.fqIndex] = last
      last.fqIndex = pipe.fqIndex
    }
    pipe.fqIndex = -1
  }
}
