import { targetTooSmall } from "./errors.js"
import type { Give } from "./format.js"
import { framesLength, LONG_HEAD_BYTES, writeFrames } from "./frames.js"
import { INPUT, type Instance, OUTPUT } from "./instance.js"
import { openDictionary } from "./large.js"
import { NULL, type Pointer } from "./module-memory.js"
import type { Settings, Training } from "./options.js"
import { copied, writePart } from "./part-writer.js"
import { Trainer } from "./trainer.js"
import { ARENA_HEAD_BYTES, SENTINEL_BYTES } from "./wire.js"

/** Size of a zl_arena. */
const ARENA_FIELDS_BYTES = 16
const UINT32_MAX = 0xffffffff

type Message = readonly Uint8Array[]

/** The sending half of a connection: plaintext to wire parts (RFC.md section 5.1). */
export class Encoder {
  readonly #instance: Instance
  readonly #effort: number
  #minCompressBytes: number
  #dictionaryBytes: Uint8Array | undefined
  #dictionary: Pointer
  readonly #training: Training | undefined
  #trainer: Trainer | undefined
  /** Whether the trainer has enough samples. */
  #trained = false

  constructor(instance: Instance, settings: Settings) {
    const { dictionary, training } = settings
    this.#instance = instance
    this.#effort = settings.effort
    this.#minCompressBytes = settings.minCompressBytes
    this.#dictionaryBytes = dictionary
    this.#dictionary = dictionary ? openDictionary(instance, dictionary) : NULL
    this.#training = training
    this.#trainer = training && new Trainer(instance, training)
  }

  /** Samples a message that was sent, until there is a dictionary. */
  sample(message: readonly Uint8Array[]): void {
    if (this.#trainer && !this.#trained) this.#trained = this.#trainer.sample(message)
  }

  /** Trains a dictionary once there are enough samples. Returns whether there is one to send. */
  adoptTrained(): boolean {
    if (!this.#trainer || !this.#trained) return false
    const dictionary = this.#trainer.train()
    this.#trainer.close()
    this.#trainer = undefined
    if (!dictionary) return false
    this.#dictionaryBytes = dictionary
    this.#dictionary = openDictionary(this.#instance, dictionary)
    this.#minCompressBytes = (this.#training as Training).minCompressBytes
    return true
  }

  /** Returns the part that sends the dictionary; undefined if there is none. */
  dictionaryPart(): Uint8Array | undefined {
    return this.#dictionaryBytes && this.#instance.format.dictionaryPart(this.#dictionaryBytes)
  }

  part(plain: Uint8Array): Uint8Array {
    return this.#part(plain, copied)
  }

  /** Encodes a part to `target`. Returns the bytes written. */
  partInto(plain: Uint8Array, target: Uint8Array): number {
    return this.#part(plain, (...pieces) => writeInto(target, pieces))
  }

  #part<T>(plain: Uint8Array, give: Give<T>): T {
    const minBytes = this.#minCompressBytes
    return writePart(this.#instance, this.#dictionary, minBytes, this.#effort, plain, give)
  }

  /**
   * Splits a list of messages into groups that may share an arena, in order. A message that must not
   * share one is a group of its own. The module decides that, as it does for streams.
   */
  groups(messages: readonly Message[]): Message[][] {
    const { zl_arena_join, zl_arena_slot } = this.#instance.exports
    const arena = zl_arena_slot()
    const groups: Message[][] = []
    let group: Message[] | undefined
    for (const message of messages) {
      const bytes = Math.min(framesLength(message), UINT32_MAX)
      if (group && zl_arena_join(arena, bytes, message.length)) {
        group.push(message)
        continue
      }
      this.#instance.view(arena, ARENA_FIELDS_BYTES).fill(0)
      groups.push([message])
      group = zl_arena_join(arena, bytes, message.length) ? groups.at(-1) : undefined
    }
    return groups
  }

  /** Returns the wire messages of a group from `groups`: an arena, if that is shorter. */
  messages(group: readonly Message[]): Uint8Array[][] {
    const arena = group.length > 1 ? this.#arena(group) : undefined
    return arena ? [[arena]] : group.map((message) => message.map((part) => this.part(part)))
  }

  close(): void {
    this.#trainer?.close()
    this.#instance.exports.zl_dictionary_close(this.#dictionary)
  }

  /** Returns the LZ4A part of messages; undefined if it is no shorter than their plain parts. */
  #arena(messages: readonly Message[]): Uint8Array | undefined {
    const instance = this.#instance
    const length = messages.reduce((sum, message) => sum + framesLength(message), 0)
    const parts = messages.reduce((sum, message) => sum + message.length, 0)
    const frames = instance.scratch(INPUT, length)
    let at: number = frames
    for (const message of messages) at = writeFrames(instance.bytes, at, message)
    const target = instance.scratch(OUTPUT, ARENA_HEAD_BYTES + length)
    const { zl_arena_encode } = instance.exports
    const count = messages.length
    const minBytes = Math.min(this.#minCompressBytes, length + 1)
    const effort = this.#effort
    const wire = zl_arena_encode(
      this.#dictionary,
      frames,
      length,
      count,
      parts,
      target,
      minBytes,
      effort,
    )
    // The same condition as in send_arena in sending.c.
    if (LONG_HEAD_BYTES + wire >= length + SENTINEL_BYTES * parts) return undefined
    return instance.copy(target, wire)
  }
}

/** Writes a part to the start of `target`, or nothing if it does not fit. Returns its length. */
function writeInto(target: Uint8Array, pieces: Uint8Array[]): number {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (length > target.length) throw targetTooSmall(target, length)
  let at = length
  // Last piece first: it is the caller's plaintext, which may lie where the others will be written.
  for (const piece of pieces.reverse()) {
    at -= piece.length
    target.set(piece, at)
  }
  return length
}
