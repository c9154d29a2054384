/** The Python environment for test/interop and benchmarks, with pinned versions of other implementations. */
import { copyFileSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { changed, onPath } from "./files.mjs"
import { build, root } from "./paths.mjs"
import { commandLine, fail, run } from "./run.mjs"

const environment = join(build, "venv")
export const pythonPath = join(environment, "bin/python")
export const requirements = join(root, "test/interop/requirements.txt")

/** Creates the environment unless it has the packages of `requirements`. */
export function makePythonEnvironment() {
  // The requirements that were installed: other pins need a new environment.
  const installed = join(environment, "installed-requirements.txt")
  const isReady =
    changed(pythonPath) &&
    changed(installed) &&
    readFileSync(installed, "utf8") === readFileSync(requirements, "utf8")
  if (isReady) return
  if (!onPath("python3")) fail("python3 is not on PATH: apt-get install python3-venv")
  const show = (/** @type {string} */ program, /** @type {string[]} */ ...args) => {
    console.log(commandLine(program, args))
    run(program, args)
  }
  const quiet = ["--quiet", "--disable-pip-version-check"]
  rmSync(environment, { recursive: true, force: true })
  show("python3", "-m", "venv", environment)
  show(pythonPath, "-m", "pip", "install", ...quiet, "-r", requirements)
  copyFileSync(requirements, installed)
}
