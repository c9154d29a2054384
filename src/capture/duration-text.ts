/** Units, their nanoseconds, and the number from which on they are not used. */
const UNITS: [unit: string, size: number, end: number][] = [
  ["ns", 1, 1000],
  ["µs", 1e3, 1000],
  ["ms", 1e6, 1000],
  ["s", 1e9, 120],
]

/**
 * Formats nanoseconds as "1.5 s", "20 ms", "2:40" or "2:00:00". Times that are `step` apart have
 * different texts.
 */
export function duration(nanoseconds: number, step = 0): string {
  if (nanoseconds === 0) return "0 s"
  for (const [unit, size, end] of UNITS) {
    const decimals = step > 0 ? Math.max(0, Math.ceil(Math.log10(size / step))) : 2
    // As it is shown: 999,996 ns are not 1000 µs, but 1 ms.
    const rounded = Number((nanoseconds / size).toFixed(decimals))
    if (Math.abs(rounded) < end) return `${rounded} ${unit}`
  }
  return clock(nanoseconds)
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
