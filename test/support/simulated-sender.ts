/** A simulated sender, network and receiver, defined by tables, with their own clock. */

import { lz4 } from "../../src/codec/lz4/format.js"
import { EffortMeter } from "../../src/transport/effort-meter.js"
import { type Clock, Load, NetworkMeter } from "../../src/transport/network-meter.js"

/** A number for each of EFFORTS: nanoseconds, or bytes on the wire, for each byte of plaintext. */
export interface Payload {
  encode: readonly number[]
  decode: readonly number[]
  ratio: readonly number[]
}

// Measurements from the machine of the table in DESIGN.md, section 6.
export const JSON_TEXT: Payload = {
  encode: [0.05, 1.4, 9, 14, 20],
  decode: [0.05, 0.6, 0.5, 0.5, 0.5],
  ratio: [1, 0.31, 0.25, 0.242, 0.24],
}
export const LOREM: Payload = {
  encode: [0.05, 0.42, 1.9, 2.6, 3.2],
  decode: [0.05, 0.3, 0.3, 0.3, 0.3],
  ratio: [1, 0.089, 0.079, 0.076, 0.075],
}
export const RANDOM: Payload = {
  encode: [0.05, 0.15, 20, 22, 24],
  decode: [0.05, 0.05, 0.05, 0.05, 0.05],
  ratio: [1, 1, 1, 1, 1],
}
export const SMALL_JSON: Payload = {
  encode: [0.3, 1.3, 9, 11, 12],
  decode: [0.4, 1, 0.9, 0.9, 0.9],
  ratio: [1, 0.76, 0.68, 0.67, 0.67],
}

/** Converts Mbit/s to bytes per millisecond. */
export const mbit = (speed: number): number => (speed * 1e6) / 8 / 1000

export interface Scene {
  seed: number
  ms: number
  /** Bytes of plaintext in a batch. */
  batchBytes: number
  payload(now: number, batch: number): Payload
  /** The speed of the network, in bytes per millisecond. */
  network(now: number): number
  /** Nanoseconds for each byte of plaintext, and for each byte on the wire, on the side of the sender. */
  rest?: number
  writing?: number
  /** The same for the receiver. */
  receiving?: number
  reading?: number
  /** Returns the milliseconds that the program waits before a batch. */
  pauseMs?(now: number): number
  /** Returns a `pauseMs` for each time that the scene is played. */
  bursts?(): (now: number) => number
  /** Number of encoded batches that may be queued for the network. Default: 1. */
  queue?: number
  /** Number of batches in a run. The next run begins `betweenMs` after all have arrived. */
  run?: number
  betweenMs?: number
  /** The share of waits for the network that end at once: the system says that it has room when it has none. */
  hasty?: number
  /** The factor by which the first encodings of an effort take longer, until their code is compiled. */
  cold?: number
  /** The variation of costs. */
  noise?: number
}

/** The size of the system's buffer, and the level at which it asks for more. */
const BUFFER_BYTES = 2_500_000
/** Milliseconds of a wait that ends at once. */
const HASTY_MS = 0.3
/** Number of encodings after which an effort's code is compiled. */
const COLD_ENCODINGS = 1
const DRAINED_BYTES = (2 * BUFFER_BYTES) / 3

class SimulatedClock implements Clock {
  time = 0
  active = 0
  now(): number {
    return this.time
  }
  activeMs(): number {
    return this.active
  }
  works(ms: number): void {
    this.time += ms
    this.active += ms
  }
}

function randomOf(seed: number): () => number {
  let state = (seed * 2654435761) >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state / 2 ** 32
  }
}

export interface Outcome {
  /** Plaintext that has arrived in each tenth of a second, in bytes. */
  tenths: number[]
  /** The share of the batches that were encoded at each effort. */
  shares: number[]
}

