/** The options that the benchmarks of links share. */
import { parseArgs } from "node:util"

/**
 * @param {string} help  what --help prints
 * @param {{ full: number, quick: number }} rounds  by default
 */
export function readOptions(help, { full, quick: few }) {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      rounds: { type: "string" },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    process.exit()
  }
  const { quick, only, rounds } = values
  return { quick, only, rounds: Number(rounds ?? (quick ? few : full)) }
}
