import { DeferredTrainer } from "../codec/deferred-trainer.js"
import type { Instance } from "../codec/instance.js"
import type { Training } from "../codec/options.js"
import { trainingQueue } from "../codec/training-queue.js"

/** The training of a dictionary on the messages of one link, or of all that share it. */
export class LinkTraining {
  readonly trainer: DeferredTrainer
  #isQueued = false

  constructor(instance: Instance, training: Training) {
    this.trainer = new DeferredTrainer(instance, training)
  }

  /** Trains once there are enough samples. Call it after messages were sampled. */
  check(): void {
    if (this.#isQueued || !this.trainer.isReady) return
    this.#isQueued = true
    // Transcoders that use the trainer adopt the dictionary.
    trainingQueue.add(this.trainer, () => {})
  }

  /** Call it after all transcoders that use the trainer were closed. */
  close(): void {
    trainingQueue.remove(this.trainer)
    this.trainer.close()
  }
}
