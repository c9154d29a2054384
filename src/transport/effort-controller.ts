/**
 * Chooses the compression effort of a connection, or of several that are sent the same: the one,
 * from no compression to LZ4HC, that transfers most plaintext per second.
 *
 * Every encoding shows the cost and the savings of its effort, and any effort is valid on the wire.
 * So single batches are encoded at other efforts (probes), which measures all of them in a small
 * part of the time. The speed of the network is known while it makes the connection wait. From
 * both, the controller predicts the goodput of every effort. A prediction only starts a trial; the
 * measured goodput then decides, because the receiver may be the limit, and its costs differ from
 * the sender's.
 *
 * A connection that neither the network nor the processor limits gets LZ4 at level 0. Whether this is
 * asked at all, for a connection or for its whole thread, connection-encoding.ts decides.
 *
 * For connections that are sent the same, the geometric mean of their goodputs counts: halving that
 * of a slow one is as bad as halving that of a fast one. So one slow connection among many changes
 * next to nothing, but many do. LZ4HC takes processor time even where it gains nothing, so it is
 * only used if the network limits more than half of the connections.
 *
 * This module has no clock and no I/O: callers pass times in milliseconds, counted from any point.
 * What each constant buys, and what a simpler rule would lose, is in bench/NOTES.md.
 */
import { Average, ODD } from "./average.js"
import {
  EFFORTS,
  EffortModel,
  LEVEL_0,
  LEVEL_HC,
  type MeasuredEncoding,
  PLAIN,
  type Window,
} from "./effort-model.js"

/** Maximum share of time that probes may cost. */
const PROBE_SHARE = 0.008
/** The same for probes of efforts that were not observed yet. */
const NEW_SHARE = 0.1
/** Maximum share of the processor's time for probes, even if the network is busy meanwhile. */
const BUSY_SHARE = 0.1
/** Maximum share of time that trials may cost. */
const TRIAL_SHARE = 0.01
/** Minimum milliseconds between two probes. */
const PROBE_MS = 15
/** The predicted gain that is worth a trial, and the measured loss that ends one. Logarithms. */
const WORTHWHILE = 0.04
const LOSS = 0.03
/** The measured gain that keeps an effort whose predicted gain is low. A logarithm. */
const SURPRISE = 0.07
/** The goodput below which a trial ends early. A logarithm. */
const FAILED = Math.log(0.85)
const TRIAL_WINDOWS = 3
/**
 * The longest trial in milliseconds. Longer ones say nothing about the effort: the receiver may
 * have stalled.
 */
const TRIAL_MAX_MS = 1500
/** Maximum plaintext in bytes that may be queued at an effort on trial. */
const TRIED_MAX_BYTES = 4 << 20
/** Minimum milliseconds between trials. */
const TRIAL_MS = 100
/** Minimum milliseconds between trials of efforts that the model does not propose. */
const CHECK_MS = 1000
/** Maximum milliseconds for which the outcome of a trial is used. */
const BELIEF_MAX_MS = 2500
const SURPRISE_MS = 8000
/**
 * Number of consecutive windows after which a connection counts as not limited, and their minimum
 * idle share.
 */
const REST_WINDOWS = 3
const SPARE = 0.15
/** Minimum milliseconds between rests, if the last one ended soon. */
const REST_MS = 1000

/** A trial of an effort. */
interface Trial {
  from: number
  /** The measured gain required to keep the effort. A logarithm. */
  wanted: number
  /** The goodput before the trial. */
  before: number
  /** Plaintext encoded before the trial that is not yet written, in bytes. */
  skipBytes: number
  /** Plaintext encoded at the effort, in bytes. */
  encodedBytes: number
  /** Whether some was encoded at the effort before it meanwhile, and is measured with it. */
  isMixed: boolean
  windows: number
  ms: number
  bytes: number
}

