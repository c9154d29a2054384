/** Arenas of more parts than bytes, of which LZ4 makes thousands out of a few. */
import { Codec } from "zeromq-lz4/codec"
import { createRandom } from "../../bench/random.mjs"
import { concat, joined, SENTINELS } from "./wire.js"
import { frame, MORE } from "./zmtp.js"

export const PACKED_PARTS = 1500
/** A part that does not compress: a receiver accepts more parts the longer an arena is. */
export const NOISE: Uint8Array = createRandom("packed arenas").bytes(200)

const u32 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value, true)
  return bytes
}

/** Returns an arena with one message: NOISE, and then the same content again and again. */
export function packedArena(content: Uint8Array = new Uint8Array(0)): Uint8Array {
  const rest = Buffer.alloc((PACKED_PARTS - 2) * (2 + content.length), frame(content, MORE))
  return arenaOf(1, joined([frame(NOISE, MORE), rest, frame(content)]))
}

/** Returns an arena with two messages like that. */
export function packedPair(content: Uint8Array = new Uint8Array(0)): Uint8Array {
  const half = Buffer.alloc((PACKED_PARTS / 2 - 2) * (2 + content.length), frame(content, MORE))
  const one = [frame(NOISE, MORE), half, frame(content)]
  return arenaOf(2, joined([...one, ...one]))
}

function arenaOf(messages: number, frames: Uint8Array): Uint8Array {
  using codec = Codec.createSync()
  // After the sentinel and the size of an LZ4B.
  const block = codec.encodePart(frames).subarray(12)
  return concat(SENTINELS.LZ4A, u32(1), u32(frames.length), u32(messages), block)
}
