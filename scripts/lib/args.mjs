/** Command lines of the scripts: `--name` and `--name VALUE`, anything else is refused. */
import { parseArgs } from "node:util"
import { fail } from "./run.mjs"

/**
 * @template {import("node:util").ParseArgsConfig["options"]} Options
 * @param {string} usage printed for --help and after a mistake
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
