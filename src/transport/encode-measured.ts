import { clockMs } from "../base/runtime.js"
import type { Chunk } from "../codec/chunk.js"
import type { AnyPart } from "../codec/formed-part.js"
import type { Packing } from "../codec/packing.js"
import type { EncodeOptions, PlainMessages } from "../codec/sender.js"
import type { Encoding, MessageEncoder } from "./transport.js"

/** Messages in wire form, whose memory a chunk can take over if there are no others to encode. */
export interface WholePlain extends PlainMessages {
  takeChunk(): Chunk
}

/** The options of an encoding, at the effort that `Encoding.nextEffort` has returned. */
export interface MeasuredOptions extends EncodeOptions {
  readonly plain?: WholePlain | undefined
}

/**
 * Encodes messages with `encoder`. `encoding` records how long that took and what it saved; undefined if
 * another encoding of the same messages was recorded, or nothing is compressed.
 *
 * @throws Error of the encoder.
 */
export function encodeMeasured(
  encoder: MessageEncoder,
  encoding: Encoding | undefined,
  frames: Uint8Array,
  message: readonly AnyPart[] | undefined,
  options: MeasuredOptions,
): Chunk {
  const { plain, effort } = options
  const begunAt = encoding ? clockMs() : 0
  const chunk =
    plain && plain.messages > 0 && frames.length === 0 && message === undefined
      ? plain.takeChunk()
      : encoder.encode(frames, message, options)
  encoding?.encoded(chunk, effort as number, begunAt)
  return chunk
}

/**
 * Encodes the messages of a chunk again, and releases the chunk. `encoding` records it as an encoding;
 * undefined if they were recorded when they were encoded first.
 *
 * @throws Error of the encoder. The chunk is unchanged then.
 */
export function repackMeasured(
  encoder: MessageEncoder,
  encoding: Encoding | undefined,
  chunk: Chunk,
  packing: Packing,
  effort: number | undefined,
): Chunk {
  const begunAt = encoding ? clockMs() : 0
  const repacked = encoder.repack(chunk, packing, effort)
  encoding?.encoded(repacked, effort as number, begunAt)
  return repacked
}
