/** Reads the resource usage of other processes on Linux. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"

/** Returns the CPU seconds of all threads of a process. @param {number} pid */
export function cpuSeconds(pid) {
  const tasks = `/proc/${pid}/task`
  const nanoseconds = (/** @type {string} */ task) => {
    try {
      return Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ", 1)[0])
    } catch {
      return 0 // the thread has just ended
    }
  }
  return readdirSync(tasks).reduce((sum, task) => sum + nanoseconds(task), 0) / 1e9
}

/** Resets the peak memory of a process. @param {number} pid */
export const resetPeakMemory = (pid) => writeFileSync(`/proc/${pid}/clear_refs`, "5")

/** Returns the peak resident bytes since the last reset. @param {number} pid */
export function peakMemory(pid) {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))
  if (!kib) throw new Error("/proc does not have the peak memory of the process")
  return Number(kib[1]) * 1024
}

/**
 * Measures the resources that processes use during `work`.
 * @template {Record<string, { pid: number }>} Processes
 * @template T
 * @param {Processes} processes @param {() => Promise<T>} work
 * @returns {Promise<{ result: T, used: Record<keyof Processes, { cpu: number, memory: number }> }>}
 */
export async function usage(processes, work) {
  const entries = Object.entries(processes)
  for (const [, { pid }] of entries) resetPeakMemory(pid)
  const before = entries.map(([, { pid }]) => cpuSeconds(pid))
  const result = await work()
  const used = entries.map(([name, { pid }], i) => [
    name,
    { cpu: cpuSeconds(pid) - before[i], memory: peakMemory(pid) },
  ])
  return { result, used: Object.fromEntries(used) }
}
