/** Measures what connections do, for the controllers of their efforts. */
import { performance } from "node:perf_hooks"
import { Average, EffortController } from "./effort-controller.js"

/** A window lasts for this long and has so many encodings, at least, but is never longer than the last. */
const WINDOW_MS = 30
const WINDOW_ENCODINGS = 4
const WINDOW_MAX_MS = 500
/** The network limits a connection that waits for this share of the time. */
const WAITING = 0.1
/** After so long without a wait, the network is taken to be faster, in each window by so much, */
const FREE_MS = 1000
const FASTER = 4
/** or as soon as it has taken so many times what the system has room for; */
const AHEAD = 1.5
/** up to this many bytes per millisecond. */
const FASTEST = 1e7
/** A drain comes when a third of the system's memory for a connection is free; the receiver has some, too. */
const SLACK = 4
/** The speed of the network is that from one drain to another that is so much later: some come at once. */
const DRAINED_MS = 10
/** More than a third of that is seldom, and a measurement that went wrong. */
const ROOM_MAX_BYTES = 2 << 20

/** Time in milliseconds. */
export interface Clock {
  now(): number
  /** Milliseconds that the thread has been at work. */
  activeMs(): number
}

/** That of this thread. */
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

/** That of this thread. */
const load = new Load()

/** Writes to a connection during a window, and the time that it has waited. */
interface Written {
  plainBytes: number
  wireBytes: number
  writeMs: number
  blockedMs: number
}

/** Measures what the network takes of a connection. */
export class Link {
  /** Who is told when the effort for this connection changes. */
  sender: { effortChanged(): void } | undefined
  readonly #clock: Clock
  readonly #load: Load
  plainBytes = 0
  wireBytes = 0
  writeMs = 0
  readonly #speed = new Average()
  /** Milliseconds that it has waited for the network, and the beginning of the present wait. */
  #blockedMs = 0
  #blockedAt: number | undefined
  #drainedAt: number | undefined
  #drainedBytes = 0
  #drainedBlockedMs = 0
  /** Bytes that the system takes beyond what the network does, after a drain. */
  readonly #room = new Average()
  #freeMs = 0
  #isFree = false
  /** When the current window began. */
  #begun: Written = { plainBytes: 0, wireBytes: 0, writeMs: 0, blockedMs: 0 }

  constructor(theClock: Clock = clock, theLoad: Load = load) {
    this.#clock = theClock
    this.#load = theLoad
  }

  /** The speed of the network, in bytes per millisecond; Infinity if it is not known to be the limit. */
  get speed(): number {
    return this.#speed.value ?? Number.POSITIVE_INFINITY
  }

