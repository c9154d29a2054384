/** Messages as tcp:// has them: frames without sentinels, in no format of compression. */
import { fixedView } from "../base/fixed-view.js"
import { REFERRED_MIN_BYTES } from "../base/limits.js"
import type { Chunk, ChunkBuilder } from "./chunk.js"
import { countFrames, FrameHead, frameHeadLength, MORE, writeFrameHead } from "./frames.js"

const NO_PARTS: readonly Uint8Array[] = []

/** Returns `frames`, then `message`, as bare frames. Large parts of `message` are not copied. */
export function framesChunk(
  builder: ChunkBuilder,
  frames: Uint8Array,
  message: readonly Uint8Array[] = NO_PARTS,
  formFlag: number = 0,
): Chunk {
  builder.begin()
  try {
    builder.append(frames)
    let { messages, plainBytes } = countFrames(frames)
    if (message.length > 0) messages++
    for (const [i, part] of message.map(fixedView).entries()) {
      builder.append(frameHead(part, i < message.length - 1 ? MORE : 0))
      appendBody(builder, part, true)
      plainBytes += part.length
    }
    return builder.end({
      messages,
      plainBytes,
      wireBytes: plainBytes,
      dictionary: undefined,
      packing: "frames",
      formFlag,
    })
  } catch (error) {
    builder.abandon()
    throw error
  }
}

/** Appends a body: by reference if it is large and its memory stays as it is, otherwise as a copy. */
export function appendBody(builder: ChunkBuilder, part: Uint8Array, stays: boolean): void {
  if (stays && part.length >= REFERRED_MIN_BYTES) builder.refer(part)
  else builder.append(part)
}

/** Returns the parts of a chunk of one message in frames. Those of references stay where they are. */
export function partsOf({ bytes, references }: Chunk): Uint8Array[] {
  const parts: Uint8Array[] = []
  const head = new FrameHead()
  let next = 0
  for (let at = 0; at < bytes.length; ) {
    const start = head.read(bytes, at)
    const reference = references[next]
    if (reference?.at === start) {
      parts.push(reference.part)
      next++
      at = start
    } else {
      at = start + head.bodyBytes
      parts.push(bytes.subarray(start, at))
    }
  }
  return parts
}

/** Returns the head of a part's frame. */
export function frameHead(part: Uint8Array, more: number): Uint8Array {
  const head = new Uint8Array(frameHeadLength(part.length))
  writeFrameHead(head, 0, more, part.length)
  return head
}
