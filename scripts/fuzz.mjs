/** Fuzzes the C code with libFuzzer and sanitizers, and the JavaScript with damaged captures. */
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { readArgs } from "./lib/args.mjs"
import * as paths from "./lib/paths.mjs"
import { fail, run, start } from "./lib/run.mjs"
import { missingSanitizers } from "./lib/sanitizers.mjs"
import { onAllCores } from "./lib/side-by-side.mjs"
import { liblz4Sources, librarySources, programs } from "./lib/sources.mjs"
import { finish } from "./lib/tally.mjs"

const usage = `usage: npm run fuzz -- [--seconds N] [--target NAME] [--max-bytes N] [--keep]

Builds each program in wasm/fuzz/ with clang and runs it on test/fuzz-corpus/NAME/. New inputs are
written to build/fuzz/NAME/found/, failing ones to build/fuzz/NAME/. The targets "capture" and
"commands" are not C programs but scripts/fuzz-NAME.mjs, which test the capture reader in dist/.
  --seconds N     the time for each target; 60 by default, 0 only replays the corpus
  --target NAME   only wasm/fuzz/NAME.c, "capture" or "commands"
  --max-bytes N   the longest input for a C program; the shorter inputs are, the more of them are run
  --keep          add inputs that increase coverage to the corpus`

const {
  seconds: given = "60",
  target,
  "max-bytes": maxBytes = "0",
  keep,
} = readArgs(usage, {
  seconds: { type: "string" },
  target: { type: "string" },
  "max-bytes": { type: "string" },
  keep: { type: "boolean" },
})
const seconds = Number(given)
if (!Number.isInteger(seconds) || seconds < 0)
  fail(`--seconds ${given}: must be a whole number\n\n${usage}`)
// libFuzzer chooses the length itself if it is 0.
if (!/^\d+$/.test(maxBytes)) fail(`--max-bytes ${maxBytes}: must be a whole number\n\n${usage}`)

const isWanted = (/** @type {string} */ name) => !target || name === target
const targets = programs("fuzz").filter(({ name }) => isWanted(name))
const scripts = ["capture", "commands"].filter(isWanted)
if (!targets.length && !scripts.length) fail(`no such program in wasm/fuzz/: ${target}`)
const SANITIZERS = "fuzzer,address,undefined"
const missing = targets.length > 0 && missingSanitizers("clang", SANITIZERS)
if (missing) fail(missing)

const flags = [
  "-std=c11",
  "-O1",
  "-g",
  "-fno-omit-frame-pointer",
  `-fsanitize=${SANITIZERS}`,
  "-fno-sanitize-recover=all",
  // Small blocks, so that small inputs can be parts of several blocks.
  "-DZL_BLOCK_MAX=4096",
  `-I${paths.liblz4}`,
  `-I${paths.wasm}`,
]

const counts = { passed: 0, failed: 0, skipped: 0 }
const objects = [...librarySources(), ...liblz4Sources].map((source) => ({
  source,
  object: join(paths.build, "fuzz", `${basename(source, ".c")}.o`),
}))
mkdirSync(join(paths.build, "fuzz"), { recursive: true })
if (targets.length)
  await onAllCores(
    objects.map(({ source, object }) => async () => {
      if (!(await succeeds("clang", [...flags, "-c", source, "-o", object]))) counts.failed++
    }),
  )
await onAllCores([
  ...targets.map(
    ({ name, source }) =>
      async () =>
        tally(await fuzz(name, source)),
  ),
  ...scripts.map((name) => async () => tally(await fuzzScript(name))),
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

/** Runs a script, and ends it after a timeout, which an endless loop could not do itself. @param {string} name */
async function fuzzScript(name) {
  const script = join(paths.root, `scripts/fuzz-${name}.mjs`)
  const args = [script, "--seconds", String(seconds)]
  const { status, stdout } = await start(process.execPath, args, { limitMs: (seconds + 60) * 1000 })
  const said = stdout.trim().split("\n").reverse().join(", ")
  console.log(`${status === 0 ? "ok" : "not ok"} ${name}: ${said}`)
  return status === 0
}

/** @param {string} name @param {string} source */
async function fuzz(name, source) {
  const directory = join(paths.build, "fuzz", name)
  const found = join(directory, "found")
  const kept = join(paths.root, "test/fuzz-corpus", name)
  mkdirSync(found, { recursive: true })
  mkdirSync(kept, { recursive: true })

  const program = join(directory, name)
  const sources = [source, ...objects.map(({ object }) => object)]
  if (!(await succeeds("clang", [...flags, ...sources, "-o", program]))) return false

  // libFuzzer writes new inputs to the first directory only.
  const limit = seconds ? `-max_total_time=${seconds}` : "-runs=0"
  const log = join(directory, "log")
  const output = openSync(log, "w")
  const { status } = await start(
    program,
    [
      limit,
      `-max_len=${maxBytes}`,
      "-timeout=10",
      "-print_final_stats=1",
      `-artifact_prefix=${directory}/`,
      found,
      kept,
    ],
    { limitMs: (seconds + 120) * 1000, stdio: ["ignore", output, output] },
  )
  closeSync(output)
  const text = readFileSync(log, "utf8")
  const runs = /number_of_executed_units: (\d+)/.exec(text)?.[1] ?? "?"
  if (status === 0) {
    // Only by edges reached; counting hits too would keep many times as many inputs.
    if (keep)
      run(program, ["-merge=1", "-use_counters=0", "-verbosity=0", kept, found], {
        stdio: "ignore",
      })
    console.log(`ok ${name}: ${runs} runs, ${readdirSync(kept).length} inputs kept`)
    return true
  }
  console.error(text.split("\n").slice(-60).join("\n"))
  const artifact = /Test unit written to (.*)/.exec(text)?.[1]
  if (artifact)
    console.error(
      `The input: ${paths.shown(artifact)}. To repeat: ${paths.shown(program)} ${paths.shown(artifact)}`,
    )
  console.log(`not ok ${name}: see ${paths.shown(log)}`)
  return false
}
