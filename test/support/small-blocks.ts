/**
 * A build of the module whose blocks hold less plaintext, so that parts of many
 * blocks (LZ4M) can be tested without gigabytes.
 */
import { readFileSync } from "node:fs"

const bytes = readFileSync(new URL("../../build/zeromq-lz4-small-blocks.wasm", import.meta.url))

/** For `Codec.create({ wasm })`; one module, so that all tests share one instance. */
export const smallBlocks = new WebAssembly.Module(bytes)

/** Plaintext per block in that build, as the module itself says. */
export const smallBlockSize = readBlockSize()

function readBlockSize(): number {
  // Asking for the number calls none of the imports.
  const imports: Record<string, Record<string, () => void>> = {}
  for (const { module, name } of WebAssembly.Module.imports(smallBlocks))
    imports[module] = { ...imports[module], [name]: () => {} }
  const { zl_block_max } = new WebAssembly.Instance(smallBlocks, imports).exports
  return (zl_block_max as () => number)() >>> 0
}
