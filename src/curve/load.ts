/** CURVE for code that also runs in browsers, which loads its module only when it is needed. */
import { wasmError } from "../codec/errors.js"
import { type Curve, curveOf } from "./curve.js"

interface Loaded {
  curveModule(): WebAssembly.Module
}

let known: Curve | undefined

/** CommonJS has no promise: the build makes it a require(). */
const load = (): Loaded | Promise<Loaded> => import("./module.js")

/** @throws Error with the code ERR_LZ4_WASM if there is no WebAssembly. */
export async function loadCurve(): Promise<Curve> {
  known ??= curveOf((await load()).curveModule())
  return known
}

/** Returns the same synchronously. In pages and in Deno, it has to be loaded already. */
export function loadCurveSync(): Curve {
  if (known) return known
  const loaded = load()
  if (!("curveModule" in loaded)) {
    loaded.catch(() => {}) // the caller gets an error anyway
    throw wasmError("CURVE is not loaded yet: the first reading with keys needs readCapture()")
  }
  known = curveOf(loaded.curveModule())
  return known
}
