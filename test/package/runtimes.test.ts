/** The codec and captures of the tarball in Deno, Bun and workerd, without zeromq. */
import { copyFileSync, cpSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "esbuild"
import { afterAll, beforeAll, expect, test } from "vitest"

import { installLocked, pack, root, run, temporaryDirectory } from "../support/packed.js"

const directory = temporaryDirectory()
const project = directory.path
const runtimes = join(root, "test/package/runtimes")
const x64 = process.arch === "x64"
const [deno, bun, workerd] = [
  "@deno/linux-x64-glibc/deno",
  `@oven/bun-linux-${x64 ? "x64" : "aarch64"}/bin/bun`,
  `@cloudflare/workerd-linux-${x64 ? "64" : "arm64"}/bin/workerd`,
].map((program) => join(runtimes, "node_modules", program)) as [string, string, string]

beforeAll(() => {
  const { tarball } = pack(project)
  cpSync(join(root, "test/package/consumer"), project, { recursive: true })
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true }))
  run("npm", ["install", "--no-audit", "--no-fund", tarball], project)
  installLocked(runtimes)
})

afterAll(() => directory[Symbol.dispose]())

// npm does not have every version for arm64.
test.runIf(x64)("Deno runs the package", () => {
  const may = ["--allow-read", "--allow-env", "--node-modules-dir=manual", "--no-prompt"]
  expect(run(deno, ["run", ...may, "esm.mjs"], project).trim()).toBe("round trip")
})

test("Bun runs the package", () => {
  expect(run(bun, ["esm.mjs"], project).trim()).toBe("round trip")
})

test("workerd, with a compiled module", async () => {
  await build({
    absWorkingDir: project,
    entryPoints: ["worker.mjs"],
    outfile: "worker.js",
    bundle: true,
    format: "esm",
    external: ["./zeromq-lz4.wasm"],
    logLevel: "warning",
  })
  copyFileSync(
    join(project, "node_modules/zeromq-lz4/dist/zeromq-lz4.wasm"),
    join(project, "zeromq-lz4.wasm"),
  )
  run(workerd, ["test", "worker.capnp"], project)
})
