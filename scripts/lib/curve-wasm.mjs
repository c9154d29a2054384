/** Puts the module of CURVE into the package, as text in a file that is read when it is needed. */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "./paths.mjs"

/** Returns the module in base64. */
export const curveWasm = () => readFileSync(join(build, "curve.wasm"), "base64")

/**
 * Returns the module of dist/ that exports the text. The hash in its name keeps a process from reading that of
 * another version, if the package is replaced while it runs.
 */
export const curveWasmFile = () => {
  file ??= `curve-wasm-${createHash("sha256").update(curveWasm()).digest("hex").slice(0, 8).toUpperCase()}.js`
  return file
}
/** @type {string | undefined} */
let file

/** Resolves "curve-wasm" to that module. @type {import("esbuild").Plugin} */
export const separateCurveWasm = {
  name: "curve-wasm",
  setup(esbuild) {
    esbuild.onResolve({ filter: /^curve-wasm$/ }, () => ({
      path: `./${curveWasmFile()}`,
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
