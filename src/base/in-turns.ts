/**
 * Work that a peer can make long, such as the removal of a subscriber with many topics. A little is
 * done at once, and the rest in turns of the event loop.
 */
import { AT_ONCE_STEPS, TURN_STEPS } from "./limits.js"
import { Queue } from "./queue.js"
import { setImmediate } from "./runtime.js"

/** The work that is left to do. */
const queue = new Queue<Iterator<number>>()

/** Does some of `work`, which yields the number of steps that it took, and the rest in later turns. */
export function runInTurns(work: Iterator<number>): void {
  if (take(work, AT_ONCE_STEPS) > 0) return
  queue.push(work)
  if (queue.length === 1) setImmediate(runTurn)
}

function runTurn(): void {
  let left = TURN_STEPS
  try {
    for (let work = queue.first(); work && left > 0; work = queue.first()) {
      left = take(work, left)
      if (left > 0) queue.shift()
    }
  } finally {
    if (queue.length > 0) setImmediate(runTurn)
  }
}

/** Does at least `steps` steps of `work`. Returns the number left if it ended before, otherwise 0. */
function take(work: Iterator<number>, steps: number): number {
  let left = steps
  while (left > 0) {
    const { done, value } = work.next()
    if (done) return left
    left -= value
  }
  return 0
}
