import { Chunk, type Packing } from "../codec/chunk.js"
import { fixedView } from "../codec/fixed-view.js"
import { countFrames, framesLength, writeFrames } from "../codec/frames.js"
import { copyShared } from "../codec/shared-copy.js"
import type { Slab } from "../codec/slabs.js"
import type { MessageEncoder } from "../transport/transport.js"
import { allocateShared, SharedSlabs } from "./shared-slabs.js"

const NO_PARTS: readonly Uint8Array[] = []

/**
 * The encoder of remote connections: writes messages as plain frames to shared memory, and leaves
 * their encoding to the worker.
 */
class Framer implements MessageEncoder {
  readonly slabs: SharedSlabs = new SharedSlabs()
  readonly dictionaryFrame: undefined
  /** The worker packs the messages as their peer reads them. */
  readonly packing: Packing = "frames"

  /** Always 0, because the worker decides which parts are sent plain. */
  plainBelow(): number {
    return 0
  }

  encode(frames: Uint8Array, message: readonly Uint8Array[] = NO_PARTS): Chunk {
    const open = message.length === 0 ? this.slabs.of(frames) : undefined
    if (open) {
      open.live++
      return newChunk(frames, countFrames(frames).messages, open, frames.byteOffset)
    }
    const parts = message.map(fixedView)
    const bytes = frames.length + framesLength(parts)
    const slab = this.slabs.withRoom(bytes)
    const start = slab?.used ?? 0
    const memory = slab?.bytes ?? allocateShared(bytes)
    copyShared(memory, start, frames)
    writeFrames(memory, start + frames.length, parts)
    if (slab) {
      slab.used += bytes
      slab.live++
    }
    const messages = countFrames(frames).messages + (message.length > 0 ? 1 : 0)
    return newChunk(memory.subarray(start, start + bytes), messages, slab, start)
  }

  repack(chunk: Chunk): Chunk {
    return chunk
  }

  /** Returns the frames without a copy: the other thread sees the memory, which is not reused. */
  plainFrames(chunk: Chunk): Uint8Array {
    return chunk.bytes
  }

  share(): void {}

  close(): void {}

  /** Copies a chunk, which was copied out of its slab while it was queued, back to shared memory. */
  toShared(chunk: Chunk): Chunk {
    const copied = this.encode(chunk.bytes)
    chunk.release()
    return copied
  }
}

function newChunk(
  bytes: Uint8Array,
  messages: number,
  slab: Slab | undefined,
  start: number,
): Chunk {
  // The worker counts bytes when it encodes them.
  const content = {
    messages,
    plainBytes: 0,
    wireBytes: 0,
    dictionary: undefined,
    packing: "frames" as const,
  }
  return new Chunk(bytes, content, slab, start)
}

/** The only instance, so that a message to several threads is framed once. */
export const framer: Framer = new Framer()
