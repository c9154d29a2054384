import type { FormatName } from "../codec/format.js"
import { loadFormatSync } from "../codec/formats.js"
import type { Instance } from "../codec/instance.js"
import { lz4 } from "../codec/lz4/format.js"
import { loadInstanceSync, type WasmSource } from "../codec/module.js"

/**
 * Returns a function for the instances of the formats. That of lz4+tcp is loaded now, from `wasm` if
 * that is given, and that of zstd+tcp when a part needs it.
 *
 * @throws Error with the code ERR_LZ4_WASM if the module cannot be loaded.
 */
export function instancesWith(wasm: WasmSource | undefined): (format: FormatName) => Instance {
  const own = loadInstanceSync(lz4, wasm)
  return (format) => (format === "lz4" ? own : loadInstanceSync(loadFormatSync(format)))
}
