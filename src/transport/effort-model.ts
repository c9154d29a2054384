/**
 * Predicts the goodput of every compression effort: plaintext bytes per millisecond, from the costs
 * and savings of encoding at it, the other costs of the processor, and the speed of the network.
 */
import type { Efforts } from "../codec/format.js"
import { Average, isLike } from "./average.js"

/** The index of no compression among the efforts. */
export const PLAIN = 0

/** The age in milliseconds at which an observation of an effort counts half. */
const MEMORY_MS = 450
/** The factor beyond which the time of a batch is cut off, because it was probably interrupted. */
const OUTLIER = 4
/** The head start of the usual effort, because it saves bytes and costs little. A logarithm. */
const USUAL_AHEAD = 0.02

/** The measurements of a period in which some batches were encoded. */
export interface Window {
  ms: number
  /** The part of `ms` in which the thread was idle and did not wait for the network either. */
  spareMs: number
  /** Plaintext that was encoded, in bytes. */
  plainBytes: number
  /** Milliseconds per wire byte to write to all connections; undefined if nothing was written. */
  writeCost: number | undefined
  /**
   * Milliseconds per plaintext byte for everything except encoding and writing; undefined if there
   * was none.
   */
  restCost: number | undefined
  /** Plaintext that the fastest connection has written, in bytes. */
  writtenBytes: number
  /** Plaintext that is encoded but not yet written, in bytes. */
  waitingBytes: number
  /**
   * Bytes that the only connection accepts before the network and the receiver have taken the ones
   * before.
   */
  bufferedBytes: number
  /** Whether the network has taken all bytes that were written. */
  isEven: boolean
  /** The speed of each connection's network in bytes per ms; Infinity if it is not the limit. */
  speeds: readonly number[]
}

/** Sums over the encodings at an effort, in which older ones count less. */
interface Estimate {
  ms: number
  plainBytes: number
  wireBytes: number
  at: number
}

/** The difference between the measured and the predicted gain of an effort, as a logarithm. */
interface Correction {
  by: number
  until: number
  /** The speed of the network at which it applies. */
  speed: number
}

/** The model of a connection, or of several that are sent the same. */
export class EffortModel {
  readonly #efforts: Efforts
  readonly #estimates: (Estimate | undefined)[]
  /** The effort in use, its ratio, and the bytes encoded at it since the last window. */
  #reference: number
  #ratio = new Average()
  #plainBytes = 0
  #wireBytes = 0
  readonly #corrections: (Correction | undefined)[]
  readonly #writeCost = new Average()
  readonly #restCost = new Average()
  /** Plaintext bytes per millisecond that the program provides. */
  #demand = Number.POSITIVE_INFINITY
  /** The speed of each connection's network, as in a window, and that of the slowest. */
  speeds: readonly number[] = []
  speed: number = Number.POSITIVE_INFINITY

  constructor(efforts: Efforts) {
    this.#efforts = efforts
    this.#reference = efforts.usual
    this.#estimates = efforts.all.map(() => undefined)
    this.#corrections = efforts.all.map(() => undefined)
  }

  /** Returns the observations of an effort; undefined if there are none of this kind of payload. */
  estimateOf(index: number): Readonly<Estimate> | undefined {
    return this.#estimates[index]
  }

  /**
   * Records a window.
   *
   * @param demand plaintext bytes per millisecond that the program provides.
   * @param current the effort in use, apart from probes.
   */
  observe({ writeCost, restCost, speeds }: Window, demand: number, current: number): void {
    this.#compareRatios(current)
    this.speeds = speeds
    this.speed = Math.min(...speeds)
    this.#demand = demand
    if (writeCost !== undefined) this.#writeCost.add(writeCost)
    if (restCost !== undefined) this.#restCost.add(restCost)
  }

