import { descriptorsLeft } from "./descriptors.js"

/** Connections that libzmq is asked to accept at once, by all threads together. */
const PENDING_MAX = 16

/** Descriptors kept for them and some more, as libzmq aborts when it has none to accept with. */
const DESCRIPTORS_SPARE = 2 * PENDING_MAX

/** A count that the threads of a process share. */
export type Pending = Int32Array<SharedArrayBuffer>

let pending: Pending = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

/** What the other threads are to share. */
export function sharedPending(): Pending {
  return pending
}

export function sharePending(shared: Pending): void {
  pending = shared
}

/** Whether a connection of a peer can be kept, for which libzmq will have to accept another. */
export function hasRoom(): boolean {
  return descriptorsLeft(DESCRIPTORS_SPARE)
}

/**
 * Asks for libzmq to accept one connection more. "granted" is to be ended by `settle`;
 * it is "later" while libzmq has enough to accept, and "refused" for lack of descriptors.
 */
export function admit(): "granted" | "later" | "refused" {
  if (Atomics.add(pending, 0, 1) >= PENDING_MAX) {
    settle()
    return "later"
  }
  if (hasRoom()) return "granted"
  settle()
  return "refused"
}

/** libzmq has accepted a connection, or that has failed. */
export function settle(): void {
  Atomics.sub(pending, 0, 1)
}
