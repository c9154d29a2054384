/** Large parts: streams within a frame, so that a slice at a time is decoded. */
import { outOfMemory } from "../errors.js"
import type { Give, LargePart } from "../format.js"
import { INPUT, type Instance, OUTPUT } from "../instance.js"
import { withLargeInstance } from "../large.js"
import { NULL, type Pointer } from "../module-memory.js"
import type { Source } from "../source.js"
import { PLAIN_HEAD, SENTINEL_BYTES, uint64 } from "../wire.js"
import { exportsOf } from "./exports.js"

/** Bytes of input and output of one step of a stream. */
const INPUT_BYTES = 128 * 1024
const OUTPUT_BYTES = 512 * 1024
/** Plaintext of a piece: it takes less than a millisecond. */
const PIECE_BYTES = 512 * 1024

const E_TRUNCATED = -3
const E_SIZE_MISMATCH = -8
const E_TRAILING_BYTES = -9

/** Decodes a part slice by slice, as Format says. */
export function* decodeLarge(
  shared: Instance,
  dictionary: Pointer,
  { plainBytes, wire }: LargePart,
  fail: (status: number) => Error,
): Generator<Uint8Array> {
  const { instance, stream } = withLargeInstance(
    shared,
    dictionary,
    plainBytes,
    (instance, dictionary) => ({
      instance,
      stream: exportsOf(instance).zl_stream_decoder(dictionary),
    }),
  )
  if (stream === NULL) throw outOfMemory("a part", plainBytes)
  const { zl_stream_close, zl_stream_step, zl_progress_slot } = exportsOf(instance)
  const progress = zl_progress_slot()
  try {
    let left = plainBytes
    let status = 1
    while (status > 0) {
      const length = Math.min(wire.length, INPUT_BYTES)
      const input = instance.scratch(INPUT, length)
      wire.peek(instance.view(input, length))
      const output = instance.scratch(OUTPUT, OUTPUT_BYTES)
      const isLast = length === wire.length ? 1 : 0
      status = zl_stream_step(stream, input, length, output, PIECE_BYTES, isLast, progress)
      if (status < 0) throw fail(status)
      wire.skip(instance.word(progress, 0))
      const produced = instance.word(progress, 1)
      left -= produced
      if (left < 0 || (status === 0 && left > 0)) throw fail(E_SIZE_MISMATCH)
      if (status === 0 && wire.length > 0) throw fail(E_TRAILING_BYTES)
      if (status > 0 && wire.length === 0 && produced === 0) throw fail(E_TRUNCATED)
      if (produced > 0) yield instance.view(output, produced)
    }
  } finally {
    zl_stream_close(stream)
  }
}

/** Passes on the pieces of a part, as Format says. */
export function encodeLarge<T>(
  shared: Instance,
  dictionary: Pointer,
  effort: number,
  plain: Source,
  give: Give<T>,
): T {
  const { length } = plain
  return withLargeInstance(shared, dictionary, length, (instance, dictionary) => {
    const { zl_stream_encoder, zl_stream_close } = exportsOf(instance)
    const source = instance.read(INPUT, plain, length)
    const stream = zl_stream_encoder(dictionary, ...uint64(length), effort)
    if (stream === NULL) throw outOfMemory("a part", length)
    try {
      const pieces = encodePieces(instance, stream, source, length)
      return pieces ? give(...pieces) : give(PLAIN_HEAD, instance.view(source, length))
    } finally {
      zl_stream_close(stream)
    }
  })
}

/** Returns copies of the pieces; undefined if they are no shorter than a plain part. */
function encodePieces(
  instance: Instance,
  stream: Pointer,
  source: Pointer,
  length: number,
): Uint8Array[] | undefined {
  const { zl_stream_step, zl_progress_slot } = exportsOf(instance)
  const progress = zl_progress_slot()
  const pieces: Uint8Array[] = []
  let at = 0
  let wireBytes = 0
  for (let status = 1; status > 0; ) {
    const output = instance.scratch(OUTPUT, OUTPUT_BYTES)
    const input = (source + at) as Pointer
    status = zl_stream_step(stream, input, length - at, output, OUTPUT_BYTES, 1, progress)
    if (status < 0) throw outOfMemory("a part", length)
    at += instance.word(progress, 0)
    const produced = instance.word(progress, 1)
    wireBytes += produced
    if (wireBytes >= length + SENTINEL_BYTES) return undefined
    pieces.push(instance.copy(output, produced))
  }
  return pieces
}
