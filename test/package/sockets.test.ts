/** The sockets of the tarball: with zeromq and without, their types, and README's examples of them. */
import { spawn } from "node:child_process"
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

import { installNodeVersions, nodeVersion } from "../../scripts/lib/runtimes.mjs"
import { pack, root, run, temporaryDirectory } from "../support/packed.js"
import { Running, withoutWarning } from "../support/running-script.js"
import { freePort } from "../support/sockets.js"

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
  // zeromq is already installed here, with its types.
  for (const name of ["zeromq", "@types"])
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name))
  installNodeVersions()
})

afterAll(() => directory[Symbol.dispose]())

describe("without zeromq", () => {
  test("there is none in a parent directory", () => {
    const find = () => createRequire(join(bare, "any.js")).resolve("zeromq")
    expect(find, "a zeromq that all in the directory for temporary files find").toThrow()
  })

  test.each(["zeromq-lz4", "zeromq-lz4/draft"])("the error of %s says what to install", (entry) => {
    const says = ["ERR_LZ4_ZEROMQ_MISSING", "npm install zeromq"].join(" ")
    const print = "({ code, message }) => console.log(code, message.match(/npm install zeromq/)[0])"
    const imported = `import(${JSON.stringify(entry)}).catch(${print})`
    const required = `try { require(${JSON.stringify(entry)}) } catch (error) { (${print})(error) }`
    for (const script of [imported, required])
      expect(run(process.execPath, ["-e", script], bare).trim()).toBe(says)
  })

  test("the codec works without it", () => {
    expect(run(process.execPath, ["esm.mjs"], bare).trim()).toBe("round trip")
  })
})

describe.each([
  ["this", process.execPath],
  ["22", nodeVersion("22")],
  ["24", nodeVersion("24")],
  ["26", nodeVersion("26")],
])("with zeromq, Node: %s", (_, node) => {
  test.each([
    ["sockets.mjs", "received"],
    ["sockets.cjs", "received"],
    ["own-classes.cjs", "ours"],
  ])("%s", (script, prints) => {
    expect(run(node, [script], project).trim()).toBe(prints)
  })
})

/** The examples of README's quick start, with their headings, and the expected output from the last comment. */
const examples = (() => {
  const readme = readFileSync(join(root, "README.md"), "utf8")
  const [, section] = /^## Quick start\n(.*?)^## /ms.exec(readme) ?? expect.fail("no quick start")
  return [...section!.matchAll(/^### (.*?)\n.*?^```js\n(.*?)^```/gms)].map(([, title, code]) => {
    const [, prints] = /console\.log.*\/\/ (.*)$/m.exec(code!) ?? expect.fail(`${title}: no output`)
    return { title: title!, code: code!, prints: prints! }
  })
})()

describe("README's quick start", () => {
  test("has three examples, each with its own port", () => {
    expect(examples.map(({ title }) => title)).toEqual([
      "PUSH and PULL",
      "PUB and SUB",
      "REQ and REP",
    ])
  })

  test.each(examples)(
    "$title: prints its expected output, and ends unless it repeats",
    async (example) => {
      const { code, prints } = example
      const port = await freePort()
      const script = join(project, "example.mjs")
      writeFileSync(script, code.replaceAll(/(lz4\+tcp:\/\/[^:"]+):\d+/g, `$1:${port}`))
      const running = new Running(spawn(process.execPath, [script], { cwd: project }))
      expect(await running.line()).toBe(prints)
      if (code.includes("setInterval")) running.process.kill()
      else expect(await running.ended()).toEqual({ code: 0, signal: null })
      expect(withoutWarning(running.errors)).toBe("")
    },
  )
})

describe("TypeScript", () => {
  const usual = { target: "es2022", strict: true, noEmit: true, skipLibCheck: false }
  const lib = ["es2022", "esnext.disposable", "dom"]
  const recent = [join(root, "node_modules/.bin/tsc")]

  test("README's quick start compiles", () => {
    const files = examples.map((_, i) => `example-${i}.mts`)
    for (const [i, file] of files.entries()) writeFileSync(join(project, file), examples[i]!.code)
    const config = join(project, "tsconfig.json")
    const compilerOptions = {
      ...{ ...usual, lib, types: ["node"] },
      ...{ module: "nodenext", moduleResolution: "nodenext" },
    }
    writeFileSync(config, JSON.stringify({ compilerOptions, files }))
    expect(run(recent[0]!, ["-p", config], project)).toBe("")
  })
})
