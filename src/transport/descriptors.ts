/** How many files the process may still open. */
import { closeSync, openSync, readFileSync, statSync } from "node:fs"

/** Whether there are so many descriptors left. */
export function descriptorsLeft(count: number): boolean {
  const free = countFree()
  return free === undefined ? canOpen(count) : free >= count
}

/** As the system counts them, which Linux does since 6.2; undefined elsewhere. */
export function countFree(): number | undefined {
  try {
    const { size: open } = statSync("/proc/self/fd")
    const [, limit] =
      /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? []
    return open > 0 && limit !== undefined ? Number(limit) - open : undefined
  } catch {
    return undefined
  }
}

/** Tries, which takes them from everybody else for a moment. */
export function canOpen(count: number): boolean {
  const opened: number[] = []
  try {
    while (opened.length < count) opened.push(openSync("/dev/null", "r"))
    return true
  } catch {
    return false
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}
