/** Throws an error as an uncaught exception, after the current operation. */
export function throwLater(error: unknown): void {
  process.nextTick(() => {
    throw error
  })
}
