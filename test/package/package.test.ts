/** The tarball in an empty project: Node's two module systems, its versions, and TypeScript. */
import { cpSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

import { installNodeVersions, nodeVersion } from "../../scripts/lib/runtimes.mjs"
import { type Packed, pack, root, run, temporaryDirectory } from "../support/packed.js"

const directory = temporaryDirectory()
const project = directory.path
let packed: Packed

beforeAll(() => {
  packed = pack(project)
  cpSync(join(root, "test/package/consumer"), project, { recursive: true })
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true }))
  run("npm", ["install", "--no-audit", "--no-fund", packed.tarball], project)
  installNodeVersions()
})

afterAll(() => directory[Symbol.dispose]())

describe("the tarball", () => {
  test("has the build, the documents, the examples and nothing else", () => {
    const unexpected = packed.files.filter(
      (file) =>
        !/^(dist\/(.*\.([cm]?js|js\.map|d\.c?ts|wasm|html)|wasm-sources\.txt)|package\.json|LICENSE|(docs\/([a-z0-9-]+|README)|bench\/README|[A-Z]+)\.md|docs\/images\/[a-z-]+\.webp|bench\/plots\/schemes\.svg|examples\/([a-z-]+\/){0,2}[\w.-]+\.(js|json|md|html|css|py|txt))$/.test(
          file,
        ),
    )
    expect(unexpected).toEqual([])
  })

  test.each(["LICENSE", "NOTICE.md", "README.md", "SECURITY.md", "dist/zeromq-lz4.wasm"])(
    "has %s",
    (file) => {
      expect(packed.files).toContain(file)
    },
  )
})

describe.each([
  { version: "20", node: process.execPath },
  { version: "22", node: nodeVersion("22") },
  { version: "24", node: nodeVersion("24") },
])("Node $version", ({ version, node }) => {
  test("the binary is Node of that version", () => {
    const [major] = run(node, ["-p", "process.versions.node"], project).split(".")
    // The first row is the version that runs the suite.
    if (node !== process.execPath) expect(major).toBe(version)
  })

  test.each([
    ["import", "esm.mjs", "round trip"],
    ["require", "cjs.cjs", "round trip"],
    ["import and require share one build", "both.mjs", "the same"],
    ["the exported .wasm file, as a URL and as bytes", "wasm-file.mjs", "round trip"],
  ])("%s", (_, script, output) => {
    expect(run(node, [script], project).trim()).toBe(output)
  })
})

describe("TypeScript", () => {
  const nodeNext = { module: "nodenext", moduleResolution: "nodenext" }
  const bundler = { module: "esnext", moduleResolution: "bundler" }
  const recent = ["es2022", "esnext.disposable", "dom"]

  test.each([
    { name: "NodeNext, ES module", type: "module", options: { ...nodeNext, lib: recent } },
    { name: "NodeNext, CommonJS", type: "commonjs", options: { ...nodeNext, lib: recent } },
    { name: "bundler", type: "module", options: { ...bundler, lib: recent } },
    // As in a browser project: the declarations are self-contained.
    { name: "the libraries of ES2022 alone", type: "module", options: bundler, file: "es2022.ts" },
  ])("$name", ({ type, options, file = "consumer.ts" }) => {
    writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type }))
    const compilerOptions = {
      ...{ target: "es2022", strict: true, noEmit: true, skipLibCheck: false, types: [] },
      ...options,
    }
    const config = join(project, "tsconfig.json")
    writeFileSync(config, JSON.stringify({ compilerOptions, files: [file] }))
    expect(run(join(root, "node_modules/.bin/tsc"), ["-p", config], project)).toBe("")
  })
})
