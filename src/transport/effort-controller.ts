/**
 * Chooses the compression effort of a connection, or of several that are sent the same: the one,
 * from no compression to the most thorough, that transfers most plaintext per second.
 *
 * Any effort is valid on the wire, so single batches are encoded at other efforts (probes), which
 * shows what each effort costs and saves. The speed of the network is known while it makes the
 * connection wait. From both, the model predicts the goodput of each effort. A prediction only
 * starts a trial; the measured goodput decides, because the receiver may be the limit. An effort
 * that lowers it is left, and its prediction corrected for a while. Efforts that the model does not
 * propose are tried now and then as well.
 *
 * A connection that neither the network nor the processor limits gets the usual effort. Whether this
 * controller is asked, or the one of the whole thread, connection-encoding.ts decides.
 *
 * For connections that are sent the same, the geometric mean of their goodputs counts: halving that
 * of a slow one is as bad as halving that of a fast one. A thorough effort takes processor time even
 * where it gains nothing, so one is only used if the network limits more than half of the connections.
 *
 * This module has no clock and no I/O: callers pass times in milliseconds, counted from any point.
 * What the constants buy, and what a simpler rule would lose, is in bench/NOTES.md.
 */
import type { Efforts } from "../codec/format.js"
import { Average } from "./average.js"
import { EffortModel, PLAIN, type Window } from "./effort-model.js"

/** Maximum share of time that probes may cost; the same for trials that the model does not propose. */
const SHARE = 0.01
/** Maximum share for probes of efforts that were not observed yet. */
const NEW_SHARE = 0.1
/** Minimum milliseconds between two probes. */
const PROBE_MS = 15
/**
 * The smallest change of the goodput that counts, as a logarithm: predicted, it is worth a trial;
 * measured, it decides one. Twice as large a loss ends one early.
 */
const WORTHWHILE = 0.04
const TRIAL_WINDOWS = 3
/** Maximum plaintext in bytes that may be queued at an effort on trial. */
const TRIED_MAX_BYTES = 4 << 20
/** Minimum milliseconds between trials, and between those that the model does not propose. */
const TRIAL_MS = 50
const CHECK_MS = 1000
/** Milliseconds for which the outcome of a trial is used. */
const BELIEF_MS = 2500
/**
 * The share of idle time from which a window is not limited, and the number of such windows in a row.
 */
const SPARE = 0.15
const REST_WINDOWS = 3

interface Trial {
  from: number
  /** The measured gain that keeps the effort, as a logarithm: positive if the model predicts a loss. */
  wanted: number
  /** The goodput before the trial. */
  before: number
  /** Plaintext encoded before the trial that is not yet written, in bytes. */
  skipBytes: number
  /** Plaintext encoded at the effort, in bytes. */
  encodedBytes: number
  windows: number
  ms: number
  bytes: number
}

/** The effort controller of a connection, or of several that are sent the same. */
export class EffortController {
  readonly #efforts: Efforts
  readonly #model: EffortModel
  #chosen: number
  #trial: Trial | undefined
  #nextTrialAt = 0
  /** Milliseconds of windows in which something was the limit. */
  #limitedMs = 0
  /** The same when a trial that the model did not propose ended, and what it cost. */
  #checkedAt = 0
  #checkMs = 0
  #lastChecked = 0
  /** Number of consecutive windows in which nothing was the limit. */
  #unlimited = 0
  /** The effort to which the usual one gives way once something is the limit again. */
  #restedFrom: number | undefined
  /** Whether the program has paused, and the network has not made the connection wait since. */
  #hasPaused = false
  /** The effort of the next encoding, once `next` has chosen it. */
  #next = -1
  /** The milliseconds and bytes that the last probe cost, the network's speed then, and its share. */
  #probe = { at: Number.NEGATIVE_INFINITY, lostMs: 0, addedBytes: 0, speed: 1, share: SHARE }
  /** Plaintext that is encoded but not yet written, in bytes. */
  #waitingBytes = 0
  /** The state of the generator that chooses which encodings are probes. */
  #turns = 1
  readonly #goodput = new Average()

  constructor(efforts: Efforts) {
    this.#efforts = efforts
    this.#model = new EffortModel(efforts)
    this.#chosen = efforts.usual
  }

  /** The effort in use, apart from probes. */
  get effort(): number {
    return this.#efforts.all[this.#chosen] as number
  }

