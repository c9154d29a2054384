/** A way around a hang of Node 20 at the end of a process. */
import { hrtime } from "../../codec/runtime.js"

/** Nanoseconds of JavaScript that a process of Node 20 runs at its end. */
const SETTLING_NS = 20_000_000n

export const mustSettle: boolean = process.version?.startsWith("v20.") === true

/**
 * Lets V8 collect garbage if a compiler thread waits for it: Node 20 joins that thread next, and the
 * process would never end (nodejs/node#54918). A loop gives V8 the opportunity in each iteration.
 */
export function settle(): void {
  const endNs = hrtime.bigint() + SETTLING_NS
  while (hrtime.bigint() < endNs);
}
