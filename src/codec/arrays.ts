import { outOfMemory } from "./errors.js"

// Node's Buffer, if there is one. A separate ArrayBuffer costs V8 about a microsecond, more than
// encoding a small part takes. Node hands out slices of a pool instead, and forbids transferring
// the pool to another thread. Browsers cannot forbid that, so there each array has its own buffer.
// Node can also skip clearing large arrays that are about to be filled.
const node = globalThis.Buffer
/** V8 keeps arrays of up to this many bytes on its own heap, which is faster still. */
const ON_HEAP_MAX_BYTES = 64
const POOLED_MAX_BYTES = 4095

/** Returns a new array for the caller to fill and keep. Its content is undefined. */
export function allocate(bytes: number): Uint8Array {
  try {
    if (!node || bytes <= ON_HEAP_MAX_BYTES) return new Uint8Array(bytes)
    const { buffer, byteOffset } =
      bytes <= POOLED_MAX_BYTES ? node.allocUnsafe(bytes) : node.allocUnsafeSlow(bytes)
    return new Uint8Array(buffer, byteOffset, bytes)
  } catch {
    throw outOfMemory("a part", bytes)
  }
}

/** Returns a copy of bytes `from` to `to`: always a plain Uint8Array, never a view. */
export function copy(bytes: Uint8Array, from: number, to: number): Uint8Array {
  const copied = allocate(to - from)
  copied.set(bytes.subarray(from, to))
  return copied
}

export function concat(pieces: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const piece of pieces) length += piece.length
  const whole = allocate(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
