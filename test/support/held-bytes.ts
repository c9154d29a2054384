/** Memory of array buffers that is in use, without garbage, which is collected some time later. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const gc = runInNewContext("gc") as () => void

/** Returns the bytes of all array buffers in use. Those referenced weakly still count. */
export function heldBytes(): number {
  // A collection frees in another thread, and the next one waits for it.
  for (let i = 0; i < 3; i++) gc()
  return process.memoryUsage().arrayBuffers
}

/** Does the same after turns of the event loop, in which weak references are released. */
export async function strictlyHeldBytes(): Promise<number> {
  for (let i = 0; i < 5; i++) {
    gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return heldBytes()
}
