/** Parses the scripts' command lines. Only `--name` and `--name VALUE` are allowed. */
import { parseArgs } from "node:util"
import { fail } from "./run.mjs"

/**
 * @template {import("node:util").ParseArgsConfig["options"]} Options
 * @param {string} usage printed for --help and after an error
 * @param {Options} options as for util.parseArgs
 */
export function readArgs(usage, options) {
  try {
    if (!process.argv.includes("--help")) return parseArgs({ options }).values
  } catch (error) {
    fail(`${/** @type {Error} */ (error).message}\n\n${usage}`)
  }
  console.log(usage)
  process.exit(0)
}
