import type { Exports, Instance } from "../instance.js"
import type { Pointer } from "../module-memory.js"

/** The exports that wasm/zstd/exports.h describes. */
interface ZstdExports extends Exports {
  zl_zstd_version(): number
  zl_stream_encoder(dictionary: Pointer, low: number, high: number, effort: number): Pointer
  zl_stream_decoder(dictionary: Pointer): Pointer
  zl_stream_close(stream: Pointer): void
  zl_stream_step(
    stream: Pointer,
    input: Pointer,
    length: number,
    output: Pointer,
    room: number,
    last: number,
    progress: Pointer,
  ): number
}

export const exportsOf = (instance: Instance): ZstdExports => instance.exports as ZstdExports
