/** Runs jobs side by side, as many as the cores allow. */
import { availableParallelism } from "node:os"

/**
 * @typedef {object} Job
 * @property {string} name
 * @property {number} cores  the average number that it keeps busy; Infinity to run alone, 0 to run beside any other
 * @property {string[]} [after]  names of jobs that have to end first
 * @property {() => Promise<unknown>} run
 */

/**
 * Starts each job as soon as enough cores are free, in order, and resolves when all have ended.
 * @param {Job[]} jobs
 * @param {number} cores  that jobs share; a job that needs more runs alone
 */
export async function runSideBySide(jobs, cores) {
  const waiting = new Set(jobs)
  /** @type {Map<Job, Promise<void>>} */
  const running = new Map()
  const isOver = (/** @type {string} */ name) =>
    ![...waiting, ...running.keys()].some((job) => job.name === name)
  const busy = () => [...running.keys()].reduce((sum, job) => sum + job.cores, 0)
  while (waiting.size || running.size) {
    for (const job of waiting) {
      const fits = busy() === 0 || busy() + job.cores <= cores
      if (!fits || !(job.after ?? []).every(isOver)) continue
      waiting.delete(job)
      running.set(
        job,
        job.run().then(() => void running.delete(job)),
      )
    }
    if (running.size === 0) throw new Error("jobs wait for each other")
    await Promise.race(running.values())
  }
}

/** Runs tasks that compute, one on each core. @param {(() => Promise<unknown>)[]} tasks */
export const onAllCores = (tasks) =>
  runSideBySide(
    tasks.map((run, i) => ({ name: String(i), cores: 1, run })),
    availableParallelism(),
  )
