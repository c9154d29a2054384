/** Loading the package: both module systems at once, Jest, bundlers, TypeScript. `test/loaders` has other tools. */
import { copyFileSync, cpSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

import {
  bundleWithEsbuild,
  bundleWithWebpack,
  type Format,
  makeProject,
  type Project,
  runJest,
  toolsIn,
} from "../support/loaders.js"
import { installLocked, root, run, temporaryDirectory } from "../support/packed.js"

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

describe.each([
  ["esbuild", bundleWithEsbuild],
  ["webpack", bundleWithWebpack],
])("%s", (_, bundle) => {
  describe.each<Format>(["esm", "cjs"])("to %s", (format) => {
    test.each(["program.mjs", "program.cjs"])("a bundle of %s works", async (entry) => {
      const file = await bundle(project, { entry, format, external: true })
      expect(run(process.execPath, [file], project.bundles).trim()).toBe("all works")
    })
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

describe("TypeScript", () => {
  const five = join(toolsIn("jest-30"), "node_modules/typescript/bin/tsc")
  const newest = join(root, "node_modules/typescript/bin/tsc")
  const node10 = { module: "commonjs", moduleResolution: "node10", esModuleInterop: true }
  const resolutions = {
    node16: { module: "node16", moduleResolution: "node16" },
    node20: { module: "node20", moduleResolution: "node16" },
    nodenext: { module: "nodenext", moduleResolution: "nodenext" },
    bundler: { module: "esnext", moduleResolution: "bundler" },
  }

  test.each<[string, string, object]>([
    ["5, node10", five, node10],
    ...Object.entries(resolutions).flatMap(([name, options]): [string, string, object][] => [
      [`5, ${name}`, five, options],
      [`7, ${name}`, newest, options],
    ]),
  ])("%s", (name, program, options) => {
    const usual = { target: "es2022", strict: true, noEmit: true, skipLibCheck: false }
    const sources = ["consumer", "sockets", "es2022"]
    // Both module systems, if the extension determines them.
    const extensions = /node10|bundler/.test(name) ? ["ts"] : ["cts", "mts"]
    const files = sources.flatMap((source) => extensions.map((end) => `${source}.${end}`))
    const at = (file: string) => join(project.directory, file)
    for (const source of sources)
      for (const end of extensions)
        if (end !== "ts") copyFileSync(at(`${source}.ts`), at(`${source}.${end}`))
    const config = at("tsconfig.json")
    const compilerOptions = { ...usual, lib: ["ES2022"], types: ["node"], ...options }
    writeFileSync(config, JSON.stringify({ compilerOptions, files }))
    expect(run(process.execPath, [program, "-p", config], project.directory)).toBe("")
  })
})
