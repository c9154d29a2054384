/** How many files the process may still open. */
import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs"

/** Whether there are so many descriptors left. */
export function descriptorsLeft(count: number): boolean {
  const limit = numberIn("/proc/self/limits", /^Max open files +(\d+)/m)
  if (limit === undefined) return canOpen(count)
  const most = limit - count
  return (told() ?? counted(most)) <= most
}

/** How many are open, as Linux tells since 6.2. */
export function told(): number | undefined {
  return statSync("/proc/self/fd").size || undefined
}

/**
 * How many are open, counted; or how many there is room for, where that is no more than `enough`.
 * It takes long to count them where there are many.
 */
export function counted(enough: number): number {
  const slots = numberIn("/proc/self/status", /^FDSize:\s+(\d+)/m)
  if (slots !== undefined && slots <= enough) return slots
  return readdirSync("/proc/self/fd").length
}

/** Tries, where there is no such thing: that takes them from everybody else for a moment. */
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

/** What the first group of a pattern matches; undefined where the file or the number is not there. */
function numberIn(file: string, pattern: RegExp): number | undefined {
  try {
    const [, digits] = pattern.exec(readFileSync(file, "latin1")) ?? []
    return digits === undefined ? undefined : Number(digits)
  } catch {
    return undefined
  }
}
