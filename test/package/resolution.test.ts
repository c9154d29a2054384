/** Tools that resolve the package in the same way whatever the version of Node: webpack and TypeScript. */
import { copyFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

import {
  bundleWithWebpack,
  type Format,
  makeProject,
  type Project,
  toolsIn,
} from "../support/loaders.js"
import { installLocked, root, run, temporaryDirectory } from "../support/packed.js"

const directory = temporaryDirectory()
let project: Project

beforeAll(() => {
  project = makeProject(directory.path)
  for (const tools of ["jest-30", "typescript"]) installLocked(toolsIn(tools))
})

afterAll(() => directory[Symbol.dispose]())

describe.each<Format>(["esm", "cjs"])("webpack to %s", (format) => {
  test.each(["program.mjs", "program.cjs"])("a bundle of %s works", async (entry) => {
    // Once, as it takes most of the time.
    const minimize = format === "cjs" && entry.endsWith(".mjs")
    const file = await bundleWithWebpack(project, { entry, format, external: true, minimize })
    expect(run(process.execPath, [file], project.bundles).trim()).toBe("all works")
  })
})

describe("TypeScript", () => {
  /** Checks all declarations but those of TypeScript itself, which take up to a third of the time. */
  const checked = { strict: true, noEmit: true, skipLibCheck: false, skipDefaultLibCheck: true }
  const five = join(toolsIn("jest-30"), "node_modules/typescript/bin/tsc")
  const newest = join(root, "node_modules/typescript/bin/tsc")
  const node10 = { module: "commonjs", moduleResolution: "node10", esModuleInterop: true }
  const resolutions = {
    node16: { module: "node16", moduleResolution: "node16" },
    node20: { module: "node20", moduleResolution: "node16" },
    nodenext: { module: "nodenext", moduleResolution: "nodenext" },
    bundler: { module: "esnext", moduleResolution: "bundler" },
  }
  /** TypeScript 5 takes 4 s each time, so the gate leaves out two ways that allow all that node16 does. */
  const inFive = (name: string) =>
    Boolean(process.env.PACKAGE_ALL) || !["node20", "nodenext"].includes(name)

  test.each<[string, string, object]>([
    ["5, node10", five, node10],
    ...Object.entries(resolutions).flatMap(([name, options]): [string, string, object][] => [
      ...(inFive(name) ? [[`5, ${name}`, five, options] as [string, string, object]] : []),
      [`7, ${name}`, newest, options],
    ]),
  ])("%s", (name, program, options) => {
    const sources = ["consumer", "sockets", "es2022"]
    // Both module systems, if the extension determines them.
    const extensions = /node10|bundler/.test(name) ? ["ts"] : ["cts", "mts"]
    const files = sources.flatMap((source) => extensions.map((end) => `${source}.${end}`))
    const at = (file: string) => join(project.directory, file)
    for (const source of sources)
      for (const end of extensions)
        if (end !== "ts") copyFileSync(at(`${source}.ts`), at(`${source}.${end}`))
    const config = at("tsconfig.json")
    const usual = { target: "es2022", lib: ["ES2022"], types: ["node"], ...checked }
    const compilerOptions = { ...usual, ...options }
    writeFileSync(config, JSON.stringify({ compilerOptions, files }))
    expect(run(process.execPath, [program, "-p", config], project.directory)).toBe("")
  })

  test.each(["4.7", "5.1"])("%s", (version) => {
    const program = join(toolsIn("typescript"), `node_modules/typescript-${version}/bin/tsc`)
    const config = join(project.directory, "tsconfig.json")
    const usual = { target: "es2022", lib: ["ES2022", "DOM"], types: [], ...checked }
    const compilerOptions = { ...usual, ...resolutions.node16 }
    writeFileSync(config, JSON.stringify({ compilerOptions, files: ["old-typescript.ts"] }))
    expect(run(process.execPath, [program, "-p", config], project.directory)).toBe("")
  })

  test("5, with the target ES5, its default", () => {
    const config = join(project.directory, "tsconfig.json")
    const compilerOptions = { ...node10, ...checked, types: ["node"] }
    writeFileSync(config, JSON.stringify({ compilerOptions, files: ["es5.ts"] }))
    expect(run(process.execPath, [five, "-p", config], project.directory)).toBe("")
  })
})
