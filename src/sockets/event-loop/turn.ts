import { setImmediate } from "../../base/runtime.js"

/** Waits for a turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
