/** The order in which the gate runs its suites. */
import { expect, test } from "vitest"

import { runSideBySide } from "../../scripts/lib/side-by-side.mjs"

/** Creates jobs that the test ends, and records the order in which they start and end. */
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

test("as many jobs run at once as the cores allow, in order", async () => {
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

test("a job that needs more cores than there are runs alone", async () => {
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

test("a job that needs no core does not keep others from running alone", async () => {
  const { log, job, end } = makeJobs()
  const all = runSideBySide([job("background", 0), job("alone", Number.POSITIVE_INFINITY)], 2)
  expect(log).toEqual(["background begins", "alone begins"])
  await end("alone")
  await end("background")
  await all
})

test("a job that depends on others waits for them", async () => {
  const { log, job, end } = makeJobs()
  const all = runSideBySide([job("second", 1, ["first"]), job("first", 1)], 2)
  expect(log).toEqual(["first begins"])
  await end("first")
  expect(log).toEqual(["first begins", "second begins"])
  await end("second")
  await all
})

test("jobs that wait for each other are refused", async () => {
  const { job } = makeJobs()
  const jobs = [job("a", 1, ["b"]), job("b", 1, ["a"])]
  await expect(runSideBySide(jobs, 2)).rejects.toThrow("jobs wait for each other")
})

test("a job that fails ends all", async () => {
  const failing = { name: "a", cores: 1, run: () => Promise.reject(new Error("failed")) }
  await expect(runSideBySide([failing], 2)).rejects.toThrow("failed")
})
