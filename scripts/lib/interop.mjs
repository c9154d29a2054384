/** Where the tests against other implementations leave what they saw. */
import { join } from "node:path"
import { build } from "./paths.mjs"

export const matrixDirectory = join(build, "interop-matrix")
