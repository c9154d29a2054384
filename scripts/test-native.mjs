/** Runs the C unit tests as native programs, under sanitizers. */
import { mkdirSync } from "node:fs"
import { basename, join } from "node:path"
import { readArgs } from "./lib/args.mjs"
import * as paths from "./lib/paths.mjs"
import { fail, start } from "./lib/run.mjs"
import { missingSanitizers } from "./lib/sanitizers.mjs"
import { inShell } from "./lib/shell.mjs"
import { onAllCores } from "./lib/side-by-side.mjs"
import { nativePrograms } from "./lib/sources.mjs"
import { finish, tellFailure } from "./lib/tally.mjs"

const { only } = readArgs(
  `usage: npm run test:native [-- --only NAME]

Builds each program of wasm/test/ with gcc and with clang, under AddressSanitizer and
UndefinedBehaviorSanitizer, with blocks of 1 GiB and of 4 KiB, and runs it.
A program prints "ok NAME" or "not ok NAME" for every test and exits with 0 if all passed.
  --only NAME   only wasm/test/NAME.c, or zstd-NAME for wasm/test/zstd/NAME.c`,
  { only: { type: "string" } },
)

/** @type {("gcc" | "clang")[]} */
const compilers = ["gcc", "clang"]
const SANITIZERS = "address,undefined"
const variants = ["", "-small"]
const common = [
  "-std=c11",
  "-O1",
  "-g1",
  "-fno-omit-frame-pointer",
  `-fsanitize=${SANITIZERS}`,
  "-fno-sanitize-recover=all",
  `-I${paths.wasm}`,
]
const strict = ["-Wall", "-Wextra", "-Werror"]

const missing = compilers.flatMap((compiler) => missingSanitizers(compiler, SANITIZERS) ?? [])
if (missing.length) fail(missing.join("\n"))

const formats = nativePrograms("test").map((format) => ({
  ...format,
  programs: format.programs.filter(({ name }) => !only || name === only),
}))
if (formats.every(({ programs }) => !programs.length))
  fail(`no such program in wasm/test/: ${only ?? "it is empty"}`)
/** @typedef {typeof formats[number]} Format */

process.env.UBSAN_OPTIONS = "print_stacktrace=1"
const counts = { passed: 0, failed: 0, skipped: 0 }
const wanted = formats.filter(({ programs }) => programs.length > 0)
await onAllCores(
  compilers.flatMap((compiler) =>
    wanted.flatMap((format) => {
      mkdirSync(directoryOf(compiler, format), { recursive: true })
      const flags = [...common, ...format.includes]
      return [
        // Not our code: no warnings.
        ...format.libraries.flatMap((library) =>
          library.sources.map((source) =>
            compiling(compiler, format, source, "", [...flags, ...library.flags]),
          ),
        ),
        ...variants.flatMap((name) =>
          format.sources.map((source) =>
            compiling(compiler, format, source, name, [
              ...flags,
              ...strict,
              ...definesOf(format, name),
            ]),
          ),
        ),
      ]
    }),
  ),
)
await onAllCores(
  // Grouped by program, as some programs take much longer than others.
  wanted.flatMap((format) =>
    format.programs.flatMap((test) =>
      compilers.flatMap((compiler) =>
        variants.map((variant) => () => runTest(compiler, format, variant, test)),
      ),
    ),
  ),
)
finish(counts)

/** @param {Format} format @param {string} variant */
function definesOf(format, variant) {
  return variant === "" ? [] : format.small
}

/** @param {string} compiler @param {Format} format */
function directoryOf(compiler, { format }) {
  return join(paths.build, "native", compiler, format)
}

/** @param {string} compiler @param {Format} format @param {string} source @param {string} suffix */
function objectOf(compiler, format, source, suffix) {
  return join(directoryOf(compiler, format), `${basename(source, ".c")}${suffix}.o`)
}

/**
 * Returns a task that compiles a source to an object file of the same name.
 * @param {string} compiler @param {Format} format @param {string} source @param {string} suffix
 * @param {string[]} flags
 */
function compiling(compiler, format, source, suffix, flags) {
  const args = [...flags, "-c", source, "-o", objectOf(compiler, format, source, suffix)]
  return async () => {
    if ((await start(compiler, args)).status === 0) return
    counts.failed++
    const alone = inShell([compiler, ...args])
    tellFailure({ test: `${compiler} compiles`, file: paths.shown(source), alone, error: "" })
  }
}

/**
 * Links one program and runs it.
 * @param {string} compiler @param {Format} format @param {string} variant
 * @param {Format["programs"][number]} test
 */
async function runTest(compiler, format, variant, test) {
  const label = `${compiler}${variant} ${test.name}`
  const program = join(directoryOf(compiler, format), `${test.name}${variant}`)
  const objects = [
    ...format.sources.map((source) => objectOf(compiler, format, source, variant)),
    ...format.libraries.flatMap(({ sources }) =>
      sources.map((source) => objectOf(compiler, format, source, "")),
    ),
  ]
  const flags = [...common, ...format.includes, ...strict, ...definesOf(format, variant)]
  const linked = await start(compiler, [...flags, test.source, ...objects, "-o", program])
  if (linked.status !== 0) {
    fails(label, test, "was not built")
    return report(label, 0, 1)
  }

  const { stdout, status } = await start(program, [])
  const passed = stdout.match(/^ok /gm)?.length ?? 0
  const failures = stdout.match(/^not ok .*$/gm) ?? []
  for (const line of failures) fails(label, test, line)
  const crashed = status !== 0 && !failures.length
  if (crashed) fails(label, test, `ended with ${status}`)
  if (!passed && !crashed && !failures.length) fails(label, test, "ran no tests")
  report(label, passed, failures.length + Number(crashed || (!passed && !failures.length)))
}

/** @param {string} label @param {{ name: string, file: string }} test @param {string} error */
function fails(label, { name, file }, error) {
  const alone = `npm run test:native -- --only ${name}`
  tellFailure({ test: label, file, alone, error })
}

/** @param {string} label @param {number} passed @param {number} failed */
function report(label, passed, failed) {
  counts.passed += passed
  counts.failed += failed
  console.log(`${failed ? "not ok" : "ok"} ${label}: ${passed} passed, ${failed} failed`)
}
