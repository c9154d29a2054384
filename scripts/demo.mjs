/**
 * Starts the demo. Without a build and without Emscripten, it takes the WebAssembly of the published
 * package, if that was built from the sources of this clone. It has no dependencies, because it runs
 * before they are installed.
 */
import { join } from "node:path"
import { onPath } from "./lib/files.mjs"
import { root } from "./lib/paths.mjs"
import { isStale } from "./lib/stale.mjs"

const given = process.argv.slice(2)
const bundled = isStale("wasm") && !onPath("emcc") ? await fromRelease() : undefined
if (!bundled) await setUp()
const { run } = await import("./lib/run.mjs")
run(process.execPath, [bundled ?? join(root, "demo/demo.mjs"), ...given])

async function fromRelease() {
  const { bundleDemo } = await import("./lib/released-wasm.mjs")
  return bundleDemo()
}

async function setUp() {
  const { run } = await import("./lib/run.mjs")
  run(process.execPath, [join(root, "scripts/setup.mjs")])
}
