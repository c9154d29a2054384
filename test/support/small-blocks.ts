/**
 * A build of the module with smaller blocks, so that parts of many blocks (LZ4M) can be tested
 * without gigabytes.
 */
import { readFileSync } from "node:fs"

const bytes = readFileSync(new URL("../../build/zeromq-lz4-small-blocks.wasm", import.meta.url))

/** The module for `Codec.create({ wasm })`. There is only one, so that all tests share an instance. */
export const smallBlocks = new WebAssembly.Module(bytes)

/** Plaintext of a block in that build, as the module reports it. */
export const smallBlockSize = readBlockSize()

function readBlockSize(): number {
  // Reading the number does not call any import.
  const imports: Record<string, Record<string, () => void>> = {}
  for (const { module, name } of WebAssembly.Module.imports(smallBlocks))
    imports[module] = { ...imports[module], [name]: () => {} }
  const { zl_block_max } = new WebAssembly.Instance(smallBlocks, imports).exports
  return (zl_block_max as () => number)() >>> 0
}
