/** Throws an error as one that nobody caught, once what is being done is done. */
export function throwLater(error: unknown): void {
  process.nextTick(() => {
    throw error
  })
}
