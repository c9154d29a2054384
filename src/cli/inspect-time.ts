import type { Time } from "../capture/events.js"

const NS_PER_MS = 1_000_000n

/**
 * Formats a time such as "2026-11-21T11:51:50.123456789Z"; undefined if it is unknown, or out of
 * the range of Date.
 */
export function isoTime(time: Time): string | undefined {
  if (time === undefined) return undefined
  const ns = ((time % NS_PER_MS) + NS_PER_MS) % NS_PER_MS
  const date = new Date(Number((time - ns) / NS_PER_MS))
  if (Number.isNaN(date.getTime())) return undefined
  return `${date.toISOString().slice(0, -1)}${String(ns).padStart(6, "0")}Z`
}

/** Formats the time of day in UTC, to microseconds. */
export function clockTime(time: Time): string | undefined {
  return isoTime(time)?.slice(-"HH:MM:SS.mmmuuunnnZ".length, -"nnnZ".length)
}
