/** Times in filters. A time of day or a date stands for all of it: 12:35 for a minute. */
import { dateOf, parseDate } from "../dates.js"
import type { Time } from "../events.js"

/** The moment of a row, and what it is measured from. */
export interface Moment {
  /** Undefined if the file does not say. */
  readonly time: Time
  /** The time of the capture's first event. */
  readonly start: Time
}

/** Nanoseconds from `from` until just before `to`, as `of` measures them. */
export interface TimeRange {
  from: bigint
  to: bigint
  of(moment: Moment): bigint | undefined
}

/** Formats of times, for messages. */
export const TIME_FORMATS = "12:35, 12:35:07.5, 2026-11-21, 2026-11-21T12:35:07Z or 1.5s"

const NS_PER_S = 1_000_000_000n
const NS_PER_MS = 1_000_000n
const NS_PER_DAY = 86_400n * NS_PER_S
const UNITS: Record<string, bigint> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  ms: NS_PER_MS,
  s: NS_PER_S,
  m: 60n * NS_PER_S,
  min: 60n * NS_PER_S,
  h: 3600n * NS_PER_S,
}

const SINCE_START = /^(\d{1,12})(?:\.(\d{1,9}))?(ns|us|µs|ms|s|min|m|h)?$/i
const CLOCK = String.raw`(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?`
const TIME_OF_DAY = new RegExp(`^${CLOCK}(Z)?$`, "i")
const DATE = new RegExp(String.raw`^(\d{4}-\d\d-\d\d)(?:[T ]${CLOCK})?(Z|[+-]\d\d:\d\d)?$`, "i")

/**
 * Returns the range of a time; undefined if it is none. Times without a zone are local, or UTC if
 * `utc` is true.
 */
export function timeRange(text: string, utc: boolean): TimeRange | undefined {
  const sinceStart = SINCE_START.exec(text)
  if (sinceStart) return rangeSinceStart(sinceStart)
  const timeOfDay = TIME_OF_DAY.exec(text)
  if (timeOfDay) return rangeOfDay(timeOfDay, utc)
  const date = DATE.exec(text)
  return date ? rangeOfDate(date, utc) : undefined
}

function rangeSinceStart([, whole, decimals, unit = "s"]: RegExpExecArray): TimeRange {
  const size = UNITS[unit.toLowerCase()] as bigint
  const { value } = scaled(whole as string, decimals, size)
  return {
    from: value,
    to: value + 1n,
    of: ({ time, start }) => (time === undefined || start === undefined ? undefined : time - start),
  }
}

function rangeOfDay(found: RegExpExecArray, utc: boolean): TimeRange | undefined {
  const [, hours, minutes, seconds, decimals, zone] = found
  const clock = clockRange(hours, minutes, seconds, decimals)
  if (!clock) return undefined
  const isUtc = utc || zone !== undefined
  return {
    from: clock.value,
    to: clock.value + clock.step,
    of: ({ time }) => (time === undefined ? undefined : nsOfDay(time, isUtc)),
  }
}

function rangeOfDate(found: RegExpExecArray, utc: boolean): TimeRange | undefined {
  const [, day, hours, minutes, seconds, decimals, zone = utc ? "Z" : ""] = found
  const clock =
    hours === undefined
      ? { value: 0n, step: NS_PER_DAY }
      : clockRange(hours, minutes, seconds, decimals)
  if (!clock || Number.isNaN(parseDate(`${day}T00:00:00Z`))) return undefined
  const two = (part = "0") => part.padStart(2, "0")
  const whole = `${day}T${two(hours)}:${two(minutes)}:${two(seconds)}${zone.toUpperCase()}`
  const ms = parseDate(whole)
  if (Number.isNaN(ms)) return undefined
  const from = BigInt(ms) * NS_PER_MS + (clock.value % NS_PER_S)
  return { from, to: from + clock.step, of: ({ time }) => time }
}

/** Returns a time of day, and the length of what it stands for. */
function clockRange(
  hours = "0",
  minutes = "0",
  seconds?: string,
  decimals?: string,
): { value: bigint; step: bigint } | undefined {
  const [h, m, s] = [hours, minutes, seconds ?? "0"].map(Number) as [number, number, number]
  if (h > 23 || m > 59 || s > 59) return undefined
  const { value, step } = scaled(String(h * 3600 + m * 60 + s), decimals, NS_PER_S)
  return { value, step: seconds === undefined ? 60n * NS_PER_S : step }
}

/** Returns a number with decimals in nanoseconds, and the size of its last digit. */
function scaled(whole: string, decimals: string | undefined, unit: bigint) {
  const digits = decimals?.length ?? 0
  const power = 10n ** BigInt(digits)
  const value = (BigInt(whole + (decimals ?? "")) * unit) / power
  return { value, step: unit / power || 1n }
}

function nsOfDay(time: bigint, utc: boolean): bigint {
  const sinceMidnight = ((time % NS_PER_DAY) + NS_PER_DAY) % NS_PER_DAY
  if (utc) return sinceMidnight
  const minutes = dateOf(Number(time / NS_PER_MS)).getTimezoneOffset()
  const local = sinceMidnight - BigInt(Math.round((minutes || 0) * 60)) * NS_PER_S
  return ((local % NS_PER_DAY) + NS_PER_DAY) % NS_PER_DAY
}
