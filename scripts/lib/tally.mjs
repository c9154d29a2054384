/** Prints a suite's counts, on a last line that gate.mjs reads. */

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** @param {Counts} counts */
export const summary = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`

/** Prints the counts and sets the exit code. @param {Counts} counts */
export function finish(counts) {
  if (counts.passed + counts.failed === 0) console.error("nothing was run")
  if (counts.failed || !counts.passed) process.exitCode = 1
  console.log(summary(counts))
}

/** Parses the counts in a script's output; undefined if it did not reach its end. @param {string} output @returns {Counts | undefined} */
export function readSummary(output) {
  const last = output.trimEnd().split("\n").at(-1) ?? ""
  const found = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(last)
  if (!found) return undefined
  const [passed, failed, skipped] = found.slice(1).map((digits) => Number(digits ?? 0))
  return { passed, failed, skipped }
}
