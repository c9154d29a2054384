/**
 * A reporter of vitest for gate.mjs. It appends a line of JSON for each file of tests that starts or
 * ends and for each test that fails, so that a run that is killed tells what it was doing.
 */
import { appendFileSync, rmSync } from "node:fs"
import { relative } from "node:path"
import { root } from "./paths.mjs"

/**
 * @typedef {object} Line
 * @property {"started" | "ended" | "failed" | "finished"} what
 * @property {string} [project]
 * @property {string} [file]
 * @property {string} [test]  undefined if the file itself failed
 * @property {string} [error]
 * @property {import("./tally.mjs").Counts} [counts]
 */

export default class GateReporter {
  #file = process.env.GATE_REPORT ?? ""

  constructor() {
    rmSync(this.#file, { force: true })
  }

  /** @param {Line} line */
  #write(line) {
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`)
  }

  /** @param {import("vitest/node").TestModule} module */
  onTestModuleStart(module) {
    this.#write({ what: "started", ...placeOf(module) })
  }

  /** @param {import("vitest/node").TestModule} module */
  onTestModuleEnd(module) {
    this.#fail(placeOf(module), module.errors())
    for (const suite of module.children.allSuites())
      this.#fail({ ...placeOf(module), test: suite.fullName }, suite.errors())
    this.#write({ what: "ended", ...placeOf(module) })
  }

  /** @param {import("vitest/node").TestCase} test */
  onTestCaseResult(test) {
    const { state, errors } = test.result()
    if (state === "failed") this.#fail({ ...placeOf(test.module), test: test.fullName }, errors)
    if (state === "skipped")
      this.#fail({ ...placeOf(test.module), test: test.fullName }, [{ message: "skipped" }])
  }

  /**
   * @param {ReadonlyArray<import("vitest/node").TestModule>} modules
   * @param {ReadonlyArray<import("vitest/node").SerializedError>} errors outside of tests
   */
  onTestRunEnd(modules, errors) {
    for (const error of errors) this.#fail({}, [error])
    const counts = { passed: 0, failed: 0, skipped: 0 }
    for (const module of modules)
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state !== "pending") counts[state]++
      }
    this.#write({ what: "finished", counts })
  }

  /**
   * @param {{ project?: string, file?: string, test?: string }} place
   * @param {ReadonlyArray<{ message: string, stack?: string }>} errors
   */
  #fail(place, errors) {
    if (!errors.length) return
    const error = errors.map(({ message, stack = "" }) =>
      stack.includes(message) ? stack : `${message}\n${stack}`.trimEnd(),
    )
    this.#write({ what: "failed", ...place, error: error.join("\n") })
  }
}

/** @param {import("vitest/node").TestModule} module */
const placeOf = (module) => ({
  project: module.project.name,
  file: relative(root, module.moduleId),
})
