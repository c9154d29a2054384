import { concat } from "./arrays.js"
import { targetTooSmall } from "./errors.js"
import { framesLength, LONG_HEAD_BYTES, writeFrames } from "./frames.js"
import { INPUT, type Instance, NULL, OUTPUT, type Pointer } from "./instance.js"
import { openDictionary, withLargeInstance } from "./large.js"
import { NO_EFFORT, type Settings, type Training } from "./options.js"
import { ArraySource, type Source } from "./source.js"
import { Trainer } from "./trainer.js"
import {
  ARENA_HEAD_BYTES,
  BLOCK_LENGTH_BYTES,
  HEAD_BYTES,
  SENTINEL,
  SENTINEL_BYTES,
  uint64,
  writeSentinel,
} from "./wire.js"

/** Size of a zl_arena. */
const ARENA_FIELDS_BYTES = 16
const UINT32_MAX = 0xffffffff
const PLAIN_SENTINEL = new Uint8Array(SENTINEL_BYTES)

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

  /** Returns the LZ4D part that sends the dictionary; undefined if there is none. */
  dictionaryPart(): Uint8Array | undefined {
    const dictionary = this.#dictionaryBytes
    if (!dictionary) return undefined
    const wire = new Uint8Array(SENTINEL_BYTES + dictionary.length)
    writeSentinel(wire, SENTINEL.LZ4D)
    wire.set(dictionary, SENTINEL_BYTES)
    return wire
  }

  part(plain: Uint8Array): Uint8Array {
    return this.#part(plain, copied)
  }

  /** Encodes a part to `target`. Returns the bytes written. */
  partInto(plain: Uint8Array, target: Uint8Array): number {
    return this.#part(plain, (...pieces) => writeInto(target, pieces))
  }

  #part<T>(plain: Uint8Array, give: Give<T>): T {
    const instance = this.#instance
    const isSmall = plain.length < this.#minCompressBytes && plain.length <= instance.blockMax
    if (isSmall || this.#effort === NO_EFFORT) return give(PLAIN_SENTINEL, plain)
    if (plain.length > instance.partMax)
      return encodeLargeTo(instance, this.#dictionary, this.#effort, new ArraySource(plain), give)
    const source = instance.place(INPUT, plain)
    const wire = single(instance, this.#dictionary, this.#effort, source, plain.length)
    return wire ? give(wire) : give(PLAIN_SENTINEL, plain)
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
    const wire = zl_arena_encode(this.#dictionary, frames, length, count, target, minBytes, effort)
    // The same condition as in send_arena in transcoder.c.
    if (LONG_HEAD_BYTES + wire >= length + SENTINEL_BYTES * parts) return undefined
    return instance.copy(target, wire)
  }
}

/** A function that takes the pieces of a part, which are valid during the call only. */
type Give<T> = (...pieces: Uint8Array[]) => T

const copied: Give<Uint8Array> = (...pieces) => concat(pieces)

/** Encodes a part of more than `partMax` bytes, in an instance of its own. */
export function encodeLarge(
  shared: Instance,
  dictionary: Pointer,
  effort: number,
  plain: Source,
): Uint8Array {
  return encodeLargeTo(shared, dictionary, effort, plain, copied)
}

function encodeLargeTo<T>(
  shared: Instance,
  dictionary: Pointer,
  effort: number,
  plain: Source,
  give: Give<T>,
): T {
  const { length } = plain
  if (effort === NO_EFFORT) return give(PLAIN_SENTINEL, plain.rest())
  return withLargeInstance(shared, dictionary, length, (instance, dictionary) => {
    if (length > instance.blockMax) return give(...multi(instance, dictionary, effort, plain))
    const source = instance.read(INPUT, plain, length)
    const wire = single(instance, dictionary, effort, source, length)
    return wire ? give(wire) : give(PLAIN_SENTINEL, instance.view(source, length))
  })
}

/** Returns a view of the LZ4B part; undefined if it is no shorter than a plain part. */
function single(
  instance: Instance,
  dictionary: Pointer,
  effort: number,
  source: Pointer,
  plainBytes: number,
): Uint8Array | undefined {
  const target = instance.scratch(OUTPUT, plainBytes + SENTINEL_BYTES)
  const { zl_part_encode } = instance.exports
  const length = zl_part_encode(dictionary, source, plainBytes, target, effort)
  return length === 0 ? undefined : instance.view(target, length)
}

/** Encodes LZ4M: blocks of `blockMax` bytes of plaintext, which do not refer to each other. */
function multi(
  instance: Instance,
  dictionary: Pointer,
  effort: number,
  plain: Source,
): Uint8Array[] {
  const { exports, blockMax } = instance
  const room = exports.zl_block_bound(blockMax) >>> 0
  const head = instance.scratch(OUTPUT, HEAD_BYTES)
  exports.zl_multi_head(head, ...uint64(plain.length))
  const pieces = [instance.copy(head, HEAD_BYTES)]
  while (plain.length > 0) {
    const share = Math.min(plain.length, blockMax)
    const target = instance.scratch(OUTPUT, BLOCK_LENGTH_BYTES + room)
    const source = instance.read(INPUT, plain, share)
    const length = exports.zl_multi_block(dictionary, source, share, target, effort)
    pieces.push(instance.copy(target, length))
  }
  return pieces
}

/** Writes a part to the start of `target`, or nothing if it does not fit. Returns its length. */
function writeInto(target: Uint8Array, pieces: Uint8Array[]): number {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (length > target.length) throw targetTooSmall(target, length)
  let at = length
  // Last piece first: the caller's plaintext, which comes last, may lie where the others will be written.
  for (const piece of pieces.reverse()) {
    at -= piece.length
    target.set(piece, at)
  }
  return length
}
