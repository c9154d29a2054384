/** Below this size, V8's own set() is faster. */
const NATIVE_MIN_BYTES = 2048

type Fill = (this: Uint8Array, bytes: Uint8Array, start: number, end: number) => unknown

// Deno's own fill() copies byte by byte.
const fill: Fill | undefined =
  "Deno" in globalThis ? undefined : (globalThis.Buffer?.prototype.fill as Fill | undefined)

/**
 * Copies `bytes` to `target` from `at` on. Either array may be in memory that threads share: V8 copies
 * such memory word by word, and Node's fill() in the processor's fastest way.
 */
export function copyShared(target: Uint8Array, at: number, bytes: Uint8Array): void {
  if (fill === undefined || bytes.length < NATIVE_MIN_BYTES) target.set(bytes, at)
  else fill.call(target, bytes, at, at + bytes.length)
}
