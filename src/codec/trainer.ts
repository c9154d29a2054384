import { setTimeout } from "../base/runtime.js"
import { outOfMemory, shown, wrongType } from "./errors.js"
import type { FormatName } from "./format.js"
import { loadFormat } from "./formats.js"
import { INPUT, Instance } from "./instance.js"
import { loadInstance } from "./module.js"
import { NULL, type Pointer } from "./module-memory.js"
import { checkCapacity, checkView, ownOptions, type Training } from "./options.js"

/**
 * Trains a dictionary on the first messages of a sender (RFC.md section 6.4). For which connections,
 * dictionary-groups.ts decides. A module has samples of 64 trainers at a time; the others wait and take
 * none.
 */
export class Trainer {
  readonly handle: Pointer
  protected readonly instance: Instance

  /** @param deferred whether a transcoder that is sampled leaves the training to the caller. */
  constructor(
    instance: Instance,
    { capacityBytes, trigger, minCompressBytes }: Training,
    deferred: boolean = false,
  ) {
    this.instance = instance
    const minBytes = Math.min(minCompressBytes, instance.blockMax + 1)
    const { zl_trainer_open } = instance.exports
    this.handle = zl_trainer_open(capacityBytes, trigger, minBytes, deferred ? 1 : 0)
    if (this.handle === NULL) throw outOfMemory("training a dictionary", 64)
  }

  /** Samples a message. Returns whether there are enough samples now. */
  sample(message: readonly Uint8Array[]): boolean {
    for (const part of message) this.samplePart(part)
    return this.instance.exports.zl_trainer_message(this.handle) !== 0
  }

  samplePart(part: Uint8Array): void {
    const { zl_trainer_wants, zl_trainer_sample } = this.instance.exports
    const wanted = part.subarray(0, zl_trainer_wants(this.handle))
    zl_trainer_sample(this.handle, this.instance.place(INPUT, wanted), wanted.length)
  }

  /** Returns the dictionary; undefined if it would gain nothing. Call it once. */
  train(): Uint8Array | undefined {
    while (this.step());
    return this.finish()
  }

  /** Does a step of the training, about a quarter of it. Returns whether there is more to do. */
  step(): boolean {
    return this.instance.exports.zl_trainer_step(this.handle) !== 0
  }

  /** Returns the dictionary after the last step; undefined if it would gain nothing. */
  finish(): Uint8Array | undefined {
    const { zl_trainer_finish, zl_dictionary_bytes, zl_dictionary_length } = this.instance.exports
    const made = zl_trainer_finish(this.handle)
    if (made === NULL) return undefined
    return this.instance.copy(zl_dictionary_bytes(made), zl_dictionary_length(made))
  }

  close(): void {
    this.instance.exports.zl_trainer_close(this.handle)
  }
}

/** Number of samples taken in one turn of the event loop, which takes about a millisecond. */
const SAMPLES_A_TURN = 4096

/** Gives other tasks a turn, such as drawing a page or reading a socket. */
const nextTurn = () => new Promise<void>((resolve) => setTimeout(resolve, 0))

/**
 * Trains a dictionary on samples, for the option `dictionary` (RFC.md section 6.4).
 *
 * The work takes up to some tens of milliseconds. It is split into steps of a few milliseconds, so
 * that a page stays responsive. Do not change the samples meanwhile.
 *
 * @param samples typical messages, as many as there are. The first 2 × `capacity` bytes of each are
 * used, up to 1 MiB in all.
 * @param options `capacity` is the maximum size of the dictionary in bytes: 1 to 8192, default
 * 2048. `format`: "lz4" (default) or "zstd".
 * @returns the dictionary, which belongs to the caller; an empty array if one would gain nothing.
 * @throws TypeError if a sample is not a Uint8Array, or an option is unknown or of a wrong type.
 * @throws RangeError if `capacity` is out of range, or memory runs out.
 * @throws Error with the code ERR_LZ4_WASM if the module cannot be loaded.
 */
export async function trainDictionary(
  samples: Iterable<Uint8Array>,
  options: { capacity?: number; format?: FormatName } = {},
): Promise<Uint8Array> {
  const given = ownOptions(options, ["capacity", "format"])
  const capacityBytes = checkCapacity(given.capacity)
  const format = await loadFormat(given.format)
  if (typeof samples?.[Symbol.iterator] !== "function")
    throw wrongType(`samples must be an iterable of Uint8Array; got ${shown(samples)}`)
  // The training's memory is freed with the instance.
  const { module } = await loadInstance(format)
  const trainer = new Trainer(new Instance(module, format), {
    capacityBytes,
    trigger: 1,
    minCompressBytes: 0,
  })
  let index = 0
  for (const sample of samples) {
    trainer.samplePart(checkView(`sample ${index++}`, sample))
    if (index % SAMPLES_A_TURN === 0) await nextTurn()
  }
  while (trainer.step()) await nextTurn()
  return trainer.finish() ?? new Uint8Array(0)
}
