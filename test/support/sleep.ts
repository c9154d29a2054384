import { setTimeout } from "node:timers/promises"

const STEP_MS = 10

/**
 * Waits for a number of milliseconds, or longer on a busy machine: a late timer shows that whatever
 * the test waits for is late as well, so it counts only as a step.
 */
export async function sleep(ms: number): Promise<void>
export async function sleep<T>(ms: number, value: T): Promise<T>
export async function sleep<T>(ms: number, value?: T): Promise<T | undefined> {
  let remaining = ms
  do {
    await setTimeout(Math.min(STEP_MS, remaining))
    remaining -= STEP_MS
  } while (remaining > 0)
  return value
}