/** The effort controller of a connection, or of several that are sent the same. */
export class EffortController {
  readonly #model = new EffortModel()
  #chosen = LEVEL_0
  #trial: Trial | undefined
  #nextTrialAt = 0
  #nextCheckAt = 0
  #checkedAt = 0
  #lastChecked = 0
  /** Whether nothing is limited, so that level 0 replaces the chosen effort. */
  #isResting = false
  #unlimited = 0
  /** Whether the network was not the limit for a while, and has not made the connection wait since. */
  #hasPaused = false
  #restedAt = 0
  #nextRestAt = 0
  /** The effort of the next encoding, once `next` has chosen it. */
  #next = -1
  #nextProbeAt = 0
  /** The network speed when `#nextProbeAt` was set. */
  #probedSpeed = Number.POSITIVE_INFINITY
  /** Plaintext that is encoded but not yet written, in bytes. */
  #waitingBytes = 0
  /** Encodings to skip before the next probe, and the state of the generator that chooses their number. */
  #passing = 0
  #turns = 1
  /** The average over windows, in which the latest counts most. */
  readonly #goodput = new Average()

  /** The effort in use, apart from probes. */
  get effort(): number {
    return EFFORTS[this.#current] as number
  }

  get #current(): number {
    return this.#isResting ? LEVEL_0 : this.#chosen
  }

