/** Measures the bytes that the codec adds to a page. */
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import * as esbuild from "esbuild"
import { dist } from "./paths.mjs"

/** Returns the size of dist/codec, bundled and minified for browsers, including the WebAssembly module. */
export async function bundledCodec() {
  const { outputFiles } = await esbuild.build({
    entryPoints: [join(dist, "codec/index.js")],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    write: false,
    logLevel: "warning",
    // Chunks that the codec does not need have no side effects.
    logOverride: { "ignored-bare-import": "silent" },
  })
  const { contents } = outputFiles[0]
  return { bytes: contents.length, gzip: gzipSync(contents, { level: 9 }).length }
}
