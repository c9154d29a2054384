import { allocate, concat } from "./arrays.js"
import { INPUT, type Instance, NULL, OUTPUT, type Pointer } from "./instance.js"
import { openDictionary, withLargeInstance } from "./large.js"
import type { Settings } from "./options.js"
import { ArraySource, type Source } from "./source.js"

const SENTINEL_BYTES = 4
const HEAD_BYTES = 12

/** The sending half of a connection: plaintext to wire parts (RFC.md section 5.1). */
export class Encoder {
  readonly #instance: Instance
  readonly #settings: Settings
  readonly #dictionary: Pointer

  constructor(instance: Instance, settings: Settings) {
    this.#instance = instance
    this.#settings = settings
    this.#dictionary = settings.dictionary ? openDictionary(instance, settings.dictionary) : NULL
  }

  /** The LZ4D part that ships the dictionary, if there is one. */
  dictionaryPart(): Uint8Array | undefined {
    const { dictionary } = this.#settings
    if (!dictionary) return undefined
    const wire = new Uint8Array(SENTINEL_BYTES + dictionary.length)
    wire.set([0x4c, 0x5a, 0x34, 0x44]) // "LZ4D"
    wire.set(dictionary, SENTINEL_BYTES)
    return wire
  }

  part(plain: Uint8Array): Uint8Array {
    const { minCompressBytes, acceleration } = this.#settings
    const instance = this.#instance
    if (plain.length < minCompressBytes && plain.length <= instance.blockMax)
      return plainPart(plain)
    if (plain.length > instance.partMax)
      return encodeLarge(instance, this.#dictionary, acceleration, new ArraySource(plain))
    const source = instance.place(INPUT, plain)
    return (
      single(instance, this.#dictionary, acceleration, source, plain.length) ?? plainPart(plain)
    )
  }

  close(): void {
    this.#instance.exports.zl_dictionary_close(this.#dictionary)
  }
}

/** Encodes a part of more than `partMax` bytes, in memory of its own. */
export function encodeLarge(
  shared: Instance,
  dictionary: Pointer,
  acceleration: number,
  plain: Source,
): Uint8Array {
  const { length } = plain
  return withLargeInstance(shared, dictionary, length, (instance, dictionary) => {
    if (length > instance.blockMax) return multi(instance, dictionary, acceleration, plain)
    const source = instance.read(INPUT, plain, length)
    return (
      single(instance, dictionary, acceleration, source, length) ??
      plainPart(instance.view(source, length))
    )
  })
}

/** LZ4B, or undefined when that is not shorter than a plain part. */
function single(
  instance: Instance,
  dictionary: Pointer,
  acceleration: number,
  source: Pointer,
  plainBytes: number,
): Uint8Array | undefined {
  const target = instance.scratch(OUTPUT, plainBytes + SENTINEL_BYTES)
  const { zl_part_encode } = instance.exports
  const length = zl_part_encode(dictionary, source, plainBytes, target, acceleration)
  return length === 0 ? undefined : instance.copy(target, length)
}

/** LZ4M: blocks of `blockMax` bytes of plaintext, none of which refers to another. */
function multi(
  instance: Instance,
  dictionary: Pointer,
  acceleration: number,
  plain: Source,
): Uint8Array {
  const { exports, blockMax } = instance
  const room = exports.zl_block_bound(blockMax) >>> 0
  const head = instance.scratch(OUTPUT, HEAD_BYTES)
  exports.zl_multi_head(head, plain.length >>> 0, Math.floor(plain.length / 2 ** 32))
  const pieces = [instance.copy(head, HEAD_BYTES)]
  while (plain.length > 0) {
    const share = Math.min(plain.length, blockMax)
    const target = instance.scratch(OUTPUT, 4 + room)
    const source = instance.read(INPUT, plain, share)
    const length = exports.zl_multi_block(dictionary, source, share, target, acceleration)
    pieces.push(instance.copy(target, length))
  }
  return concat(pieces)
}

function plainPart(plain: Uint8Array): Uint8Array {
  const wire = allocate(SENTINEL_BYTES + plain.length)
  wire.fill(0, 0, SENTINEL_BYTES)
  wire.set(plain, SENTINEL_BYTES)
  return wire
}
