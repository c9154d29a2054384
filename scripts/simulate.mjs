/** Runs scenarios with many sockets in the simulator, checks all rules, and shrinks failing scenarios. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"
import { readArgs } from "./lib/args.mjs"
import { fail } from "./lib/run.mjs"
import { bundleEngine, bundleSimulator } from "./lib/simulation.mjs"
import { finish, tellFailure } from "./lib/tally.mjs"

/** @typedef {typeof import("../test/simulation/index.js")} Simulator */
/** @typedef {import("../test/simulation/index.js").Code} Code */
/** @typedef {{ file: string, code: Code, seeds: { from: number, to: number } | undefined, until: number, sound: Code | undefined, next: Int32Array, first: Int32Array, done: Int32Array }} Task */
/** @typedef {{ runs: number, steps: number, messages: number, failed: { seed: number, rule: string, runs: number }[] }} Result */

const usage = `usage: npm run simulate -- [--seconds N | --runs N] [--from SEED] [--seed SEED | --scenario FILE]
                               [--mutations] [--only NAME] [--store FOLDER]

Runs scenarios: sockets of all types over a simulated network and clock, with the code of src/. A seed
determines everything in its scenario. The last line has the totals.
  --seconds N      the duration, with new seeds each time; 60 by default
  --runs N         the number of runs, instead of a duration
  --from SEED      the first seed; by default one from the clock. The gate plays 8,000 runs from 0
  --seed SEED      run one scenario, print its log, and shrink it if it fails
  --scenario FILE  the same for a stored scenario
  --mutations      inject known faults, one at a time, and print which stored scenario, or which run, finds each
  --only NAME      only mutations whose name contains NAME
  --store FOLDER   store failing scenarios there, shrunk, one file for each seed, or for each mutation that
                   no stored scenario finds`

/** Distance between the first seeds of two invocations, whose seeds are consecutive. */
const SEED_STEP = 1e6
const SCENARIOS = fileURLToPath(new URL("../test/simulation/scenarios", import.meta.url))
/** Maximum number of failures of each rule that are shrunk and printed. */
const SHOWN_MAX = 3
/** Maximum number of runs to find a mutation. */
const FOUND_WITHIN = 2000
const FOUND_SECONDS = 300
/** Milliseconds between two lines of progress. */
const PROGRESS_MS = 5000
/** What all threads count. */
const [RUNS, FAILED] = [0, 1]

if (isMainThread) await main()
else {
  const task = /** @type {Task} */ (workerData)
  const simulator = /** @type {Simulator} */ (await import(pathToFileURL(task.file).href))
  // Called outside of promises, because a run drains microtasks.
  setImmediate(() => parentPort?.postMessage(playMany(simulator, task)))
}

/** @param {Simulator} simulator @param {Task} task @returns {Result} */
function playMany(simulator, { code, seeds, until, sound, next, first, done }) {
  Error.stackTraceLimit = 0 // stacks of expected errors would take most of the time
  simulator.catchRejections()
  const compiled = new simulator.Compiled(code)
  const soundly = sound && new simulator.Compiled(sound)
  /** @type {Result} */
  const result = { runs: 0, steps: 0, messages: 0, failed: [] }
  const { from, to } = seeds ?? { from: 0, to: 0 }
  while (Date.now() < until) {
    // Each thread takes the next one, so that all of them end at the same time.
    const seed = from + Atomics.add(next, 0, 1)
    if (seed >= to) break
    // Another thread has found the mutation with a seed before this one.
    if (soundly && seed > Atomics.load(first, 0)) break
    const { failure, steps, messages } = simulator.play(simulator.makeScenario(seed), compiled)
    result.runs++
    result.steps += steps
    result.messages += messages
    Atomics.add(done, RUNS, 1)
    if (!failure) continue
    Atomics.add(done, FAILED, 1)
    // A scenario that fails without the mutation too proves nothing.
    if (soundly && simulator.play(simulator.makeScenario(seed), soundly).failure) continue
    result.failed.push({ seed, rule: failure.rule, runs: result.runs })
    if (!sound) console.error(`seed ${seed}: ${failure.rule}`)
    if (!soundly) continue
    Atomics.store(first, 0, Math.min(seed, Atomics.load(first, 0)))
    break
  }
  return result
}

/**
 * Runs scenarios on all cores.
 * @param {Omit<Task, "next" | "first" | "done">} task
 * @param {(runs: number, failed: number) => void} [progress] called every few seconds
 * @returns {Promise<Result>}
 */
