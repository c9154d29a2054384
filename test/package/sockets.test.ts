import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

import { installNodeVersions, nodeVersion } from "../../scripts/lib/runtimes.mjs"
import { pack, root, run, temporaryDirectory } from "../support/packed.js"

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
  // zeromq is already installed here.
  symlinkSync(join(root, "node_modules/zeromq"), join(project, "node_modules/zeromq"))
  installNodeVersions()
})

afterAll(() => directory[Symbol.dispose]())

describe("without zeromq", () => {
  test("there is none in a parent directory", () => {
    const find = () => createRequire(join(bare, "any.js")).resolve("zeromq")
    expect(find, "a zeromq that all in the directory for temporary files find").toThrow()
  })

  test.each(["zeromq-lz4", "zeromq-lz4/draft", "zeromq-lz4/v5-compat"])(
    "the error of %s says what to install",
    (entry) => {
      const says = ["ERR_LZ4_ZEROMQ_MISSING", "npm install zeromq"].join(" ")
      const print =
        "({ code, message }) => console.log(code, message.match(/npm install zeromq/)[0])"
      const imported = `import(${JSON.stringify(entry)}).catch(${print})`
      const required = `try { require(${JSON.stringify(entry)}) } catch (error) { (${print})(error) }`
      for (const script of [imported, required])
        expect(run(process.execPath, ["-e", script], bare).trim()).toBe(says)
    },
  )

  test("the codec works without it", () => {
    expect(run(process.execPath, ["esm.mjs"], bare).trim()).toBe("round trip")
  })
})

test("if the package is replaced while a process runs, CURVE says so", () => {
  const at = join(directory.path, "replaced")
  cpSync(project, at, { recursive: true, verbatimSymlinks: true })
  const script = `const zmq = require("zeromq-lz4"), { readdirSync, rmSync } = require("node:fs")
    const dist = "node_modules/zeromq-lz4/dist/"
    const files = readdirSync(dist).filter((name) => name.startsWith("curve-wasm-"))
    for (const name of files) rmSync(dist + name)
    const { secretKey } = zmq.curveKeyPair()
    const pull = new zmq.Pull({ curveServer: true, curveSecretKey: secretKey })
    pull.bind("lz4+tcp://127.0.0.1:*").catch(({ code, message }) => console.log(code, message))`
  expect(run(process.execPath, ["-e", script], at)).toMatch(
    /^ERR_LZ4_WASM a file of zeromq-lz4 is gone.*start the process again/,
  )
})

const nodes = [
  ["this", process.execPath],
  ["22", nodeVersion("22")],
  ["24", nodeVersion("24")],
  ["26", nodeVersion("26")],
] as const

describe.each(nodes)("with zeromq, Node: %s", (_, node) => {
  test.each([
    ["sockets.mjs", "received"],
    ["sockets.cjs", "received"],
    ["own-classes.cjs", "ours"],
  ])("%s", (script, prints) => {
    expect(run(node, [script], project).trim()).toBe(prints)
  })
})

const outcomes = (node: string) => JSON.parse(run(node, ["tcp-options.mjs"], project))

test.each(nodes.slice(0, 2))("TCP options that Node %s cannot set are refused", (_, node) => {
  const version = run(node, ["-p", "process.versions.node"], project).trim()
  const refusal = (name: string, value: number, unset: number) =>
    `ENOTSUP: Operation not supported: "lz4+tcp://127.0.0.1:*" cannot have the socket's ${name} of ${value}, as Node ${version} does not set it (leave it at ${unset}, use Node 24.21, 26.4 or later, or use tcp://)`
  expect(outcomes(node)).toEqual({
    idle: [
      ["setKeepAlive", true, 60],
      ["setKeepAlive", true, 60],
    ],
    interval: refusal("tcpKeepaliveInterval", 7, -1),
    count: refusal("tcpKeepaliveCount", 3, -1),
    typeOfService: refusal("typeOfService", 32, 0),
    off: refusal("tcpKeepaliveCount", 3, -1),
  })
})

test.each(nodes.slice(2))("TCP options that Node %s can set are set at both ends", (_, node) => {
  const both = (...call: unknown[]) => [call, call]
  expect(outcomes(node)).toEqual({
    // The usual defaults of systems, as over tcp://.
    idle: both("setKeepAlive", true, 60, 75, 9),
    interval: both("setKeepAlive", true, 60, 7, 9),
    count: both("setKeepAlive", true, 7200, 75, 3),
    typeOfService: both("getTypeOfService", 32),
    off: [],
  })
})
