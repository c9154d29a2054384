/** Runs the sockets suite in Node for Windows, under Wine. */
import { once } from "node:events"
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { availableParallelism } from "node:os"
import { basename, join, relative } from "node:path"
import { buildSync } from "esbuild"
import {
  sameEverywhere,
  sameOnSystems,
  sameTestsOnSystems,
} from "../test/platforms/same-everywhere.mjs"
import { entryOf, leftOut } from "../test/platforms/windows/left-out.mjs"
import { readArgs } from "./lib/args.mjs"
import { filesIn } from "./lib/files.mjs"
import { build, root } from "./lib/paths.mjs"
import { fail } from "./lib/run.mjs"
import {
  endWindows,
  installRuntimes,
  makeWinePrefix,
  startInWindows,
  windowsPath,
} from "./lib/runtimes.mjs"
import { inShell } from "./lib/shell.mjs"
import { runSideBySide } from "./lib/side-by-side.mjs"
import { finish, tellFailure } from "./lib/tally.mjs"

/** @typedef {import("../test/platforms/runner/main.js").Report} Report */

const { file, only, all, every } = readArgs(
  `usage: node scripts/windows-sockets.mjs [--every] [--file NAME] [--only PATTERN] [--all]

Runs the tests of test/sockets against dist/ in Node for Windows, except the files and tests listed in
test/platforms/same-everywhere.mjs and the tests in test/platforms/windows/left-out.mjs. Needs Wine;
installs Node for Windows from npm.
  --every          every file and test, and tests over tcp:// too, which test libzmq
  --file NAME      only test/sockets/NAME.test.ts
  --only PATTERN   only tests whose name matches
  --all            include the tests that are left out`,
  {
    file: { type: "string" },
    only: { type: "string" },
    all: { type: "boolean" },
    every: { type: "boolean" },
  },
)

/** Time limit for a file, also on slow machines. */
const LIMIT_MS = 10 * 60_000
/** Number of files that run at the same time. */
const AT_ONCE = availableParallelism()

installRuntimes()
makeWinePrefix()
const output = join(build, "windows")
const runner = "test/platforms/runner"
rmSync(output, { recursive: true, force: true })
mkdirSync(output, { recursive: true })
compile()

const suffix = ".test.ts"
const notHere = [...sameEverywhere, ...sameOnSystems]
const files = filesIn(join(root, "test/sockets"), suffix).filter((path) => {
  const name = basename(path, suffix)
  return file ? name === file : every || !notHere.includes(name)
})
if (!files.length) fail(`no such file in test/sockets: ${file}`)

const counts = { passed: 0, failed: 0, skipped: 0 }
await runSideBySide(
  files.map((path) => ({
    name: path,
    cores: 1,
    run: () => runFile(basename(path, suffix), relative(root, path)),
  })),
  AT_ONCE,
)
endWindows()
finish(counts)

/** Compiles all files that tests import to JavaScript, for hooks.mjs. */
function compile() {
  buildSync({
    // Not test/**: other tests install packages there.
    entryPoints: ["src", "test/sockets", "test/support", "test/interop", runner].map(
      (directory) => `${directory}/**/*.ts`,
    ),
    ...{ outdir: output, outbase: root, absWorkingDir: root, logLevel: "warning" },
    ...{ platform: "node", format: "esm", target: "node22", sourcemap: "inline" },
  })
}

/** @param {string} name @param {string} path */
async function runFile(name, path) {
  const unfit = all ? {} : (leftOut[name] ?? {})
  const entries = Object.keys(unfit)
  const same = all || every ? [] : (sameTestsOnSystems[name] ?? [])
  const report = join(output, `${name}.json`)
  const printed = join(output, `${name}.log`)
  const hooks = "./test/platforms/windows/hooks.mjs"
  const args = ["--import", hooks, "--expose-gc", `${runner}/main.ts`]
  const process = startInWindows([...args, windowsPath(report), path], printed, {
    LEFT_OUT: JSON.stringify([...entries, ...same]),
    ...(every ? { SOCKETS_ALL: "1" } : { WITHOUT_REFERENCE: "1" }),
    ...(only ? { ONLY: only } : {}),
  })
  const timer = setTimeout(() => process.kill("SIGKILL"), LIMIT_MS)
  const [status] = await once(process, "exit")
  clearTimeout(timer)

  console.log(`\n${path}`)
  if (!existsSync(report)) {
    return failed(
      path,
      "the whole file",
      `ended with ${status} before its report\n${readFileSync(printed, "utf8")}`,
    )
  }
  /** @type {Report} */
  const { tests, errors } = JSON.parse(readFileSync(report, "utf8"))
  for (const test of tests) {
    const why = entryOf(same, test.name) && "does the same on Linux"
    show(path, test, unfit[entryOf(entries, test.name) ?? ""] ?? why)
  }
  for (const error of errors) failed(path, "outside of all tests", error)
  // Not all of the first run otherwise: some are over tcp://, or among what times() leaves out.
  for (const entry of every ? entries : same)
    if (!tests.some((test) => entryOf([entry], test.name)))
      failed(path, entry, "is left out, but there is no such test")
}

/** @param {string} path @param {Report["tests"][number]} test @param {string | undefined} why it is left out */
function show(path, { name, state, milliseconds, errors }, why) {
  if (state === "pass") {
    counts.passed++
    console.log(`  ✓ ${name} ${milliseconds} ms`)
  } else if (state === "fail") {
    failed(path, name, `after ${milliseconds} ms\n${errors.join("\n")}`)
  } else if (why) console.log(`  - ${name}: ${why}`)
  else if (!only) {
    counts.skipped++
    console.log(`  ? ${name}: did not run`)
  }
}

/** @param {string} path @param {string} test @param {string} error */
function failed(path, test, error) {
  console.log(`  ✗ ${test}\n${error.replaceAll(/^/gm, "      ")}`)
  const name = basename(path, suffix)
  const more = every ? ["--every"] : []
  const alone = inShell(["node", "scripts/windows-sockets.mjs", ...more, "--file", name])
  tellFailure({ test, file: path, alone, error })
  counts.failed++
}
