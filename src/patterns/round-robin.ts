import type { Pipe } from "./pipe.js"
import { PipeArray, type Place } from "./pipe-array.js"

/** A set of pipes of which the active ones take turns (the common half of libzmq's lb_t and fq_t). */
export class RoundRobin {
  /** The pipes, active ones first. */
  readonly #pipes: PipeArray
  #active = 0
  /** Index of the pipe whose turn it is. */
  #current = 0

  constructor(place: Place) {
    this.#pipes = new PipeArray(place)
  }

  get active(): number {
    return this.#active
  }

  has(pipe: Pipe): boolean {
    return this.#pipes.indexOf(pipe) >= 0
  }

  attach(pipe: Pipe): void {
    this.#pipes.add(pipe)
    this.activated(pipe)
  }

  activated(pipe: Pipe): void {
    this.#pipes.swap(this.#pipes.indexOf(pipe), this.#active)
    this.#active++
  }

  terminated(pipe: Pipe): void {
    this.#deactivate(this.#pipes.indexOf(pipe))
    this.#pipes.remove(pipe)
  }

  /** Whether there is a choice, or none but a pipe that ends with its connection. */
  get decidesNow(): boolean {
    return this.#pipes.length !== 1 || !this.#pipes.at(0).out.outlivesConnection
  }

  /** The pipe whose turn it is; undefined if none is active. */
  protected get current(): Pipe | undefined {
    return this.#active > 0 ? this.#pipes.at(this.#current) : undefined
  }

  protected advance(): void {
    if (++this.#current >= this.#active) this.#current = 0
  }

  /** Makes the current pipe inactive. Another one gets its turn. */
  protected deactivate(): void {
    this.#deactivate(this.#current)
  }

  #deactivate(index: number): void {
    if (index >= this.#active) return
    this.#active--
    this.#pipes.swap(index, this.#active)
    if (this.#current === this.#active) this.#current = 0
  }
}
