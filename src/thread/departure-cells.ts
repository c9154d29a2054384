/** What is still to be written on each thread, in memory that all see, while the process waits for that. */

/** The first number counts changes, to wake who waits; the others are one for each thread. */
const CHANGES = 0
const UNKNOWN = -1
const LEFT_MAX = 2 ** 31 - 1

/** Counts of what is left on threads. */
export class DepartureCells {
  readonly cells: Int32Array

  constructor(cells: Int32Array) {
    this.cells = cells
  }

  static forThreads(threads: number): DepartureCells {
    const bytes = (1 + threads) * Int32Array.BYTES_PER_ELEMENT
    return new DepartureCells(new Int32Array(new SharedArrayBuffer(bytes)).fill(UNKNOWN))
  }

  /** Says what is left on a thread. */
  tell(place: number, left: number): void {
    const cell = Math.min(left, LEFT_MAX)
    if (Atomics.exchange(this.cells, place, cell) === cell) return
    Atomics.add(this.cells, CHANGES, 1)
    Atomics.notify(this.cells, CHANGES)
  }

  /** Returns what is left on a thread; undefined where it has not begun to count. */
  leftAt(place: number): number | undefined {
    const left = Atomics.load(this.cells, place)
    return left === UNKNOWN ? undefined : left
  }

  get changes(): number {
    return Atomics.load(this.cells, CHANGES)
  }

  /** Sleeps until there was a change since there were so many, or for some milliseconds. */
  sleep(changes: number, ms: number): void {
    Atomics.wait(this.cells, CHANGES, changes, ms)
  }
}
