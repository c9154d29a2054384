/** Prints a suite's failures and counts, in lines that gate.mjs reads. */

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */
/**
 * A test that failed.
 * @typedef {object} Failure
 * @property {string} test  its name
 * @property {string} [file]  of the test, in the repository
 * @property {string | number} [seed]  of its random choices
 * @property {string} alone  the command that runs only this test
 * @property {string} error
 */

const FAILURE = "failure: "

/** Prints a failure. @param {Failure} failure */
export const tellFailure = (failure) => console.log(FAILURE + JSON.stringify(failure))

/** Parses the failures in a script's output. @param {string} output @returns {Failure[]} */
export const readFailures = (output) =>
  output
    .split("\n")
    .filter((line) => line.startsWith(FAILURE))
    .map((line) => JSON.parse(line.slice(FAILURE.length)))

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
