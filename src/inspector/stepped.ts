/** Work that is done in steps, between which calls of the page are handled. */

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
