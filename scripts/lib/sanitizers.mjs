/** Whether a compiler has what its sanitizers need, which may be a package of its own. */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onPath } from "./files.mjs"

const FUZZER =
  "int LLVMFuzzerTestOneInput(const char *bytes, __SIZE_TYPE__ n) { return !bytes && n; }"
const PROGRAM = "int main(void) { return 0; }"

/** The package that brings clang's sanitizers on Debian and Ubuntu: its name has the version in it. */
function runtimePackage() {
  const version = execFileSync("clang", ["-dumpversion"], { encoding: "utf8" })
  return `libclang-rt-${version.split(".", 1)[0]}-dev`
}

/**
 * Names the package to install before `compiler` can link with the given sanitizers; undefined when it can.
 * @param {"clang" | "gcc"} compiler
 * @param {string} sanitizers such as "fuzzer,address,undefined"
 * @returns {string | undefined}
 */
export function missingSanitizers(compiler, sanitizers) {
  if (!onPath(compiler)) return `${compiler} is not on PATH: apt-get install ${compiler}`
  const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-"))
  try {
    const { status } = spawnSync(
      compiler,
      [`-fsanitize=${sanitizers}`, "-x", "c", "-", "-o", join(directory, "program")],
      {
        input: sanitizers.includes("fuzzer") ? FUZZER : PROGRAM,
        stdio: ["pipe", "ignore", "ignore"],
      },
    )
    if (status === 0) return undefined
    const missing = compiler === "clang" ? runtimePackage() : "gcc"
    return `${compiler} cannot link its sanitizers (${sanitizers}): apt-get install ${missing}`
  } finally {
    rmSync(directory, { recursive: true })
  }
}
