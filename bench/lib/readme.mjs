/** Writes results into bench/RESULTS.md, between marks for each benchmark, and some into README.md and SECURITY.md. */
import { costRows } from "../reports/costs.mjs"
import { reports } from "../reports/reports.mjs"
import { summaryOf } from "../reports/summary.mjs"
import { markdown, markdownTables } from "./format.mjs"

/** @typedef {import("./results.mjs").Bench} Bench */
/** @typedef {import("./results.mjs").Line} Line */
/** @typedef {Partial<Record<Bench, readonly Line[]>>} Newest */

/** What README.md's table compares, by the names in the versions of a run. */
const COMPARED = ["node", "zeromq", "libzmq"]

/**
 * Describes when measurements were made, and the machine and versions of the first.
 * @param {readonly Line[]} lines @param {readonly string[]} [names]  of the versions, all by default
 */
const circumstances = (lines, names) => {
  const days = new Set(lines.map(({ date }) => date.slice(0, 10)))
  const { machine, versions } = lines[0]
  const used = Object.entries(versions)
    .filter(([name]) => !names || names.includes(name))
    .map(([name, version]) => `${name} ${version}`)
  const where = `${machine.cpu} (${machine.cores} cores), ${machine.os}`
  const [first, ...later] = [...days].sort()
  const when = later.length > 0 ? `${first} to ${later.at(-1)}` : first
  return [when, where, ...used].join(", ")
}

/** @param {Line} line */
const commitOf = ({ commit }) => (commit ? `, commit ${commit.slice(0, 10)}` : "")

/**
 * Replaces the text between two marks.
 * @param {string} text @param {string} file @param {string} name @param {string | undefined} content  undefined keeps the text
 */
function fill(text, file, name, content) {
  const marked = new RegExp(`(<!-- bench:${name} -->\n)[\\s\\S]*?(<!-- /bench:${name} -->)`)
  if (!marked.test(text))
    throw new Error(`${file} has no <!-- bench:${name} --> … <!-- /bench:${name} --> to fill`)
  if (content === undefined) return text
  return text.replace(marked, (_, open, close) => `${open}\n${content}\n\n${close}`)
}

/**
 * Returns bench/RESULTS.md with the newest run of each benchmark, and its plots. Benchmarks without
 * results keep their text.
 * @param {string} text @param {Newest} newest
 */
export function readme(text, newest) {
  const plots = []
  let filled = text
  for (const bench of /** @type {Bench[]} */ (Object.keys(reports))) {
    const measurements = newest[bench]
    if (!measurements?.length) {
      filled = fill(filled, "bench/RESULTS.md", bench, undefined)
      continue
    }
    /** @type {import("../reports/tables.mjs").Report} */
    const { introduction, tables, plots: draw } = reports[bench]
    const drawn = draw?.(measurements) ?? []
    plots.push(...drawn)
    const content = [
      introduction(measurements),
      ...drawn.map(({ name, title }) => `![${title}](plots/${name}.svg)`),
      `<details>\n<summary>The numbers</summary>\n\n${markdownTables(tables(measurements))}\n\n</details>`,
      `${circumstances(measurements.slice(0, 1))}${commitOf(measurements[0])}.`,
    ].join("\n\n")
    filled = fill(filled, "bench/RESULTS.md", bench, content)
  }
  return { text: filled, plots }
}

/** Returns README.md with its results. @param {string} text @param {Newest} newest */
export function overview(text, newest) {
  const { more, less, costs, lines } = summaryOf(newest)
  if (lines.length === 0) return fill(text, "README.md", "summary", undefined)
  const content = [
    markdown(more, 1),
    markdown(less, 1),
    ...(costs ? [costs] : []),
    `${circumstances(lines, COMPARED)}.`,
  ].join("\n\n")
  return fill(text, "README.md", "summary", content)
}

/** Returns SECURITY.md with its table of costs. @param {string} text @param {Newest} newest */
export function security(text, newest) {
  const { costs } = newest
  const content = costs?.length
    ? `${markdown(costRows(costs), 1)}\n\n${circumstances(costs.slice(0, 1), COMPARED)}.`
    : undefined
  return fill(text, "SECURITY.md", "costs", content)
}
