import * as carried from "curve-wasm"
import { wasmError, withCode } from "../codec/errors.js"

/**
 * Compiles the module of CURVE.
 *
 * @throws an error with the code ERR_LZ4_WASM if there is no WebAssembly.
 */
export function compile(): WebAssembly.Module {
  if (typeof WebAssembly === "undefined") throw wasmError("there is no WebAssembly (--jitless?)")
  try {
    return new WebAssembly.Module(Buffer.from(carried.default, "base64"))
  } catch (error) {
    throw withCode(error as Error, "ERR_LZ4_WASM")
  }
}
