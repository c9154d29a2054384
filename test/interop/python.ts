/** The interpreter of the Python environment. */
import { existsSync } from "node:fs"

import { installedVersion, pythonPath } from "../../scripts/lib/python.mjs"

export function python(): string {
  if (existsSync(pythonPath)) return pythonPath
  throw new Error(`${pythonPath} is missing: run node scripts/prepare.mjs --python`)
}

/** Whether the older pyomq is installed: it has no arenas, and CURVE that does not encrypt. */
export const isOlderPyomq = Boolean(installedVersion("pyomq")?.startsWith("0.21."))

/** What pyomq needs to receive parts of 1 GiB and more: the newer one's default is just below. */
export const LARGE_IN_PYOMQ = { maxmsgsize: 2 ** 31 }

/** The environment in which pyomq sends no arenas. */
export const NO_ARENAS = { OMQ_LZ4_ARENA_BYTES: "0" }
