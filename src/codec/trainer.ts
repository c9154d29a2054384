import { outOfMemory, shown, wrongType } from "./errors.js"
import { INPUT, Instance, NULL, type Pointer } from "./instance.js"
import { loadInstance } from "./module.js"
import { checkBytes, checkCapacity, checkNames, type Training } from "./options.js"

/** Makes a dictionary of the first messages of a sender (RFC.md section 6.4). */
export class Trainer {
  readonly handle: Pointer
  readonly #instance: Instance

  constructor(instance: Instance, { capacityBytes, trigger, minCompressBytes }: Training) {
    this.#instance = instance
    const minBytes = Math.min(minCompressBytes, instance.blockMax + 1)
    this.handle = instance.exports.zl_trainer_open(capacityBytes, trigger, minBytes)
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
    return this.#copy(this.#instance.exports.zl_trainer_train(this.handle))
  }

  /** The same with `pause` between the steps of the work. */
  async trainInSteps(pause: () => Promise<void>): Promise<Uint8Array | undefined> {
    const { zl_trainer_step, zl_trainer_finish } = this.#instance.exports
    while (zl_trainer_step(this.handle)) await pause()
    return this.#copy(zl_trainer_finish(this.handle))
  }

  close(): void {
    this.#instance.exports.zl_trainer_close(this.handle)
  }

  #copy(made: Pointer): Uint8Array | undefined {
    if (made === NULL) return undefined
    const { zl_dictionary_bytes, zl_dictionary_length } = this.#instance.exports
    return this.#instance.copy(zl_dictionary_bytes(made), zl_dictionary_length(made))
  }
}

/** Samples taken in one turn of the event loop: about a millisecond. */
const SAMPLES_A_TURN = 4096

/** Lets others have their turn: a page draws, a socket is read. */
const nextTurn = () => new Promise<void>((resolve) => setTimeout(resolve, 0))

/**
 * Makes a dictionary of what samples have in common, for the option `dictionary`
 * (RFC.md section 6.4).
 *
 * The work takes up to some tens of milliseconds. It is split, so that the event loop has its
 * turn every few of them: a page stays responsive. Leave the samples as they are until then.
 *
 * @param samples Typical messages, as many as there are. Of each the first 2 × `capacity` bytes are
 * used, of all together the first MiB.
 * @param options `capacity` is the size that it may have, in bytes: 1 to 8192, default 2048.
 * @returns The dictionary; an empty array when one would gain nothing. It is yours.
 * @throws TypeError when a sample is not a Uint8Array, or an option is unknown.
 * @throws RangeError when `capacity` is out of range, or memory runs out.
 */
export async function trainDictionary(
  samples: Iterable<Uint8Array>,
  options: { capacity?: number } = {},
): Promise<Uint8Array> {
  checkNames(options, ["capacity"])
  const capacityBytes = checkCapacity(options.capacity)
  if (typeof samples?.[Symbol.iterator] !== "function")
    throw wrongType(`samples must be an iterable of Uint8Array; got ${shown(samples)}`)
  // The memory of the training is freed with the instance.
  const { module } = await loadInstance()
  const trainer = new Trainer(new Instance(module), {
    capacityBytes,
    trigger: 1,
    minCompressBytes: 0,
  })
  let index = 0
  for (const sample of samples) {
    trainer.samplePart(checkBytes(`sample ${index++}`, sample))
    if (index % SAMPLES_A_TURN === 0) await nextTurn()
  }
  return (await trainer.trainInSteps(nextTurn)) ?? new Uint8Array(0)
}