  /** Takes note of a write that began at a time, and of whether the network had no room for all of it. */
  wrote(plainBytes: number, wireBytes: number, begunAt: number, isBlocked: boolean): void {
    const now = this.#clock.now()
    this.plainBytes += plainBytes
    this.wireBytes += wireBytes
    this.writeMs += now - begunAt
    this.#load.writeMs += now - begunAt
    if (!isBlocked || this.#blockedAt !== undefined) return
    this.#blockedAt = now
    if (this.#drainedAt !== undefined) this.#room.add(Math.min(this.#excess(now), ROOM_MAX_BYTES))
  }

  /** Bytes written since the last drain that the network cannot have taken. */
  #excess(now: number): number {
    if (this.#drainedAt === undefined) return 0
    const taken = (this.#speed.value ?? 0) * (now - this.#drainedAt)
    return Math.max(0, this.wireBytes - this.#drainedBytes - taken)
  }

  /** Whether the network has taken more without a wait than it could if it were what it was. */
  isAhead(now: number): boolean {
    return this.#blockedAt === undefined && this.#excess(now) > AHEAD * (this.#room.value ?? 0)
  }

  /** Bytes that are written before the network, or the receiver, is the limit again. */
  get buffered(): number {
    return SLACK * (this.#room.value ?? 0)
  }

  /** Takes note that the network has taken all that was written. */
  drained(): void {
    if (this.#blockedAt === undefined) return
    const now = this.#clock.now()
    const blockedMs = this.#blockedUntil(now)
    if (this.#drainedAt !== undefined && now - this.#drainedAt < DRAINED_MS) {
      this.#blockedMs = blockedMs
      this.#blockedAt = undefined
      return
    }
    // From one drain to the next the network has always had something to send, unless there was a pause.
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

  /** Plaintext that was written before the window. */
  get begunBytes(): number {
    return this.#begun.plainBytes
  }

  /** Begins a window. */
  begin(now: number): void {
    const { plainBytes, wireBytes, writeMs } = this
    this.#begun = { plainBytes, wireBytes, writeMs, blockedMs: this.#blockedUntil(now) }
  }

  /** The observation of the window that ends. */
  since(now: number): Written {
    const begun = this.#begun
    return {
      plainBytes: this.plainBytes - begun.plainBytes,
      wireBytes: this.wireBytes - begun.wireBytes,
      writeMs: this.writeMs - begun.writeMs,
      blockedMs: this.#blockedUntil(now) - begun.blockedMs,
    }
  }

  /** Takes note of the end of a busy window. */
  passed(now: number, ms: number, blockedMs: number): void {
    this.#freeMs = blockedMs > 0 ? 0 : this.#freeMs + ms
    this.#isFree =
      this.#freeMs > 0 && (this.#isFree || this.#freeMs >= FREE_MS || this.isAhead(now))
    if (!this.#isFree) return
    const speed = this.speed * FASTER
    this.#speed.guess(speed < FASTEST ? speed : undefined)
  }
}

/** Chooses the effort of what is encoded for some connections. */
export class EffortMeter {
  readonly #clock: Clock
  readonly #load: Load
  readonly #controller: EffortController = new EffortController()
  /** The connections that are sent the same. */
  #links: readonly Link[]
  #encodingAt = 0
  /** Of the window. */
  #begunAt = 0
  #encodings = 0
  #plainBytes = 0
  #activeMsThen = 0
  #loadThen = { plainBytes: 0, encodeMs: 0, writeMs: 0 }
  /** Plaintext that was encoded for the only connection and waits to be written. */
  #waitingBytes = 0
  /** Plaintext that was written and does not count yet. */
  #advanceBytes = 0

  constructor(links: readonly Link[], theClock: Clock = clock, theLoad: Load = load) {
    this.#links = links
    this.#clock = theClock
    this.#load = theLoad
    this.#begin(theClock.now())
  }

  /** Whether the connections may be others from here on: a window begins. */
  get isBeginning(): boolean {
    return this.#encodings === 0
  }

  /** Whether it is for one connection. */
  get isAlone(): boolean {
    return this.#links.length === 1
  }

  set links(links: readonly Link[]) {
    this.#links = links
    this.#begin(this.#clock.now())
  }

  /** The effort in use, but for probes. */
  get effort(): number {
    return this.#controller.effort
  }

  /** Returns the effort for what is encoded next. */
  next(): number {
    this.#encodingAt = this.#clock.now()
    const [link] = this.#links
    if (this.#links.length !== 1 || !link) return this.#controller.next(this.#encodingAt)
    const written = link.plainBytes - link.begunBytes
    return this.#controller.next(this.#encodingAt, this.#waitingBytes + this.#plainBytes - written)
  }

  /** Takes note of what was encoded, in a time of which some may be for something else. */
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

  /** Takes note that the only connection has written all. */
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

  /** Windows of a connection that waits go from drain to drain, since the network takes much at once. */
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
    // Dropped bytes never leave, so the wait for them is bounded.
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

/** Something that has a connection, which is measured if it is on this thread. */
export interface LinkHolder {
  readonly connection: { readonly link?: Link | undefined } | undefined
}

/** By their senders. */
const groups = new WeakMap<object, EffortMeter>()

/** The meter for all connections of a sender that are sent the same, if there is one. */
export function knownGroupMeter(sender: object): EffortMeter | undefined {
  return groups.get(sender)
}

/** Gets or makes it. */
export function groupMeter(sender: object, holders: readonly LinkHolder[]): EffortMeter {
  const known = groups.get(sender)
  if (known && !known.isBeginning) return known
  const links: Link[] = []
  for (const { connection } of holders) if (connection?.link) links.push(connection.link)
  if (known) {
    known.links = links
    return known
  }
  const meter = new EffortMeter(links)
  groups.set(sender, meter)
  return meter
}
