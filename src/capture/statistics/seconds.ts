import { addTraffic, type Traffic } from "../../codec/traffic.js"

/** Traffic of a period. */
export interface PeriodTraffic extends Traffic {
  /** The beginning of the period, in seconds since 1970-01-01 UTC. */
  start: number
}

const PERIODS_MAX = 3600
const NS_PER_S = 1_000_000_000n

/** Traffic by second, or by longer periods if more than 3600 have traffic. */
export class Seconds {
  #length = 1
  #periods = new Map<number, Traffic>()

  /** @param time nanoseconds since 1970. */
  add(time: bigint, traffic: Traffic): void {
    // Rounded down, also before 1970.
    const second = Number((time - (((time % NS_PER_S) + NS_PER_S) % NS_PER_S)) / NS_PER_S)
    addTo(this.#periods, Math.floor(second / this.#length), traffic)
    while (this.#periods.size > PERIODS_MAX) this.#double()
  }

  /** Returns the periods with traffic, in order, and their length in seconds. */
  get periods(): { length: number; periods: PeriodTraffic[] } {
    return { length: this.#length, periods: listed(this.#periods, this.#length) }
  }

  #double(): void {
    this.#length *= 2
    this.#periods = halved(this.#periods)
  }
}

/** Joins periods until there are at most `max`. */
export function joinPeriods(
  periods: readonly PeriodTraffic[],
  length: number,
  max: number,
): { length: number; periods: PeriodTraffic[] } {
  let joined = new Map(periods.map(({ start, ...traffic }) => [start / length, traffic]))
  let joinedLength = length
  for (; joined.size > max; joinedLength *= 2) joined = halved(joined)
  return { length: joinedLength, periods: listed(joined, joinedLength) }
}

function halved(periods: ReadonlyMap<number, Traffic>): Map<number, Traffic> {
  const joined = new Map<number, Traffic>()
  for (const [period, traffic] of periods) addTo(joined, Math.floor(period / 2), traffic)
  return joined
}

const listed = (periods: ReadonlyMap<number, Traffic>, length: number): PeriodTraffic[] =>
  [...periods]
    .sort(([a], [b]) => a - b)
    .map(([period, traffic]) => ({ start: period * length, ...traffic }))

function addTo(periods: Map<number, Traffic>, period: number, traffic: Traffic): void {
  const known = periods.get(period)
  if (known) addTraffic(known, traffic)
  else periods.set(period, { ...traffic })
}
