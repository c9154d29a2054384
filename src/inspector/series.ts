/** Series for the charts of a view's rows. */
import type { CaptureIndex } from "./capture-index.js"
import { roundUp } from "./format.js"
import type { Charts } from "./protocol.js"
import type { Stepped } from "./steps.js"
import type { View } from "./view.js"

const MAX_BINS = 200
const MIN_BINS = 20
/** Average number of messages in a bin, so that lines do not become dots. */
const BIN_MESSAGES = 4
const MIN_BIN_NANOSECONDS = 1e6
/** Rows between steps. */
const STEP_ROWS = 4096

/** Returns charts of the rows that the view has at the beginning. */
export function* chartsOf(index: CaptureIndex, view: View): Stepped<Charts> {
  const { length } = view
  let start = Number.POSITIVE_INFINITY
  let end = Number.NEGATIVE_INFINITY
  const plainSizes: number[] = []
  const wireSizes: number[] = []
  let timed = 0
  for (let place = 0; place < length; place++) {
    if (place % STEP_ROWS === 0) yield
    const row = view.at(place)
    if (!isMessage(index, row)) continue
    if (!index.isEncrypted(row)) count(plainSizes, index.plainBytes(row))
    count(wireSizes, index.wireBytes(row))
    const time = index.time(row)
    if (!Number.isNaN(time)) timed++
    if (time < start) start = time
    if (time > end) end = time
  }
  if (start > end)
    return { start: 0, binNanoseconds: 1, plain: [], wire: [], plainSizes, wireSizes }

  const wanted = Math.min(MAX_BINS, Math.max(MIN_BINS, timed / BIN_MESSAGES))
  const binNanoseconds = roundUp(Math.max((end - start) / wanted, MIN_BIN_NANOSECONDS))
  const first = Math.floor(start / binNanoseconds)
  const bins = Math.floor(end / binNanoseconds) - first + 1
  const plain = new Array<number>(bins).fill(0)
  const wire = new Array<number>(bins).fill(0)
  for (let place = 0; place < length; place++) {
    if (place % STEP_ROWS === 0) yield
    const row = view.at(place)
    if (!isMessage(index, row)) continue
    const time = index.time(row)
    if (Number.isNaN(time)) continue
    const bin = Math.floor(time / binNanoseconds) - first
    if (!index.isEncrypted(row)) plain[bin]! += index.plainBytes(row)
    wire[bin]! += index.wireBytes(row)
  }
  return { start: first * binNanoseconds, binNanoseconds, plain, wire, plainSizes, wireSizes }
}

/** Returns whether a row is a message; of encrypted ones only the size on the wire is known. */
const isMessage = (index: CaptureIndex, row: number): boolean =>
  index.kind(row) === "message" || index.isEncrypted(row)

function count(sizes: number[], bytes: number): void {
  const at = bytes === 0 ? 0 : Math.floor(Math.log2(bytes)) + 1
  while (sizes.length <= at) sizes.push(0)
  sizes[at]!++
}
