/** Measures connections, for the controllers of their compression efforts. */
import type { Efforts } from "../codec/format.js"
import { EffortController } from "./effort-controller.js"
import {
  type Clock,
  clock,
  type Load,
  load,
  type NetworkMeter,
  type Written,
} from "./network-meter.js"

/** Minimum duration of a window in milliseconds, and minimum number of encodings in it. */
const WINDOW_MS = 30
const WINDOW_ENCODINGS = 4
const WINDOW_MAX_MS = 500

/** Chooses the effort of messages that are encoded for one or more connections. */
export class EffortMeter {
  readonly #clock: Clock
  readonly #load: Load
  readonly #controller: EffortController
  /** The connections that are sent the same. */
  #networks: readonly NetworkMeter[]
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

  constructor(
    networks: readonly NetworkMeter[],
    efforts: Efforts,
    theClock: Clock = clock,
    theLoad: Load = load,
  ) {
    this.#networks = networks
    this.#controller = new EffortController(efforts)
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
    return this.#networks.length === 1
  }

  set networks(networks: readonly NetworkMeter[]) {
    this.#networks = networks
    this.#begin(this.#clock.now())
  }

  /** The effort in use, apart from probes. */
  get effort(): number {
    return this.#controller.effort
  }

  /** Returns the effort for the next encoding; the same one until `encoded` is called. */
  next(): number {
    const now = this.#clock.now()
    const [network] = this.#networks
    if (this.#networks.length !== 1 || !network) return this.#controller.next(now)
    const written = network.plainBytes - network.begunBytes
    return this.#controller.next(now, this.#waitingBytes + this.#plainBytes - written)
  }

  /**
   * Records an encoding at an effort that `next` has returned.
   *
   * @param begunAt when it began, plus the time since that was spent on something else.
   */
  encoded(effort: number, plainBytes: number, wireBytes: number, begunAt: number): void {
    const now = this.#clock.now()
    const ms = Math.max(0, now - begunAt)
    this.#controller.encoded(effort, plainBytes, wireBytes, ms, now)
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
    for (const network of this.#networks) network.begin(now)
  }

  #checkEnd(now: number, isDrained: boolean): void {
    const ms = now - this.#begunAt
    if (ms < WINDOW_MS || (ms < WINDOW_MAX_MS && !this.#mayEnd(now, isDrained))) return
    this.#end(now, ms, isDrained)
    this.#begin(now)
  }

  /** Whether a window may end. While a connection waits, it ends with a drain, as bytes go in bursts. */
  #mayEnd(now: number, isDrained: boolean): boolean {
    if (isDrained) return true
    const [network] = this.#networks
    const mayWait =
      this.#networks.length === 1 &&
      network &&
      network.since(now).blockedMs > 0 &&
      !network.isAhead(now)
    return !mayWait && this.#encodings >= WINDOW_ENCODINGS
  }

  #end(now: number, ms: number, isDrained: boolean): void {
    const { effort } = this
    this.#observe(now, ms, isDrained)
    if (this.effort === effort) return
    for (const network of this.#networks) network.sender?.effortChanged()
  }

  #observe(now: number, ms: number, isDrained: boolean): void {
    const activeMs = this.#clock.activeMs() - this.#activeMsThen
    const speeds: number[] = []
    let written: Written = { plainBytes: 0, wireBytes: 0, writeMs: 0, blockedMs: 0 }
    let wireBytes = 0
    let writeMs = 0
    for (const network of this.#networks) {
      const since = network.since(now)
      if (since.plainBytes >= written.plainBytes) written = since
      wireBytes += since.wireBytes
      writeMs += since.writeMs
    }
    const isOne = this.#networks.length === 1
    // Publishers do not wait.
    const spareMs = Math.max(0, ms - activeMs - (isOne ? written.blockedMs : 0))
    const speedThen = this.#networks[0]?.speed ?? Number.POSITIVE_INFINITY
    for (const network of this.#networks) {
      if (spareMs < ms / 2) network.passed(now, ms, network.since(now).blockedMs)
      speeds.push(network.speed)
    }
    const all = this.#load
    const then = this.#loadThen
    const plainBytes = all.plainBytes - then.plainBytes
    const restMs = activeMs - (all.encodeMs - then.encodeMs) - (all.writeMs - then.writeMs)
    // Dropped bytes are never written, so this bounds the wait for them.
    const waitingBytes = this.#waitingBytes + this.#plainBytes - written.plainBytes
    this.#waitingBytes = isOne && written.blockedMs > 0 ? Math.max(0, waitingBytes) : 0
    const [network] = this.#networks
    const speed = isOne && network ? network.speed : Number.POSITIVE_INFINITY
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
        writeCost: wireBytes > 0 ? (writeMs / wireBytes) * this.#networks.length : undefined,
        restCost: plainBytes > 0 ? Math.max(0, restMs) / plainBytes : undefined,
        writtenBytes,
        waitingBytes: this.#waitingBytes,
        bufferedBytes: isOne && network ? network.buffered : 0,
        isEven: this.#advanceBytes === 0,
        speeds,
      },
      now,
    )
  }
}

/** A member of a group, whose connection is measured if this thread encodes its messages. */
export interface Measured {
  readonly connection:
    | { readonly encoding?: { readonly network: NetworkMeter } | undefined }
    | undefined
}

/** The meters of groups, by their senders. */
const groups = new WeakMap<object, EffortMeter>()

/** Returns the meter for all connections of a sender that are sent the same, if there is one. */
export function knownGroupMeter(sender: object): EffortMeter | undefined {
  return groups.get(sender)
}

/** Returns the meter of a sender's group of connections, and creates it if there is none. */
export function groupMeter(
  sender: object,
  members: readonly Measured[],
  efforts: Efforts,
): EffortMeter {
  const known = groups.get(sender)
  if (known && !known.isBeginning) return known
  const networks: NetworkMeter[] = []
  for (const { connection } of members)
    if (connection?.encoding) networks.push(connection.encoding.network)
  if (known) {
    known.networks = networks
    return known
  }
  const meter = new EffortMeter(networks, efforts)
  groups.set(sender, meter)
  return meter
}
