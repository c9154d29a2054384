/** Long lists of numbers and of short byte strings, without an object for each. */

const BLOCK_SHIFT = 16
const BLOCK_LENGTH = 1 << BLOCK_SHIFT
const BLOCK_MASK = BLOCK_LENGTH - 1

type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array

/** A list of numbers that grows in blocks: nothing is copied, and little memory is unused. */
export class Column {
  readonly #blocks: Numbers[] = []
  readonly #Block: new (
    length: number,
  ) => Numbers
  length = 0

  constructor(Block: new (length: number) => Numbers) {
    this.#Block = Block
  }

  push(value: number): void {
    const at = this.length++
    if ((at & BLOCK_MASK) === 0) this.#blocks.push(new this.#Block(BLOCK_LENGTH))
    this.#blocks[at >>> BLOCK_SHIFT]![at & BLOCK_MASK] = value
  }

  get(index: number): number {
    return this.#blocks[index >>> BLOCK_SHIFT]![index & BLOCK_MASK]!
  }
}

const PAGE_BYTES = 1 << 20
const LENGTH_BYTES = 2
/** Maximum number of pieces of a record. */
export const MAX_PIECES = 32
/** Maximum size of a record. */
const MAX_RECORD_BYTES = 0xffff

/** Records of byte strings, each string preceded by its length. */
export class Records {
  readonly #pages: Uint8Array[] = []
  #used = PAGE_BYTES

  /** The memory of all records, in bytes. */
  get bytes(): number {
    return this.#pages.length * PAGE_BYTES
  }

  /** Keeps the first pieces, up to `limit` bytes in total. Returns their address. */
  add(pieces: readonly Uint8Array[], limit = MAX_RECORD_BYTES): number {
    const start = this.#reserve(LENGTH_BYTES * (1 + MAX_PIECES) + limit)
    const page = this.#pages.at(-1)!
    let at = start + LENGTH_BYTES
    let count = 0
    let left = limit
    for (const piece of pieces) {
      if (count === MAX_PIECES || (left === 0 && piece.length > 0)) break
      const length = Math.min(piece.length, left)
      page[at] = length & 0xff
      page[at + 1] = length >>> 8
      page.set(piece.subarray(0, length), at + LENGTH_BYTES)
      at += LENGTH_BYTES + length
      left -= length
      count++
    }
    page[start] = count & 0xff
    page[start + 1] = count >>> 8
    this.#used = at
    return (this.#pages.length - 1) * PAGE_BYTES + start
  }

  /** Returns the pieces of a record as views, whose content does not change. */
  get(address: number): Uint8Array[] {
    const page = this.#pages[Math.floor(address / PAGE_BYTES)]!
    let at = address % PAGE_BYTES
    const pieces = new Array<Uint8Array>(page[at]! | (page[at + 1]! << 8))
    at += LENGTH_BYTES
    for (let i = 0; i < pieces.length; i++) {
      const length = page[at]! | (page[at + 1]! << 8)
      at += LENGTH_BYTES
      pieces[i] = page.subarray(at, at + length)
      at += length
    }
    return pieces
  }

  #reserve(bytes: number): number {
    if (this.#used + bytes > PAGE_BYTES) {
      this.#pages.push(new Uint8Array(PAGE_BYTES))
      this.#used = 0
    }
    return this.#used
  }
}
