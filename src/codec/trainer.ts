import { outOfMemory } from "./errors.js"
import { INPUT, Instance, NULL, type Pointer } from "./instance.js"
import { loadInstance } from "./module.js"
import { checkBytes, checkCapacity, checkNames, type Training } from "./options.js"

/** Makes a dictionary of the first messages of a sender (RFC.md section 6.4). */
export class Trainer {
  readonly handle: Pointer
  readonly #instance: Instance

  constructor(instance: Instance, { capacityBytes, trigger, minCompressBytes }: Training) {
    this.#instance = instance
    const least = Math.min(minCompressBytes, instance.blockMax + 1)
    this.handle = instance.exports.zl_trainer_open(capacityBytes, trigger, least)
    if (this.handle === NULL) throw outOfMemory("training a dictionary", 64)
  }

  /** Samples a message; true when there have been enough. */
  sample(message: readonly Uint8Array[]): boolean {
    for (const part of message) this.samplePart(part)
    return this.#instance.exports.zl_trainer_message(this.handle) !== 0
  }

  samplePart(part: Uint8Array): void {
    const { zl_trainer_wants, zl_trainer_sample } = this.#instance.exports
    const wanted = part.subarray(0, zl_trainer_wants(this.handle))
    zl_trainer_sample(this.handle, this.#instance.place(INPUT, wanted), wanted.length)
  }

  /** The dictionary, or undefined where one would gain nothing. To be called once. */
  train(): Uint8Array | undefined {
    const { exports } = this.#instance
    const made = exports.zl_trainer_train(this.handle)
    if (made === NULL) return undefined
    return this.#instance.copy(
      exports.zl_dictionary_bytes(made),
      exports.zl_dictionary_length(made),
    )
  }

  close(): void {
    this.#instance.exports.zl_trainer_close(this.handle)
  }
}

/**
 * Makes a dictionary of what samples have in common, of at most `capacity` bytes
 * (1 to 8192, default 2048). It is empty when there is nothing to gain. Of each
 * sample the first 2 × capacity bytes are used, of all together the first MiB.
 *
 * @throws TypeError when a sample is not a Uint8Array.
 * @throws RangeError when `capacity` is out of range.
 */
export async function trainDictionary(
  samples: Iterable<Uint8Array>,
  options: { capacity?: number } = {},
): Promise<Uint8Array> {
  checkNames(options, ["capacity"])
  const capacityBytes = checkCapacity(options.capacity)
  // What training takes is given back with the instance.
  const { module } = await loadInstance()
  const trainer = new Trainer(new Instance(module), {
    capacityBytes,
    trigger: 1,
    minCompressBytes: 0,
  })
  let index = 0
  for (const sample of samples) trainer.samplePart(checkBytes(`sample ${index++}`, sample))
  return trainer.train() ?? new Uint8Array(0)
}
