/** Formats of times, for the terminal and the page. */
import { dateOf } from "./dates.js"
import type { Time } from "./events.js"

const NS_PER_MS = 1_000_000n
const MS_PER_MINUTE = 60_000

/**
 * Formats a time in UTC such as "2026-11-21T11:51:50.123456789Z"; undefined if it is unknown, or out
 * of the range of Date.
 */
export function isoTime(time: Time): string | undefined {
  const parts = partsOf(time, true)
  return parts && `${parts.date}T${parts.clock}Z`
}

/** Formats the time of day to microseconds, in UTC or local. */
export function clockTime(time: Time, utc: boolean): string | undefined {
  return partsOf(time, utc)?.clock.slice(0, -"nnn".length)
}

/** Formats a time such as "2026-11-21 12:35:07.504000000", in UTC or local. */
export function dateTime(time: Time, utc: boolean): string | undefined {
  const parts = partsOf(time, utc)
  return parts && `${parts.date} ${parts.clock}`
}

/** The last time that was formatted: all messages of an arena have the same. */
let last:
  | { time: Time; utc: boolean; parts: { date: string; clock: string } | undefined }
  | undefined

function partsOf(time: Time, utc: boolean): { date: string; clock: string } | undefined {
  if (!last || last.time !== time || last.utc !== utc) last = { time, utc, parts: split(time, utc) }
  return last.parts
}

function split(time: Time, utc: boolean): { date: string; clock: string } | undefined {
  if (time === undefined) return undefined
  const ns = ((time % NS_PER_MS) + NS_PER_MS) % NS_PER_MS
  const milliseconds = Number((time - ns) / NS_PER_MS)
  const minutes = utc ? 0 : dateOf(milliseconds).getTimezoneOffset()
  const date = dateOf(milliseconds - Math.round(minutes * MS_PER_MINUTE))
  if (Number.isNaN(date.getTime())) return undefined
  const [day = "", clock = ""] = date.toISOString().split("T")
  return { date: day, clock: clock.replace("Z", String(ns).padStart(6, "0")) }
}