  /**
   * Returns the effort for the next encoding; the same one until `encoded` is called.
   *
   * @param waitingBytes plaintext that is encoded but not yet written, in bytes.
   */
  next(now: number, waitingBytes = 0): number {
    const trial = this.#trial
    if (this.#next >= 0) return this.#efforts.all[this.#next] as number
    this.#waitingBytes = waitingBytes
    // The bytes of a failed trial must be sent too: limit them if the effort makes them longer.
    if (
      trial &&
      Math.min(trial.encodedBytes, waitingBytes) > TRIED_MAX_BYTES &&
      this.#model.ratioOf(this.#chosen) > this.#model.ratioOf(trial.from)
    ) {
      // What is measured now is no surprise.
      if (trial.wanted > 0) trial.wanted = Number.POSITIVE_INFINITY
      this.#next = trial.from
    } else this.#next = this.#isProbeDue(now) ? this.#mostWanted(now) : this.#chosen
    return this.#efforts.all[this.#next] as number
  }

  #isProbeDue(now: number): boolean {
    if (this.#unlimited > 0 || this.#model.speeds.length === 0) return false
    const { at, lostMs, addedBytes, speed, share } = this.#probe
    // Bytes cost less time on a network that has become faster.
    const pauseMs = (lostMs + addedBytes / Math.max(speed, this.#model.speed)) / share
    if (now < at + Math.max(PROBE_MS, pauseMs)) return false
    // Skip a random number, so that messages of alternating kinds are probed alike.
    this.#turns = (Math.imul(this.#turns, 1_664_525) + 1_013_904_223) >>> 0
    return this.#turns >>> 30 === 0
  }

  encoded(effort: number, plainBytes: number, wireBytes: number, ms: number, now: number): void {
    const index = this.#efforts.all.indexOf(effort)
    const isNew = !this.#model.estimateOf(index)
    if (index === this.#chosen && this.#trial) this.#trial.encodedBytes += plainBytes
    this.#next = -1
    this.#model.record(index, plainBytes, wireBytes, ms, now, index === this.#chosen)
    if (index !== this.#chosen) this.#recordProbe(index, plainBytes, now, isNew)
  }

  /** Records a window, and chooses the effort for the next one. */
  observe(window: Window, now: number): void {
    const { ms, speeds } = window
    const hasSpare = window.spareMs > SPARE * ms
    const isMany = speeds.length > 1
    // Publishers do not wait for slow subscribers.
    const demand = isMany && hasSpare ? window.plainBytes / ms : Number.POSITIVE_INFINITY
    this.#model.observe(window, demand, this.#chosen)
    const isLimited = speeds.some(Number.isFinite)
    const isPause = hasSpare && !(isMany && isLimited)
    // A pause says nothing about the effort on trial, nor does it end the trial. After one, the
    // system has nothing left to send, so it will accept much at once.
    if (this.#trial && (isPause || this.#hasPaused)) this.#trial.skipBytes -= window.writtenBytes
    if (isPause) {
      this.#hasPaused = isLimited
      this.#maybeRest(window)
      return
    }
    this.#unlimited = 0
    this.#limitedMs += ms
    if (this.#restedFrom !== undefined) {
      this.#chosen = this.#restedFrom
      this.#restedFrom = undefined
      return
    }
    if (this.#hasPaused) this.#hasPaused = !window.isEven
    else if (this.#trial) this.#try(this.#trial, window, now)
    else {
      this.#goodput.add(window.writtenBytes / ms)
      this.#choose(window, now)
    }
  }

  // -- Probes ----------------------------------------------------------------------

  /** Returns the effort to probe: the one observed longest ago, or the current one. */
  #mostWanted(now: number): number {
    let wanted = this.#chosen
    let longest = PROBE_MS
    for (let i = 0; i < this.#efforts.all.length; i++) {
      if (i === this.#chosen || !this.#mayPay(i)) continue
      const age = now - (this.#model.estimateOf(i)?.at ?? Number.NEGATIVE_INFINITY)
      if (age <= longest) continue
      longest = age
      wanted = i
    }
    return wanted
  }

  #mayPay(index: number): boolean {
    // Plain data keeps its full length, which is expensive on slow networks.
    if (index === PLAIN) return !this.#model.speeds.some(Number.isFinite)
    if (index < this.#efforts.thorough) return true
    if (!this.#model.isAllowed(index)) return false
    // A more thorough effort pays only if the network limits the one before.
    const before = this.#model.costOf(index - 1)
    if (before === undefined) return false
    return this.#model.speed * before < 1.2 * this.#model.ratioOf(index - 1)
  }

  /** Records the cost of a probe, in proportion to which the next one is delayed. */
  #recordProbe(index: number, plainBytes: number, now: number, isNew: boolean): void {
    const model = this.#model
    const [cost, ratio] = [model.costOf(this.#chosen), model.ratioOf(this.#chosen)]
    if (cost === undefined) return
    const busyMs = Math.max(0, (model.costOf(index) ?? cost) - cost) * plainBytes
    // Meanwhile the network sends the queued bytes, but the processor is busy.
    const waitingMs = (this.#waitingBytes * ratio) / model.speed
    this.#probe = {
      at: now,
      lostMs: Math.max(busyMs - waitingMs, busyMs / 10),
      addedBytes: Math.max(0, model.ratioOf(index) - ratio) * plainBytes,
      speed: model.speed,
      share: isNew ? NEW_SHARE : SHARE,
    }
  }

  // -- Trials ----------------------------------------------------------------------

  #choose(window: Window, now: number): void {
    // Without a goodput there is nothing to compare with.
    if (this.#goodput.isUnsure || !this.#goodput.value) return
    if (now < this.#nextTrialAt || !window.isEven) return
    let best = this.#chosen
    let worth = this.#model.worthOf(best, now) + WORTHWHILE
    for (let i = 0; i < this.#efforts.all.length; i++) {
      const other = this.#model.worthOf(i, now)
      if (other <= worth) continue
      best = i
      worth = other
    }
    if (best !== this.#chosen) this.#begin(best, -WORTHWHILE, window)
    else {
      const other = this.#nextToCheck(window)
      if (other >= 0) this.#begin(other, WORTHWHILE, window)
    }
  }

  /**
   * Returns an effort to try although the model does not propose it: the model may be wrong,
   * because it does not know what decoding costs the receiver. Returns -1 if there is none, or if too
   * little time has passed to afford the predicted loss. Pauses of the program do not count: what it
   * sends after one would pay for them.
   */
  #nextToCheck({ ms, bufferedBytes, waitingBytes }: Window): number {
    const model = this.#model
    const goodput = this.#goodput.value ?? 0
    const pausedMs = this.#limitedMs - this.#checkedAt
    if (model.speeds.length > 1 || pausedMs < Math.max(CHECK_MS, this.#checkMs / SHARE)) return -1
    const trialMs = ms + waitingBytes / goodput + bufferedBytes / model.speed
    for (let i = 1; i <= this.#efforts.all.length; i++) {
      const index = (this.#lastChecked + i) % this.#efforts.all.length
      if (index === this.#chosen || index > this.#chosen + 1 || !model.isAllowed(index)) continue
      if ((model.rateOf(index) ?? 0) < 0.9 * goodput) continue
      const share = Math.exp(model.gainOf(index, this.#chosen))
      if (pausedMs < (trialMs * (1 - share)) / SHARE) continue
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
    if (trial.windows < TRIAL_WINDOWS && gain > -2 * WORTHWHILE) return
    this.#trial = undefined
    this.#nextTrialAt = now + TRIAL_MS
    const isKept = gain >= trial.wanted
    // The network may have changed since the trial began.
    const by = gain - this.#model.gainOf(this.#chosen, trial.from)
    if (isKept === trial.wanted > 0) this.#model.correct(this.#chosen, by, now + BELIEF_MS)
    if (trial.wanted > 0) {
      this.#checkedAt = this.#limitedMs
      this.#checkMs = Math.min(trial.ms, CHECK_MS) * (1 - Math.exp(gain))
    }
    if (isKept) this.#goodput.value = goodput
    else this.#chosen = trial.from
  }

  /** Returns to the usual effort when nothing has been the limit for a while, if it suffices. */
  #maybeRest(window: Window): void {
    if (++this.#unlimited < REST_WINDOWS || this.#restedFrom !== undefined) return
    const cost = this.#model.costOf(this.#efforts.usual)
    const costNow = this.#model.costOf(this.#chosen)
    if (cost !== undefined && costNow !== undefined) {
      const rate = window.plainBytes / window.ms
      const busy = 1 - window.spareMs / window.ms + rate * (cost - costNow)
      if (
        busy > 1 - SPARE ||
        rate * this.#model.ratioOf(this.#efforts.usual) > 0.9 * this.#model.speed
      )
        return
    }
    this.#restedFrom = this.#trial?.from ?? this.#chosen
    this.#trial = undefined
    this.#chosen = this.#efforts.usual
  }
}
