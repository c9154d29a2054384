/** The Python environment for test/interop and benchmarks, with pinned versions of other implementations. */
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { changed } from "./files.mjs"
import { build, root, shown } from "./paths.mjs"
import { commandLine, fail, run } from "./run.mjs"

const environment = join(build, "venv")
export const pythonPath = join(environment, "bin/python")
const requirements = join(root, "test/interop/requirements.txt")

/** What the environment was made of: anything else needs a new one. */
const madeOf = join(environment, "made-of.json")

/** The minor version of Python 3 from which on pyomq's newest version can be installed. */
const WANTED = 12

/**
 * @typedef {object} Python
 * @property {string} program  its own path, not that of a link or a shim
 * @property {string} version  such as "3.12.1"
 */

/**
 * Asks a program for its version. Undefined if it does not run, as the shims of pyenv for versions
 * that are not selected, or cannot make environments, as Debian's without python3-venv.
 * @param {string} program @returns {Python | undefined}
 */
function ask(program) {
  const question =
    "import ensurepip, platform, sys, venv; print(sys.executable, platform.python_version(), sep='\\n')"
  const { status, stdout } = spawnSync(program, ["-c", question], { encoding: "utf8" })
  const [path = "", version = ""] = status === 0 ? stdout.trim().split("\n") : []
  return version.startsWith("3.") ? { program: path, version } : undefined
}

const minor = (/** @type {string} */ version) => Number(version.split(".")[1])

/** Returns the interpreters that pyenv has installed, the newest first. */
function installedByPyenv() {
  const versions = join(process.env.PYENV_ROOT ?? join(homedir(), ".pyenv"), "versions")
  const names = changed(versions) ? readdirSync(versions) : []
  return names
    .filter((name) => /^3\.\d+\.\d+$/.test(name) && minor(name) >= WANTED)
    .sort((a, b) => b.localeCompare(a, "en", { numeric: true }))
    .map((name) => join(versions, name, "bin/python3"))
}

/**
 * Returns INTEROP_PYTHON, or else the first Python that is new enough, or else python3.
 * @returns {Python}
 */
function choose() {
  const asked = process.env.INTEROP_PYTHON
  if (asked) return ask(asked) ?? fail(`INTEROP_PYTHON=${asked} is no Python 3 with venv`)
  const usual = ask("python3")
  if (usual && minor(usual.version) >= WANTED) return usual
  for (const program of ["python3.14", "python3.13", "python3.12", ...installedByPyenv()]) {
    const python = ask(program)
    if (python && minor(python.version) >= WANTED) return python
  }
  return usual ?? fail("there is no python3 with venv: apt-get install python3-venv")
}

/** Creates the environment unless it has the packages of `requirements`, and says what is in it. */
export function makePythonEnvironment() {
  const python = choose()
  const wanted = JSON.stringify({ ...python, requirements: readFileSync(requirements, "utf8") })
  if (!(changed(pythonPath) && changed(madeOf) && readFileSync(madeOf, "utf8") === wanted)) {
    const show = (/** @type {string} */ program, /** @type {string[]} */ ...args) => {
      console.log(commandLine(program, args))
      run(program, args)
    }
    const quiet = ["--quiet", "--disable-pip-version-check"]
    rmSync(environment, { recursive: true, force: true })
    show(python.program, "-m", "venv", environment)
    show(pythonPath, "-m", "pip", "install", ...quiet, "-r", requirements)
    writeFileSync(madeOf, wanted)
  }
  const why =
    minor(python.version) < WANTED ? `: newer ones need a Python of at least 3.${WANTED}` : ""
  console.log(
    `${shown(environment)}: Python ${python.version}, pyomq ${installedVersion("pyomq")}${why}`,
  )
}

/**
 * Returns the version of a package in the environment; undefined if there is none.
 * @param {string} name
 */
export function installedVersion(name) {
  const libraries = join(environment, "lib")
  // Packages are in python3.12/site-packages, their versions in the names of directories.
  const found = changed(libraries) ? readdirSync(libraries) : []
  return found
    .flatMap((python) => readdirSync(join(libraries, python, "site-packages")))
    .map((directory) => new RegExp(`^${name}-(.+)\\.dist-info$`).exec(directory)?.[1])
    .find(Boolean)
}

/**
 * Returns the versions of a package that `requirements` has for one Python or another.
 * @param {string} name
 */
export const pinnedVersions = (name) =>
  [...readFileSync(requirements, "utf8").matchAll(new RegExp(`^${name}==([^;\\s]+)`, "gm"))].map(
    ([, version]) => version,
  )
