/** The directory for results of the interop tests. */
import { join } from "node:path"
import { build } from "./paths.mjs"

export const matrixDirectory = join(build, "interop-matrix")
