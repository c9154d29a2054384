/** Work in steps, between which calls of the page are handled. */

/** Milliseconds of one step. */
export const STEP_MILLISECONDS = 50
/** Minimum pause before work on rows is repeated because there are more, */
const REPEAT_MILLISECONDS = 1000
/** and as a multiple of the time that it took last, so that it takes at most a tenth of a thread. */
const REPEAT_TIMES = 10

/** A generator that yields often, and returns the result. */
export type Stepped<Result> = Generator<undefined, Result, undefined>

/** Continues for some time. Returns the result if there is one, in an array. */
export function advance<Result>(work: Stepped<Result>, milliseconds: number): [Result] | undefined {
  const end = performance.now() + milliseconds
  for (;;) {
    const { done, value } = work.next()
    if (done) return [value]
    if (performance.now() >= end) return undefined
  }
}

/** Work on a list of rows, such as sorting, which is repeated as the list grows or is replaced. */
export class Repeated<Rows extends { length: number }, Result> {
  readonly #begin: (rows: Rows) => Stepped<Result>
  #rows: Rows | undefined
  /** Number of rows that the work under way, or the last result, includes. */
  #length = 0
  #work: Stepped<Result> | undefined
  #began = 0
  #milliseconds = 0

  constructor(begin: (rows: Rows) => Stepped<Result>) {
    this.#begin = begin
  }

  /** Drops the last result, so that the work is due. */
  forget(): void {
    this.#rows = undefined
  }

  /** Returns whether there are rows that the last result does not include. */
  isStale(rows: Rows): boolean {
    return this.#work !== undefined || rows !== this.#rows || rows.length !== this.#length
  }

  /** Returns whether to work now. While rows are added, it pauses between two results. */
  isDue(rows: Rows, isSettled: boolean): boolean {
    if (isSettled || this.#work || rows !== this.#rows) return this.isStale(rows)
    const pause = Math.max(REPEAT_MILLISECONDS, REPEAT_TIMES * this.#milliseconds)
    return this.isStale(rows) && performance.now() - this.#began >= pause
  }

  /** Works for some time. Returns the result when there is one. */
  step(rows: Rows): Result | undefined {
    const now = performance.now()
    if (!this.#work || rows !== this.#rows) {
      this.#work = this.#begin(rows)
      this.#rows = rows
      this.#length = rows.length
      this.#began = now
      this.#milliseconds = 0
    }
    const [result] = advance(this.#work, STEP_MILLISECONDS) ?? []
    this.#milliseconds += performance.now() - now
    if (result !== undefined) this.#work = undefined
    return result
  }
}

export const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Lets queued messages be handled. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(undefined)
  })
}
