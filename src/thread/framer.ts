import { BUFFER_MAX_BYTES } from "../base/buffer-max.js"
import { copyShared } from "../base/copy-shared.js"
import { fixedView } from "../base/fixed-view.js"
import { isShared } from "../base/is-shared.js"
import { concat } from "../codec/arrays.js"
import { framesChunk } from "../codec/bare-frames.js"
import { Chunk, ChunkBuilder } from "../codec/chunk.js"
import { outOfMemory } from "../codec/errors.js"
import type { FormatName } from "../codec/format.js"
import {
  type AnyPart,
  bodyOf,
  FormedPart,
  hasForms,
  type KeptPart,
  withoutKept,
  writeParts,
} from "../codec/formed-part.js"
import { countFrames, framesLength } from "../codec/frames.js"
import type { Settings } from "../codec/options.js"
import type { Packing } from "../codec/packing.js"
import type { Slab } from "../codec/slabs.js"
import type { MessageEncoder, OpenMemory } from "../transport/transport.js"
import { type ConnectionThread, RemoteConnection } from "./remote-connection.js"
import { SharedSlabs } from "./shared-slabs.js"

/** The memory of all frames for other threads. */
export const slabs: SharedSlabs = new SharedSlabs()

const NO_FRAMES = new Uint8Array(0)
const NO_PARTS: readonly Uint8Array[] = []

/**
 * The encoder of remote connections: copies plain frames to shared memory, and leaves their encoding to
 * the worker. Large parts that have to wait are copied when their turn comes.
 */
class Framer implements MessageEncoder {
  readonly #formats: readonly FormatName[]
  readonly dictionaryFrame: undefined
  /** The worker packs the messages as their peer reads them. */
  readonly packing: Packing = "frames"
  readonly #builder = new ChunkBuilder()

  /** @param formats those of its endpoints. */
  constructor(...formats: FormatName[]) {
    this.#formats = formats
  }

  /** Always 0, because the worker decides which parts are sent plain. */
  plainBelow(): number {
    return 0
  }

  /** The worker decides what its connection is sent, but it knows only the formats of its endpoint. */
  forwards({ format }: KeptPart): boolean {
    return this.#formats.includes(format)
  }

  encode(frames: Uint8Array, message: readonly AnyPart[] = NO_PARTS): Chunk {
    const open = message.length === 0 ? slabs.of(frames) : undefined
    if (open) {
      open.live++
      return newChunk(frames, countFrames(frames).messages, open, frames.byteOffset)
    }
    const isFormed = hasForms(message)
    const parts = message.map((part) => (part instanceof FormedPart ? part : fixedView(part)))
    const bytes = frames.length + framesLength(parts.map(bodyOf))
    const slab = this.#slabFor(bytes)
    const start = slab.used
    copyShared(slab.bytes, start, frames)
    writeParts(slab.bytes, start + frames.length, parts)
    const messages = countFrames(frames).messages + (message.length > 0 ? 1 : 0)
    return chunkOf(slab, bytes, messages, isFormed)
  }

  #slabFor(bytes: number): Slab {
    return slabs.withRoom(bytes) ?? slabs.ofAtLeast(bytes)
  }

  /**
   * Returns a message that has to wait. Its large parts are only copied in `repack()`.
   *
   * @throws RangeError if there can never be memory for that.
   */
  frame(message: readonly Uint8Array[]): Chunk {
    const bytes = framesLength(message)
    if (bytes > BUFFER_MAX_BYTES) throw outOfMemory("a message", bytes)
    return framesChunk(this.#builder, NO_FRAMES, message)
  }

  openMemory(connections: readonly object[]): OpenMemory | undefined {
    const numbers: number[] = []
    let thread: ConnectionThread | undefined
    for (const one of connections) {
      if (!(one instanceof RemoteConnection)) return undefined
      const { earlyThread } = one
      thread ??= earlyThread
      if (earlyThread === undefined || earlyThread !== thread) return undefined
      numbers.push(one.number)
    }
    return thread?.openBatch(numbers)
  }

  /** Whether the other thread sees the chunk. One that had to wait may be in memory of its own. */
  accepts(chunk: Chunk): boolean {
    return chunk.references.length === 0 && isShared(chunk.bytes.buffer)
  }

  /** Copies a chunk to shared memory. No part is detached. */
  repack(chunk: Chunk): Chunk {
    const { length, messages, hasForms } = chunk
    const slab = this.#slabFor(length)
    let at = slab.used
    for (const piece of chunk.arrays) {
      copyShared(slab.bytes, at, piece)
      at += piece.length
    }
    const copied = chunkOf(slab, length, messages, hasForms)
    chunk.release()
    return copied
  }

  /** Returns the frames, without a copy if no part is elsewhere: the memory is shared and not reused. */
  plainFrames(chunk: Chunk): Uint8Array {
    if (chunk.hasForms) return withoutKept(chunk.bytes)
    return chunk.references.length > 0 ? concat(chunk.arrays) : chunk.bytes
  }

  share(): void {}

  close(): void {}
}

/** Returns a chunk of the next bytes of a slab. */
function chunkOf(slab: Slab, length: number, messages: number, hasForms = false): Chunk {
  const start = slab.used
  slab.used += length
  slab.live++
  return newChunk(slab.bytes.subarray(start, slab.used), messages, slab, start, hasForms)
}

function newChunk(
  bytes: Uint8Array,
  messages: number,
  slab: Slab,
  start: number,
  hasForms = false,
): Chunk {
  // The worker counts bytes when it encodes them.
  const content = {
    messages,
    plainBytes: 0,
    wireBytes: 0,
    dictionary: undefined,
    packing: "frames" as const,
    hasForms,
  }
  return new Chunk(bytes, content, slab, start)
}

/** For each set of formats the only instance, so that a message to several threads is framed once. */
const framers = {
  lz4: new Framer("lz4"),
  zstd: new Framer("zstd"),
  both: new Framer("lz4", "zstd"),
}

export const framerFor = ({ format, other }: Pick<Settings, "format" | "other">): Framer =>
  other ? framers.both : framers[format]
