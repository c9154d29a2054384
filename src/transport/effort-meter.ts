/** Measures connections, for the controllers of their compression efforts. */
import { performance } from "node:perf_hooks"
import { Average, EffortController } from "./effort-controller.js"

/** Minimum duration of a window in milliseconds, and minimum number of encodings in it. */
const WINDOW_MS = 30
const WINDOW_ENCODINGS = 4
const WINDOW_MAX_MS = 500
/** The share of time that a connection waits if the network is its limit. */
const WAITING = 0.1
/**
 * After this many milliseconds without a wait, the speed of the network is raised by this factor in
 * each window,
 */
const FREE_MS = 1000
const FASTER = 4
/** or as soon as the network has taken this many times the bytes that the system has room for, */
const AHEAD = 1.5
/** up to this many bytes per millisecond. */
const FASTEST = 1e7
/** A drain is reported when a third of the system's send buffer is free; the receiver has a buffer too. */
const SLACK = 4
/** Minimum milliseconds between two drains that measure the speed: some are reported at once. */
const DRAINED_MS = 10
/** A larger room is rare, and a faulty measurement. */
const ROOM_MAX_BYTES = 2 << 20

/** A clock, in milliseconds. */
export interface Clock {
  now(): number
  /** Milliseconds that the thread has been at work. */
  activeMs(): number
}

/** The clock of this thread. */
export const clock: Clock = {
  now: () => performance.now(),
  activeMs: () => performance.eventLoopUtilization().active,
}

/** The sums of all measured connections of a thread. */
export class Load {
  plainBytes = 0
  encodeMs = 0
  writeMs = 0
}

/** The load of this thread. */
const load = new Load()

/** The bytes written to a connection, and its waits, during a window. */
interface Written {
  plainBytes: number
  wireBytes: number
  writeMs: number
  blockedMs: number
}

