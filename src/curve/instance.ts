import { noAddresses, outOfMemory, wasmError } from "../codec/errors.js"
import { NULL, type Pointer } from "../codec/instance.js"

/** The exports that wasm/curve/curve.h describes. */
export interface CurveExports {
  memory: WebAssembly.Memory
  _initialize(): void
  zl_scratch(region: number, bytes: number): Pointer
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

/** Scratch regions, as in the other module. Each use of a region ends the previous one. */
export const INPUT = 0
export const OUTPUT = 1

/** An instance of the CURVE module, with its memory. */
export class CurveInstance {
  readonly exports: CurveExports
  /** The zl_crossing that calls into the module fill. */
  readonly crossing: Pointer
  #bytes = new Uint8Array(0)

  constructor(module: WebAssembly.Module) {
    // Growth needs no notification: a stale view has length 0.
    const imports = { env: { emscripten_notify_memory_growth: () => {} } }
    try {
      this.exports = new WebAssembly.Instance(module, imports).exports as unknown as CurveExports
    } catch (error) {
      if (error instanceof RangeError) throw noAddresses()
      throw wasmError((error as Error).message, error)
    }
    this.exports._initialize()
    this.crossing = this.exports.zl_crossing_slot()
  }

  /** The current memory. Read it again after every call into the module. */
  get bytes(): Uint8Array {
    if (this.#bytes.length === 0) this.#bytes = new Uint8Array(this.exports.memory.buffer)
    return this.#bytes
  }

  /** Returns a region of scratch memory. Throws if memory runs out. */
  scratch(region: number, bytes: number): Pointer {
    const pointer = this.exports.zl_scratch(region, bytes) >>> 0
    if (pointer === NULL) throw outOfMemory("a batch of messages", bytes)
    return pointer as Pointer
  }

  /** Returns a view of memory, valid until the next call into the module. */
  view(pointer: Pointer, length: number): Uint8Array {
    const start = pointer >>> 0
    return this.bytes.subarray(start, start + length)
  }

  /** Returns how many bytes the last call has read, and how many it has written. */
  crossed(): { read: number; written: number } {
    const [read = 0, written = 0] = new Uint32Array(this.exports.memory.buffer, this.crossing, 2)
    return { read, written }
  }
}
