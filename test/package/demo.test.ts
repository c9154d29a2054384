/** `npm run demo` in a fresh clone, on a machine without Emscripten. */
import { execFileSync, fork, spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"

import { onPath } from "../../scripts/lib/files.mjs"
import { pack, root, run, temporaryDirectory } from "../support/packed.js"
import { Running } from "../support/running-script.js"

const directory = temporaryDirectory()
afterAll(() => directory[Symbol.dispose]())
const clone = join(directory.path, "clone")
const programs = join(directory.path, "programs")
let tarball = ""

beforeAll(() => {
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" })
  for (const file of files
    .split("\0")
    .filter((file) => /^(wasm|src|scripts|demo|bench|package)/.test(file)))
    cpSync(join(root, file), join(clone, file))
  mkdirSync(programs)
  for (const name of ["node", "npm", "sh", "env"])
    symlinkSync(name === "node" ? process.execPath : (onPath(name) as string), join(programs, name))
  tarball = pack(directory.path).tarball
})

/** Runs the demo's set-up, and its help, where the registry has the package. */
async function help(): Promise<string> {
  const registry = new Running(
    spawn(process.execPath, [join(root, "test/support/registry.mjs"), tarball]),
  )
  const environment = { PATH: programs, npm_config_registry: await registry.line() }
  return run(process.execPath, ["scripts/demo.mjs", "--help"], clone, environment)
}

test("takes the WebAssembly of the published package if it is of the same sources", async () => {
  const printed = await help()
  expect(printed).toMatch(/^there is no Emscripten: npm install /)
  expect(printed).toContain("\nnpm run demo\n")
  const sender = fork(join(clone, "build/demo/sender.mjs"))
  expect((await once(sender, "message"))[0]).toBe("ready")
  sender.kill()
})

test("builds it if that is of other sources", async () => {
  writeFileSync(join(clone, "wasm/cover.c"), "/* another */\n")
  // There is no apt-get on this path either.
  await expect(help()).rejects.toThrow(
    /the WebAssembly of zeromq-lz4@\S+ is not that of these sources, so it has to be built here\n.*Emscripten is missing: install it/s,
  )
})
