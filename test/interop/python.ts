/** The interpreter of the Python environment. */
import { existsSync } from "node:fs"

import { pythonPath } from "../../scripts/lib/python.mjs"

export function python(): string {
  if (existsSync(pythonPath)) return pythonPath
  throw new Error(`${pythonPath} is missing: run node scripts/prepare.mjs --python`)
}
