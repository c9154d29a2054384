/** Reads what vitest-reporter.mjs wrote. */
import { readFileSync } from "node:fs"
import { SEED } from "./seed.mjs"
import { inShell } from "./shell.mjs"

/** @typedef {import("./tally.mjs").Failure} Failure */
/** @typedef {import("./vitest-reporter.mjs").Line} Line */

/** @param {string} file */
export function readReport(file) {
  const text = readFileSync(file, "utf8")
  const lines = /** @type {Line[]} */ (
    text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  )
  const { counts } = lines.find(({ what }) => what === "finished") ?? {}
  return { counts, failed: lines.filter(({ what }) => what === "failed"), running: running(lines) }
}

/** Returns the files of tests that started but did not end. @param {Line[]} lines */
function running(lines) {
  const open = new Set()
  for (const { what, project, file } of lines) {
    const name = `${file} (${project})`
    if (what === "started") open.add(name)
    if (what === "ended") open.delete(name)
  }
  return [...open]
}

/**
 * @param {Line} line about a failure
 * @param {string[]} vitest  the command line of `vitest run`
 * @returns {Failure}
 */
export const failureOf = ({ project, file, test, error = "" }, vitest) => ({
  test: test ?? (file ? "the whole file" : "outside of all tests"),
  file,
  seed: SEED,
  alone: inShell([
    ...vitest,
    ...(project ? ["--project", project] : []),
    ...(file ? [file] : []),
    ...(test ? ["-t", patternOf(test)] : []),
  ]),
  error,
})

/** Returns a pattern for vitest's -t, which separates the names of suites by spaces only. @param {string} name */
function patternOf(name) {
  const literal = name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
  return `^${literal.replaceAll(" > ", "(?: >)? ")}$`
}
