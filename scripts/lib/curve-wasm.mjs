/** Puts the module of CURVE into the package, as text in a file that is read when it is needed. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "./paths.mjs"

/** Returns the module in base64. */
export const curveWasm = () => readFileSync(join(build, "curve.wasm"), "base64")

/** The module of dist/ that exports the text. */
export const CURVE_WASM = "curve-wasm.js"

/** Resolves "curve-wasm" to that module. @type {import("esbuild").Plugin} */
export const separateCurveWasm = {
  name: "curve-wasm",
  setup(esbuild) {
    esbuild.onResolve({ filter: /^curve-wasm$/ }, () => ({
      path: `./${CURVE_WASM}`,
      external: true,
    }))
  },
}

/** Leaves the text out. @type {import("esbuild").Plugin} */
export const withoutCurveWasm = {
  name: "without-curve-wasm",
  setup(esbuild) {
    esbuild.onResolve({ filter: /^curve-wasm$/ }, ({ path }) => ({ path, namespace: "none" }))
    esbuild.onLoad({ filter: /^/, namespace: "none" }, () => ({ contents: `export default ""` }))
  },
}
