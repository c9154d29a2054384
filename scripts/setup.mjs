/**
 * Makes a clone ready for `npm test` and `npm run demo`: a compiler, packages, a build. It
 * works out what is missing from the times of files alone, so that it costs nothing when all
 * is in place. No dependencies: it runs before there are any.
 */
import { onPath } from "./lib/files.mjs"
import { root } from "./lib/paths.mjs"
import { isStale, modulesAreStale } from "./lib/stale.mjs"

const usage = `usage: npm run setup

Installs Emscripten (by apt, on Debian and Ubuntu), the npm packages of package-lock.json, and
builds what is older than its sources. Does nothing when all is in place.`

const modules = modulesAreStale()
const wasm = isStale("wasm")
const js = wasm || isStale("js")

if (process.argv.length > 2) console.log(usage)
else if (modules || js) await setUp()

async function setUp() {
  // Not at the top: loading these takes longer than the check itself.
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
        "Emscripten is missing",
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
