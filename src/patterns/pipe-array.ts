import type { Pipe } from "./pipe.js"

/** The field in which a pipe keeps its place in an array. */
type Place = "lbIndex" | "fqIndex" | "distIndex"

/** Pipes that know their places, so that they can be moved and taken out at once (libzmq's array_t). */
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

  /** The first pipes, so many of them. */
  first(count: number): Pipe[] {
    return this.#pipes.slice(0, count)
  }

  /** The place of a pipe; -1 for one that is not in it. */
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

  /** Takes a pipe out; the last takes its place. */
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
