/** Times calls of a codec. */
import { collectGarbage } from "../lib/garbage.mjs"

/**
 * Returns the microseconds per call. This includes collecting the calls' own garbage;
 * earlier garbage is collected first.
 * @param {(input: Uint8Array) => Uint8Array} call
 * @param {readonly Uint8Array[]} inputs
 * @param {number} milliseconds
 */
export function microsecondsPerCall(call, inputs, milliseconds) {
  collectGarbage()
  // The heap is small after a collection and has to grow before times are steady.
  repeat(call, inputs, milliseconds / 2)
  return repeat(call, inputs, milliseconds)
}

/**
 * Measures whole cycles through the inputs.
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
