/** Builds the package: everything under dist/. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import * as esbuild from "esbuild"
import { readArgs } from "./lib/args.mjs"
import { buildWasm } from "./lib/build-wasm.mjs"
import { CARRIED, carriedFile, carriedWasm, separateWasm } from "./lib/carried-wasm.mjs"
import { loader, toCommonJs, wrapper } from "./lib/common-js.mjs"
import { declarationFiles, rollUpDeclarations } from "./lib/declarations.mjs"
import { entries } from "./lib/entries.mjs"
import { withoutForIn } from "./lib/for-in.mjs"
import { checkBuiltIns, withDispose } from "./lib/for-pages.mjs"
import { inspectorPage } from "./lib/inspector-page.mjs"
import * as paths from "./lib/paths.mjs"
import { run, tool } from "./lib/run.mjs"
import { buildStep } from "./lib/stale.mjs"
import { THREAD_WORKER, threadWorker, threadWorkerCode } from "./lib/thread-worker.mjs"
import { HASH_FILE } from "./lib/wasm-sources.mjs"

const { "keep-wasm": keepWasm } = readArgs(
  `usage: npm run build [-- --keep-wasm]

Builds the WebAssembly module, bundles src/ into dist/ as ES modules (.js) and as CommonJS (.cjs), with
ES modules for Node that re-export it (.mjs), builds the inspector as a single page, and rolls up the
declarations.
  --keep-wasm   do not rebuild build/zeromq-lz4.wasm`,
  { "keep-wasm": { type: "boolean" } },
)

const modules = entries.map(({ module }) => module)
/** Modules that programs may load by themselves, and the hash of what they were built from. */
const WASM_FILES = ["zeromq-lz4.wasm", "zstd.wasm", HASH_FILE]
/** The program in package.json's `bin`. */
const program = "cli/main"

/**
 * Embeds the module as base64, which Node decodes quickly. The decoder of esbuild's own loader takes
 * longer than compiling the module.
 * @type {esbuild.Plugin}
 */
const embeddedWasm = {
  name: "embedded-wasm",
  setup(build) {
    build.onLoad({ filter: /\.wasm$/ }, ({ path }) => ({
      contents: `const base64 = "${readFileSync(path, "base64")}"
export default globalThis.Buffer
  ? new Uint8Array(Buffer.from(base64, "base64"))
  : Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))`,
    }))
  },
}

if (!keepWasm) await buildWasm()

await buildStep("js", async () => {
  const bundled = await bundle()
  rmSync(join(paths.build, "types"), { recursive: true, force: true })
  run(tool("tsc"), ["-p", "tsconfig.build.json"])
  rollUpDeclarations()
  // Written rather than copied: Emscripten makes the file executable.
  for (const name of WASM_FILES)
    writeFileSync(join(paths.dist, name), readFileSync(join(paths.build, name)))
  writeFileSync(join(paths.dist, "inspector.html"), await inspectorPage())
  prune(new Set([...bundled, ...declarationFiles, ...WASM_FILES, "inspector.html"]))
})

/** @returns {Promise<string[]>} the files written, relative to dist/ */
async function bundle() {
  // A single build with shared chunks, so that a process has one codec and one WebAssembly memory,
  // whichever entries it imports.
  const { outputFiles } = await esbuild
    .build({
      absWorkingDir: paths.root,
      entryPoints: [...modules, program].map((entry) => `src/${entry}.ts`),
      outbase: "src",
      outdir: "dist",
      bundle: true,
      splitting: true,
      chunkNames: "[name]-[hash]",
      format: "esm",
      target: "es2022",
      // The codec is for browsers and Node. Only the other entries import packages and node:
      // modules, and these imports stay as they are.
      platform: "neutral",
      packages: "external",
      plugins: [embeddedWasm, threadWorker, separateWasm],
      ...withDispose,
      sourcemap: true,
      write: false,
      logLevel: "warning",
    })
    .catch(() => process.exit(1)) // esbuild has printed why.
  /** @type {Map<string, string>} */
  const files = new Map()
  const add = (/** @type {string} */ file, /** @type {string} */ module) => {
    files.set(file, module)
    if (file !== `${program}.js`) files.set(file.replace(/js$/, "cjs"), toCommonJs(module))
  }
  const text = (/** @type {string} */ content) =>
    `var text = ${JSON.stringify(content)};\nexport {\n  text as default\n};\n`
  add(THREAD_WORKER, text(await threadWorkerCode()))
  for (const name of CARRIED) add(carriedFile(name), text(carriedWasm(name)))
  for (const { path, text } of outputFiles) {
    const file = relative(paths.dist, path)
    if (file.endsWith(".map")) {
      files.set(file, text)
      continue
    }
    checkBuiltIns(file, text)
    const module = withoutForIn(text.replaceAll("nodeRequire", "require"))
    add(file, module)
    const name = file.replace(/\.js$/, "")
    if (!modules.includes(name)) continue
    files.set(`${name}-loader.cjs`, loader(`${basename(name)}.cjs`))
    files.set(`${name}.mjs`, wrapper(module, `${basename(name)}-loader.cjs`))
  }
  for (const [file, text] of files) {
    mkdirSync(join(paths.dist, dirname(file)), { recursive: true })
    writeFileSync(join(paths.dist, file), text)
  }
  chmodSync(join(paths.dist, `${program}.js`), 0o755)
  return [...files.keys()]
}

/** Deletes the files of earlier builds. @param {Set<string>} written */
function prune(written) {
  for (const entry of readdirSync(paths.dist, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const name = file.slice(paths.dist.length + 1)
    if (!written.has(name)) rmSync(file)
  }
}
