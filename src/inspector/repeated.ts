/** How often charts are made and rows sorted while rows are added. */
import { advance, type Stepped } from "./stepped.js"
import { STEP_MILLISECONDS, type View } from "./view.js"

/** Minimum time between two times. */
const REPEAT_MILLISECONDS = 1000
/** The same as a multiple of the time that it takes. */
const REPEAT_TIMES = 10

/** Work on the rows of a view, which is done again when there are more. */
export class Repeated<Result> {
  #view: View | undefined
  /** Number of rows when it began last. */
  #rows = 0
  #work: Stepped<Result> | undefined
  #began = 0
  #milliseconds = 0

  /** Forgets the last result, so that the work is due. */
  forget(): void {
    this.#view = undefined
  }

  /** Returns whether a view has rows that the last result does not include. */
  isStale(view: View): boolean {
    return this.#work !== undefined || view !== this.#view || view.length !== this.#rows
  }

  /** Returns whether to work now: unless rows are settled, not shortly after the last time. */
  isDue(view: View, isSettled: boolean): boolean {
    if (isSettled || this.#work || view !== this.#view) return this.isStale(view)
    const pause = Math.max(REPEAT_MILLISECONDS, REPEAT_TIMES * this.#milliseconds)
    return this.isStale(view) && performance.now() - this.#began >= pause
  }

  /** Works for some time. Returns the result when there is one. */
  step(view: View, begin: () => Stepped<Result>): Result | undefined {
    const now = performance.now()
    if (!this.#work || view !== this.#view) {
      this.#work = begin()
      this.#view = view
      this.#rows = view.length
      this.#began = now
      this.#milliseconds = 0
    }
    const [result] = advance(this.#work, STEP_MILLISECONDS) ?? []
    this.#milliseconds += performance.now() - now
    if (result !== undefined) this.#work = undefined
    return result
  }
}
