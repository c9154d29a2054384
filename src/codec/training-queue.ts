import { clockMs, setTimeout } from "../base/runtime.js"
import type { Trainer } from "./trainer.js"

/**
 * Time between two trainings, as a multiple of the time that the first one took. A training takes
 * some milliseconds, and a thousand connections may need one at once.
 */
const REST_SHARE = 4

/** A training that waits for its turn. */
interface Waiting {
  readonly trainer: Trainer
  readonly made: (dictionary: Uint8Array | undefined) => void
}

/**
 * Trains dictionaries one after the other, a step in each turn of the event loop, and rests in
 * between: at most a fifth of a thread's time goes into training.
 */
class TrainingQueue {
  readonly #waiting: Waiting[] = []
  #isRunning = false
  /** Milliseconds that the training in progress took so far. */
  #tookMs = 0

  /**
   * Adds a trainer that is ready. Calls `made` with the dictionary; undefined if it would gain
   * nothing, or memory ran out. Remove the trainer before it is closed.
   */
  add(trainer: Trainer, made: (dictionary: Uint8Array | undefined) => void): void {
    this.#waiting.push({ trainer, made })
    if (this.#isRunning) return
    this.#isRunning = true
    this.#stepLater(0)
  }

  remove(trainer: Trainer): void {
    const at = this.#waiting.findIndex((one) => one.trainer === trainer)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  step(): void {
    const [first] = this.#waiting
    if (!first) {
      this.#isRunning = false
      return
    }
    const startMs = clockMs()
    const goesOn = first.trainer.step()
    if (!goesOn) {
      this.#waiting.shift()
      first.made(madeBy(first.trainer))
    }
    this.#tookMs += clockMs() - startMs
    this.#stepLater(goesOn ? 0 : this.#tookMs * REST_SHARE)
    if (!goesOn) this.#tookMs = 0
  }

  #stepLater(ms: number): void {
    const timer = setTimeout(step, ms, this) as { unref?(): void }
    timer.unref?.()
  }
}

/** Returns the dictionary; undefined if there is none, or memory runs out. */
function madeBy(trainer: Trainer): Uint8Array | undefined {
  try {
    return trainer.finish()
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function step(queue: TrainingQueue): void {
  queue.step()
}

/** The only instance, because all training of a thread takes the same time. */
export const trainingQueue: TrainingQueue = new TrainingQueue()
