/** The limit of open files, which is also one of connections. Linux. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"

/**
 * Returns the number of files that a process may open, and the command prefix that raises it to `wanted`
 * if that is necessary and possible.
 * @param {number} wanted @returns {{ files: number, within: string[] }}
 */
export function openFiles(wanted) {
  const limits = readFileSync("/proc/self/limits", "utf8")
  const allowed = Number(/^Max open files\s+\d+\s+(\d+)/m.exec(limits)?.[1] ?? 0)
  if (allowed >= wanted) return { files: allowed, within: [] }
  const raised = ["prlimit", `--nofile=${wanted}:${wanted}`]
  try {
    execFileSync(raised[0], [raised[1], "true"], { stdio: "ignore" })
    return { files: wanted, within: raised }
  } catch {
    return { files: allowed, within: [] }
  }
}
