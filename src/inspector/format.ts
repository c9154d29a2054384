/** Formats numbers and times for people. */
import { ratioText } from "../capture/rows.js"
import type { PartDetails } from "./protocol.js"

export { duration } from "../capture/duration-text.js"

const whole = new Intl.NumberFormat("en")
export const count = (number: number): string => whole.format(number)

export const plural = (number: number, noun: string): string =>
  `${count(number)} ${noun}${number === 1 ? "" : "s"}`

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"]

/** Formats a size, such as "512 B", "1.21 KiB" or "2 KiB". */
export function bytes(number: number): string {
  let unit = 0
  let value = number
  for (; value >= 1023.5 && unit < BINARY.length - 1; unit++) value /= 1024
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

/** Returns whether a ratio is shown as less than 1: what was sent is larger than its plaintext. */
export const isLarger = (plainBytes: number, wireBytes: number): boolean =>
  Number.parseFloat(ratio(plainBytes, wireBytes)) < 1

/** Says how large a part is, as far as it is known. */
export function partSizes({
  plainBytes,
  wireBytes,
  arenaBytes,
}: Pick<PartDetails, "plainBytes" | "wireBytes" | "arenaBytes">): string {
  const sizes = []
  if (plainBytes !== undefined) sizes.push(`${plural(plainBytes, "byte")} plain`)
  if (arenaBytes !== undefined)
    sizes.push(`${count(wireBytes ?? 0)} of the arena's ${plural(arenaBytes, "byte")} on the wire`)
  else if (wireBytes !== undefined) sizes.push(`${plural(wireBytes, "byte")} on the wire`)
  return sizes.join(", ")
}

/** Formats nanoseconds as seconds, to the microsecond. */
export function seconds(nanoseconds: number | undefined): string {
  return nanoseconds === undefined ? "" : (nanoseconds / 1e9).toFixed(6)
}

/** Rounds a number above 0 up to one of … 0.5, 1, 2, 5, 10, 20, 50 …. */
export function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number))
  // The last digit of powers below 1 may be inexact.
  return power * [1, 2, 5, 10].find((factor) => factor * power >= number * (1 - 1e-9))!
}
