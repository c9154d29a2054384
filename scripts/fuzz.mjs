/** Fuzzes the C code with libFuzzer and sanitizers, and the JavaScript with damaged captures. */
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import { readArgs } from "./lib/args.mjs"
import { pack, unpack } from "./lib/corpus.mjs"
import * as paths from "./lib/paths.mjs"
import { fail, run, start } from "./lib/run.mjs"
import { missingSanitizers } from "./lib/sanitizers.mjs"
import { SEED } from "./lib/seed.mjs"
import { inShell } from "./lib/shell.mjs"
import { onAllCores } from "./lib/side-by-side.mjs"
import { nativePrograms } from "./lib/sources.mjs"
import { finish, tellFailure } from "./lib/tally.mjs"

const usage = `usage: npm run fuzz -- [--seconds N | --fixed] [--target NAME] [--max-bytes N] [--keep]

Builds each program in wasm/fuzz/ with clang and runs it on test/fuzz-corpus/NAME.txt. New inputs are
written to build/fuzz/NAME/found/, failing ones to build/fuzz/NAME/. These targets are not C programs:
"capture" and "commands" are inputs of scripts/fuzz-capture.mjs, which tests the capture reader in dist/;
"properties" are the property tests of test/unit/, with new values of SEED.
  --seconds N     the time for each target, with new inputs each time; 60 by default, 0 only replays
                  the corpus
  --fixed         as in the gate: the corpus, and then the same inputs every time. Leaves out
                  "properties", which the suite "unit" runs with the same seed every time
  --target NAME   only wasm/fuzz/NAME.c, zstd-NAME for wasm/fuzz/zstd/NAME.c, "capture", "commands" or "properties"
  --max-bytes N   the longest input for a C program; the shorter inputs are, the more of them are run
  --keep          the corpus becomes the shortest inputs, of it and of those found, that reach all that they do`

const {
  seconds: given = "60",
  fixed: isFixed,
  target,
  "max-bytes": maxBytes = "0",
  keep,
} = readArgs(usage, {
  seconds: { type: "string" },
  fixed: { type: "boolean" },
  target: { type: "string" },
  "max-bytes": { type: "string" },
  keep: { type: "boolean" },
})
const seconds = Number(given)
if (!Number.isInteger(seconds) || seconds < 0)
  fail(`--seconds ${given}: must be a whole number\n\n${usage}`)
// libFuzzer chooses the length itself if it is 0.
if (!/^\d+$/.test(maxBytes)) fail(`--max-bytes ${maxBytes}: must be a whole number\n\n${usage}`)

/** Inputs of each target with --fixed: fewer where each takes several times as long as those of the others. */
const fixedRuns = (/** @type {string} */ name) =>
  ["commands", "train"].includes(name) ? 4000 : 10_000
/** Time limit of a target beyond its own, for what hangs. */
const LIMIT_MS = 20 * 60_000

const isWanted = (/** @type {string} */ name) => !target || name === target
const formats = nativePrograms("fuzz")
  .map((format) => ({ ...format, programs: format.programs.filter(({ name }) => isWanted(name)) }))
  .filter(({ programs }) => programs.length > 0)
const scripts = ["capture", "commands"].filter(isWanted)
const properties = isFixed ? [] : ["properties"].filter(isWanted)
if (!formats.length && !scripts.length && !properties.length) fail(`no such target: ${target}`)
const SANITIZERS = "fuzzer,address,undefined"
const missing = formats.length > 0 && missingSanitizers("clang", SANITIZERS)
if (missing) fail(missing)

const flags = [
  "-std=c11",
  "-O1",
  "-g1",
  "-fno-omit-frame-pointer",
  `-fsanitize=${SANITIZERS}`,
  "-fno-sanitize-recover=all",
  `-I${paths.wasm}`,
]

const counts = { passed: 0, failed: 0, skipped: 0 }
const targets = formats.flatMap((format) => {
  const directory = join(paths.build, "fuzz", "objects", format.format)
  mkdirSync(directory, { recursive: true })
  const ownFlags = [...flags, ...format.small, ...format.includes]
  const objects = [
    { sources: format.sources, flags: /** @type {string[]} */ ([]) },
    ...format.libraries,
  ]
    .flatMap((group) =>
      group.sources.map((source) => ({ source, flags: [...ownFlags, ...group.flags] })),
    )
    .map((one) => ({ ...one, object: join(directory, `${basename(one.source, ".c")}.o`) }))
  return format.programs.map((program) => ({ ...program, flags: ownFlags, objects }))
})
const objects = new Map(targets.flatMap((target) => target.objects).map((one) => [one.object, one]))
await onAllCores(
  [...objects.values()].map(({ source, flags, object }) => async () => {
    if (!(await succeeds("clang", [...flags, "-c", source, "-o", object]))) counts.failed++
  }),
)
await onAllCores([
  ...targets.map((target) => async () => tally(await fuzz(target))),
  ...scripts.map((name) => async () => tally(await fuzzScript(name))),
  ...properties.map(() => async () => tally(await playProperties())),
])
finish(counts)

