/** Runs programs, and ends scripts with a message instead of a stack trace. */
import { spawn, spawnSync } from "node:child_process"
import { root, shown } from "./paths.mjs"

/** @param {string} message @returns {never} */
export function fail(message) {
  console.error(message)
  process.exit(1)
}

/** @param {string} program @param {string[]} args */
export const commandLine = (program, args) => [program, ...args].map(shown).join(" ")

/**
 * Runs a program to its end, with the same standard output.
 * @param {string} program
 * @param {string[]} args
 * @param {import("node:child_process").SpawnSyncOptions} [options]
 * @returns {boolean} whether its exit code was 0
 */
export function tryRun(program, args, options = {}) {
  const { status, signal, error } = spawnSync(program, args, {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    ...options,
  })
  if (error) console.error(`${program}: ${error.message}`)
  if (signal) console.error(`${commandLine(program, args)}: ended by ${signal}`)
  return status === 0
}

/** Runs a program, and ends the script if it fails. @type {(...args: Parameters<typeof tryRun>) => void} */
export function run(program, args, options) {
  if (!tryRun(program, args, options)) fail(`failed: ${commandLine(program, args)}`)
}

/**
 * Runs a program asynchronously, and ends it after `limitMs`.
 * @param {string} program
 * @param {string[]} args
 * @param {{ limitMs?: number, stdio?: import("node:child_process").StdioOptions }} [options]
 * @returns {Promise<{ status: number | NodeJS.Signals | null, stdout: string }>} with the exit code,
 *   or the signal that ended it
 */
export function start(
  program,
  args,
  { limitMs = 20 * 60_000, stdio = ["ignore", "pipe", "inherit"] } = {},
) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      stdio,
      timeout: limitMs,
      killSignal: "SIGKILL",
    })
    let stdout = ""
    child.stdout?.setEncoding("utf8").on("data", (text) => {
      stdout += text
    })
    child.on("error", (error) => {
      console.error(`${program}: ${error.message}`)
      resolve({ status: null, stdout })
    })
    child.on("close", (status, signal) => {
      if (signal) console.error(`${program} ended with ${signal}: ${args.join(" ")}`)
      resolve({ status: status ?? signal, stdout })
    })
  })
}

/** Returns the path of a program in node_modules. @param {string} name */
export const tool = (name) => `${root}/node_modules/.bin/${name}`
