import { type ParseArgsConfig, parseArgs } from "node:util"
import { UsageError } from "./errors.js"

type Parsed<Options extends ParseArgsConfig["options"]> = ReturnType<
  typeof parseArgs<{ args: string[]; allowPositionals: true; options: Options }>
>

/** util.parseArgs with positionals; what it refuses is wrong usage. */
export function readArgs<const Options extends ParseArgsConfig["options"]>(
  args: string[],
  options: Options,
): Parsed<Options> {
  try {
    return parseArgs({ args, allowPositionals: true, options })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** A whole number of an option such as "--capacity", in the range that it may have. */
export function readNumber(
  option: string,
  text: string,
  { min, max, unit }: { min: number; max: number; unit: string },
): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (number >= min && number <= max) return number
  throw new UsageError(`${option} must be ${min} to ${max} ${unit}; got ${JSON.stringify(text)}`)
}
