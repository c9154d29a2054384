import type { Pipe } from "./pipe.js"

/** The field in which a pipe keeps its index in an array. */
export type Place = "lbIndex" | "fqIndex" | "distIndex"

/**
 * An array of pipes that know their own indexes, so that moving and removing one takes constant
 * time (libzmq's array_t).
 */
export class PipeArray {
  readonly #pipes: Pipe[] = []
  readonly #place: Place

  constructor(place: Place) {
    this.#place = place
  }

  get length(): number {
    return this.#pipes.length
  }

  at(index: number): Pipe {
    return this.#pipes[index] as Pipe
  }

  first(count: number): Pipe[] {
    return this.#pipes.slice(0, count)
  }

  /** Returns the index of a pipe, or -1 if it is not in the array. */
  indexOf(pipe: Pipe): number {
    return pipe[this.#place]
  }

  add(pipe: Pipe): void {
    pipe[this.#place] = this.#pipes.push(pipe) - 1
  }

  swap(a: number, b: number): void {
    const pipes = this.#pipes
    const first = pipes[a] as Pipe
    const second = pipes[b] as Pipe
    pipes[a] = second
    pipes[b] = first
    second[this.#place] = a
    first[this.#place] = b
  }

  remove(pipe: Pipe): void {
    const last = this.#pipes.pop() as Pipe
    const index = pipe[this.#place]
    if (last !== pipe) {
      this.#pipes[index] = last
      last[this.#place] = index
    }
    pipe[this.#place] = -1
  }
}
