/** Builds the package: everything under dist/. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as esbuild from "esbuild"
import { readArgs } from "./lib/args.mjs"
import { declarationFiles, rollUpDeclarations } from "./lib/declarations.mjs"
import { inspectorPage } from "./lib/inspector-page.mjs"
import * as paths from "./lib/paths.mjs"
import { run, tool } from "./lib/run.mjs"
import { buildStep } from "./lib/stale.mjs"

const { "keep-wasm": keepWasm } = readArgs(
  `usage: npm run build [-- --keep-wasm]

Builds the WebAssembly module, bundles src/ into dist/, the inspector into one page, and rolls up
the declarations, one file for each entry.
  --keep-wasm   use build/zeromq-lz4.wasm as it is`,
  { "keep-wasm": { type: "boolean" } },
)

// Each is an entry of package.json's "exports", or a file that one of them starts.
const entries = [
  "src/index.ts",
  "src/draft.ts",
  "src/codec/index.ts",
  "src/capture/index.ts",
  "src/cli/main.ts",
  "src/thread/worker.ts",
].filter((entry) => existsSync(join(paths.root, entry)))

/**
 * Embeds the module as base64, which Node decodes at once; what esbuild's own loader brings for it
 * takes longer than to compile the module.
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

if (!keepWasm) run(process.execPath, [join(paths.root, "scripts/build-wasm.mjs")])

await buildStep("js", async () => {
  const bundled = await bundle()
  rmSync(join(paths.build, "types"), { recursive: true, force: true })
  run(tool("tsc"), ["-p", "tsconfig.build.json"])
  rollUpDeclarations()
  // Not a copy: Emscripten marks what it links executable.
  writeFileSync(
    join(paths.dist, "zeromq-lz4.wasm"),
    readFileSync(join(paths.build, "zeromq-lz4.wasm")),
  )
  writeFileSync(join(paths.dist, "inspector.html"), await inspectorPage())
  prune(new Set([...bundled, ...declarationFiles, "zeromq-lz4.wasm", "inspector.html"]))
})

/** @returns {Promise<string[]>} the files written, relative to dist/ */
async function bundle() {
  // One build for all entries: what they share is in chunks of its own, so that a process has
  // one codec and one WebAssembly memory whichever of them it imports.
  const result = await esbuild
    .build({
      absWorkingDir: paths.root,
      entryPoints: entries,
      outbase: "src",
      outdir: "dist",
      bundle: true,
      splitting: true,
      chunkNames: "[name]-[hash]",
      format: "esm",
      target: "es2022",
      // Neither a browser's nor Node's: the codec is for both. Imports of packages and of
      // node: modules, which only the other entries have, stay imports.
      platform: "neutral",
      packages: "external",
      plugins: [embeddedWasm],
      sourcemap: true,
      metafile: true,
      logLevel: "warning",
    })
    .catch(() => process.exit(1)) // esbuild has printed why.
  return Object.keys(result.metafile.outputs).map((file) => file.replace(/^dist\//, ""))
}

/** Takes away what earlier builds left. @param {Set<string>} written */
function prune(written) {
  for (const entry of readdirSync(paths.dist, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const name = file.slice(paths.dist.length + 1)
    if (!written.has(name)) rmSync(file)
  }
}
