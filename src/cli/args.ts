import { type ParseArgsConfig, parseArgs } from "node:util"
import { UsageError } from "./errors.js"

/** Reads arguments; what is wrong with them is a UsageError. */
export function parse<const T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/**
 * The number that an option was given; undefined when it was not. What is allowed is checked by
 * others; `or` names what they take besides.
 */
export function wholeNumber(
  option: string,
  value: string | undefined,
  or = "",
): number | undefined {
  if (value === undefined) return undefined
  if (!/^-?\d{1,15}$/.test(value))
    throw new UsageError(`${option} must be a whole number${or}; got ${JSON.stringify(value)}`)
  return Number(value)
}
