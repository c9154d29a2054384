/** The memory of the package's WebAssembly module. */

/** @type {{ memory: WebAssembly.Memory, zl_receiving_open: (low: number, high: number) => number } | undefined} */
let wasm

// The package does not export its instance, so it is intercepted here. (Node has others.)
WebAssembly.Instance = class extends WebAssembly.Instance {
  /** @param {WebAssembly.Module} module @param {WebAssembly.Imports} [imports] */
  constructor(module, imports) {
    super(module, imports)
    if ("zl_receiving_open" in this.exports) wasm = /** @type {any} */ (this.exports)
  }
}

export const wasmBytes = () => wasm?.memory.buffer.byteLength ?? 0

/** Fills the memory until less than a page is free, so that the next allocation makes it grow. */
export function fillWasm() {
  if (!wasm) return
  const { memory, zl_receiving_open } = wasm
  const { byteLength } = memory.buffer
  while (memory.buffer.byteLength === byteLength) zl_receiving_open(0, 0)
}
