import { Chunk, type Packing, type Slab } from "../codec/chunk.js"
import { countFrames, framesLength, writeFrames } from "../codec/frames.js"
import { copyShared } from "../codec/shared-copy.js"
import type { Encoder } from "../transport/transport.js"
import { allocateShared, SharedSlabs } from "./shared-slabs.js"

const NO_PARTS: readonly Uint8Array[] = []

/** Puts messages into shared memory, as plain frames: the thread of their connection encodes them. */
class Framer implements Encoder {
  readonly slabs: SharedSlabs = new SharedSlabs()
  /** The thread of the connection says what goes plain. */
  plainBelow(): number {
    return 0
  }

  encode(frames: Uint8Array, message: readonly Uint8Array[] = NO_PARTS): Chunk {
    const open = message.length === 0 ? this.slabs.of(frames) : undefined
    if (open) {
      open.live++
      return newChunk(frames, countFrames(frames).messages, open, frames.byteOffset)
    }
    const bytes = frames.length + framesLength(message)
    const slab = this.slabs.withRoom(bytes)
    const start = slab?.used ?? 0
    const memory = slab?.bytes ?? allocateShared(bytes)
    copyShared(memory, start, frames)
    writeFrames(memory, start + frames.length, message)
    if (slab) {
      slab.used += bytes
      slab.live++
    }
    const messages = countFrames(frames).messages + (message.length > 0 ? 1 : 0)
    return newChunk(memory.subarray(start, start + bytes), messages, slab, start)
  }

  /** The thread of the connection packs them. */
  packingFor(): Packing {
    return "frames"
  }

  repack(chunk: Chunk): Chunk {
    return chunk
  }

  /** Chunks have plain frames. The other thread sees their memory, which is not used again. */
  plainFrames(chunk: Chunk): Uint8Array {
    return chunk.bytes
  }

  share(): void {}

  close(): void {}

  /** A chunk that had to wait in memory of its own, in memory that threads see. */
  again(chunk: Chunk): Chunk {
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
  // Bytes are counted where they are encoded.
  const content = {
    messages,
    plainBytes: 0,
    wireBytes: 0,
    shipsDictionary: false,
    needsDictionary: false,
    packing: "frames" as const,
  }
  return new Chunk(bytes, content, slab, start)
}

/** One for all: a message that goes to several threads is framed once. */
export const framer: Framer = new Framer()
