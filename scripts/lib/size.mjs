/** Measures the bytes that the codec adds to a page. */
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import * as esbuild from "esbuild"
import { dist } from "./paths.mjs"

/**
 * Returns the size of dist/codec, bundled and minified for browsers, including the WebAssembly module of
 * lz4+tcp://, but without what is loaded later: that of zstd+tcp://.
 */
export async function bundledCodec() {
  const { outputFiles, metafile } = await esbuild.build({
    entryPoints: [join(dist, "codec/index.js")],
    bundle: true,
    splitting: true,
    outdir: join(dist, "measured"),
    metafile: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    write: false,
    logLevel: "warning",
    // Chunks that the codec does not need have no side effects.
    logOverride: { "ignored-bare-import": "silent" },
  })
  const { outputs } = metafile
  /** @type {Set<string>} */
  const loaded = new Set()
  const load = (/** @type {string} */ path) => {
    if (loaded.has(path)) return
    loaded.add(path)
    for (const { path: next, kind } of outputs[path]?.imports ?? [])
      if (kind === "import-statement") load(next)
  }
  for (const [path, { entryPoint }] of Object.entries(outputs))
    if (entryPoint?.endsWith("codec/index.js")) load(path)
  const contents = outputFiles.filter(({ path }) => [...loaded].some((name) => path.endsWith(name)))
  const sum = (/** @type {(bytes: Uint8Array) => number} */ of) =>
    contents.reduce((total, { contents }) => total + of(contents), 0)
  return {
    bytes: sum(({ length }) => length),
    gzip: sum((bytes) => gzipSync(bytes, { level: 9 }).length),
  }
}
