/** Writes parts in wire form (RFC.md section 3), for codecs and for sockets. */
import { concat } from "./arrays.js"
import type { Give } from "./format.js"
import { INPUT, type Instance, OUTPUT } from "./instance.js"
import { withLargeInstance } from "./large.js"
import type { Pointer } from "./module-memory.js"
import { NO_EFFORT } from "./no-effort.js"
import { ArraySource, type Source } from "./source.js"
import { PLAIN_HEAD, SENTINEL_BYTES } from "./wire.js"

export const copied: Give<Uint8Array> = (...pieces) => concat(pieces)

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
  if (isSmall || effort === NO_EFFORT) return give(PLAIN_HEAD, plain)
  if (plain.length > instance.partMax)
    return writeLarge(instance, dictionary, effort, new ArraySource(plain), give)
  const source = instance.place(INPUT, plain)
  const target = instance.scratch(OUTPUT, plain.length + SENTINEL_BYTES)
  const { zl_part_encode } = instance.exports
  const length = zl_part_encode(dictionary, source, plain.length, target, effort)
  return length === 0 ? give(PLAIN_HEAD, plain) : give(instance.view(target, length))
}

/** Passes on a part of more than `partMax` bytes, encoded in an instance of its own. */
export function writeLarge<T>(
  shared: Instance,
  dictionary: Pointer,
  effort: number,
  plain: Source,
  give: Give<T>,
): T {
  if (effort === NO_EFFORT) return give(PLAIN_HEAD, plain.rest())
  return withLargeInstance(shared, dictionary, plain.length, (instance, dictionary) =>
    instance.format.encodeLarge(instance, dictionary, effort, plain, give),
  )
}