/** @param {boolean} passed */
function tally(passed) {
  counts[passed ? "passed" : "failed"]++
}

/** @param {string} program @param {string[]} args */
async function succeeds(program, args) {
  return (await start(program, args)).status === 0
}

/** @param {string} name @param {string} error @param {string[]} alone */
function failed(name, error, alone) {
  tellFailure({ test: name, ...(isFixed ? { seed: SEED } : {}), alone: inShell(alone), error })
  return false
}

/** Runs a script, and ends it after a timeout, which an endless loop could not do itself. @param {string} name */
async function fuzzScript(name) {
  const script = join(paths.root, "scripts/fuzz-capture.mjs")
  const seed = isFixed ? SEED : String(Date.now())
  const extent = isFixed ? ["--runs", String(fixedRuns(name))] : ["--seconds", String(seconds)]
  const args = [script, "--target", name, ...extent, "--seed", seed]
  const limitMs = seconds * 1000 + LIMIT_MS
  const { status, stdout } = await start(process.execPath, args, { limitMs })
  const said = stdout.trim().split("\n").reverse().join(", ")
  console.log(`${status === 0 ? "ok" : "not ok"} ${name}: ${said}`)
  return status === 0 || failed(name, `ended with ${status}`, [process.execPath, ...args])
}

/** Runs the property tests with one seed after another, until the time is over. */
async function playProperties() {
  const directory = join(paths.root, "test/unit")
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join(directory, name))
    .filter((file) => /from "fast-check"|support\/seed/.test(readFileSync(file, "utf8")))
  const main = join(paths.root, "node_modules/vitest/vitest.mjs")
  const args = [main, "run", "--project", "unit", "--reporter=dot", ...files]
  const until = Date.now() + seconds * 1000
  let rounds = 0
  for (let seed = Date.now(); Date.now() < until; seed++, rounds++) {
    process.env.SEED = String(seed)
    const { status, stdout } = await start(process.execPath, args)
    if (status === 0) continue
    console.error(stdout)
    console.log("not ok properties")
    return failed("properties", `SEED=${seed}`, ["env", `SEED=${seed}`, process.execPath, ...args])
  }
  console.log(`ok properties: ${rounds} seeds`)
  return true
}

/** @param {typeof targets[number]} target */
async function fuzz({ name, source, flags, objects }) {
  const directory = join(paths.build, "fuzz", name)
  const found = join(directory, isFixed ? "fixed" : "found")
  const kept = join(directory, "corpus")
  // What an earlier run has found would change what this one tries.
  if (isFixed) rmSync(found, { recursive: true, force: true })
  mkdirSync(found, { recursive: true })
  unpack(name, kept)

  const program = join(directory, name)
  const sources = [source, ...objects.map(({ object }) => object)]
  if (!(await succeeds("clang", [...flags, ...sources, "-o", program]))) return false

  // libFuzzer writes new inputs to the first directory only.
  const fresh = seconds ? [`-max_total_time=${seconds}`] : ["-runs=0"]
  const extent = isFixed ? [`-runs=${fixedRuns(name)}`, `-seed=${SEED}`] : fresh
  const log = join(directory, "log")
  const output = openSync(log, "w")
  const { status } = await start(
    program,
    [
      ...extent,
      `-max_len=${maxBytes}`,
      "-timeout=100",
      "-print_final_stats=1",
      `-artifact_prefix=${directory}/`,
      found,
      kept,
    ],
    { limitMs: seconds * 1000 + LIMIT_MS, stdio: ["ignore", output, output] },
  )
  closeSync(output)
  const text = readFileSync(log, "utf8")
  const runs = /number_of_executed_units: (\d+)/.exec(text)?.[1] ?? "?"
  if (status === 0) {
    if (keep) keepShortest(name, program, [kept, found])
    console.log(`ok ${name}: ${runs} runs`)
    return true
  }
  console.error(text.split("\n").slice(-60).join("\n"))
  const artifact = /Test unit written to (.*)/.exec(text)?.[1]
  if (artifact)
    console.error(
      `The input: ${paths.shown(artifact)}. To repeat: ${paths.shown(program)} ${paths.shown(artifact)}`,
    )
  console.log(`not ok ${name}: see ${paths.shown(log)}`)
  return failed(name, text.slice(-1500), artifact ? [program, artifact] : [program, kept])
}

/**
 * Makes the shortest inputs that reach the same edges the corpus of a target. Counting hits too would keep
 * many times as many.
 * @param {string} name @param {string} program @param {string[]} directories
 */
function keepShortest(name, program, directories) {
  const merged = join(paths.build, "fuzz", name, "merged")
  rmSync(merged, { recursive: true, force: true })
  mkdirSync(merged)
  const args = ["-merge=1", "-use_counters=0", "-verbosity=0", merged, ...directories]
  run(program, args, { stdio: "ignore" })
  console.log(`${name}: ${pack(name, merged)} inputs kept`)
}
