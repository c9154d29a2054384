import type { Exports, Instance } from "../instance.js"
import type { Pointer } from "../module-memory.js"

/** The exports that wasm/lz4/exports.h describes. */
interface Lz4Exports extends Exports {
  zl_lz4_version(): number
  zl_receive_block(part: Pointer, length: Pointer): number
  zl_block_decode(
    dictionary: Pointer,
    source: Pointer,
    blockBytes: number,
    target: Pointer,
    plain: number,
  ): number
  zl_block_bound(plain: number): number
  zl_multi_head(target: Pointer, plainLow: number, plainHigh: number): void
  zl_multi_block(
    dictionary: Pointer,
    source: Pointer,
    plain: number,
    target: Pointer,
    effort: number,
  ): number
}

export const exportsOf = (instance: Instance): Lz4Exports => instance.exports as Lz4Exports
