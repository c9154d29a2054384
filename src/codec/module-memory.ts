import { noAddresses, outOfMemory, wasmError, withCode } from "./errors.js"

declare const address: unique symbol
/**
 * An address in the module's memory, valid only as zeromq_lz4.h says. Exports return it as a signed
 * number, which is negative above 2 GiB.
 */
export type Pointer = number & { readonly [address]: true }
export const NULL = 0 as Pointer

/** The exports that all modules of the package have. */
export interface MemoryExports {
  memory: WebAssembly.Memory
  _initialize(): void
  zl_scratch(region: number, bytes: number): Pointer
}

/** An instance of one of the package's WebAssembly modules, with its memory. */
export class ModuleMemory<Exports extends MemoryExports> {
  readonly exports: Exports
  #bytes = new Uint8Array(0)
  #fields = new DataView(new ArrayBuffer(0))

  /** @param own an export by which the module is recognised. */
  constructor(module: WebAssembly.Module, own: string) {
    const isOurs = WebAssembly.Module.exports(module).some(({ name }) => name === own)
    if (!isOurs) throw foreign(`no ${own}`)
    // Growth needs no notification: a stale view has length 0.
    const imports = { env: { emscripten_notify_memory_growth: () => {} } }
    try {
      this.exports = new WebAssembly.Instance(module, imports).exports as unknown as Exports
    } catch (error) {
      if (error instanceof RangeError) throw noAddresses()
      if (error instanceof WebAssembly.LinkError) throw foreign(error.message, error)
      // In WebKit, the page's Content Security Policy is only asked here.
      throw withCode(error as Error, "ERR_LZ4_WASM")
    }
    this.exports._initialize()
  }

  /** The current memory. Read it again after every call into the module. */
  get bytes(): Uint8Array {
    if (this.#bytes.length === 0) this.#renewViews()
    return this.#bytes
  }

  /** Returns a 32-bit field of a structure. */
  word(pointer: Pointer, index: number): number {
    if (this.#bytes.length === 0) this.#renewViews()
    // The module's memory is little-endian on every host.
    return this.#fields.getUint32((pointer >>> 0) + 4 * index, true)
  }

  /** Returns a 64-bit field of a structure, by the index of its first word; exact below 2^53. */
  wide(pointer: Pointer, index: number): number {
    return this.word(pointer, index) + this.word(pointer, index + 1) * 2 ** 32
  }

  /** Returns a region of scratch memory. Throws if memory runs out. */
  scratch(region: number, bytes: number): Pointer {
    const pointer = this.exports.zl_scratch(region, bytes) >>> 0
    if (pointer === 0) throw outOfMemory("a part", bytes)
    return pointer as Pointer
  }

  /** Returns a view of memory, valid until the next call into the module. */
  view(pointer: Pointer, length: number): Uint8Array {
    const start = pointer >>> 0
    return this.bytes.subarray(start, start + length)
  }

  /** Replaces the views of memory that has grown since. */
  #renewViews(): void {
    const { buffer } = this.exports.memory
    this.#bytes = new Uint8Array(buffer)
    this.#fields = new DataView(buffer)
  }
}

const foreign = (why: string, cause?: unknown): TypeError =>
  wasmError(`this module is not zeromq-lz4's: ${why}`, cause)
