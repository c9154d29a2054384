#!/usr/bin/env node
/** The command line: `zeromq-lz4 COMMAND …`. */
import { readFileSync } from "node:fs"
import { advise } from "./advise.js"
import { bridge } from "./bridge.js"
import type { Command } from "./command.js"
import { decode } from "./decode.js"
import { InputError, UsageError } from "./errors.js"
import { exchanges } from "./exchanges.js"
import { inspect } from "./inspect.js"
import { keygen } from "./keygen.js"
import { live } from "./live.js"
import { printErrorLine, printResult } from "./output.js"
import { page } from "./page.js"
import { plain } from "./plain.js"
import { statistics } from "./statistics.js"
import { train } from "./train.js"

const all = [
  ...[inspect, statistics, exchanges, advise, plain, page, live],
  ...[decode, bridge, keygen, train],
]
const commands = new Map(all.map((command) => [command.name, command]))

const usage = `usage: zeromq-lz4 COMMAND …

${all.map(({ name, summary }) => `  ${name.padEnd(11)} ${summary}`).join("\n")}
  help        show this text, or with the name of a command how to use it

zeromq-lz4 --version prints the version.
Exit codes: 0 success, 1 bad input, 2 wrong usage.`

const [name, ...args] = process.argv.slice(2)
const helpFlags = ["--help", "-h"]

/** Returns the command with a name. @throws UsageError that lists all commands. */
function commandOf(name: string): Command {
  const found = commands.get(name)
  if (found) return found
  const names = [...commands.keys(), "help"].join(", ")
  throw new UsageError(`no command ${JSON.stringify(name)}; there are ${names}`)
}

function help(names: readonly string[]): string {
  const [of, ...more] = names.filter((name) => !helpFlags.includes(name))
  if (more.length > 0) throw new UsageError("help takes the name of one command")
  return of === undefined || of === "help" ? usage : commandOf(of).usage
}

async function run(): Promise<void> {
  if (name === undefined) throw new UsageError("no command given")
  const isHelp = name === "help" || helpFlags.includes(name)
  if (isHelp) return printResult(...help(args).split("\n"))
  if (name === "--version") {
    const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8")
    return printResult(JSON.parse(text).version)
  }
  const command = commandOf(name)
  if (args.some((arg) => helpFlags.includes(arg))) return printResult(...command.usage.split("\n"))
  return command.run(args)
}

/** Returns a line of usage, and a hint at --help. */
function shortUsage(): string {
  const command = commands.get(name ?? "")
  const [line] = (command?.usage ?? usage).split("\n", 1)
  return `${line}\nsee zeromq-lz4 ${command ? `${name} --help` : "help"}`
}

/** Returns whether an error is for the user: WebAssembly that cannot start says what to do. */
function isExpected(error: unknown): error is Error {
  const { code } = error as NodeJS.ErrnoException
  return error instanceof InputError || code === "ERR_LZ4_WASM" || code === "ERR_LZ4_OUT_OF_MEMORY"
}

try {
  await run()
} catch (error) {
  if (!(error instanceof UsageError) && !isExpected(error)) throw error
  printErrorLine(`zeromq-lz4: ${error.message}`)
  if (error instanceof UsageError) console.error(shortUsage())
  process.exitCode = error instanceof UsageError ? 2 : 1
}