async function playOnAll(task, progress) {
  const next = new Int32Array(new SharedArrayBuffer(4))
  const first = new Int32Array(new SharedArrayBuffer(4)).fill(2 ** 31 - 1)
  const done = new Int32Array(new SharedArrayBuffer(8))
  const tell = () => progress?.(Atomics.load(done, RUNS), Atomics.load(done, FAILED))
  const timer = setInterval(tell, PROGRESS_MS)
  const results = await Promise.all(
    Array.from({ length: availableParallelism() }, () => {
      const worker = new Worker(fileURLToPath(import.meta.url), {
        workerData: { ...task, next, first, done },
        // Nearly all memory of a run is garbage when it ends.
        resourceLimits: { maxYoungGenerationSizeMb: 128 },
        argv: process.argv.slice(2),
      })
      return new Promise((/** @type {(result: Result) => void} */ resolve, reject) => {
        worker.on("message", resolve).on("error", reject)
      })
    }),
  ).finally(() => clearInterval(timer))
  return {
    runs: results.reduce((sum, { runs }) => sum + runs, 0),
    steps: results.reduce((sum, { steps }) => sum + steps, 0),
    messages: results.reduce((sum, { messages }) => sum + messages, 0),
    failed: results.flatMap(({ failed }) => failed).sort((a, b) => a.seed - b.seed),
  }
}

async function main() {
  const options = readArgs(usage, {
    seconds: { type: "string" },
    runs: { type: "string" },
    from: { type: "string" },
    seed: { type: "string" },
    mutations: { type: "boolean" },
    only: { type: "string" },
    scenario: { type: "string" },
    store: { type: "string" },
  })
  const file = await bundleSimulator()
  const simulator = /** @type {Simulator} */ (await import(pathToFileURL(file).href))
  if (options.mutations) {
    await playMutations(simulator, file, options.only, options.store)
    return
  }
  const code = await bundleEngine()
  if (options.seed !== undefined || options.scenario !== undefined) {
    const scenario =
      options.scenario === undefined
        ? simulator.makeScenario(number("seed", options.seed))
        : simulator.parse(readFileSync(options.scenario, "utf8"))
    await outOfPromises(() => show(simulator, code, scenario, true, options.store))
    return
  }
  const from =
    options.from === undefined ? (Date.now() % 1e9) * SEED_STEP : number("from", options.from)
  const runs = options.runs === undefined ? SEED_STEP : number("runs", options.runs)
  const seconds = options.runs === undefined ? number("seconds", options.seconds ?? "60") : 1e6
  const start = Date.now()
  const until = start + seconds * 1000
  const seeds = { from, to: from + runs }
  const took = () => `${((Date.now() - start) / 1000).toFixed(0)} s`
  const all = options.runs === undefined ? "" : ` of ${runs}`
  const result = await playOnAll({ file, code, seeds, until, sound: undefined }, (played, failed) =>
    console.error(`${played}${all} runs in ${took()}, ${failed} failed …`),
  )
  console.log(
    `${result.runs} runs from seed ${from} in ${took()}: ${result.steps} events, ${result.messages} messages`,
  )
  await report(simulator, code, result, options.store)
  finish({ passed: result.runs - result.failed.length, failed: result.failed.length, skipped: 0 })
}

/** @param {string} name @param {string | undefined} given */
function number(name, given) {
  const value = Number(given)
  if (!Number.isInteger(value) || value < 0)
    fail(`--${name} ${given}: must be a whole number\n\n${usage}`)
  return value
}

/** Calls a function outside of microtasks. @template T @param {() => T} call @returns {Promise<T>} */
function outOfPromises(call) {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        resolve(call())
      } catch (error) {
        reject(error)
      }
    })
  })
}

/** @param {Simulator} simulator @param {Code} code @param {Result} result @param {string | undefined} store */
async function report(simulator, code, { failed }, store) {
  /** @type {Map<string, number[]>} */
  const byRule = new Map()
  for (const { seed, rule } of failed) byRule.set(rule, [...(byRule.get(rule) ?? []), seed])
  for (const { seed, rule } of failed)
    tellFailure({
      test: rule,
      file: "test/simulation",
      seed,
      alone: `npm run simulate -- --seed ${seed}`,
      error: "",
    })
  for (const [rule, seeds] of byRule) {
    console.log(`\n${seeds.length} × ${rule}: seeds ${seeds.slice(0, 20).join(", ")}`)
    for (const seed of seeds.slice(0, SHOWN_MAX))
      await outOfPromises(() => show(simulator, code, simulator.makeScenario(seed), false, store))
  }
}