  /**
   * Returns the effort for the next encoding; the same one until `encoded` is called.
   *
   * @param waitingBytes plaintext that is encoded but not yet written, in bytes.
   */
  next(now: number, waitingBytes = 0): number {
    const trial = this.#trial
    if (this.#next >= 0) return EFFORTS[this.#next] as number
    this.#waitingBytes = waitingBytes
    // The bytes of a failed trial must be sent too, so the queue is limited if the effort makes them longer.
    if (
      trial &&
      Math.min(trial.encodedBytes, waitingBytes) > TRIED_MAX_BYTES &&
      this.#model.ratioOf(this.#chosen) > this.#model.ratioOf(trial.from)
    ) {
      trial.isMixed = true
      this.#next = trial.from
    } else this.#next = this.#isProbeDue(now) ? this.#mostWanted(now) : this.#current
    return EFFORTS[this.#next] as number
  }

  #isProbeDue(now: number): boolean {
    if (now < this.#nextProbeAt || this.#unlimited > 0 || this.#model.speeds.length === 0)
      return false
    if (this.#passing-- > 0) return false
    // Skip a random number, so that messages of alternating kinds are probed alike.
    this.#turns = (Math.imul(this.#turns, 1_664_525) + 1_013_904_223) >>> 0
    this.#passing = this.#turns >>> 30
    this.#nextProbeAt = now + PROBE_MS
    return true
  }

  /** Records an encoding at an effort that `next` has returned. */
  encoded(effort: number, plainBytes: number, wireBytes: number, ms: number, now: number): void {
    const index = EFFORTS.indexOf(effort)
    const encoding = { index, plainBytes, wireBytes, ms, at: now }
    if (index !== this.#current) this.#payForProbe(encoding)
    else if (this.#trial) this.#trial.encodedBytes += plainBytes
    this.#next = -1
    this.#model.record(encoding, this.#current)
  }

  /** Records a window, and chooses the effort for the next one. */
  observe(window: Window, now: number): void {
    const { ms, speeds } = window
    const hasSpare = window.spareMs > SPARE * ms
    const isMany = speeds.length > 1
    // Publishers do not wait for slow subscribers.
    const demand = isMany && hasSpare ? window.plainBytes / ms : Number.POSITIVE_INFINITY
    this.#model.observe(window, demand)
    this.#resumeProbes(now)
    if (hasSpare && !(isMany && speeds.some(Number.isFinite))) {
      // A pause says nothing about the effort on trial, nor does it end the trial.
      if (this.#trial) this.#trial.skipBytes -= window.writtenBytes
      this.#hasPaused = speeds.some(Number.isFinite)
      this.#maybeRest(window, now)
      return
    }
    this.#unlimited = 0
    if (this.#isResting) {
      this.#isResting = false
      if (now - this.#restedAt < REST_MS) this.#nextRestAt = now + REST_MS
      return
    }
    if (this.#hasPaused) {
      // The system has nothing left to send, so it will accept much at once.
      this.#hasPaused = !window.isEven
      if (this.#trial) this.#trial.skipBytes -= window.writtenBytes
      return
    }
    if (this.#trial) this.#try(this.#trial, window, now)
    else {
      this.#model.forgetCorrections(this.#chosen)
      this.#goodput.add(window.writtenBytes / ms)
      this.#choose(window, now)
    }
  }

  // -- Probes ----------------------------------------------------------------------

  /** Returns the effort to probe: the one observed longest ago, or the current one. */
  #mostWanted(now: number): number {
    let wanted = this.#current
    let longest = PROBE_MS
    for (let i = 0; i < EFFORTS.length; i++) {
      if (i === this.#current || !this.#mayPay(i)) continue
      const age = now - (this.#model.estimateOf(i)?.at ?? Number.NEGATIVE_INFINITY)
      if (age <= longest) continue
      longest = age
      wanted = i
    }
    return wanted
  }

  /** Whether a probe of an effort can be useful. */
  #mayPay(index: number): boolean {
    // Plain data keeps its full length, which is expensive on slow networks.
    if (index === PLAIN) return !this.#model.speeds.some(Number.isFinite)
    if (index < LEVEL_HC) return true
    if (!this.#model.isAllowed(index)) return false
    // A more thorough effort pays only if the network limits the one before.
    const before = this.#model.costOf(index - 1)
    if (before === undefined) return false
    return this.#model.speed * before < 1.2 * this.#model.ratioOf(index - 1)
  }

  /** Delays the next probe in proportion to the cost of this one. */
  #payForProbe(encoding: MeasuredEncoding): void {
    const model = this.#model
    const { index, plainBytes, wireBytes, at } = encoding
    const present = model.estimateOf(this.#current)
    if (!present) return
    const isNew = model.estimateOf(index) === undefined
    const share = plainBytes / present.plainBytes
    const { speed } = model
    const busyMs = Math.max(0, model.uninterruptedMs(encoding) - present.ms * share)
    // Meanwhile the network sends the queued bytes.
    const waitingMs = (this.#waitingBytes * model.ratioOf(this.#current)) / speed
    const lostMs =
      Math.max(0, busyMs - waitingMs) + Math.max(0, (wireBytes - present.wireBytes * share) / speed)
    const pauseMs = Math.max(lostMs / (isNew ? NEW_SHARE : PROBE_SHARE), busyMs / BUSY_SHARE)
    this.#nextProbeAt = at + Math.max(PROBE_MS, pauseMs)
    this.#probedSpeed = speed
  }

  /** Stops delaying probes when the network has become faster, because they cost less then. */
  #resumeProbes(now: number): void {
    const speed = this.#model.speed
    if (speed <= this.#probedSpeed * ODD) return
    this.#probedSpeed = speed
    this.#nextProbeAt = Math.min(this.#nextProbeAt, now + PROBE_MS)
  }

  // -- Trials ----------------------------------------------------------------------

  #choose(window: Window, now: number): void {
    if (now < this.#nextTrialAt || !window.isEven || this.#goodput.isUnsure) return
    if (this.#goodput.value === 0) return // nothing to compare with
    const chosen = this.#model.worthOf(this.#chosen, now)
    let best = this.#chosen
    let worth = chosen + WORTHWHILE
    for (let i = 0; i < EFFORTS.length; i++) {
      const other = this.#model.worthOf(i, now)
      if (other <= worth) continue
      best = i
      worth = other
    }
    if (best !== this.#chosen) this.#begin(best, -LOSS, window)
    else if (now >= this.#nextCheckAt) {
      const other = this.#nextToCheck(window, now)
      if (other >= 0) this.#begin(other, SURPRISE, window)
    }
  }

  /**
   * Returns an effort to try although the model does not propose it: the model may be wrong,
   * because it does not know what decoding costs the receiver. Returns -1 if there is none, or if
   * too little time has passed to afford the predicted loss.
   */
  #nextToCheck({ ms, bufferedBytes, waitingBytes }: Window, now: number): number {
    if (this.#model.speeds.length > 1) return -1
    for (let i = 1; i <= EFFORTS.length; i++) {
      const index = (this.#lastChecked + i) % EFFORTS.length
      if (index === this.#chosen || index > this.#chosen + 1 || !this.#model.isAllowed(index))
        continue
      const rate = this.#model.rateOf(index)
      if (rate === undefined || rate < 0.9 * (this.#goodput.value ?? 0)) continue
      const loss = (this.#model.predict(this.#chosen) ?? 0) - (this.#model.predict(index) as number)
      const queueMs = waitingBytes / (this.#goodput.value ?? 1)
      const trialMs = ms + queueMs + bufferedBytes / this.#model.speed
      if (now - this.#checkedAt < (trialMs * (1 - Math.exp(-loss))) / TRIAL_SHARE) continue
      this.#lastChecked = index
      return index
    }
    return -1
  }

  #begin(index: number, wanted: number, { waitingBytes, bufferedBytes }: Window): void {
    const from = this.#chosen
    const rate = this.#model.rateOf(index) as number
    const rateBefore = this.#model.rateOf(from) ?? rate
    // Of several connections only the fastest is measured. It may lose where the others gain.
    const loss = this.#model.speeds.length > 1 ? Math.min(0, Math.log(rate / rateBefore)) : 0
    this.#trial = {
      from,
      wanted: wanted + loss,
      before: this.#goodput.value as number,
      skipBytes: waitingBytes + (wanted > 0 ? bufferedBytes / this.#model.ratioOf(index) : 0),
      encodedBytes: 0,
      isMixed: false,
      windows: 0,
      ms: 0,
      bytes: 0,
    }
    this.#chosen = index
  }

  #try(trial: Trial, window: Window, now: number): void {
    const { ms, writtenBytes } = window
    if (trial.skipBytes > 0) {
      trial.skipBytes -= writtenBytes
      return
    }
    trial.windows++
    trial.ms += ms
    trial.bytes += writtenBytes
    const goodput = trial.bytes / trial.ms
    const gain = Math.log(goodput / trial.before)
    if (trial.windows < TRIAL_WINDOWS && gain > Math.min(trial.wanted, FAILED)) return
    this.#trial = undefined
    this.#nextTrialAt = now + TRIAL_MS
    const isKept = gain >= trial.wanted && !(trial.isMixed && trial.wanted > 0)
    const lostMs = isKept ? 0 : Math.max(0, Math.min(trial.ms, TRIAL_MAX_MS) * (1 - Math.exp(gain)))
    const beliefMs = Math.min(lostMs / TRIAL_SHARE, BELIEF_MAX_MS)
    // The network may have changed since the trial began.
    const by = gain - this.#model.gainOf(this.#chosen, trial.from)
    if (isKept ? trial.wanted > 0 : trial.wanted <= 0)
      this.#model.correct(this.#chosen, by, now + (isKept ? SURPRISE_MS : beliefMs))
    if (trial.wanted > 0) {
      this.#checkedAt = now
      this.#nextCheckAt = now + Math.max(lostMs / TRIAL_SHARE, CHECK_MS)
    }
    if (isKept) this.#goodput.value = goodput
    else this.#chosen = trial.from
    this.#model.tried(this.#chosen)
  }

  // -- Rests -----------------------------------------------------------------------

  /** Returns to level 0 when nothing has been the limit for a while, unless rests are too frequent. */
  #maybeRest(window: Window, now: number): void {
    if (this.#isResting || ++this.#unlimited < REST_WINDOWS || now < this.#nextRestAt) return
    const cost = this.#model.costOf(LEVEL_0)
    const costNow = this.#model.costOf(this.#chosen)
    if (cost !== undefined && costNow !== undefined) {
      const rate = window.plainBytes / window.ms
      const busy = 1 - window.spareMs / window.ms + rate * (cost - costNow)
      if (busy > 1 - SPARE || rate * this.#model.ratioOf(LEVEL_0) > 0.9 * this.#model.speed) return
    }
    if (this.#trial) this.#chosen = this.#trial.from
    this.#trial = undefined
    this.#isResting = true
    this.#restedAt = now
  }
}
