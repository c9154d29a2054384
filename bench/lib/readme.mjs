/** The results in README.md: each benchmark between marks of its own. */
import { reports } from "../reports/reports.mjs"
import { markdownTables } from "./format.mjs"

/** @typedef {import("./results.mjs").Bench} Bench */
/** @typedef {import("./results.mjs").Line} Line */

/** Where and when it was. @param {Line} line */
const circumstances = ({ date, commit, machine, versions }) =>
  `${date.slice(0, 10)}, ${machine.cpu} (${machine.cores} cores), ${machine.os}, ` +
  `${Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ")}` +
  `${commit ? `, commit ${commit.slice(0, 10)}` : ""}.`

/**
 * A README with the newest run of each benchmark in it, and the plots it refers to. What was not
 * measured stays as it is.
 * @param {string} text @param {Partial<Record<Bench, readonly Line[]>>} newest
 */
export function readme(text, newest) {
  const plots = []
  let filled = text
  for (const bench of /** @type {Bench[]} */ (Object.keys(reports))) {
    const marked = new RegExp(`(<!-- bench:${bench} -->\n)[\\s\\S]*?(<!-- /bench:${bench} -->)`)
    if (!marked.test(filled))
      throw new Error(`README.md has no <!-- bench:${bench} --> … <!-- /bench:${bench} --> to fill`)
    const measurements = newest[bench]
    if (!measurements?.length) continue
    const { introduction, tables, plots: draw } = reports[bench]
    const drawn = draw(measurements)
    plots.push(...drawn)
    const content = [
      introduction(measurements),
      ...drawn.map(({ name, title }) => `![${title}](bench/plots/${name}.svg)`),
      `<details>\n<summary>The numbers</summary>\n\n${markdownTables(tables(measurements))}\n\n</details>`,
      circumstances(measurements[0]),
    ].join("\n\n")
    filled = filled.replace(marked, (_, open, close) => `${open}\n${content}\n\n${close}`)
  }
  return { text: filled, plots }
}
