/** The sockets of the tarball: with zeromq and without, and their types. */
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

import { installNodeVersions, nodeVersion } from "../../scripts/lib/runtimes.mjs"
import { pack, root, run, temporaryDirectory } from "../support/packed.js"

const require = createRequire(import.meta.url)
const directory = temporaryDirectory()
const bare = join(directory.path, "bare")
const project = join(directory.path, "project")

beforeAll(() => {
  const { tarball } = pack(directory.path)
  for (const at of [bare, project]) {
    mkdirSync(at)
    cpSync(join(root, "test/package/consumer"), at, { recursive: true })
    writeFileSync(join(at, "package.json"), JSON.stringify({ private: true }))
    run("npm", ["install", "--no-audit", "--no-fund", tarball], at)
  }
  // As zeromq is installed here already, with its types.
  for (const name of ["zeromq", "@types"])
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name))
  installNodeVersions()
})

afterAll(() => directory[Symbol.dispose]())

describe("without zeromq", () => {
  test("there is none in a directory above", () => {
    const find = () => createRequire(join(bare, "any.js")).resolve("zeromq")
    expect(find, "a zeromq that all in the directory for temporary files find").toThrow()
  })

  test.each(["zeromq-lz4", "zeromq-lz4/draft"])("%s says what to install", (entry) => {
    const says = ["ERR_LZ4_ZEROMQ_MISSING", "npm install zeromq"].join(" ")
    const print = "({ code, message }) => console.log(code, message.match(/npm install zeromq/)[0])"
    const imported = `import(${JSON.stringify(entry)}).catch(${print})`
    const required = `try { require(${JSON.stringify(entry)}) } catch (error) { (${print})(error) }`
    for (const script of [imported, required])
      expect(run(process.execPath, ["-e", script], bare).trim()).toBe(says)
  })

  test("the codec does not miss it", () => {
    expect(run(process.execPath, ["esm.mjs"], bare).trim()).toBe("round trip")
  })
})

describe.each([
  ["this", process.execPath],
  ["22", nodeVersion("22")],
  ["24", nodeVersion("24")],
])("with zeromq, Node: %s", (_, node) => {
  test.each([
    ["sockets.mjs", "received"],
    ["sockets.cjs", "received"],
    ["own-classes.cjs", "ours"],
  ])("%s", (script, prints) => {
    expect(run(node, [script], project).trim()).toBe(prints)
  })
})

describe("TypeScript", () => {
  const usual = { target: "es2022", strict: true, noEmit: true, skipLibCheck: false }
  const lib = ["es2022", "esnext.disposable", "dom"]
  // The last TypeScript that knows the old resolution comes with API Extractor.
  const extractor = createRequire(require.resolve("@microsoft/api-extractor/package.json"))
  const old = [process.execPath, extractor.resolve("typescript/lib/tsc.js")]
  const recent = [join(root, "node_modules/.bin/tsc")]

  test.each<[string, string[], object, string]>([
    ["NodeNext", recent, { module: "nodenext", moduleResolution: "nodenext" }, "module"],
    ["bundler", recent, { module: "esnext", moduleResolution: "bundler" }, "module"],
    [
      "CommonJS with the old resolution",
      old,
      {
        ...{ module: "commonjs", moduleResolution: "node10", esModuleInterop: true },
        ignoreDeprecations: "6.0",
      },
      "commonjs",
    ],
  ])("%s", (_, [program, ...before], options, type) => {
    writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type }))
    const config = join(project, "tsconfig.json")
    const compilerOptions = { ...usual, lib, types: ["node"], ...options }
    const files = ["consumer.ts", "sockets.ts"]
    writeFileSync(config, JSON.stringify({ compilerOptions, files }))
    expect(run(program!, [...before, "-p", config], project)).toBe("")
  })
})
