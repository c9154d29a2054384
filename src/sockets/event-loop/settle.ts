/**
 * Ways around a hang of Node 20 (nodejs/node#54918). When a process ends, and each time its event loop
 * is empty, Node waits for V8's compiler threads. One of them may wait for a garbage collection, which
 * only JavaScript or the event loop can begin. Threads ask for one while the heap is small, if the
 * memory outside of it, such as Buffers, has grown by some 8 MB since the last full collection.
 */
import { hrtime } from "../../base/runtime.js"

/** Nanoseconds of JavaScript that a process of Node 20 runs at its end. */
const SETTLING_NS = 20_000_000n
/** Bytes by which memory outside the heap has to grow for a collection. */
const OUTSIDE_MIN = 2 ** 22
/** Bytes of the largest heap that V8 does not collect in steps, for which threads need not wait. */
const HEAP_MAX = 2 ** 25
/** More attempts than other threads spoil. */
const EXPOSING_TRIES_MAX = 10

export const mustSettle: boolean = process.version?.startsWith("v20.") === true

/** The fewest bytes outside the heap since the last collection. */
let outsideBytes = 0

/** Lets V8 collect garbage if a thread waits for that. V8 may do so in each iteration of a loop. */
export function settle(): void {
  const endNs = hrtime.bigint() + SETTLING_NS
  while (hrtime.bigint() < endNs);
}

/** Collects garbage if a thread might ask for it soon. After a full collection none does for long. */
export function collect(): void {
  const v8 = process.getBuiltinModule?.("node:v8") // not in all programs that embed Node
  if (!v8) return
  const { external_memory, used_heap_size } = v8.getHeapStatistics()
  outsideBytes = Math.min(outsideBytes, external_memory)
  if (external_memory - outsideBytes < OUTSIDE_MIN || used_heap_size > HEAP_MAX) return
  const collectNow = globalThis.gc ?? exposed(v8)
  collectNow?.()
  outsideBytes = v8.getHeapStatistics().external_memory
}

/** Returns V8's function that collects garbage. Node offers no other way to ask for it. */
function exposed(v8: typeof import("node:v8")): (() => void) | undefined {
  const { runInNewContext } = process.getBuiltinModule("node:vm")
  // The flag is that of the process: another thread may take it back before the context is made.
  for (let tries = 0; tries < EXPOSING_TRIES_MAX; tries++) {
    v8.setFlagsFromString("--expose-gc")
    const gc = runInNewContext("globalThis.gc")
    v8.setFlagsFromString("--no-expose-gc")
    if (gc) return gc
  }
  return undefined
}