/** Measures the bytes that the network takes from a connection. */
export class Link {
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
    if (this.#drainedAt !== undefined && !this.#speed.isGuess)
      this.#room.add(Math.min(this.#excess(now), ROOM_MAX_BYTES))
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

/** Chooses the effort of messages that are encoded for one or more connections. */
export class EffortMeter {
  readonly #clock: Clock
  readonly #load: Load
  readonly #controller: EffortController = new EffortController()
  /** The connections that are sent the same. */
  #links: readonly Link[]
  #encodingAt = 0
  /** Totals of the current window. */
  #begunAt = 0
  #encodings = 0
  #plainBytes = 0
  #activeMsThen = 0
  #loadThen = { plainBytes: 0, encodeMs: 0, writeMs: 0 }
  /** Plaintext encoded for the only connection but not yet written, in bytes. */
  #waitingBytes = 0
  /** Plaintext that was written but does not count yet, in bytes. */
  #advanceBytes = 0

  constructor(links: readonly Link[], theClock: Clock = clock, theLoad: Load = load) {
    this.#links = links
    this.#clock = theClock
    this.#load = theLoad
    this.#begin(theClock.now())
  }

  /** Whether a window begins, so that the set of connections may change. */
  get isBeginning(): boolean {
    return this.#encodings === 0
  }

  /** Whether the meter is for one connection. */
  get isAlone(): boolean {
    return this.#links.length === 1
  }

  set links(links: readonly Link[]) {
    this.#links = links
    this.#begin(this.#clock.now())
  }

  /** The effort in use, apart from probes. */
  get effort(): number {
    return this.#controller.effort
  }

  /** Returns the effort for the next encoding. */
  next(): number {
    this.#encodingAt = this.#clock.now()
    const [link] = this.#links
    if (this.#links.length !== 1 || !link) return this.#controller.next(this.#encodingAt)
    const written = link.plainBytes - link.begunBytes
    return this.#controller.next(this.#encodingAt, this.#waitingBytes + this.#plainBytes - written)
  }

  /** Records an encoding. `otherMs` of the time since `next` were spent on something else. */
  encoded(plainBytes: number, wireBytes: number, otherMs = 0): void {
    const now = this.#clock.now()
    const ms = Math.max(0, now - this.#encodingAt - otherMs)
    this.#controller.encoded(plainBytes, wireBytes, ms, now)
    this.#load.plainBytes += plainBytes
    this.#load.encodeMs += ms
    this.#plainBytes += plainBytes
    this.#encodings++
    this.#checkEnd(now, false)
  }

  /** Records that the only connection has written everything. */
  drained(): void {
    this.#checkEnd(this.#clock.now(), true)
  }

  #begin(now: number): void {
    this.#begunAt = now
    this.#encodings = 0
    this.#plainBytes = 0
    this.#activeMsThen = this.#clock.activeMs()
    const { plainBytes, encodeMs, writeMs } = this.#load
    this.#loadThen = { plainBytes, encodeMs, writeMs }
    for (const link of this.#links) link.begin(now)
  }

  #checkEnd(now: number, isDrained: boolean): void {
    const ms = now - this.#begunAt
    if (ms < WINDOW_MS || (ms < WINDOW_MAX_MS && !this.#mayEnd(now, isDrained))) return
    this.#end(now, ms, isDrained)
    this.#begin(now)
  }

  /** Windows of a connection that waits begin and end with drains, because the network takes much at once. */
  #mayEnd(now: number, isDrained: boolean): boolean {
    if (isDrained) return true
    const [link] = this.#links
    const mayWait =
      this.#links.length === 1 && link && link.since(now).blockedMs > 0 && !link.isAhead(now)
    return !mayWait && this.#encodings >= WINDOW_ENCODINGS
  }

  #end(now: number, ms: number, isDrained: boolean): void {
    const { effort } = this
    this.#observe(now, ms, isDrained)
    if (this.effort === effort) return
    for (const link of this.#links) link.sender?.effortChanged()
  }

  #observe(now: number, ms: number, isDrained: boolean): void {
    const activeMs = this.#clock.activeMs() - this.#activeMsThen
    const speeds: number[] = []
    let written: Written = { plainBytes: 0, wireBytes: 0, writeMs: 0, blockedMs: 0 }
    let wireBytes = 0
    let writeMs = 0
    for (const link of this.#links) {
      const since = link.since(now)
      if (since.plainBytes >= written.plainBytes) written = since
      wireBytes += since.wireBytes
      writeMs += since.writeMs
    }
    const isOne = this.#links.length === 1
    // Publishers do not wait.
    const spareMs = Math.max(0, ms - activeMs - (isOne ? written.blockedMs : 0))
    const speedThen = this.#links[0]?.speed ?? Number.POSITIVE_INFINITY
    for (const link of this.#links) {
      if (spareMs < ms / 2) link.passed(now, ms, link.since(now).blockedMs)
      speeds.push(link.speed)
    }
    const all = this.#load
    const then = this.#loadThen
    const plainBytes = all.plainBytes - then.plainBytes
    const restMs = activeMs - (all.encodeMs - then.encodeMs) - (all.writeMs - then.writeMs)
    // Dropped bytes are never written, so this bounds the wait for them.
    const waitingBytes = this.#waitingBytes + this.#plainBytes - written.plainBytes
    this.#waitingBytes = isOne && written.blockedMs > 0 ? Math.max(0, waitingBytes) : 0
    const [link] = this.#links
    const speed = isOne && link ? link.speed : Number.POSITIVE_INFINITY
    // Bytes in the system's buffer count once the network has taken them.
    const ratio = written.wireBytes / Math.max(1, written.plainBytes)
    const takenBytes = isDrained || ratio === 0 ? Number.POSITIVE_INFINITY : (speed * ms) / ratio
    const heldBytes = written.plainBytes + this.#advanceBytes
    const isFaster = speed > speedThen
    const writtenBytes = isFaster ? written.plainBytes : Math.min(heldBytes, takenBytes)
    this.#advanceBytes = isFaster ? 0 : heldBytes - writtenBytes
    this.#controller.observe(
      {
        ms,
        spareMs,
        plainBytes: this.#plainBytes,
        writeCost: wireBytes > 0 ? (writeMs / wireBytes) * this.#links.length : undefined,
        restCost: plainBytes > 0 ? Math.max(0, restMs) / plainBytes : undefined,
        writtenBytes,
        waitingBytes: this.#waitingBytes,
        bufferedBytes: isOne && link ? link.buffered : 0,
        isEven: this.#advanceBytes === 0,
        speeds,
      },
      now,
    )
  }
}

/** An object that has a connection, which is measured if this thread encodes its messages. */
export interface LinkHolder {
  readonly connection: { readonly encoding?: { readonly link: Link } | undefined } | undefined
}

/** The meters of groups, by their senders. */
const groups = new WeakMap<object, EffortMeter>()

/** Returns the meter for all connections of a sender that are sent the same, if there is one. */
export function knownGroupMeter(sender: object): EffortMeter | undefined {
  return groups.get(sender)
}

/** Returns the meter of a sender's group of connections, and creates it if there is none. */
export function groupMeter(sender: object, holders: readonly LinkHolder[]): EffortMeter {
  const known = groups.get(sender)
  if (known && !known.isBeginning) return known
  const links: Link[] = []
  for (const { connection } of holders)
    if (connection?.encoding) links.push(connection.encoding.link)
  if (known) {
    known.links = links
    return known
  }
  const meter = new EffortMeter(links)
  groups.set(sender, meter)
  return meter
}
