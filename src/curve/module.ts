import * as carried from "curve-wasm"
import { fromBase64 } from "../base/base64.js"
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

/** Returns the module as text. CommonJS reads its file only now. */
function base64(): string {
  try {
    return carried.default
  } catch (cause) {
    const what =
      "a file of zeromq-lz4 is gone: it was installed anew or removed while this process runs"
    throw new Error(`${what}, so start the process again`, { cause })
  }
}

function compile(): WebAssembly.Module {
  if (typeof WebAssembly === "undefined") throw wasmError("there is no WebAssembly (--jitless?)")
  try {
    return new WebAssembly.Module(fromBase64(base64()))
  } catch (error) {
    throw withCode(error as Error, "ERR_LZ4_WASM")
  }
}
