/** The bytes of chunks. */
import type { Chunk } from "../../src/codec/chunk.js"
import { concat } from "./wire.js"

/** Returns a copy of the bytes that a chunk is on the wire, with the parts that it refers to. */
export function bytesOfChunk({ arrays }: Chunk): Uint8Array {
  return concat(...arrays)
}
