/** Large parts: streams within a frame, so that a slice at a time is decoded. */
import { outOfMemory } from "../errors.js"
import type { Give, LargePart } from "../format.js"
import { INPUT, type Instance, OUTPUT } from "../instance.js"
import { withLargeInstance } from "../large.js"
import { NULL, type Pointer } from "../module-memory.js"
import type { Source } from "../source.js"
import { PLAIN_HEAD, SENTINEL_BYTES, uint64 } from "../wire.js"
import { exportsOf } from "./exports.js"

/** Bytes of input of one step of a stream. */
const INPUT_BYTES = 128 * 1024
/** Plaintext of a piece, which takes less than a millisecond; room for a piece of an encoded part. */
const PIECE_BYTES = 512 * 1024

/** Errors of the module; see zeromq_lz4.h. */
const E_SIZE_MISMATCH = -8
const E_TRAILING_BYTES = -9

type Fail = (status: number) => Error

/** Decodes a part slice by slice, as Format says. */
export function* decodeLarge(
  shared: Instance,
  dictionary: Pointer,
  { plainBytes, wire }: LargePart,
  fail: Fail,
): Generator<Uint8Array> {
  const { instance, stream } = withLargeInstance(shared, dictionary, plainBytes, openDecoder)
  let open = stream
  const close = () => {
    exportsOf(instance).zl_stream_close(open)
    open = NULL
  }
  try {
    for (let left = plainBytes; left > 0; ) {
      const piece = nextPiece(instance, stream, wire, left, fail)
      left -= piece.length
      // Nobody asks for more after the last piece.
      if (left === 0) close()
      yield piece
    }
  } finally {
    close()
  }
}

function openDecoder(instance: Instance, dictionary: Pointer) {
  const stream = exportsOf(instance).zl_stream_decoder(dictionary)
  if (stream === NULL) throw outOfMemory("a decoder", PIECE_BYTES)
  return { instance, stream }
}

/** Decodes the next piece of a part of which `left` bytes are left. The last one ends the frame. */
function nextPiece(
  instance: Instance,
  stream: Pointer,
  wire: Source,
  left: number,
  fail: Fail,
): Uint8Array {
  const { zl_stream_step, zl_progress_slot } = exportsOf(instance)
  const progress = zl_progress_slot()
  const isLast = left <= PIECE_BYTES
  const wanted = isLast ? left : PIECE_BYTES
  // What ends the frame may follow all of its content. Then there is room for a byte too many.
  const room = wanted + (isLast ? 1 : 0)
  const output = instance.scratch(OUTPUT, room)
  let produced = 0
  for (let status = 1; isLast ? status > 0 : produced < wanted; ) {
    const length = Math.min(wire.length, INPUT_BYTES)
    const input = instance.scratch(INPUT, length)
    wire.peek(instance.view(input, length))
    const target = (output + produced) as Pointer
    const isEnd = length === wire.length ? 1 : 0
    status = zl_stream_step(stream, input, length, target, room - produced, isEnd, progress)
    if (status < 0) throw fail(status)
    wire.skip(instance.word(progress, 0))
    produced += instance.word(progress, 1)
    if (produced > wanted || (status === 0 && produced < left)) throw fail(E_SIZE_MISMATCH)
    if (status === 0 && wire.length > 0) throw fail(E_TRAILING_BYTES)
  }
  return instance.view(output, wanted)
}

/** Passes on the pieces of a part, as Format says. */
export function encodeLarge<T>(
  instance: Instance,
  dictionary: Pointer,
  effort: number,
  plain: Source,
  give: Give<T>,
): T {
  const { length } = plain
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
    const output = instance.scratch(OUTPUT, PIECE_BYTES)
    const input = (source + at) as Pointer
    status = zl_stream_step(stream, input, length - at, output, PIECE_BYTES, 1, progress)
    if (status < 0) throw outOfMemory("a part", length)
    at += instance.word(progress, 0)
    const produced = instance.word(progress, 1)
    wireBytes += produced
    if (wireBytes >= length + SENTINEL_BYTES) return undefined
    pieces.push(instance.copy(output, produced))
  }
  return pieces
}
