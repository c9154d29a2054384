/** The bytes of chunks. */
import type { Chunk } from "../../src/codec/chunk.js"

/** Returns a copy of the bytes that a chunk is on the wire, with the parts that it refers to. */
export function bytesOfChunk({ pieces }: Chunk): Uint8Array {
  return Uint8Array.from(
    Buffer.concat(pieces.map((piece) => ("part" in piece ? piece.part : piece))),
  )
}
