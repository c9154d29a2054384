import * as carried from "curve-wasm"
import { wasmError, withCode } from "../codec/errors.js"

let compiled: WebAssembly.Module | undefined

/**
 * Returns the module of CURVE, which the first call compiles. Threads share it.
 *
 * @throws an error with the code ERR_LZ4_WASM if there is no WebAssembly.
 */
export function curveModule(): WebAssembly.Module {
  compiled ??= compile()
  return compiled
}

function compile(): WebAssembly.Module {
  if (typeof WebAssembly === "undefined") throw wasmError("there is no WebAssembly (--jitless?)")
  try {
    return new WebAssembly.Module(Buffer.from(carried.default, "base64"))
  } catch (error) {
    throw withCode(error as Error, "ERR_LZ4_WASM")
  }
}
