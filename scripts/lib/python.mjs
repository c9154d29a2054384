/** The paths of the Python environment for test/interop. */
import { join } from "node:path"
import { build, root } from "./paths.mjs"

export const environment = join(build, "venv")
export const pythonPath = join(environment, "bin/python")
export const requirements = join(root, "test/interop/requirements.txt")
