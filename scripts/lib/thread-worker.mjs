/** The code of connections' threads as text, which needs no file beside the program that starts one. */
import * as esbuild from "esbuild"
import { root } from "./paths.mjs"

/** The thread that starts it has compiled the module. @type {esbuild.Plugin} */
const givenWasm = {
  name: "given-wasm",
  setup(build) {
    build.onLoad({ filter: /\.wasm$/ }, () => ({
      contents: `export { workerData as default } from "node:worker_threads"`,
    }))
  },
}

/** Bundles src/thread/worker.ts to a script for `new Worker(script, { eval: true })`. */
export async function threadWorkerCode() {
  const { outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: ["src/thread/worker.ts"],
    bundle: true,
    write: false,
    format: "cjs",
    target: "es2022",
    platform: "node",
    // Names stay, for stacks of errors.
    minifyWhitespace: true,
    minifySyntax: true,
    plugins: [givenWasm],
    logLevel: "warning",
  })
  return outputFiles[0].text
}

/** The module of dist/ with that text, on its own: a source map would repeat it. */
export const THREAD_WORKER = "thread-worker.js"

/** Imports "thread-worker" from there. @type {esbuild.Plugin} */
export const threadWorker = {
  name: "thread-worker",
  setup(build) {
    build.onResolve({ filter: /^thread-worker$/ }, () => ({
      path: `./${THREAD_WORKER}`,
      external: true,
    }))
  },
}
