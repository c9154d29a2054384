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
