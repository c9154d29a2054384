#!/usr/bin/env node
/** The command line: `zeromq-lz4 COMMAND …`. */
import { readFileSync } from "node:fs"
import { bridge, usage as bridgeUsage } from "./bridge.js"
import { InputError, UsageError } from "./errors.js"
import { inspect, usage as inspectUsage } from "./inspect.js"
import { printErrorLine } from "./output.js"
import { train, usage as trainUsage } from "./train.js"

const usage = `usage: zeromq-lz4 COMMAND …

  bridge     let any ZeroMQ program speak lz4+tcp://
  inspect    show what is in a capture of traffic
  train      make a dictionary from sample messages

Run zeromq-lz4 COMMAND --help for more, and zeromq-lz4 --version for the version.
Exit codes: 0 success, 1 bad input, 2 wrong usage.`

const commands = new Map([
  ["bridge", { usage: bridgeUsage, run: bridge }],
  ["inspect", { usage: inspectUsage, run: inspect }],
  ["train", { usage: trainUsage, run: train }],
])

function version(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8")
  return JSON.parse(text).version
}

const [name, ...args] = process.argv.slice(2)
const command = commands.get(name ?? "")

try {
  if (name === "--help" || name === "-h") console.log(usage)
  else if (name === "--version") console.log(version())
  else if (!command)
    throw new UsageError(
      name === undefined ? "no command given" : `no command ${JSON.stringify(name)}`,
    )
  else if (args.includes("--help") || args.includes("-h")) console.log(command.usage)
  else await command.run(args)
} catch (error) {
  if (error instanceof UsageError) {
    printErrorLine(`zeromq-lz4: ${error.message}`)
    console.error(`\n${command?.usage ?? usage}`)
    process.exitCode = 2
  } else if (error instanceof InputError) {
    printErrorLine(`zeromq-lz4: ${error.message}`)
    process.exitCode = 1
  } else {
    throw error
  }
}
