/** Bundles the code of worker threads as text, so that starting one needs no file. */
import * as esbuild from "esbuild"
import { withoutWasm } from "./carried-wasm.mjs"
import { withoutForIn } from "./for-in.mjs"
import { root } from "./paths.mjs"

/** Leaves out the module, which the starting thread passes on compiled. @type {esbuild.Plugin} */
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
    // Keeps names, for stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    plugins: [givenWasm, withoutWasm],
    logLevel: "warning",
  })
  return withoutForIn(outputFiles[0].text)
}

/** The module of dist/ that exports the text. It is separate, because a source map would repeat the text. */
export const THREAD_WORKER = "thread-worker.js"

/** Resolves "thread-worker" to that module. @type {esbuild.Plugin} */
export const threadWorker = {
  name: "thread-worker",
  setup(build) {
    build.onResolve({ filter: /^thread-worker$/ }, () => ({
      path: `./${THREAD_WORKER}`,
      external: true,
    }))
  },
}
