import { outOfRange, shown, wrongType } from "./errors.js"

/**
 * Returns an integer from `min` to `max`, or `defaultValue` if none is given.
 *
 * @throws TypeError or RangeError for other values.
 */
export function integer(
  name: string,
  value: unknown,
  defaultValue: number,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): number {
  if (value === undefined) return defaultValue
  if (typeof value !== "number") throw wrongType(`${name} must be a number; got ${shown(value)}`)
  if (!Number.isInteger(value) || value < min || value > max)
    throw outOfRange(`${name} must be an integer from ${min} to ${max}; got ${value}`)
  return value
}
