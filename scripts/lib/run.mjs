/** Running programs, and ending a script with a message instead of a stack trace. */
import { spawnSync } from "node:child_process"
import { root, shown } from "./paths.mjs"

/** @param {string} message @returns {never} */
export function fail(message) {
  console.error(message)
  process.exit(1)
}

/** @param {string} program @param {string[]} args */
export const commandLine = (program, args) => [program, ...args].map(shown).join(" ")

/**
 * Runs a program and waits. Its output goes where ours goes.
 * @param {string} program
 * @param {string[]} args
 * @param {import("node:child_process").SpawnSyncOptions} [options]
 * @returns {boolean} whether it ended with 0
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

/** The same, for what nothing works without. @type {(...args: Parameters<typeof tryRun>) => void} */
export function run(program, args, options) {
  if (!tryRun(program, args, options)) fail(`failed: ${commandLine(program, args)}`)
}

/** A program of node_modules. @param {string} name */
export const tool = (name) => `${root}/node_modules/.bin/${name}`
