/** Prints the bytes that zeromq-lz4/codec adds to a page, the WebAssembly module included. */
import { readArgs } from "./lib/args.mjs"
import { bundledCodec } from "./lib/size.mjs"

// docs/codec.md lists the parts that take these bytes.
const MAX_BYTES = 102_000
const MAX_GZIP_BYTES = 42_500

readArgs(
  `usage: node scripts/check-size.mjs

Bundles and minifies dist/codec for browsers. Fails above ${MAX_BYTES} bytes, or ${MAX_GZIP_BYTES} with gzip.`,
  {},
)

const { bytes, gzip } = await bundledCodec()
console.log(`zeromq-lz4/codec, minified: ${bytes} bytes (at most ${MAX_BYTES})`)
console.log(`                with gzip: ${gzip} bytes (at most ${MAX_GZIP_BYTES})`)
if (bytes > MAX_BYTES || gzip > MAX_GZIP_BYTES) process.exitCode = 1
