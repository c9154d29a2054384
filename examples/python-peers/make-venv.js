/** Makes .venv with what requirements.txt names, on the first start, unless PYTHON names a Python that has it. */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, rmSync } from "node:fs"
import { environment, python } from "./python.js"

if (!process.env.PYTHON && !existsSync(python)) {
  const base = ["python3", "python3.14", "python3.13", "python3.12", "python"].find(isRecent)
  if (!base) {
    console.error("there is no Python 3.12 or later with venv on PATH: README.md says what to do")
    process.exit(1)
  }
  try {
    execFileSync(base, ["-m", "venv", environment], { stdio: "inherit" })
    const install = ["-m", "pip", "install", "--quiet", "-r", "requirements.txt"]
    execFileSync(python, install, { stdio: "inherit" })
  } catch (error) {
    // The next start tries again.
    rmSync(environment, { recursive: true, force: true })
    throw error
  }
}

function isRecent(program) {
  const question = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))"
  return spawnSync(program, ["-c", question]).status === 0
}
