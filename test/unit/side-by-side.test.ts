/** The order in which the gate runs its suites. */
import { expect, test } from "vitest"

import { runSideBySide } from "../../scripts/lib/side-by-side.mjs"

/** Makes jobs that are over when the test says so, and keeps the order in which they begin and end. */
function makeJobs() {
  const log: string[] = []
  const ends = new Map<string, () => void>()
  const job = (name: string, cores: number, after?: string[]) => ({
    name,
    cores,
    after,
    run: () => {
      log.push(`${name} begins`)
      return new Promise<void>((resolve) => ends.set(name, resolve))
    },
  })
  const end = async (name: string) => {
    ends.get(name)?.()
    await new Promise(setImmediate)
  }
  return { log, job, end }
}

test("as many run at once as the cores allow, the first ones first", async () => {
  const { log, job, end } = makeJobs()
  const all = runSideBySide([job("a", 1), job("b", 1.5), job("c", 0.5), job("d", 1)], 2)
  expect(log).toEqual(["a begins", "c begins"])
  await end("a")
  expect(log.slice(2)).toEqual(["b begins"])
  await end("b")
  expect(log.slice(3)).toEqual(["d begins"])
  await end("c")
  await end("d")
  await all
})

test("one that needs more than there is runs alone", async () => {
  const { log, job, end } = makeJobs()
  const all = runSideBySide([job("a", 1), job("alone", Number.POSITIVE_INFINITY), job("b", 1)], 2)
  expect(log).toEqual(["a begins", "b begins"])
  await end("a")
  expect(log).toHaveLength(2)
  await end("b")
  expect(log).toEqual(["a begins", "b begins", "alone begins"])
  await end("alone")
  await all
})

test("one that follows others waits for them", async () => {
  const { log, job, end } = makeJobs()
  const all = runSideBySide([job("second", 1, ["first"]), job("first", 1)], 2)
  expect(log).toEqual(["first begins"])
  await end("first")
  expect(log).toEqual(["first begins", "second begins"])
  await end("second")
  await all
})

test("those that wait for each other are refused", async () => {
  const { job } = makeJobs()
  const jobs = [job("a", 1, ["b"]), job("b", 1, ["a"])]
  await expect(runSideBySide(jobs, 2)).rejects.toThrow("jobs wait for each other")
})

test("one that fails ends all", async () => {
  const failing = { name: "a", cores: 1, run: () => Promise.reject(new Error("failed")) }
  await expect(runSideBySide([failing], 2)).rejects.toThrow("failed")
})
