import type { Message, Pipe } from "./pipe.js"

/** Sends each message to the next pipe that has room (libzmq's lb_t). */
export class LoadBalancer {
  /** Those with room come first. */
  readonly #pipes: Pipe[] = []
  #active = 0
  #current = 0

  attach(pipe: Pipe): void {
    pipe.lbIndex = this.#pipes.push(pipe) - 1
    this.activated(pipe)
  }

  activated(pipe: Pipe): void {
    this.#swap(pipe.lbIndex, this.#active)
    this.#active++
  }

  terminated(pipe: Pipe): void {
    const index = pipe.lbIndex
    if (index < this.#active) {
      this.#active--
      this.#swap(index, this.#active)
      if (this.#current === this.#active) this.#current = 0
    }
    this.#erase(pipe)
  }

  /** Sends to the pipe whose turn it is, and returns that; undefined when none has room. */
  send(message: Message): Pipe | undefined {
    while (this.#active > 0) {
      const pipe = this.#pipes[this.#current] as Pipe
      if (pipe.write(message)) {
        if (++this.#current >= this.#active) this.#current = 0
        return pipe
      }
      this.#active--
      if (this.#current < this.#active) this.#swap(this.#current, this.#active)
      else this.#current = 0
    }
    return undefined
  }

  hasOut(): boolean {
    while (this.#active > 0) {
      if ((this.#pipes[this.#current] as Pipe).checkWrite()) return true
      this.#active--
      this.#swap(this.#current, this.#active)
      if (this.#current === this.#active) this.#current = 0
    }
    return false
  }

  #swap(a: number, b: number): void {
    const pipes = this.#pipes
    const first = pipes[a] as Pipe
    const second = pipes[b] as Pipe
    pipes[a] = second
    pipes[b] = first
    second.lbIndex = a
    first.lbIndex = b
  }

  #erase(pipe: Pipe): void {
    const last = this.#pipes.pop() as Pipe
    if (last !== pipe) {
      this.#pipes[pipe.lbIndex] = last
      last.lbIndex = pipe.lbIndex
    }
    pipe.lbIndex = -1
  }
}
