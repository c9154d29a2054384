/** Timing, and what is reported of it. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc")

/**
 * Microseconds per call. Collecting the garbage of these calls counts; what
 * others left is collected first.
 * @param {(input: Uint8Array) => Uint8Array} call
 * @param {readonly Uint8Array[]} inputs
 * @param {number} milliseconds
 */
export function microsecondsPerCall(call, inputs, milliseconds) {
  collectGarbage()
  // A collection leaves a small heap, which has to grow again before times are steady.
  repeat(call, inputs, milliseconds / 2)
  return repeat(call, inputs, milliseconds)
}

/**
 * Whole cycles through the inputs.
 * @param {(input: Uint8Array) => Uint8Array} call
 * @param {readonly Uint8Array[]} inputs
 * @param {number} milliseconds
 */
function repeat(call, inputs, milliseconds) {
  const start = performance.now()
  let calls = 0
  let bytes = 0
  let elapsed = 0
  while (elapsed < milliseconds) {
    for (const input of inputs) bytes += call(input).length
    calls += inputs.length
    elapsed = performance.now() - start
  }
  if (bytes === 0) throw new Error("the calls returned nothing")
  return (elapsed * 1000) / calls
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** @param {readonly number[]} values */
export const summary = (values) => ({
  median: median(values),
  minimum: Math.min(...values),
  maximum: Math.max(...values),
  runs: values.length,
})
