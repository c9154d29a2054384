import { copyShared } from "../base/copy-shared.js"
import { CIPHER_BYTES } from "../base/limits.js"
import { copy } from "../codec/arrays.js"
import { type Chunk, ChunkBuilder, type Content } from "../codec/chunk.js"
import { FrameHead } from "../codec/frames.js"
import { INPUT, OUTPUT } from "../codec/instance.js"
import { uint64 } from "../codec/wire.js"
import { Cipher, PREFIX_MAX_BYTES, ROOM_BYTES, type SealedDirection } from "./cipher.js"
import type { Curve } from "./curve.js"

const MAC_BYTES = 16

const builder = new ChunkBuilder()
/** The content of a chunk of frames that are no messages. */
const NO_MESSAGES: Content = {
  messages: 0,
  plainBytes: 0,
  wireBytes: 0,
  dictionary: undefined,
  packing: "frames",
}

/** Seals the messages that a connection sends: plain ZMTP frames to MESSAGE commands (RFC 26). */
export class Sealer {
  readonly #cipher: Cipher
  readonly #head = new FrameHead()

  constructor(curve: Curve, direction: SealedDirection) {
    this.#cipher = new Cipher(curve, direction)
  }

  /** Wipes the key. Nothing can be sealed after that. */
  close(): void {
    this.#cipher.close()
  }

  /** Does the same as `sealed` for frames in one array. Returns an array that belongs to the caller. */
  seal(frames: Uint8Array): Uint8Array {
    const chunk = this.sealed([frames], NO_MESSAGES)
    const sealed = copy(chunk.bytes, 0, chunk.bytes.length)
    chunk.release()
    return sealed
  }

  /**
   * Seals whole frames, each as a MESSAGE of its own. `pieces` are arrays that contain them one after
   * another.
   *
   * @throws Error if the counters are used up; the connection has to end then.
   */
  sealed(pieces: readonly Uint8Array[], content: Content): Chunk {
    builder.begin()
    try {
      this.#append(pieces)
    } catch (error) {
      builder.abandon()
      throw error
    }
    return builder.end(content)
  }

  #append(pieces: readonly Uint8Array[]): void {
    const instance = this.#cipher.instance
    let left = 0
    for (const piece of pieces) left += piece.length
    for (let from = 0; left > 0; ) {
      const length = Math.min(left, CIPHER_BYTES)
      const source = instance.scratch(INPUT, CIPHER_BYTES)
      const target = instance.scratch(OUTPUT, ROOM_BYTES)
      gather(pieces, from, instance.view(source, length))
      const { pointer } = this.#cipher
      check(
        instance.exports.zl_seal(pointer, source, length, target, ROOM_BYTES, instance.crossing),
      )
      const { read, written } = instance.crossed()
      if (written > 0) builder.append(instance.view(target, written))
      const sealed = read > 0 ? read : this.#appendLarge(pieces, from)
      from += sealed
      left -= sealed
    }
  }

  /** Seals a frame that the module has no room for, whose head is in INPUT. Returns its length. */
  #appendLarge(pieces: readonly Uint8Array[], from: number): number {
    const instance = this.#cipher.instance
    const { exports } = instance
    const head = this.#head
    const source = instance.scratch(INPUT, CIPHER_BYTES)
    const target = instance.scratch(OUTPUT, PREFIX_MAX_BYTES)
    const start = head.read(instance.view(source, CIPHER_BYTES), 0)
    const end = start + head.bodyBytes
    const [low, high] = uint64(head.bodyBytes)
    // Before the box is begun: without memory, it would not be ended, and keep the key.
    const slab = builder.reserve(PREFIX_MAX_BYTES + head.bodyBytes)
    const prefix = check(exports.zl_seal_begin(this.#cipher.pointer, head.flags, low, high, target))
    const sealed = slab.bytes
    let at = slab.used
    sealed.set(instance.view(target, prefix), at)
    at += prefix
    const mac = at - 1 - MAC_BYTES
    for (let piece = start; piece < end; piece += CIPHER_BYTES) {
      const length = Math.min(end - piece, CIPHER_BYTES)
      gather(pieces, from + piece, instance.view(source, length))
      exports.zl_seal_piece(source, length)
      sealed.set(instance.view(source, length), at)
      at += length
    }
    exports.zl_seal_end(target)
    sealed.set(instance.view(target, MAC_BYTES), mac)
    slab.used = at
    return end
  }
}

/** Copies what the pieces contain from `from` on, one after another, until `target` is full. */
function gather(pieces: readonly Uint8Array[], from: number, target: Uint8Array): void {
  let skipped = from
  let filled = 0
  for (const piece of pieces) {
    const wanted = target.length - filled
    if (wanted === 0) return
    if (skipped >= piece.length) {
      skipped -= piece.length
      continue
    }
    const isWhole = skipped === 0 && piece.length <= wanted
    const bytes = isWhole ? piece : piece.subarray(skipped, skipped + wanted)
    copyShared(target, filled, bytes)
    filled += bytes.length
    skipped = 0
  }
}

function check(status: number): number {
  if (status < 0) throw new Error("CURVE: this connection has sent all messages that it can")
  return status
}
