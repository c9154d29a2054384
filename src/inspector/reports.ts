/** The dialog with tables about the rows that match. */
import type { ReportTable } from "../capture/reports/report.js"
import { byId, html, setText } from "./dom.js"

export function listenForReports(read: () => Promise<ReportTable[]>): void {
  const dialog = byId<HTMLDialogElement>("reports")
  const tables = byId("reports-tables")
  /** Counts the readings, to ignore the tables of an earlier one. */
  let readings = 0
  byId("open-reports").addEventListener("click", async () => {
    const reading = ++readings
    setText(byId("reports-mistake"), "")
    setText(byId("reports-state"), "Reading the capture again …")
    tables.replaceChildren()
    dialog.showModal()
    try {
      const newest = await read()
      if (reading === readings) tables.replaceChildren(...newest.map(shown))
    } catch (error) {
      if (reading === readings) setText(byId("reports-mistake"), (error as Error).message)
    }
    if (reading === readings) setText(byId("reports-state"), "")
  })
  byId("reports-close").addEventListener("click", () => dialog.close())
}

function shown({ title, columns, rows, notes }: ReportTable): HTMLElement {
  const alignment = (index: number) => (columns[index]?.isText ? "words" : undefined)
  const names = columns.map(({ name, title }, i) =>
    html("th", { scope: "col", class: alignment(i), title }, name),
  )
  const lines = rows.map((row) =>
    html("tr", {}, ...row.map((cell, i) => html("td", { class: alignment(i) }, cell))),
  )
  const table = html(
    "div",
    { class: "report", role: "region", "aria-label": title, tabindex: 0 },
    html("table", {}, html("thead", {}, html("tr", {}, ...names)), html("tbody", {}, ...lines)),
  )
  return html(
    "section",
    {},
    html("h3", { class: "report-title" }, title),
    rows.length > 0 ? table : undefined,
    ...notes.map((note) => html("p", { class: "note" }, note)),
  )
}
