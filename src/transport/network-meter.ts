/** Measures the networks of connections. */
import { performance } from "node:perf_hooks"
import { clockMs } from "../base/runtime.js"
import { Average } from "./average.js"

/** The share of time that a connection waits if the network is its limit. */
const WAITING = 0.1
/** Milliseconds without a wait after which the speed of the network is raised in each window. */
const FREE_MS = 1000
/** The factor by which it is raised. */
const FASTER = 4
/**
 * The speed is also raised once the network has taken this many times the bytes that the system has
 * room for.
 */
const AHEAD = 1.5
/** Bytes per millisecond from which on the speed counts as unlimited. */
const FASTEST = 1e7
/**
 * The room in all buffers, as a multiple of the measured room: a drain is reported when a third of the
 * system's send buffer is free, and the receiver has a buffer too.
 */
const SLACK = 4
/** Minimum milliseconds between two drains that measure the speed: some are reported at once. */
const DRAINED_MS = 10

/** A clock, in milliseconds. */
export interface Clock {
  now(): number
  /** Milliseconds that the thread has been at work. */
  activeMs(): number
}

/** The clock of this thread. */
export const clock: Clock = {
  now: clockMs,
  activeMs: () => performance.eventLoopUtilization().active,
}

/** The sums of all measured connections of a thread. */
export class Load {
  plainBytes = 0
  encodeMs = 0
  writeMs = 0
}

/** The load of this thread. */
export const load: Load = new Load()

/** The bytes written to a connection, and its waits, during a window. */
export interface Written {
  plainBytes: number
  wireBytes: number
  writeMs: number
  blockedMs: number
}

/** Measures the bytes that the network takes from a connection. */
export class NetworkMeter {
  /** Notified when the effort for this connection changes. */
  sender: { effortChanged(): void } | undefined
  readonly #clock: Clock
  readonly #load: Load
  plainBytes = 0
  wireBytes = 0
  writeMs = 0
  readonly #speed = new Average()
  /** Milliseconds of waits for the network, and the start of the current wait. */
  #blockedMs = 0
  #blockedAt: number | undefined
  #drainedAt: number | undefined
  #drainedBytes = 0
  #drainedBlockedMs = 0
  /** Bytes that the system accepts after a drain beyond those that the network takes. */
  readonly #room = new Average()
  #freeMs = 0
  #isFree = false
  /** The totals at the start of the current window. */
  #begun: Written = { plainBytes: 0, wireBytes: 0, writeMs: 0, blockedMs: 0 }

  constructor(theClock: Clock = clock, theLoad: Load = load) {
    this.#clock = theClock
    this.#load = theLoad
  }

  /** The speed of the network in bytes per millisecond; Infinity if it is not known to be the limit. */
  get speed(): number {
    return this.#speed.value ?? Number.POSITIVE_INFINITY
  }

  /** Records a write that began at `begunAt`, and whether the network had no room for all of it. */
  wrote(plainBytes: number, wireBytes: number, begunAt: number, isBlocked: boolean): void {
    const now = this.#clock.now()
    this.plainBytes += plainBytes
    this.wireBytes += wireBytes
    this.writeMs += now - begunAt
    this.#load.writeMs += now - begunAt
    if (!isBlocked || this.#blockedAt !== undefined) return
    this.#blockedAt = now
    // With a guess at the speed, what the network has taken since is not known.
    if (this.#drainedAt !== undefined && !this.#speed.isGuess) this.#room.add(this.#excess(now))
  }

  /** Returns the bytes written since the last drain that the network cannot have taken. */
  #excess(now: number): number {
    if (this.#drainedAt === undefined) return 0
    const taken = (this.#speed.value ?? 0) * (now - this.#drainedAt)
    return Math.max(0, this.wireBytes - this.#drainedBytes - taken)
  }

  /** Returns whether the network has taken more without a wait than its measured speed allows. */
  isAhead(now: number): boolean {
    return this.#blockedAt === undefined && this.#excess(now) > AHEAD * (this.#room.value ?? 0)
  }

  /** Bytes that can be written before the network or the receiver is the limit again. */
  get buffered(): number {
    return SLACK * (this.#room.value ?? 0)
  }

  /** Records that the network has taken all that was written. */
  drained(): void {
    if (this.#blockedAt === undefined) return
    const now = this.#clock.now()
    const blockedMs = this.#blockedUntil(now)
    if (this.#drainedAt !== undefined && now - this.#drainedAt < DRAINED_MS) {
      this.#blockedMs = blockedMs
      this.#blockedAt = undefined
      return
    }
    // Between two drains the network was busy throughout, unless there was a pause.
    if (this.#drainedAt !== undefined && now > this.#drainedAt) {
      const ms = now - this.#drainedAt
      const speed = (this.wireBytes - this.#drainedBytes) / ms
      const hasWaited = blockedMs - this.#drainedBlockedMs >= WAITING * ms
      if (hasWaited || speed > this.speed) this.#speed.add(speed)
    }
    this.#blockedMs = blockedMs
    this.#blockedAt = undefined
    this.#drainedAt = now
    this.#drainedBytes = this.wireBytes
    this.#drainedBlockedMs = blockedMs
  }

  #blockedUntil(now: number): number {
    return this.#blockedMs + (this.#blockedAt === undefined ? 0 : now - this.#blockedAt)
  }

  /** Plaintext written before the window, in bytes. */
  get begunBytes(): number {
    return this.#begun.plainBytes
  }

  /** Begins a window. */
  begin(now: number): void {
    const { plainBytes, wireBytes, writeMs } = this
    this.#begun = { plainBytes, wireBytes, writeMs, blockedMs: this.#blockedUntil(now) }
  }

  /** Returns the measurements of the window that ends now. */
  since(now: number): Written {
    const begun = this.#begun
    return {
      plainBytes: this.plainBytes - begun.plainBytes,
      wireBytes: this.wireBytes - begun.wireBytes,
      writeMs: this.writeMs - begun.writeMs,
      blockedMs: this.#blockedUntil(now) - begun.blockedMs,
    }
  }

  /** Records the end of a busy window. */
  passed(now: number, ms: number, blockedMs: number): void {
    this.#freeMs = blockedMs > 0 ? 0 : this.#freeMs + ms
    this.#isFree =
      this.#freeMs > 0 && (this.#isFree || this.#freeMs >= FREE_MS || this.isAhead(now))
    if (!this.#isFree) return
    const speed = this.speed * FASTER
    this.#speed.guess(speed < FASTEST ? speed : undefined)
  }
}
