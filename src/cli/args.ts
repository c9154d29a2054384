import { type ParseArgsConfig, parseArgs } from "node:util"
import { UsageError } from "./errors.js"

/** Parses arguments. An error in them is a UsageError. */
export function parse<const T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config.args ? { ...config, args: withNumbers(config.args) } : config)
  } catch (error) {
    const { message } = error as Error
    // What parseArgs says after that is how to give an argument that begins with a dash.
    const unknown = /^Unknown option '(.+?)'/s.exec(message)
    if (unknown) {
      const names = Object.keys(config.options ?? {}).map((name) => `--${name}`)
      throw new UsageError(`no option ${unknown[1]}; there are ${names.join(", ")}`)
    }
    // Advice of parseArgs is on further lines.
    throw new UsageError(message.replaceAll("\n", " "))
  }
}

/** Joins options with a negative number that follows, which parseArgs would take for an option. */
function withNumbers(args: readonly string[]): string[] {
  const all: string[] = []
  for (const arg of args) {
    const before = all.at(-1)
    if (/^-\d+$/.test(arg) && before && /^-(?:[a-z]|-[a-z-]+)$/.test(before))
      all[all.length - 1] = `${before}${before.startsWith("--") ? "=" : ""}${arg}`
    else all.push(arg)
  }
  return all
}

/**
 * Returns the number given for an option; undefined if it was not given. The range is checked
 * elsewhere; `or` names other allowed values.
 */
export function wholeNumber(
  option: string,
  value: string | undefined,
  or = "",
): number | undefined {
  if (value === undefined) return undefined
  if (!/^-?\d+$/.test(value))
    throw new UsageError(`${option} must be a whole number${or}; got ${JSON.stringify(value)}`)
  if (!Number.isSafeInteger(Number(value)))
    throw new UsageError(
      `${option} is too ${value.startsWith("-") ? "small" : "large"}; got ${value}`,
    )
  return Number(value)
}
