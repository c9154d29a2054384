import { FrameHead, MORE } from "./frames.js"
import type { Instance } from "./instance.js"
import type { Training } from "./options.js"
import { Trainer } from "./trainer.js"

/** A trainer of an endpoint or a link, for the training queue: no transcoder trains by itself. */
export class DeferredTrainer extends Trainer {
  constructor(instance: Instance, training: Training) {
    super(instance, training, true)
  }

  /** Samples frames of whole messages until there are enough samples. Returns whether there are now. */
  sampleFrames(frames: Uint8Array): boolean {
    const head = new FrameHead()
    for (let at = 0; at < frames.length; ) {
      const start = head.read(frames, at)
      at = start + head.bodyBytes
      this.samplePart(frames.subarray(start, at))
      const isLast = (head.flags & MORE) === 0
      if (isLast && this.instance.exports.zl_trainer_message(this.handle) !== 0) return true
    }
    return false
  }

  /** Whether there are enough samples, and the dictionary has not been made. */
  get isReady(): boolean {
    return this.instance.exports.zl_trainer_ready(this.handle) !== 0
  }
}
