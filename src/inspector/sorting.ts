/** The rows of a view in the order of a column. */
import type { CaptureIndex } from "./capture-index.js"
import type { Sorting } from "./protocol.js"
import type { View } from "./view.js"

/** Characters of each part that are compared. */
const COMPARED_CHARS = 64

/** Returns the rows of a view, sorted. Rows that are equal keep their order. */
export function sorted(
  index: CaptureIndex,
  view: View,
  { column, descending }: Sorting,
): Uint32Array {
  const rows = Uint32Array.from({ length: view.length }, (_, place) => view.at(place))
  if (column === "form" || column === "content") {
    const texts = new Map(Array.from(rows, (row) => [row, textOf(index, row, column)]))
    const order = (a: number, b: number) => {
      const [one, other] = [texts.get(a)!, texts.get(b)!]
      return one < other ? -1 : one > other ? 1 : 0
    }
    return rows.sort(descending ? (a, b) => order(b, a) || a - b : (a, b) => order(a, b) || a - b)
  }
  const keys = new Float64Array(index.rows)
  for (const row of rows) keys[row] = numberOf(index, row, column)
  const sign = descending ? -1 : 1
  return rows.sort((a, b) => sign * (keys[a]! - keys[b]!) || a - b)
}

/** Rows without a value are like those with the least. */
function numberOf(index: CaptureIndex, row: number, column: Sorting["column"]): number {
  switch (column) {
    case "time":
      return index.time(row) || 0
    case "packet":
      return index.packet(row) ?? 0
    case "connection":
      return index.connectionId(row)
    case "from":
      return { client: 1, server: 2 }[index.from(row)!] ?? 0
    case "parts":
      return index.parts(row) ?? 0
    case "plain":
      return index.kind(row) === "message" ? index.plainBytes(row) : -1
    case "wire":
      return index.parts(row) ? index.wireBytes(row) : -1
    case "ratio":
      return index.kind(row) === "message" ? index.plainBytes(row) / index.wireBytes(row) || 0 : -1
    default:
      return row
  }
}

function textOf(index: CaptureIndex, row: number, column: "form" | "content"): string {
  const { kind, forms, preview } = index.row(row)
  if (column === "form") return kind === "error" ? kind : forms.join(" ")
  return preview.map((piece) => piece.slice(0, COMPARED_CHARS)).join(" ")
}
