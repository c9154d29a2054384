import { performance } from "node:perf_hooks"

/**
 * Returns the total milliseconds that the event loop of this thread has waited for I/O; 0 if the
 * runtime does not report it.
 */
export function idleTimeMs(): number {
  return performance.nodeTiming?.idleTime ?? 0
}
