/**
 * Loading the package, in each version of Node: both module systems at once, Jest, fake timers, a bundle. webpack
 * and TypeScript are in resolution.test.ts, and other tools in `test/loaders`.
 */
import { cpSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

import {
  bundleWithEsbuild,
  type Format,
  makeProject,
  type Project,
  runJest,
  toolsIn,
} from "../support/loaders.js"
import { installLocked, root, run, temporaryDirectory } from "../support/packed.js"
import { freePort } from "../support/sockets.js"

const directory = temporaryDirectory()
let project: Project

beforeAll(() => {
  project = makeProject(directory.path)
  installLocked(toolsIn("jest-30"))
})

afterAll(() => directory[Symbol.dispose]())

test("import and require() give the same instance", () => {
  expect(run(process.execPath, ["one-instance.mjs"], project.directory).trim()).toBe("one instance")
})

describe("Jest 30, without flags", () => {
  test.each(["typescript.spec.ts", "required.spec.cjs"])("%s", (file) => {
    runJest(project, "30", file)
  })
})

describe.each(["after", "before"])(
  "fake timers that are installed %s the package is loaded",
  (when) => {
    test("of Jest", async () => {
      const more = { fakeTimers: { enableGlobally: when === "before" } }
      const environment = { FAKE_TIMERS: when, FREE_PORT: String(await freePort()) }
      runJest(project, "30", "fake-timers.spec.cjs", [], { more, environment })
    })

    test("of Sinon", async () => {
      const sinon = join(toolsIn("jest-30"), "node_modules/sinon")
      const args = ["fake-timers.cjs", sinon, String(await freePort()), when]
      expect(run(process.execPath, args, project.directory).trim()).toBe("all works")
    })
  },
)

describe.each<Format>(["esm", "cjs"])("esbuild to %s", (format) => {
  test.each(["program.mjs", "program.cjs"])("a bundle of %s works", async (entry) => {
    const file = await bundleWithEsbuild(project, { entry, format, external: true })
    expect(run(process.execPath, [file], project.bundles).trim()).toBe("all works")
  })
})

test("a bundle with zeromq.js but without its addon gives an error about bundling", async () => {
  const options = { entry: "program.mjs", format: "cjs", external: false } as const
  const file = await bundleWithEsbuild(project, options)
  const start = () => run(process.execPath, [file], project.bundles)
  expect(start).toThrow("make zeromq external in the options of your bundler")
  expect(start).toThrow("ERR_LZ4_ZEROMQ_ADDON")
})

test("zeromq.js without an addon gives an error that it was not built", () => {
  const modules = join(directory.path, "unbuilt", "node_modules")
  for (const file of ["package.json", "lib"])
    cpSync(join(root, "node_modules/zeromq", file), join(modules, "zeromq", file), {
      recursive: true,
    })
  for (const [name, from] of [
    ["cmake-ts", root],
    ["zeromq-lz4", project.directory],
  ] as const)
    cpSync(join(from, "node_modules", name), join(modules, name), { recursive: true })
  const start = () => run(process.execPath, ["-e", 'require("zeromq-lz4")'], join(modules, ".."))
  expect(start).toThrow("npm rebuild zeromq")
  expect(start).toThrow("ERR_LZ4_ZEROMQ_ADDON")
})
