/** Times calls of a codec. */
import { collectGarbage } from "../lib/garbage.mjs"

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
