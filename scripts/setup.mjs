/**
 * Prepares a clone for `npm test` and `npm run demo`: installs a compiler and the packages, and
 * builds. It only compares modification times, so it takes no time if nothing has to be done. It has
 * no dependencies, because it runs before they are installed.
 */
import { onPath } from "./lib/files.mjs"
import { root } from "./lib/paths.mjs"
import { isStale, modulesAreStale } from "./lib/stale.mjs"

const usage = `usage: npm run setup

Installs Emscripten (with apt, on Debian and Ubuntu) and the npm packages of package-lock.json, and
builds what is older than its sources. Does nothing if all is up to date.`

const modules = modulesAreStale()
const wasm = isStale("wasm")
const js = wasm || isStale("js")

if (process.argv.length > 2) console.log(usage)
else if (modules || js) await setUp()

async function setUp() {
  // Not a static import: loading it takes longer than the check.
  const { commandLine, fail, run } = await import("./lib/run.mjs")

  const announce = (
    /** @type {string} */ why,
    /** @type {string} */ program,
    /** @type {string[]} */ args,
  ) => {
    console.log(`${why}: ${commandLine(program, args)}`)
    run(program, args, { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } })
  }

  if (wasm && !onPath("emcc")) {
    if (!onPath("apt-get"))
      fail("Emscripten is missing: install it (https://emscripten.org), with emcc on PATH.")
    const asRoot = process.getuid?.() === 0
    if (!asRoot && !onPath("sudo"))
      fail("Emscripten is missing: run apt-get install emscripten as root.")
    const apt = (/** @type {string[]} */ ...args) =>
      announce(
        "Emscripten, which builds the WebAssembly, is missing: some 120 MB are downloaded",
        asRoot ? "apt-get" : "sudo",
        asRoot ? args : ["DEBIAN_FRONTEND=noninteractive", "apt-get", ...args],
      )
    apt("update")
    apt("install", "--yes", "--no-install-recommends", "emscripten")
  }
  if (modules) announce("packages are older than package-lock.json", "npm", ["ci"])
  if (js)
    announce("the build is older than its sources", process.execPath, [
      `${root}/scripts/build.mjs`,
      ...(wasm ? [] : ["--keep-wasm"]),
    ])
}
