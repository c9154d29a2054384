/** Creates the Python environment for test/interop, with pinned versions of other implementations. */
import { copyFileSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { readArgs } from "./lib/args.mjs"
import { changed, onPath } from "./lib/files.mjs"
import { environment, pythonPath, requirements } from "./lib/python.mjs"
import { commandLine, fail, run } from "./lib/run.mjs"

readArgs(
  `usage: node scripts/python.mjs

Creates build/venv from test/interop/requirements.txt, unless it is up to date.`,
  {},
)

// The requirements that were installed: other pins need a new environment.
const installed = join(environment, "installed-requirements.txt")
const isReady =
  changed(pythonPath) &&
  changed(installed) &&
  readFileSync(installed, "utf8") === readFileSync(requirements, "utf8")

if (!isReady) {
  if (!onPath("python3")) fail("python3 is not on PATH: apt-get install python3-venv")
  const show = (/** @type {string} */ program, /** @type {string[]} */ ...args) => {
    console.log(commandLine(program, args))
    run(program, args)
  }
  rmSync(environment, { recursive: true, force: true })
  show("python3", "-m", "venv", environment)
  show(
    pythonPath,
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "-r",
    requirements,
  )
  copyFileSync(requirements, installed)
}
