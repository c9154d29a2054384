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
export const MAX_PIECES = 32
const MAX_RECORD_BYTES = 0xffff

/** Bytes that a number represents exactly. */
const START_BYTES = 6

const lengthAt = (page: Uint8Array, at: number): number => page[at]! | (page[at + 1]! << 8)

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
    const pieces = new Array<Uint8Array>(lengthAt(page, at))
    at += LENGTH_BYTES
    for (let i = 0; i < pieces.length; i++) {
      const length = lengthAt(page, at)
      at += LENGTH_BYTES
      pieces[i] = page.subarray(at, at + length)
      at += length
    }
    return pieces
  }

  /** Returns the first 6 bytes of a piece as a number, which orders them. */
  start(address: number, piece: number): number {
    const page = this.#pages[Math.floor(address / PAGE_BYTES)]!
    const at = this.#pieceAt(page, address % PAGE_BYTES, piece)
    let number = 0
    for (let i = 0; i < START_BYTES; i++)
      number = number * 256 + (i < lengthAt(page, at) ? page[at + LENGTH_BYTES + i]! : 0)
    return number
  }

  /**
   * Compares two records byte by byte, each from a piece on, and piece by piece. Returns a negative
   * number if the first one comes first, 0 if they are equal.
   */
  compare(address: number, piece: number, otherAddress: number, otherPiece: number): number {
    const page = this.#pages[Math.floor(address / PAGE_BYTES)]!
    const other = this.#pages[Math.floor(otherAddress / PAGE_BYTES)]!
    const count = lengthAt(page, address % PAGE_BYTES) - piece
    const otherCount = lengthAt(other, otherAddress % PAGE_BYTES) - otherPiece
    let at = this.#pieceAt(page, address % PAGE_BYTES, piece)
    let otherAt = this.#pieceAt(other, otherAddress % PAGE_BYTES, otherPiece)
    for (let i = 0; i < Math.min(count, otherCount); i++) {
      const length = lengthAt(page, at)
      const otherLength = lengthAt(other, otherAt)
      at += LENGTH_BYTES
      otherAt += LENGTH_BYTES
      for (let j = 0; j < Math.min(length, otherLength); j++) {
        const difference = page[at + j]! - other[otherAt + j]!
        if (difference !== 0) return difference
      }
      if (length !== otherLength) return length - otherLength
      at += length
      otherAt += otherLength
    }
    return count - otherCount
  }

  /** Returns the position of a piece, which may be the end of the record. */
  #pieceAt(page: Uint8Array, start: number, piece: number): number {
    let at = start + LENGTH_BYTES
    for (let i = Math.min(piece, lengthAt(page, start)); i > 0; i--)
      at += LENGTH_BYTES + lengthAt(page, at)
    return at
  }

  #reserve(bytes: number): number {
    if (this.#used + bytes > PAGE_BYTES) {
      this.#pages.push(new Uint8Array(PAGE_BYTES))
      this.#used = 0
    }
    return this.#used
  }
}
