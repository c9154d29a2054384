/** How much zeromq-lz4/codec adds to a page, the WebAssembly module included. */
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import * as esbuild from "esbuild"
import { readArgs } from "./lib/args.mjs"
import { dist } from "./lib/paths.mjs"

// README.md says what they go into.
const MAX_BYTES = 96_000
const MAX_GZIP_BYTES = 40_000

readArgs(
  `usage: node scripts/check-size.mjs

Bundles and minifies dist/codec for browsers; fails above ${MAX_BYTES} bytes, ${MAX_GZIP_BYTES} with gzip.`,
  {},
)

const { outputFiles } = await esbuild.build({
  entryPoints: [join(dist, "codec/index.js")],
  bundle: true,
  minify: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  write: false,
  logLevel: "warning",
})
const bytes = outputFiles[0].contents
const gzip = gzipSync(bytes, { level: 9 })

console.log(`zeromq-lz4/codec, minified: ${bytes.length} bytes (at most ${MAX_BYTES})`)
console.log(`                with gzip: ${gzip.length} bytes (at most ${MAX_GZIP_BYTES})`)
if (bytes.length > MAX_BYTES || gzip.length > MAX_GZIP_BYTES) process.exitCode = 1
