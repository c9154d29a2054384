/** Shared counts of what each thread still has to write while the process waits to exit. */

/**
 * The first cell counts changes, and wakes the waiting thread. Each thread has two more: the amount
 * left, and the number of times it has counted.
 */
const CHANGES = 0
const FIELDS = 2
const UNKNOWN = -1
const REMAINING_MAX = 2 ** 31 - 1

/** The counts of all departing threads. Each thread has a place, numbered from 0. */
export class DepartureCells {
  readonly cells: Int32Array
  /** The number of times that each thread had counted when `haveCounted` was last called. */
  readonly #counted: number[] = []

  constructor(cells: Int32Array) {
    this.cells = cells
  }

  static forThreads(threads: number): DepartureCells {
    const bytes = (1 + threads * FIELDS) * Int32Array.BYTES_PER_ELEMENT
    return new DepartureCells(new Int32Array(new SharedArrayBuffer(bytes)).fill(UNKNOWN))
  }

  /** Sets the amount that the thread at `place` has left. */
  tell(place: number, remaining: number): void {
    const cell = Math.min(remaining, REMAINING_MAX)
    const at = 1 + place * FIELDS
    Atomics.add(this.cells, at + 1, 1)
    if (Atomics.exchange(this.cells, at, cell) === cell) return
    Atomics.add(this.cells, CHANGES, 1)
    Atomics.notify(this.cells, CHANGES)
  }

  /** Returns the amount that a thread has left; undefined if it has not counted yet. */
  remainingAt(place: number): number | undefined {
    const remaining = Atomics.load(this.cells, 1 + place * FIELDS)
    return remaining === UNKNOWN ? undefined : remaining
  }

  /** Returns whether all threads have counted since the last call; one that is computing has not. */
  haveCounted(threads: number): boolean {
    let all = true
    for (let place = 0; place < threads; place++) {
      const counted = Atomics.load(this.cells, 1 + place * FIELDS + 1)
      if (counted === this.#counted[place]) all = false
      this.#counted[place] = counted
    }
    return all
  }

  get changes(): number {
    return Atomics.load(this.cells, CHANGES)
  }

  /** Sleeps until the number of changes is no longer `changes`, or until `ms` have passed. */
  sleep(changes: number, ms: number): void {
    Atomics.wait(this.cells, CHANGES, changes, ms)
  }
}
