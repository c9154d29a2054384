/** What is still to be written on each thread, in memory that all see, while the process waits for that. */

/** The first number counts changes, to wake who waits. Each thread has two: what is left, and how often it looked. */
const CHANGES = 0
const FIELDS = 2
const UNKNOWN = -1
const LEFT_MAX = 2 ** 31 - 1

/** Counts of what is left on threads, whose places are numbers from 0 on. */
export class DepartureCells {
  readonly cells: Int32Array
  /** How often each had looked when that was asked last. */
  readonly #looks: number[] = []

  constructor(cells: Int32Array) {
    this.cells = cells
  }

  static forThreads(threads: number): DepartureCells {
    const bytes = (1 + threads * FIELDS) * Int32Array.BYTES_PER_ELEMENT
    return new DepartureCells(new Int32Array(new SharedArrayBuffer(bytes)).fill(UNKNOWN))
  }

  /** Says what is left on a thread. */
  tell(place: number, left: number): void {
    const cell = Math.min(left, LEFT_MAX)
    const at = 1 + place * FIELDS
    Atomics.add(this.cells, at + 1, 1)
    if (Atomics.exchange(this.cells, at, cell) === cell) return
    Atomics.add(this.cells, CHANGES, 1)
    Atomics.notify(this.cells, CHANGES)
  }

  /** Returns what is left on a thread; undefined where it has not begun to look. */
  leftAt(place: number): number | undefined {
    const left = Atomics.load(this.cells, 1 + place * FIELDS)
    return left === UNKNOWN ? undefined : left
  }

  /** Whether all threads have looked since this was asked last: one that computes does not. */
  haveLooked(threads: number): boolean {
    let all = true
    for (let place = 0; place < threads; place++) {
      const looks = Atomics.load(this.cells, 1 + place * FIELDS + 1)
      if (looks === this.#looks[place]) all = false
      this.#looks[place] = looks
    }
    return all
  }

  get changes(): number {
    return Atomics.load(this.cells, CHANGES)
  }

  /** Sleeps until there was a change since there were so many, or for some milliseconds. */
  sleep(changes: number, ms: number): void {
    Atomics.wait(this.cells, CHANGES, changes, ms)
  }
}
