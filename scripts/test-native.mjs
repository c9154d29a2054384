/** Runs the C unit tests as native programs, under sanitizers. */
import { mkdirSync } from "node:fs"
import { basename, join } from "node:path"
import { readArgs } from "./lib/args.mjs"
import * as paths from "./lib/paths.mjs"
import { fail, start } from "./lib/run.mjs"
import { missingSanitizers } from "./lib/sanitizers.mjs"
import { inShell } from "./lib/shell.mjs"
import { onAllCores } from "./lib/side-by-side.mjs"
import {
  curveSources,
  liblz4Sources,
  librarySources,
  libsodiumBoxSources,
  libsodiumFlags,
  libsodiumIncludes,
  libsodiumSources,
  programs,
  sanitizedLiblz4Flags,
} from "./lib/sources.mjs"
import { finish, tellFailure } from "./lib/tally.mjs"

const { only } = readArgs(
  `usage: npm run test:native [-- --only NAME]

Builds each program of wasm/test/ with gcc and with clang, under AddressSanitizer and
UndefinedBehaviorSanitizer, with blocks of 1 GiB and of 4 KiB, and runs it.
A program prints "ok NAME" or "not ok NAME" for every test and exits with 0 if all passed.
  --only NAME   only wasm/test/NAME.c`,
  { only: { type: "string" } },
)

/** @type {("gcc" | "clang")[]} */
const compilers = ["gcc", "clang"]
const SANITIZERS = "address,undefined"
const variants = [
  { name: "", defines: [] },
  // For parts of several blocks, without gigabytes.
  { name: "-small-blocks", defines: ["-DZL_BLOCK_MAX=4096"] },
]
const common = [
  "-std=c11",
  "-O1",
  "-g1",
  "-fno-omit-frame-pointer",
  `-fsanitize=${SANITIZERS}`,
  "-fno-sanitize-recover=all",
  `-I${paths.liblz4}`,
  `-I${paths.wasm}`,
  ...libsodiumIncludes,
]
const ourSources = [...librarySources(), ...curveSources()]
const sodiumSources = [...libsodiumSources, ...libsodiumBoxSources]
const sodiumFlags = [
  ...libsodiumFlags(process.arch === "x64"),
  // Its code for SSE2 stores words at any address, which x86-64 and WebAssembly allow.
  "-fno-sanitize=alignment",
]
const strict = ["-Wall", "-Wextra", "-Werror"]

const missing = compilers.flatMap((compiler) => missingSanitizers(compiler, SANITIZERS) ?? [])
if (missing.length) fail(missing.join("\n"))

const tests = programs("test").filter(({ name }) => !only || name === only)
if (!tests.length) fail(`no such program in wasm/test/: ${only ?? "it is empty"}`)

process.env.UBSAN_OPTIONS = "print_stacktrace=1"
const counts = { passed: 0, failed: 0, skipped: 0 }
await onAllCores(
  compilers.flatMap((compiler) => {
    mkdirSync(directoryOf(compiler), { recursive: true })
    return [
      // Not our code: no warnings.
      ...liblz4Sources.map((source) =>
        compiling(compiler, source, "", [...common, ...sanitizedLiblz4Flags]),
      ),
      ...sodiumSources.map((source) =>
        compiling(compiler, source, "", [...common, ...sodiumFlags, "-w"]),
      ),
      ...variants.flatMap(({ name, defines }) =>
        ourSources.map((source) =>
          compiling(compiler, source, name, [...common, ...strict, ...defines]),
        ),
      ),
    ]
  }),
)
await onAllCores(
  // Grouped by program, as some programs take much longer than others.
  tests.flatMap((test) =>
    compilers.flatMap((compiler) =>
      variants.map((variant) => () => runTest(compiler, variant, test)),
    ),
  ),
)
finish(counts)

/** @param {string} compiler */
function directoryOf(compiler) {
  return join(paths.build, "native", compiler)
}

/** @param {string} compiler @param {string} source @param {string} suffix */
function objectOf(compiler, source, suffix) {
  return join(directoryOf(compiler), `${basename(source, ".c")}${suffix}.o`)
}

/**
 * Returns a task that compiles a source to an object file of the same name.
 * @param {string} compiler @param {string} source @param {string} suffix @param {string[]} flags
 */
function compiling(compiler, source, suffix, flags) {
  const args = [...flags, "-c", source, "-o", objectOf(compiler, source, suffix)]
  return async () => {
    if ((await start(compiler, args)).status === 0) return
    counts.failed++
    const alone = inShell([compiler, ...args])
    tellFailure({ test: `${compiler} compiles`, file: paths.shown(source), alone, error: "" })
  }
}

/**
 * Links one program and runs it.
 * @param {string} compiler @param {{ name: string, defines: string[] }} variant @param {{ name: string, source: string }} test
 */
async function runTest(compiler, { name, defines }, test) {
  const label = `${compiler}${name} ${test.name}`
  const program = join(directoryOf(compiler), `${test.name}${name}`)
  const objects = [
    ...ourSources.map((source) => objectOf(compiler, source, name)),
    ...[...liblz4Sources, ...sodiumSources].map((source) => objectOf(compiler, source, "")),
  ]
  const flags = [...common, ...strict, ...defines]
  const linked = await start(compiler, [...flags, test.source, ...objects, "-o", program])
  if (linked.status !== 0) {
    fails(label, test.name, "was not built")
    return report(label, 0, 1)
  }

  const { stdout, status } = await start(program, [])
  const passed = stdout.match(/^ok /gm)?.length ?? 0
  const failures = stdout.match(/^not ok .*$/gm) ?? []
  for (const line of failures) fails(label, test.name, line)
  const crashed = status !== 0 && !failures.length
  if (crashed) fails(label, test.name, `ended with ${status}`)
  if (!passed && !crashed && !failures.length) fails(label, test.name, "ran no tests")
  report(label, passed, failures.length + Number(crashed || (!passed && !failures.length)))
}

/** @param {string} label @param {string} name @param {string} error */
function fails(label, name, error) {
  const alone = `npm run test:native -- --only ${name}`
  tellFailure({ test: label, file: `wasm/test/${name}.c`, alone, error })
}

/** @param {string} label @param {number} passed @param {number} failed */
function report(label, passed, failed) {
  counts.passed += passed
  counts.failed += failed
  console.log(`${failed ? "not ok" : "ok"} ${label}: ${passed} passed, ${failed} failed`)
}
