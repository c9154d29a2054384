/** Runs all checks that do not execute the package. */
import { execFileSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { readArgs } from "./lib/args.mjs"
import { exportedFiles } from "./lib/entries.mjs"
import { onPath } from "./lib/files.mjs"
import * as paths from "./lib/paths.mjs"
import { fail, tool, tryRun } from "./lib/run.mjs"
import { inShell } from "./lib/shell.mjs"
import { formattedSources } from "./lib/sources.mjs"
import { finish, tellFailure } from "./lib/tally.mjs"

readArgs(
  `usage: npm run check

Checks format, lint, types, TSDoc, the packed package (publint, Are The Types Wrong) and the codec's size.`,
  {},
)
if (!onPath("clang-format")) fail("clang-format is not on PATH: apt-get install clang-format")

/** Packs the package as npm would publish it. */
function pack() {
  const directory = join(paths.build, "pack")
  mkdirSync(directory, { recursive: true })
  const args = ["pack", "--json", "--silent", "--pack-destination", directory]
  const [{ filename }] = JSON.parse(
    execFileSync("npm", args, { cwd: paths.root, encoding: "utf8" }),
  )
  return join(directory, filename)
}

const tarball = pack()

/** @type {[what: string, program: string, ...args: string[]][]} */
const checks = [
  ["biome", tool("biome"), "check", "--error-on-warnings", "."],
  ["clang-format", "clang-format", "--dry-run", "-Werror", ...formattedSources()],
  ["types", tool("tsc")],
  ["declarations", process.execPath, join(paths.root, "scripts/check-declarations.mjs")],
  ["publint", tool("publint"), "run", tarball, "--strict"],
  ["are the types wrong", tool("attw"), tarball, "--exclude-entrypoints", ...exportedFiles],
  ["size", process.execPath, join(paths.root, "scripts/check-size.mjs")],
]

const counts = { passed: 0, failed: 0, skipped: 0 }
for (const [what, program, ...args] of checks) {
  const passed = tryRun(program, args)
  counts[passed ? "passed" : "failed"]++
  console.log(`${passed ? "ok" : "not ok"} ${what}\n`)
  if (!passed) tellFailure({ test: what, alone: inShell([program, ...args]), error: "" })
}
finish(counts)
