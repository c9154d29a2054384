import { type EventLoopUtilization, performance } from "node:perf_hooks"

/** From the fastest to the most thorough: accelerations of LZ4, then levels of LZ4HC. */
const EFFORTS = [4, 1, -3, -6, -9]
/** Where nothing is known yet, and where nothing is limited. */
const USUAL = EFFORTS.indexOf(1)
/** How long a choice is watched before the next, in milliseconds. */
const WINDOW_MS = 200

/** Shares of a window in which a connection waited for the network, and the event loop was busy. */
export interface Limits {
  waited: number
  busy: number
}

/**
 * The place among the efforts after `index`: up while the network makes the connection
 * wait and the event loop has time, down when the network keeps up or the event loop
 * does not. The first level of LZ4HC takes five times as long as LZ4, and
 * acceleration 1 up to twice as long as 4.
 */
export function nextEffort(index: number, { waited, busy }: Limits): number {
  if (busy > 0.9) return Math.max(index - 1, 0)
  if (index < USUAL) return busy < 0.5 ? USUAL : index
  if (waited < 0.1) return Math.max(index - 1, USUAL)
  if (waited > 0.5 && busy < 0.2) return Math.min(index + 1, EFFORTS.length - 1)
  return index
}

/** Chooses how hard a connection compresses by what limits it. */
export class AdaptiveLevel {
  /** As Settings has it. */
  effort: number = EFFORTS[USUAL] as number
  #index = USUAL
  #begunAt = performance.now()
  #utilization: EventLoopUtilization = performance.eventLoopUtilization()
  #waitedMs = 0
  #waitsSince = 0

  /** Takes note of a write, and whether the network had no room for all of it. */
  wrote(blocked: boolean): void {
    const now = performance.now()
    if (now - this.#begunAt >= WINDOW_MS) this.#choose(now)
    if (blocked) this.#waitsSince = now
  }

  /** Takes note that the network has room again. */
  drained(): void {
    this.#waitedMs += performance.now() - this.#waitsSince
  }

  #choose(now: number): void {
    const waited = this.#waitedMs / (now - this.#begunAt)
    const utilization = performance.eventLoopUtilization()
    const busy = performance.eventLoopUtilization(utilization, this.#utilization).utilization
    const index = nextEffort(this.#index, { waited, busy })
    this.effort = EFFORTS[index] as number
    this.#index = index
    this.#begunAt = now
    this.#utilization = utilization
    this.#waitedMs = 0
  }
}
