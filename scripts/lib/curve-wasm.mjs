/** Reads the module of CURVE, which the package carries as text. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "./paths.mjs"

/** Returns the module in base64. */
export const curveWasm = () => readFileSync(join(build, "curve.wasm"), "base64")