/** Runs a scenario again with its log, and prints a smaller one that fails in the same way. */
function show(
  /** @type {Simulator} */ simulator,
  /** @type {Code} */ code,
  /** @type {import("../test/simulation/index.js").Scenario} */ scenario,
  /** @type {boolean} */ isAlone,
  /** @type {string | undefined} */ store,
) {
  simulator.catchRejections()
  const compiled = new simulator.Compiled(code)
  const { seed } = scenario
  Error.stackTraceLimit = 20
  const outcome = simulator.play(scenario, compiled, true)
  console.log(`\nseed ${seed}: ${outcome.failure?.rule ?? "no rule was broken"}`)
  if (outcome.failure) {
    console.log(outcome.failure.detail)
    Error.stackTraceLimit = 0
    const small = simulator.shrink(scenario, outcome.failure.rule, compiled)
    Error.stackTraceLimit = 20
    if (store !== undefined) keep(simulator, store, `seed ${seed}`, small)
    const again = simulator.play(small, compiled, true)
    console.log(`smaller: ${simulator.describe(small)}`)
    console.log(again.lines.slice(isAlone ? -200 : -25).join("\n"))
  } else if (isAlone) {
    console.log(simulator.describe(scenario))
    console.log(outcome.lines.slice(-200).join("\n"))
  }
  if (isAlone) {
    const failed = outcome.failure ? 1 : 0
    finish({ passed: 1 - failed, failed, skipped: 0 })
  }
}

/** @param {Simulator} simulator @param {string} folder @param {string} name @param {import("../test/simulation/index.js").Scenario} scenario */
function keep(simulator, folder, name, scenario) {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${name.replaceAll(/[^a-zA-Z0-9]+/g, "-")}.json`)
  writeFileSync(file, simulator.stringify(scenario))
  console.log(`stored as ${file}`)
}

/** Shrinks a scenario that fails with a mutation, and only then. @param {Simulator} simulator @param {Code} code @param {Code} sound @param {number} seed @param {string} rule */
function shrunk(simulator, code, sound, seed, rule) {
  Error.stackTraceLimit = 0
  const [faulty, soundly] = [code, sound].map((one) => new simulator.Compiled(one))
  return simulator.shrink(simulator.makeScenario(seed), rule, faulty, soundly)
}

/** Returns the stored scenarios that fail with a mutation, and only then. @param {Simulator} simulator @param {Code} code @param {Code} sound @returns {string[]} */
function storedThatFail(simulator, code, sound) {
  Error.stackTraceLimit = 0
  const [faulty, soundly] = [code, sound].map((one) => new simulator.Compiled(one))
  return readdirSync(SCENARIOS).filter((name) => {
    const scenario = () => simulator.parse(readFileSync(join(SCENARIOS, name), "utf8"))
    return (
      simulator.play(scenario(), faulty).failure && !simulator.play(scenario(), soundly).failure
    )
  })
}

/** @param {Simulator} simulator @param {string} file @param {string | undefined} only @param {string | undefined} store */
async function playMutations(simulator, file, only, store) {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  const seeds = { from: 0, to: FOUND_WITHIN }
  const sound = await bundleEngine()
  simulator.catchRejections()
  for (const { name, patches } of simulator.mutations) {
    if (only !== undefined && !name.includes(only)) continue
    const code = await bundleEngine([...patches])
    const stored = await outOfPromises(() => storedThatFail(simulator, code, sound))
    if (stored.length > 0) {
      counts.passed++
      console.log(`found ${name}: ${stored.join(", ")}`)
      continue
    }
    const until = Date.now() + FOUND_SECONDS * 1000
    const result = await playOnAll({ file, code, seeds, until, sound })
    const first = Math.min(...result.failed.map(({ seed }) => seed))
    const found = result.failed.find(({ seed }) => seed === first)
    counts[found ? "passed" : "failed"]++
    const alone = `npm run simulate -- --mutations --only "${name}"`
    if (!found) tellFailure({ test: name, alone, error: "the fault was not found" })
    const what = found
      ? `within ${first + 1} runs: ${found.rule}`
      : `not found in ${result.runs} runs`
    console.log(`${found ? "found" : "MISSED"} ${name}: ${what}`)
    if (!found || store === undefined) continue
    const small = await outOfPromises(() => shrunk(simulator, code, sound, found.seed, found.rule))
    keep(simulator, store, name, small)
  }
  finish(counts)
}
