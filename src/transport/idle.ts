import { performance } from "node:perf_hooks"

/** Returns how long the event loop of this thread has waited for I/O in all, in milliseconds; 0 where the runtime does not tell. */
export function idleTimeMs(): number {
  return performance.nodeTiming?.idleTime ?? 0
}
