/** Bundles the simulator, and the code that runs in it. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import * as esbuild from "esbuild"
import { withoutWasm } from "./carried-wasm.mjs"
import * as paths from "./paths.mjs"

/**
 * A fault: a textual change of one source, in which `from` must occur exactly once.
 * @typedef {{ file: string, from: string, to: string }} Patch
 */

/** The folder of files that replace those of the same names in src/, as a whole. */
const STAND_INS = join(paths.root, "test/simulation/stand-ins")
const SRC = join(paths.root, "src")

/**
 * Returns the source with a change. Throws an Error unless what it changes occurs once.
 * @param {string} source
 * @param {Patch} patch
 */
export function applyPatch(source, { file, from, to }) {
  if (source.split(from).length !== 2) throw new Error(`${file} does not have this once:\n${from}`)
  return source.replace(from, () => to)
}

/**
 * Changes sources as they are read, to inject faults.
 * @param {Patch[]} patches
 * @returns {esbuild.Plugin}
 */
function patched(patches) {
  return {
    name: "patched",
    setup(build) {
      build.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
        const file = relative(paths.root, path)
        const wanted = patches.filter((patch) => patch.file === file)
        if (wanted.length === 0) return undefined
        return { contents: wanted.reduce(applyPatch, readFileSync(path, "utf8")), loader: "ts" }
      })
    },
  }
}

/**
 * Resolves imports of files that have a stand-in to it. What a stand-in imports is real.
 * @type {esbuild.Plugin}
 */
const standIns = {
  name: "stand-ins",
  setup(build) {
    const files = new Set(readdirSync(STAND_INS, { recursive: true, encoding: "utf8" }))
    build.onResolve({ filter: /^\.{1,2}\/.*\.js$/ }, ({ path, resolveDir, importer }) => {
      if (importer.startsWith(STAND_INS)) return undefined
      const file = relative(SRC, resolve(resolveDir, path)).replace(/\.js$/, ".ts")
      return files.has(file) ? { path: join(STAND_INS, file) } : undefined
    })
  },
}

/** @type {esbuild.Plugin} */
const noWasm = {
  name: "no-wasm",
  setup(build) {
    // The module is compiled once for all runs.
    build.onLoad({ filter: /\.wasm$/ }, () => ({ contents: "export default new Uint8Array(8)" }))
  },
}

/** The simulator tells the modules that are read when needed by their lengths: no byte, and two. */
const CARRIED = { "curve-wasm": "", "zstd-wasm": "AAA=" }

/** @type {esbuild.Plugin} */
const noCarriedWasm = {
  name: "no-carried-wasm",
  setup(build) {
    build.onResolve({ filter: /^(curve|zstd)-wasm$/ }, ({ path }) => ({
      path,
      namespace: "carried",
    }))
    build.onLoad({ filter: /^/, namespace: "carried" }, ({ path }) => ({
      contents: `export default "${CARRIED[/** @type {keyof typeof CARRIED} */ (path)]}"`,
    }))
  },
}

/** @type {esbuild.Plugin} */
const noThreadWorker = {
  name: "no-thread-worker",
  setup(build) {
    // The simulator starts threads itself.
    build.onResolve({ filter: /^thread-worker$/ }, ({ path }) => ({ path, namespace: "none" }))
    build.onLoad({ filter: /^/, namespace: "none" }, () => ({ contents: "", loader: "text" }))
  },
}

/** @type {esbuild.Plugin} */
const noAddon = {
  name: "no-addon",
  setup(build) {
    build.onLoad({ filter: /load-addon\.js$/ }, () => ({
      contents: `module.exports = require("__native")`,
    }))
  },
}

/** @type {esbuild.BuildOptions} */
const common = {
  absWorkingDir: paths.root,
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "es2022",
  write: false,
  logLevel: "silent",
  define: { "import.meta.url": '"file:///simulation/index.js"' },
}

/** @param {esbuild.BuildOptions} options */
async function text(options) {
  const { outputFiles } = await esbuild.build({ ...common, ...options })
  return /** @type {esbuild.OutputFile[]} */ (outputFiles)[0]?.text ?? ""
}

/** Bundles the code under test, with injected faults if there are any. @param {Patch[]} [faults] */
export async function bundleEngine(faults = []) {
  const plugins = [patched(faults), standIns, noWasm, noThreadWorker, noCarriedWasm]
  const [main, worker, zeromq] = await Promise.all([
    text({
      stdin: {
        contents: `export * from "./src/exports.js"\nexport * from "./src/draft.js"`,
        resolveDir: paths.root,
        loader: "ts",
      },
      plugins,
    }),
    text({ entryPoints: ["src/thread/worker.ts"], plugins }),
    text({
      stdin: {
        contents: `exports.zeromq = require("zeromq")\nexports.draft = require("zeromq/draft.js")`,
        resolveDir: paths.root,
        loader: "js",
      },
      external: ["__native"],
      plugins: [noAddon],
    }),
  ])
  const module = (/** @type {string} */ name) =>
    /** @type {Buffer<ArrayBuffer>} */ (readFileSync(join(paths.build, `${name}.wasm`)))
  return {
    main,
    worker,
    zeromq,
    wasm: module("zeromq-lz4"),
    zstd: module("zstd"),
    curve: module("curve"),
  }
}

/** Bundles the simulator, which is TypeScript, and returns its file. */
export async function bundleSimulator() {
  const file = join(paths.build, "simulation", "simulator.mjs")
  const contents = await text({
    entryPoints: ["test/simulation/index.ts"],
    format: "esm",
    sourcemap: "inline",
    define: {},
    loader: { ".wasm": "binary" },
    plugins: [withoutWasm],
  })
  mkdirSync(join(paths.build, "simulation"), { recursive: true })
  writeFileSync(file, contents)
  return file
}
