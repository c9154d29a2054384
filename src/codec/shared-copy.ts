/** Shorter ones are copied faster by V8. */
const NATIVE_MIN_BYTES = 2048

type Fill = (this: Uint8Array, bytes: Uint8Array, start: number, end: number) => unknown

// Deno's own goes byte by byte.
const fill: Fill | undefined =
  "Deno" in globalThis ? undefined : (globalThis.Buffer?.prototype.fill as Fill | undefined)

/**
 * Copies bytes to `at`, where one of the two may lie in memory that threads share: V8 copies that
 * word by word, and fill() of Node as the processor does it best.
 */
export function copyShared(target: Uint8Array, at: number, bytes: Uint8Array): void {
  if (fill === undefined || bytes.length < NATIVE_MIN_BYTES) target.set(bytes, at)
  else fill.call(target, bytes, at, at + bytes.length)
}