  /** Records an encoding that ended at `now`, at the effort in use (`isCurrent`) or another. */
  record(
    index: number,
    plainBytes: number,
    wireBytes: number,
    ms: number,
    now: number,
    isCurrent: boolean,
  ): void {
    if (plainBytes === 0) return
    if (isCurrent) {
      this.#plainBytes += plainBytes
      this.#wireBytes += wireBytes
    }
    const known = this.#estimates[index]
    if (!known) {
      this.#estimates[index] = { ms, plainBytes, wireBytes, at: now }
      return
    }
    const keep = MEMORY_MS / (MEMORY_MS + now - known.at)
    const expectedMs = (known.ms / known.plainBytes) * plainBytes
    known.ms = known.ms * keep + Math.min(ms, OUTLIER * expectedMs)
    known.plainBytes = known.plainBytes * keep + plainBytes
    known.wireBytes = known.wireBytes * keep + wireBytes
    known.at = now
  }

  /** Forgets the observations of other efforts once the one in use compresses differently. */
  #compareRatios(current: number): void {
    if (current !== this.#reference) this.#ratio = new Average()
    this.#reference = current
    const { value } = this.#ratio
    if (this.#plainBytes > 0) this.#ratio.add(this.#wireBytes / this.#plainBytes)
    this.#plainBytes = 0
    this.#wireBytes = 0
    if (value === undefined || isLike(value, this.#ratio.value as number)) return
    for (let i = 0; i < this.#estimates.length; i++)
      if (i !== current) this.#estimates[i] = undefined
  }

  /** Returns the milliseconds per byte of plaintext; undefined if not known. */
  costOf(index: number): number | undefined {
    const known = this.#estimates[index]
    const cost = known ? known.ms / known.plainBytes : index === PLAIN ? 0 : undefined
    if (cost === undefined) return undefined
    return cost + (this.#restCost.value ?? 0) + (this.#writeCost.value ?? 0) * this.ratioOf(index)
  }

  /** Returns the wire bytes per byte of plaintext; 1 if not known. */
  ratioOf(index: number): number {
    const known = this.#estimates[index]
    return known ? known.wireBytes / known.plainBytes : 1
  }

  /**
   * Returns the plaintext bytes per millisecond that the processor can encode and the program
   * provides; undefined if not known.
   */
  rateOf(index: number): number | undefined {
    const cost = this.costOf(index)
    return cost === undefined ? undefined : Math.min(1 / cost, this.#demand)
  }

  /** Returns the logarithm of the goodput at an effort, without corrections; undefined if not known. */
  predict(index: number): number | undefined {
    const rate = this.rateOf(index)
    if (rate === undefined) return undefined
    const ratio = this.ratioOf(index)
    let sum = 0
    for (const speed of this.speeds) sum += Math.log(Math.min(rate, speed / ratio))
    return sum / this.speeds.length
  }

  /** Returns the predicted gain of an effort over another, as a logarithm. */
  gainOf(index: number, from: number): number {
    return (this.predict(index) ?? 0) - (this.predict(from) ?? 0)
  }

  /** Returns the score of an effort, to be compared with those of others. */
  worthOf(index: number, now: number): number {
    const predicted = this.predict(index)
    if (predicted === undefined || !this.isAllowed(index)) return Number.NEGATIVE_INFINITY
    const correction = this.#corrections[index]
    const isKnown = correction && now < correction.until && isLike(this.speed, correction.speed)
    return (
      predicted + (isKnown ? correction.by : 0) + (index === this.#efforts.usual ? USUAL_AHEAD : 0)
    )
  }

  /** Whether the network limits enough connections for an effort. */
  isAllowed(index: number): boolean {
    if (index < this.#efforts.thorough) return true
    let limited = 0
    for (const speed of this.speeds) if (speed !== Number.POSITIVE_INFINITY) limited++
    return 2 * limited > this.speeds.length
  }

  /** Corrects the predictions for an effort, until a time, by a logarithm. */
  correct(index: number, by: number, until: number): void {
    this.#corrections[index] = { by, until, speed: this.speed }
  }
}
