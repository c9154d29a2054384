/**
 * In unit tests, this stands in for src/base/runtime.ts. It looks up each function when it is called, so
 * that a test can replace the clock of the code that it tests.
 */
type Any = (...args: unknown[]) => unknown

const named =
  (name: string): Any =>
  (...args) =>
    (globalThis as unknown as Record<string, Any>)[name]?.(...args)

export const setTimeout: Any = named("setTimeout")
export const clearTimeout: Any = named("clearTimeout")
export const setInterval: Any = named("setInterval")
export const clearInterval: Any = named("clearInterval")
export const setImmediate: Any = named("setImmediate")
export const clearImmediate: Any = named("clearImmediate")
export const queueMicrotask: Any = named("queueMicrotask")
export const nextTick = (callback: Any, ...args: unknown[]): void =>
  process.nextTick(callback, ...args)

export const { hrtime } = process
export const clockMs = (): number => performance.now()
