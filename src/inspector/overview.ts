/** The charts of a capture: throughput and ratio over time, and sizes. */
import { type Chart, ChartFigure, type Series } from "./charts.js"
import { byId } from "./dom.js"
import { bytes, count, digits, duration, roundUp } from "./format.js"
import type { Charts } from "./protocol.js"

const TICKS = 4

export class Overview {
  readonly #throughput = new ChartFigure(byId("throughput"))
  readonly #ratio = new ChartFigure(byId("ratio"))
  readonly #sizes = new ChartFigure(byId("sizes"))

  show(charts: Charts): void {
    this.#throughput.show(throughput(charts))
    this.#ratio.show(ratio(charts))
    this.#sizes.show(sizes(charts))
  }
}

function throughput(charts: Charts): Chart {
  const perSecond = (amounts: number[]) =>
    amounts.map((amount) => (amount * 1e9) / charts.binNanoseconds)
  return {
    ...overTime(charts),
    kind: "area",
    series: both(charts, perSecond(charts.plain), perSecond(charts.wire)),
    value: (value) => `${bytes(Math.round(value))}/s`,
    unit: 1024,
  }
}

/** Returns both series; only the one on the wire if nothing else is known, as all is encrypted. */
function both({ plainSizes }: Charts, plain: number[], wire: number[]): Series[] {
  const onWire: Series = { name: "wire", colour: "wire", values: wire }
  return plainSizes.length > 0
    ? [{ name: "plain", colour: "plain", values: plain }, onWire]
    : [onWire]
}

function ratio(charts: Charts): Chart {
  const values = charts.plain.map((plain, i) =>
    plain && charts.wire[i] ? plain / charts.wire[i] : undefined,
  )
  return {
    ...overTime(charts),
    kind: "line",
    series: [{ name: "plain ÷ wire", colour: "ratio", values }],
    value: (value) => `${digits(value)}×`,
  }
}

function overTime({ start, binNanoseconds, plain }: Charts) {
  const time = (step: number) => duration(start + step * binNanoseconds, binNanoseconds)
  const length = plain.length * binNanoseconds
  const every = roundUp(Math.max(1, length) / TICKS)
  const ticks = []
  for (let at = Math.ceil(start / every) * every; at <= start + length; at += every)
    ticks.push({ at: (at - start) / binNanoseconds, text: duration(at, every) })
  return {
    step: (step: number) => `${time(step)} + ${duration(binNanoseconds)}`,
    stepsName: "Time",
    ticks,
  }
}

function sizes(charts: Charts): Chart {
  const { plainSizes, wireSizes } = charts
  const first = Math.min(...[plainSizes, wireSizes].map(firstFilled))
  const end = Math.max(plainSizes.length, wireSizes.length)
  const cut = (sizes: number[]) =>
    Array.from({ length: Math.max(0, end - first) }, (_, i) => sizes[first + i] ?? 0)
  const lowest = (step: number) => (first + step === 0 ? 0 : 2 ** (first + step - 1))
  const every = Math.max(1, Math.ceil((end - first) / TICKS))
  const ticks = []
  // The last mark needs room for its text.
  for (let at = 0; at <= end - first - every / 2; at += every)
    ticks.push({ at, text: bytes(lowest(at)) })
  return {
    kind: "bars",
    series: both(charts, cut(plainSizes), cut(wireSizes)),
    value: count,
    whole: true,
    step: (step) =>
      first + step === 0 ? "empty" : `${bytes(lowest(step))} to under ${bytes(2 * lowest(step))}`,
    stepsName: "Size of a message",
    ticks,
  }
}

/** Returns the first size that messages have; the largest number if there are none. */
function firstFilled(sizes: number[]): number {
  const first = sizes.findIndex((messages) => messages > 0)
  return first < 0 ? Number.MAX_SAFE_INTEGER : first
}
