/** Writes parts in wire form (RFC.md section 3), for codecs and for sockets. */
import { concat } from "./arrays.js"
import { INPUT, type Instance, OUTPUT } from "./instance.js"
import { withLargeInstance } from "./large.js"
import type { Pointer } from "./module-memory.js"
import { NO_EFFORT } from "./options.js"
import { ArraySource, type Source } from "./source.js"
import {
  BLOCK_LENGTH_BYTES,
  HEAD_BYTES,
  SENTINEL,
  SENTINEL_BYTES,
  uint64,
  writeSentinel,
} from "./wire.js"

const PLAIN_SENTINEL = new Uint8Array(SENTINEL_BYTES)

/** A function that takes the pieces of a part, which are valid during the call only. */
export type Give<T> = (...pieces: Uint8Array[]) => T

export const copied: Give<Uint8Array> = (...pieces) => concat(pieces)

/** Returns the LZ4D part that sends a dictionary. */
export function dictionaryPart(dictionary: Uint8Array): Uint8Array {
  const wire = concat([PLAIN_SENTINEL, dictionary])
  writeSentinel(wire, SENTINEL.LZ4D)
  return wire
}

/** Passes on a part: compressed if it has `minBytes` or more, or is large, and gets shorter by that. */
export function writePart<T>(
  instance: Instance,
  dictionary: Pointer,
  minBytes: number,
  effort: number,
  plain: Uint8Array,
  give: Give<T>,
): T {
  const isSmall = plain.length < minBytes && plain.length <= instance.blockMax
  if (isSmall || effort === NO_EFFORT) return give(PLAIN_SENTINEL, plain)
  if (plain.length > instance.partMax)
    return writeLarge(instance, dictionary, effort, new ArraySource(plain), give)
  const source = instance.place(INPUT, plain)
  const wire = single(instance, dictionary, effort, source, plain.length)
  return wire ? give(wire) : give(PLAIN_SENTINEL, plain)
}

/** Passes on a part of more than `partMax` bytes, encoded in an instance of its own. */
export function writeLarge<T>(
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
