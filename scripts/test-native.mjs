/** The C unit tests, as native programs that sanitizers watch. */
import { spawnSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { basename, join } from "node:path"
import { readArgs } from "./lib/args.mjs"
import * as paths from "./lib/paths.mjs"
import { fail, tryRun } from "./lib/run.mjs"
import { missingSanitizers } from "./lib/sanitizers.mjs"
import { liblz4Sources, librarySources, programs } from "./lib/sources.mjs"
import { finish } from "./lib/tally.mjs"

const { only } = readArgs(
  `usage: npm run test:native [-- --only NAME]

Builds each program of wasm/test/ with gcc and with clang, under AddressSanitizer and
UndefinedBehaviorSanitizer, with blocks of 1 GiB and of 4 KiB, and runs it.
A program prints "ok NAME" or "not ok NAME" for every test and ends with 0 when all passed.
  --only NAME   only wasm/test/NAME.c`,
  { only: { type: "string" } },
)

/** @type {("gcc" | "clang")[]} */
const compilers = ["gcc", "clang"]
const SANITIZERS = "address,undefined"
const variants = [
  { name: "", defines: [] },
  // Parts of many blocks, without gigabytes.
  { name: "-small-blocks", defines: ["-DZL_BLOCK_MAX=4096"] },
]
const common = [
  "-std=c11",
  "-O1",
  "-g",
  "-fno-omit-frame-pointer",
  `-fsanitize=${SANITIZERS}`,
  "-fno-sanitize-recover=all",
  `-I${paths.liblz4}`,
  `-I${paths.wasm}`,
]
const strict = ["-Wall", "-Wextra", "-Werror"]

const missing = compilers.flatMap((compiler) => missingSanitizers(compiler, SANITIZERS) ?? [])
if (missing.length) fail(missing.join("\n"))

const tests = programs("test").filter(({ name }) => !only || name === only)
if (!tests.length) fail(`no such program in wasm/test/: ${only ?? "it is empty"}`)

const counts = { passed: 0, failed: 0, skipped: 0 }
for (const compiler of compilers) {
  const directory = join(paths.build, "native", compiler)
  mkdirSync(directory, { recursive: true })
  // Not ours to warn about.
  const liblz4 = compile(compiler, [...common, "-w"], directory, "", liblz4Sources)
  for (const variant of variants) testVariant(compiler, directory, liblz4, variant)
}
finish(counts)

/**
 * One object for each source, named after it.
 * @param {string} compiler @param {string[]} flags @param {string} directory @param {string} suffix @param {string[]} sources
 */
function compile(compiler, flags, directory, suffix, sources) {
  return sources.map((source) => {
    const object = join(directory, `${basename(source, ".c")}${suffix}.o`)
    if (!tryRun(compiler, [...flags, "-c", source, "-o", object])) counts.failed++
    return object
  })
}

/** @param {string} compiler @param {string} directory @param {string[]} liblz4 @param {{ name: string, defines: string[] }} variant */
function testVariant(compiler, directory, liblz4, { name, defines }) {
  const flags = [...common, ...strict, ...defines]
  const objects = [...compile(compiler, flags, directory, name, librarySources()), ...liblz4]
  for (const test of tests) {
    const label = `${compiler}${name} ${test.name}`
    const program = join(directory, `${test.name}${name}`)
    if (tryRun(compiler, [...flags, test.source, ...objects, "-o", program]))
      runTest(label, program)
    else report(label, 0, 1)
  }
}

/** @param {string} label @param {string} program */
function runTest(label, program) {
  const { stdout, status, signal, error } = spawnSync(program, [], {
    cwd: paths.root,
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
    timeout: 300_000,
    env: { ...process.env, UBSAN_OPTIONS: "print_stacktrace=1" },
  })
  const passed = stdout.match(/^ok /gm)?.length ?? 0
  const failures = stdout.match(/^not ok .*$/gm) ?? []
  for (const line of failures) console.error(line)
  const crashed = status !== 0 && !failures.length
  if (crashed) console.error(`${label}: ended with ${error?.message ?? signal ?? status}`)
  if (!passed && !crashed && !failures.length) console.error(`${label}: ran no tests`)
  report(label, passed, failures.length + Number(crashed || (!passed && !failures.length)))
}

/** @param {string} label @param {number} passed @param {number} failed */
function report(label, passed, failed) {
  counts.passed += passed
  counts.failed += failed
  console.log(`${failed ? "not ok" : "ok"} ${label}: ${passed} passed, ${failed} failed`)
}
