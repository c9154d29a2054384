import { throwLater } from "../transport/throw-later.js"

/** What has messages that leave when the current burst of the program ends. */
export interface Flushable {
  flush(): void
}

let waiting: Flushable[] = []

/** Flushes when the current burst ends; to be asked for once. */
export function flushSoon(flushable: Flushable): void {
  if (waiting.push(flushable) === 1) process.nextTick(flushAll)
}

function flushAll(): void {
  const flushables = waiting
  waiting = []
  for (let i = 0; i < flushables.length; i++) {
    try {
      ;(flushables[i] as Flushable).flush()
    } catch (error) {
      // Those behind it are flushed all the same.
      throwLater(error)
    }
  }
}
