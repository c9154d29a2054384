import { type MemoryExports, ModuleMemory, type Pointer } from "../codec/module-memory.js"

/** The exports that wasm/curve/curve.h describes. */
interface CurveExports extends MemoryExports {
  zl_public_key(secret: Pointer, target: Pointer): void
  zl_shared_key(publicKey: Pointer, secret: Pointer, target: Pointer): number
  zl_box(key: Pointer, nonce: Pointer, plain: Pointer, length: number, target: Pointer): void
  zl_box_open(key: Pointer, nonce: Pointer, box: Pointer, length: number, target: Pointer): number
  zl_same(one: Pointer, other: Pointer, length: number): number
  zl_wipe(bytes: Pointer, length: number): void
  zl_cipher_open(key: Pointer, ofServer: number, low: number, high: number): Pointer
  zl_cipher_close(cipher: Pointer): void
  zl_crossing_slot(): Pointer
  zl_seal(
    cipher: Pointer,
    source: Pointer,
    length: number,
    target: Pointer,
    room: number,
    crossing: Pointer,
  ): number
  zl_unseal(
    cipher: Pointer,
    source: Pointer,
    length: number,
    maxLow: number,
    maxHigh: number,
    target: Pointer,
    room: number,
    crossing: Pointer,
  ): number
  zl_seal_begin(cipher: Pointer, flags: number, low: number, high: number, target: Pointer): number
  zl_seal_piece(piece: Pointer, length: number): void
  zl_seal_end(mac: Pointer): void
  zl_unseal_begin(cipher: Pointer, head: Pointer): number
  zl_unseal_piece(piece: Pointer, length: number): void
  zl_unseal_end(): number
  zl_message_flags(sealed: number): number
}

/** An instance of the CURVE module. */
export class CurveInstance extends ModuleMemory<CurveExports> {
  /** The zl_crossing that calls into the module fill. */
  readonly crossing: Pointer

  constructor(module: WebAssembly.Module) {
    super(module, "zl_seal")
    this.crossing = this.exports.zl_crossing_slot()
  }

  /** Returns how many bytes the last call has read, and how many it has written. */
  crossed(): { read: number; written: number } {
    return { read: this.word(this.crossing, 0), written: this.word(this.crossing, 1) }
  }
}
