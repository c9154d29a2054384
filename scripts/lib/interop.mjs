/** The files in which the tests against other implementations leave their results. */
import { join } from "node:path"
import { build } from "./paths.mjs"

export const matrixDirectory = join(build, "interop-matrix")
