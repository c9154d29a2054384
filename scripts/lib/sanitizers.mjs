/** Checks whether a compiler's sanitizers are installed, which may need a separate package. */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onPath } from "./files.mjs"

const FUZZER =
  "int LLVMFuzzerTestOneInput(const char *bytes, __SIZE_TYPE__ n) { return !bytes && n; }"
const PROGRAM = "int main(void) { return 0; }"

/** Returns the name of the package with clang's sanitizers on Debian and Ubuntu, which includes the version. */
function runtimePackage() {
  const version = execFileSync("clang", ["-dumpversion"], { encoding: "utf8" })
  return `libclang-rt-${version.split(".", 1)[0]}-dev`
}

/**
 * Returns a message with the package that `compiler` needs for the given sanitizers; undefined if none is missing.
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
