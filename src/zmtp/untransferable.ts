/** Memory that messages share, which must not be transferred to another thread: that empties it. */
import { markAsUntransferable } from "node:worker_threads"

/** Whether transfers can be refused. Not in Deno: there each part has an ArrayBuffer of its own. */
export const canShareMemory: boolean = isMarked(new ArrayBuffer(0))

/** Makes any attempt to transfer `memory` throw, as Node does for the pool of small Buffers. */
export function markUntransferable(memory: ArrayBufferLike): void {
  markAsUntransferable(memory)
}

function isMarked(memory: ArrayBuffer): boolean {
  try {
    markAsUntransferable(memory)
    return true
  } catch {
    return false
  }
}

/** Allocates memory that nothing else is in: the receiver of a body may transfer it. */
export const ownMemory = (bytes: number): Buffer => Buffer.allocUnsafeSlow(bytes)
