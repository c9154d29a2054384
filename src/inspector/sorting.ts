/** The rows of a view in the order of a column. */
import type { CaptureIndex } from "./capture-index.js"
import type { Sorting } from "./protocol.js"
import type { Stepped } from "./steps.js"
import type { View } from "./view.js"

/** Rows between steps. */
const STEP_ROWS = 4096
/** Rows that are sorted at once, before they are merged. */
const RUN_ROWS = 1024

type Order = (a: number, b: number) => number
type NumberOf = (index: CaptureIndex, row: number) => number

/**
 * Returns the rows that a view has at the beginning, sorted. Rows that are equal keep their order.
 * Content is compared byte by byte.
 */
export function* sorted(
  index: CaptureIndex,
  view: View,
  { column, descending }: Sorting,
): Stepped<Uint32Array> {
  const rows = new Uint32Array(view.length)
  const keys = new Float64Array(index.rows)
  const key = column === "form" ? yield* ranks(index, view, rows.length) : NUMBERS[column]
  for (let place = 0; place < rows.length; place++) {
    if (place % STEP_ROWS === 0) yield
    const row = view.at(place)
    rows[place] = row
    keys[row] = key(index, row)
  }
  // A ratio may be infinite, and the difference of two infinities is not a number.
  const byKey: Order = (a, b) => (keys[a] === keys[b] ? 0 : keys[a]! - keys[b]!)
  const ascending: Order =
    column === "content" ? (a, b) => byKey(a, b) || index.compareContent(a, b) : byKey
  return yield* mergeSorted(rows, descending ? (a, b) => ascending(b, a) : ascending)
}

/** Returns a function for the rank of a row's form among all forms, of which there are few. */
function* ranks(index: CaptureIndex, view: View, length: number): Stepped<NumberOf> {
  const forms = new Set<string>()
  for (let place = 0; place < length; place++) {
    if (place % STEP_ROWS === 0) yield
    forms.add(index.form(view.at(place)))
  }
  const ranks = new Map([...forms].sort().map((form, rank) => [form, rank]))
  return (_, row) => ranks.get(index.form(row)) ?? 0
}

/** Sorts rows, and keeps the order of equal ones: a merge sort, because it can be interrupted. */
function* mergeSorted(rows: Uint32Array, order: Order): Stepped<Uint32Array> {
  const { length } = rows
  for (let at = 0; at < length; at += RUN_ROWS) {
    rows.subarray(at, at + RUN_ROWS).sort((a, b) => order(a, b) || a - b)
    yield
  }
  let from: Uint32Array = rows
  let to: Uint32Array = new Uint32Array(length)
  for (let run = RUN_ROWS; run < length; run *= 2) {
    for (let start = 0; start < length; start += 2 * run) {
      const middle = Math.min(start + run, length)
      const end = Math.min(start + 2 * run, length)
      let left = start
      let right = middle
      for (let at = start; at < end; at++) {
        if (at % STEP_ROWS === 0) yield
        const takesLeft = left < middle && (right === end || order(from[left]!, from[right]!) <= 0)
        to[at] = from[takesLeft ? left++ : right++]!
      }
    }
    const sorted = to
    to = from
    from = sorted
  }
  return from
}

/** The numbers by which rows are sorted; without a value, the lowest one. Of forms, the rank counts. */
const NUMBERS: Readonly<Record<Exclude<Sorting["column"], "form">, NumberOf>> = {
  time: (index, row) => index.time(row) || 0,
  packet: (index, row) => index.packet(row) ?? 0,
  connection: (index, row) => index.connectionId(row),
  from: (index, row) => ({ client: 1, server: 2 })[index.from(row)!] ?? 0,
  parts: (index, row) => index.parts(row) ?? 0,
  plain: (index, row) => (index.kind(row) === "message" ? index.plainBytes(row) : -1),
  wire: (index, row) => (index.hasWire(row) ? index.wireBytes(row) : -1),
  ratio: (index, row) =>
    index.kind(row) === "message" ? index.plainBytes(row) / index.wireBytes(row) || 0 : -1,
  content: (index, row) => index.contentStart(row),
}
