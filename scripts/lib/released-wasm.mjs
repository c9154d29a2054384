/** The demo with the WebAssembly of the published package, for machines without Emscripten. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { withDispose } from "./for-pages.mjs"
import * as paths from "./paths.mjs"
import { commandLine, tryRun } from "./run.mjs"
import { HASH_FILE, hashOfSources } from "./wasm-sources.mjs"

const PROGRAMS = ["demo", "receiver", "relay", "sender"]
const MODULES = ["zeromq-lz4.wasm", "zstd.wasm"]
const directory = join(paths.build, "demo")
const released = join(directory, "node_modules/zeromq-lz4/dist")

/**
 * Bundles the demo with the sources of this clone. Returns the path of its program; undefined if there
 * is no package of this version, or its WebAssembly is of other sources.
 */
export async function bundleDemo() {
  const read = (/** @type {string} */ file) =>
    JSON.parse(readFileSync(join(paths.root, file), "utf8"))
  const { name, version } = read("package.json")
  const { packages } = read("package-lock.json")
  const pinned = ["zeromq", "esbuild"].map(
    (one) => `${one}@${packages[`node_modules/${one}`].version}`,
  )
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, "package.json"), '{ "private": true, "type": "module" }\n')
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"]
  const wanted = [`${name}@${version}`, ...pinned]
  console.log(`there is no Emscripten: ${commandLine("npm", [...args, ...wanted])}`)
  const isThere = tryRun("npm", [...args, ...wanted], {
    cwd: directory,
    stdio: ["ignore", "inherit", "ignore"],
  })
  if (!isThere) return notTaken(`${name}@${version} has not been published`)
  const hashFile = join(released, HASH_FILE)
  if (!existsSync(hashFile) || readFileSync(hashFile, "utf8").trim() !== hashOfSources())
    return notTaken(`the WebAssembly of ${name}@${version} is not that of these sources`)
  for (const file of MODULES) copyFileSync(join(released, file), join(paths.build, file))
  await bundle()
  return join(directory, "demo.mjs")
}

/** @param {string} why @returns {undefined} */
function notTaken(why) {
  console.log(`${why}, so it has to be built here`)
}

async function bundle() {
  /** @type {typeof import("esbuild")} */
  const esbuild = createRequire(join(directory, "package.json"))("esbuild")
  await esbuild.build({
    absWorkingDir: paths.root,
    entryPoints: PROGRAMS.map((program) => `demo/${program}.mjs`),
    outdir: directory,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["zeromq"],
    alias: { "zeromq-lz4": join(paths.root, "src/index.ts") },
    loader: { ".wasm": "binary" },
    ...withDispose,
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
    plugins: [
      {
        name: "modules",
        setup(build) {
          build.onResolve({ filter: /^(zstd-wasm|curve-wasm|thread-worker)$/ }, ({ path }) => ({
            path,
            namespace: "text",
          }))
          build.onLoad({ filter: /^/, namespace: "text" }, ({ path }) => ({
            // The demo has neither CURVE nor threads.
            contents:
              path === "zstd-wasm" ? readFileSync(join(released, "zstd.wasm"), "base64") : "",
            loader: "text",
          }))
        },
      },
    ],
    logLevel: "error",
  })
}
