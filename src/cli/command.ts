import { type ParseArgsConfig, parseArgs } from "node:util"
import { UsageError } from "./errors.js"

/**
 * Options and what they do, as help shows them: `--json`, `-n, --count COUNT`, `--filter EXPR…` (may be
 * repeated), `--stats[=SECONDS]` (the value is optional). Two of a kind share an entry:
 * `--from-key KEY, --to-key KEY`.
 */
export type Options = Readonly<Record<`-${string}`, string>>

type NameOf<Item> = Item extends `--${infer Name} ${string}` | `--${infer Name}[=${string}`
  ? Name
  : Item extends `--${infer Name}`
    ? Name
    : never
type ItemsOf<Entry> = Entry extends `${infer First}, ${infer Others}`
  ? First | ItemsOf<Others>
  : Entry
type ValueOf<Item> = Item extends `${string}…`
  ? string[]
  : Item extends `${string} ${string}` | `${string}[=${string}`
    ? string
    : boolean

/** The given options by name. An omitted optional value is an empty string. */
export type Values<Given extends Options> = {
  [Item in ItemsOf<keyof Given> as NameOf<Item>]?: ValueOf<Item>
}

/** How arguments are parsed. */
export interface Grammar<Given extends Options> {
  options: Given
  /** Options that exclude each other, by the error that says so. */
  excluded?: Readonly<Record<string, readonly (keyof Values<Given>)[]>>
  /** Returns whether an argument that begins with a dash is the value of the option before it. */
  isValue?(arg: string, option: string): boolean
}

export interface Spec<Given extends Options> extends Grammar<Given> {
  /** The command with its arguments, as its usage begins. */
  synopsis: string
  /** What it does, in the list of all commands. */
  summary: string
  /** Help before and after the options. */
  about: string
  notes?: string
  /** Checks arguments before they are parsed. @throws UsageError */
  check?(args: readonly string[]): void
  run(values: Values<Given>, positionals: string[]): Promise<void>
}

export interface Command {
  name: string
  summary: string
  /** The text of `--help`. */
  usage: string
  run(args: readonly string[]): Promise<void>
}

/** Makes a command that parses its arguments and prints its help by the same table of options. */
export function command<const Given extends Options>(spec: Spec<Given>): Command {
  return {
    name: spec.synopsis.split(" ", 1)[0] as string,
    summary: spec.summary,
    usage: helpOf(spec),
    async run(args) {
      spec.check?.(args)
      const { values, positionals } = parse(spec, args)
      await spec.run(values, positionals)
    },
  }
}

export function parse<Given extends Options>(
  { options, excluded = {}, isValue = () => false }: Grammar<Given>,
  args: readonly string[],
): { values: Values<Given>; positionals: string[] } {
  const config = configOf(options)
  const parsed = parsedBy(config, joined(args, config, isValue))
  for (const [message, names] of Object.entries(excluded))
    if (names.every((name) => parsed.values[name as string] !== undefined))
      throw new UsageError(message)
  return { values: parsed.values as Values<Given>, positionals: parsed.positionals }
}

type Config = Record<
  string,
  { type: "string" | "boolean"; short?: string; multiple: boolean; isOptional: boolean }
>

function configOf(options: Options): Config {
  const config: Config = {}
  for (const entry of Object.keys(options)) {
    let short: string | undefined
    for (const item of entry.split(", ")) {
      const [, name, value = ""] = /^--([a-z-]+)(.*)$/.exec(item) ?? []
      if (name === undefined) short = item.slice(1)
      else
        config[name] = {
          type: value === "" ? "boolean" : "string",
          ...(short !== undefined && { short }),
          multiple: value.endsWith("…"),
          isOptional: value.startsWith("["),
        }
    }
  }
  return config
}

function parsedBy(options: Config, args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true } satisfies ParseArgsConfig)
  } catch (error) {
    const { message } = error as Error
    // What parseArgs says after that is how to give an argument that begins with a dash.
    const unknown = /^Unknown option '(.+?)'/s.exec(message)
    if (unknown) {
      const names = Object.keys(options).map((name) => `--${name}`)
      throw new UsageError(`no option ${unknown[1]}; there are ${names.join(", ")}`)
    }
    // Advice of parseArgs is on further lines.
    throw new UsageError(message.replaceAll("\n", " "))
  }
}

/** Joins options with values that parseArgs would take for options, such as negative numbers. */
function joined(
  args: readonly string[],
  config: Config,
  isValue: (arg: string, option: string) => boolean,
): string[] {
  const all: string[] = []
  for (const arg of args) {
    const before = all.at(-1) ?? ""
    const isOption = /^-(?:[a-z]|-[a-z-]+)$/.test(before)
    if (isOption && arg.startsWith("-") && (/^-\d+$/.test(arg) || isValue(arg, before)))
      all[all.length - 1] = `${before}${before.startsWith("--") ? "=" : ""}${arg}`
    else all.push(config[arg.slice(2)]?.isOptional && arg.startsWith("--") ? `${arg}=` : arg)
  }
  return all
}

const HELP_COLUMNS = 100
/** Columns of the options, before what they do. */
const OPTION_COLUMNS = 32

function helpOf({ synopsis, about, options, notes }: Spec<Options>): string {
  const rows = Object.entries({ ...options, "-h, --help": "this text" }).flatMap(([name, text]) => {
    const left = name.startsWith("--") ? `      ${name}` : `  ${name}`
    const [first = "", ...others] = wrapped(text, HELP_COLUMNS - OPTION_COLUMNS)
    const isWide = left.length > OPTION_COLUMNS - 2
    const indented = (line: string) => " ".repeat(OPTION_COLUMNS) + line
    return isWide
      ? [left, ...[first, ...others].map(indented)]
      : [left.padEnd(OPTION_COLUMNS) + first, ...others.map(indented)]
  })
  const after = notes === undefined ? [] : ["", notes]
  return [`usage: zeromq-lz4 ${synopsis}`, "", about, "", ...rows, ...after].join("\n")
}

function wrapped(text: string, columns: number): string[] {
  const lines: string[] = []
  for (const word of text.split(" ")) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= columns)
      lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

/**
 * Parses the number given for an option; undefined if it was not given. The caller checks the range.
 * `or` names other allowed values.
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
