/** Formats numbers and times for people. */
import { ratioText } from "../capture/rows.js"

const whole = new Intl.NumberFormat("en")
export const count = (number: number): string => whole.format(number)

export const plural = (number: number, noun: string): string =>
  `${count(number)} ${noun}${number === 1 ? "" : "s"}`

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"]

/** Formats a size, such as "512 B", "1.21 KiB" or "2 KiB". */
export function bytes(number: number): string {
  let unit = 0
  let value = number
  while (value >= 1023.5 && unit < BINARY.length - 1) {
    value /= 1024
    unit++
  }
  return `${digits(value)} ${BINARY[unit]}`
}

/** Formats a number with three digits, or as a whole number. */
export function digits(value: number): string {
  if (Number.isInteger(value)) return String(value)
  const decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2
  return value.toFixed(decimals)
}

/** Formats the ratio of plaintext to wire bytes; a dash if there is no plaintext. */
export function ratio(plainBytes: number, wireBytes: number): string {
  return plainBytes === 0 || wireBytes === 0 ? "–" : ratioText(plainBytes, wireBytes)
}

/** Formats nanoseconds as seconds, to the microsecond. */
export function seconds(nanoseconds: number | undefined): string {
  return nanoseconds === undefined ? "" : (nanoseconds / 1e9).toFixed(6)
}

const MINUTE = 60e9
const UNITS: [string, number][] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
]

/**
 * Formats nanoseconds as "1.5 s", "20 ms", "2:40" or "2:00:00". Times that are `step` apart have
 * different texts.
 */
export function duration(nanoseconds: number, step = 0): string {
  if (Math.abs(nanoseconds) >= 2 * MINUTE) return clock(nanoseconds)
  if (nanoseconds === 0) return "0 s"
  const [unit, size] = UNITS.find(([, size]) => Math.abs(nanoseconds) >= size) ?? UNITS.at(-1)!
  const decimals = step > 0 ? Math.max(0, Math.ceil(Math.log10(size / step))) : 2
  return `${Number((nanoseconds / size).toFixed(decimals))} ${unit}`
}

function clock(nanoseconds: number): string {
  const seconds = Math.round(Math.abs(nanoseconds) / 1e9)
  const two = (number: number) => String(number).padStart(2, "0")
  const sign = nanoseconds < 0 ? "−" : ""
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? `${sign}${minutes}:${two(seconds % 60)}`
    : `${sign}${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`
}
