/** The simulator itself, and scenarios that have failed once, or fail with a fault of mutations.ts. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, expect, test } from "vitest"
import { applyPatch, bundleEngine } from "../../scripts/lib/simulation.mjs"
import {
  Compiled,
  makeScenario,
  mutations,
  type Outcome,
  parse,
  play,
  type Scenario,
  shrink,
  stringify,
} from "./index.js"

const STORED = join(import.meta.dirname, "scenarios")
const stored = (name: string) => parse(readFileSync(join(STORED, name), "utf8"))

let engine: Compiled

beforeAll(async () => {
  engine = new Compiled(await bundleEngine())
})

/** Plays a scenario outside of any promise, because a run drains the queue of microtasks. */
function playAlone(scenario: Scenario, compiled = engine): Promise<Outcome> {
  return new Promise((resolve) => {
    setImmediate(() => resolve(play(scenario, compiled)))
  })
}

test.each(readdirSync(STORED))("%s keeps every rule", async (name) => {
  const { failure } = await playAlone(stored(name))
  expect(failure).toBeUndefined()
})

test("a scenario that is stored is the same when it is read", () => {
  for (let seed = 0; seed < 100; seed++) {
    const scenario = makeScenario(seed)
    expect(parse(stringify(scenario))).toEqual(scenario)
  }
})

test("a seed replays exactly, and no other does the same", async () => {
  const hashes = new Set<number>()
  for (let seed = 0; seed < 30; seed++) {
    const { hash } = await playAlone(makeScenario(seed))
    expect((await playAlone(makeScenario(seed))).hash).toBe(hash)
    hashes.add(hash)
  }
  expect(hashes.size).toBe(30)
})

test("every fault can be injected: what it changes occurs once", () => {
  for (const { name, patches } of mutations)
    for (const patch of patches) {
      const source = readFileSync(join(import.meta.dirname, "../..", patch.file), "utf8")
      expect(() => applyPatch(source, patch), name).not.toThrow()
    }
})

test("a fault is found, and its scenario made smaller", async () => {
  // One that few runs show.
  const mutation = mutations.find(({ name }) => name === "peers that speak tcp:// are sent parts")
  const faulty = new Compiled(await bundleEngine([...(mutation?.patches ?? [])]))
  let seed = 0
  let { failure } = await playAlone(makeScenario(seed), faulty)
  while (!failure && seed < 2000) ({ failure } = await playAlone(makeScenario(++seed), faulty))
  expect(failure).toBeDefined()
  const scenario = makeScenario(seed)
  const rule = failure?.rule as string
  const small = await new Promise<typeof scenario>((resolve) => {
    setImmediate(() => resolve(shrink(scenario, rule, faulty, engine)))
  })
  expect(JSON.stringify(small).length).toBeLessThan(JSON.stringify(scenario).length)
  expect((await playAlone(small)).failure).toBeUndefined()
})