/** Plays a scene with a fixed effort, or with the one that the controller chooses. */
export function play(scene: Scene, fixed?: number): Outcome {
  const {
    rest = 0.05,
    writing = 0.25,
    receiving = 0.1,
    reading = 0.2,
    noise = 0.15,
    queue = 1,
    run = Number.POSITIVE_INFINITY,
    betweenMs = 0,
    hasty = 0,
    cold = 1,
  } = scene
  const pauseMs = scene.bursts?.() ?? scene.pauseMs
  const clock = new SimulatedClock()
  const load = new Load()
  const link = new NetworkMeter(clock, load)
  const meter = new EffortMeter([link], lz4.efforts, clock, load)
  const random = randomOf(scene.seed)
  const varied = () => {
    const usual = 1 + noise * (random() + random() - 1)
    return noise > 0 && random() < 0.003 ? usual + 20 : usual
  }
  const tenths: number[] = []
  const shares = lz4.efforts.all.map(() => 0)
  /** Batches that are travelling, by their time of arrival. */
  const onTheWay: { at: number; wire: number }[] = []
  let queued = 0
  let arrived = 0
  const deliver = () => {
    while (onTheWay.length > 0 && (onTheWay[0] as { at: number }).at <= clock.time)
      queued -= (onTheWay.shift() as { wire: number }).wire
  }
  const waiting: { plain: number; wire: number; payload: Payload; index: number }[] = []
  let isBlocked = false
  let isHasty = false
  let batch = 0
  let inRun = 0
  const encodings = lz4.efforts.all.map(() => 0)
  const encode = () => {
    const payload = scene.payload(clock.time, batch++)
    const effort = fixed ?? meter.next()
    const begunAt = clock.time
    const index = lz4.efforts.all.indexOf(effort)
    const plain = scene.batchBytes
    const wire = plain * (payload.ratio[index] as number)
    const times = (encodings[index] as number) < COLD_ENCODINGS ? cold : 1
    encodings[index] = (encodings[index] as number) + 1
    clock.works((plain * (payload.encode[index] as number) * varied() * times) / 1e6)
    if (fixed === undefined) meter.encoded(effort, plain, wire, begunAt)
    shares[index] = (shares[index] as number) + 1
    clock.works((plain * rest) / 1e6)
    waiting.push({ plain, wire, payload, index })
  }
  const write = () => {
    const { plain, wire, payload, index } = waiting.shift() as (typeof waiting)[number]
    const begunAt = clock.time
    clock.works((wire * writing) / 1e6)
    const travels = wire / (scene.network(clock.time) * (1 + noise * 0.3 * (random() - 0.5)))
    const decodes = (plain * (receiving + (payload.decode[index] as number)) + wire * reading) / 1e6
    arrived = Math.max(arrived, clock.time) + Math.max(travels, decodes)
    onTheWay.push({ at: arrived, wire })
    queued += wire
    const tenth = Math.floor(arrived / 100)
    tenths[tenth] = (tenths[tenth] ?? 0) + plain
    deliver()
    isBlocked = queued > BUFFER_BYTES
    isHasty = isBlocked && hasty > 0 && random() < hasty
    link.wrote(plain, wire, begunAt, isBlocked)
  }
  const drain = () => {
    isBlocked = false
    isHasty = false
    link.drained()
    if (fixed === undefined) meter.drained()
  }
  while (clock.time < scene.ms) {
    deliver()
    if (isHasty) {
      clock.time += HASTY_MS
      drain()
    } else if (isBlocked && queued <= DRAINED_BYTES) drain()
    if (!isBlocked && waiting.length > 0) write()
    else if (waiting.length < queue && inRun < run) {
      clock.time += pauseMs?.(clock.time) ?? 0
      inRun++
      encode()
    } else if (onTheWay.length === 0) {
      clock.time += betweenMs
      inRun = 0
    } else clock.time = Math.max(clock.time, (onTheWay[0] as { at: number }).at)
  }
  return { tenths, shares: shares.map((n) => n / shares.reduce((a, b) => a + b, 0)) }
}
