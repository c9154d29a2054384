/** The simulator itself, and scenarios that failed once. */
import { beforeAll, expect, test } from "vitest"
import { bundleEngine } from "../../scripts/lib/simulation.mjs"
import { Compiled, makeScenario, mutations, type Outcome, play, shrink } from "./index.js"

/** Seeds of which each broke a rule before what it found was mended, or breaks one under a mutation. */
const SEEDS = [3, 8, 31, 48, 218, 240, 339, 588, 1357]

let engine: Compiled

beforeAll(async () => {
  engine = new Compiled(await bundleEngine())
})

/** Plays out of every promise: microtasks of a run are drained in the middle of it. */
function playAlone(seed: number, compiled = engine): Promise<Outcome> {
  return new Promise((resolve) => {
    setImmediate(() => resolve(play(makeScenario(seed), compiled)))
  })
}

test.each(SEEDS)("seed %i keeps every rule", async (seed) => {
  const { failure } = await playAlone(seed)
  expect(failure).toBeUndefined()
})

test("a seed replays exactly, and no other does the same", async () => {
  const hashes = new Set<number>()
  for (let seed = 0; seed < 30; seed++) {
    const { hash } = await playAlone(seed)
    expect((await playAlone(seed)).hash).toBe(hash)
    hashes.add(hash)
  }
  expect(hashes.size).toBe(30)
})

test("a fault is found, and its scenario made smaller", async () => {
  const [first] = mutations
  const faulty = new Compiled(await bundleEngine([...(first?.patches ?? [])]))
  let seed = 0
  let { failure } = await playAlone(seed, faulty)
  while (!failure && seed < 2000) ({ failure } = await playAlone(++seed, faulty))
  expect(failure).toBeDefined()
  const scenario = makeScenario(seed)
  const rule = failure?.rule as string
  const small = await new Promise<typeof scenario>((resolve) => {
    setImmediate(() => resolve(shrink(scenario, rule, faulty)))
  })
  expect(JSON.stringify(small).length).toBeLessThan(JSON.stringify(scenario).length)
})
