import { descriptorsLeft } from "./descriptors.js"

/** Connections that libzmq is asked to accept at once, by all threads of links together. */
const PENDING_MAX = 16

/** Descriptors kept for them and some more, as libzmq aborts when it has none to accept with. */
const DESCRIPTORS_SPARE = 2 * PENDING_MAX

/** How many connections libzmq has yet to accept: for all threads, and for one. In shared memory. */
export interface Pending {
  all: Int32Array
  own: Int32Array
}

const counter = () => new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

let pending: Pending = { all: counter(), own: counter() }

/** For a thread that is to count with this one. */
export function pendingElsewhere(): Pending {
  return { all: pending.all, own: counter() }
}

/** Counts there from now on. */
export function countIn(given: Pending): void {
  pending = given
}

/** A thread is gone, and will settle nothing any more. */
export function writeOff({ all, own }: Pending): void {
  Atomics.sub(all, 0, Atomics.load(own, 0))
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
  if (count(1) > PENDING_MAX) {
    count(-1)
    return "later"
  }
  // Looked at by those whose turn it is: with many waiting, it would keep the thread busy.
  if (hasRoom()) return "granted"
  count(-1)
  return "refused"
}

/** libzmq has accepted a connection, or that has failed. */
export function settle(): void {
  count(-1)
}

/** Returns how many there are then, of all threads. The thread may end at any moment. */
function count(change: 1 | -1): number {
  Atomics.add(pending.own, 0, change)
  return Atomics.add(pending.all, 0, change) + change
}
