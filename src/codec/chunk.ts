import { copyShared } from "../base/copy-shared.js"
import { allocate } from "./arrays.js"
import type { FormatName } from "./format.js"
import type { Packing } from "./packing.js"
import { KEEPS_BYTES, LargeSlabs, SLAB_BYTES, type Slab, Slabs, SPARE_MAX } from "./slabs.js"

/** Slabs of chunks that this thread writes to the network. */
const own = new Slabs(allocate, SPARE_MAX, KEEPS_BYTES)
const large = new LargeSlabs(allocate, 0, KEEPS_BYTES)

export interface Content {
  readonly messages: number
  /** Bytes of the parts before and after encoding. */
  readonly plainBytes: number
  readonly wireBytes: number
  /** The message that sends the dictionary. A peer needs it before the chunk. */
  readonly dictionary: Uint8Array | undefined
  /** "arenas" if the chunk may contain some. */
  readonly packing: Packing
  /** The format of parts that may be compressed; undefined if none are, so that any format fits. */
  readonly format?: FormatName | undefined
  /** Whether it is one message in frames whose flags say how its parts are sent; see writeParts(). */
  readonly hasForms?: boolean
  /** The flag that says in which form all parts of its only message are sent, if that is given. */
  readonly formFlag?: number
}

/** A part sent from the caller's memory, which the program may change, detach or shrink meanwhile. */
export interface Reference {
  readonly part: Uint8Array
  /** Its length when the head of its frame was written. */
  readonly length: number
  /** Position in the chunk's `bytes` at which the part is inserted. */
  readonly at: number
}

const NO_REFERENCES: readonly Reference[] = []

/** Whole messages in wire form. */
export class Chunk implements Content {
  /** All bytes but those of the references. */
  readonly bytes: Uint8Array
  readonly references: readonly Reference[]
  readonly messages: number
  readonly plainBytes: number
  readonly wireBytes: number
  readonly dictionary: Uint8Array | undefined
  readonly packing: Packing
  readonly format: FormatName | undefined
  readonly hasForms: boolean
  readonly formFlag: number
  /** Undefined once the bytes are copied. */
  #slab: Slab | undefined
  /** Offset of the bytes in the slab. */
  readonly #start: number
  /** Number of owners. */
  #holds = 1
  #copy: Chunk | undefined

  constructor(
    bytes: Uint8Array,
    content: Content,
    from: Slab | undefined,
    start: number,
    references: readonly Reference[] = NO_REFERENCES,
  ) {
    this.bytes = bytes
    this.references = references
    this.messages = content.messages
    this.plainBytes = content.plainBytes
    this.wireBytes = content.wireBytes
    this.dictionary = content.dictionary
    this.packing = content.packing
    this.format = content.format
    this.hasForms = content.hasForms ?? false
    this.formFlag = content.formFlag ?? 0
    this.#slab = from
    this.#start = start
    if (from) from.liveBytes += bytes.length
  }

  /** Number of bytes on the wire. */
  get length(): number {
    let { length } = this.bytes
    for (const reference of this.references) length += reference.length
    return length
  }

  /** A reference whose memory was detached or shrank. The chunk cannot be written then. */
  get detached(): Reference | undefined {
    return this.references.find(({ part, length }) => part.length !== length)
  }

  /** The bytes in the order in which they are sent: slices of `bytes`, and references. */
  get pieces(): (Uint8Array | Reference)[] {
    if (this.references.length === 0) return [this.bytes]
    const pieces: (Uint8Array | Reference)[] = []
    let from = 0
    for (const reference of this.references) {
      if (reference.at > from) pieces.push(this.bytes.subarray(from, reference.at))
      pieces.push(reference)
      from = reference.at
    }
    if (from < this.bytes.length) pieces.push(this.bytes.subarray(from))
    return pieces
  }

  /** The same as arrays, for callers that read them before the program can change its memory. */
  get arrays(): Uint8Array[] {
    return this.pieces.map((piece) => ("part" in piece ? piece.part : piece))
  }

  /** Returns whether a peer that is sent messages in `packing` can read this chunk. */
  fits(packing: Packing): boolean {
    return packing === this.packing || (packing === "arenas" && this.packing === "parts")
  }

  get slab(): Slab | undefined {
    return this.#slab
  }

  get isShared(): boolean {
    return this.#holds > 1
  }

  /** Adds owners: from now on, there are `places` in all that have to release the chunk. */
  share(places: number): void {
    this.#holds += places - 1
    if (this.#slab) this.#slab.live += places - 1
  }

  /** Gives up the chunk for one owner. Its memory may be reused after the last one. */
  release(): void {
    if (!this.#slab) return
    const from = this.#slab
    from.live--
    if (--this.#holds > 0) return
    from.liveBytes -= this.bytes.length
    if (from.live === 0) from.slabs.emptied(from)
    this.#slab = undefined
  }

  /**
   * Returns the same chunk in memory of its own and releases this one, if this chunk is small or
   * takes little of its slab; otherwise returns this chunk. Call it again later, as the slab's
   * other chunks may have been written by then.
   */
  copied(): Chunk {
    const slab = this.#slab
    if (!slab && !this.#copy) return this
    if (slab && this.bytes.length >= slab.slabs.keepsBytes && !slab.slabs.isWasted(slab))
      return this
    this.#copy ??= new Chunk(new Uint8Array(this.bytes), this, undefined, 0, this.references)
    this.release()
    return this.#copy
  }

  /** Joins this chunk and `next`, if they are adjacent in memory and alike; otherwise undefined. */
  joined(next: Chunk): Chunk | undefined {
    if (this.references.length > 0 || next.references.length > 0) return undefined
    const from = this.#slab
    const end = this.#start + this.bytes.length
    if (!from || from !== next.#slab || end !== next.#start) return undefined
    if (this.dictionary !== next.dictionary) return undefined
    if ((this.packing === "frames") !== (next.packing === "frames")) return undefined
    if (this.format && next.format && this.format !== next.format) return undefined
    if (this.#holds > 1 || next.#holds > 1) return undefined
    if (this.hasForms || next.hasForms || this.formFlag || next.formFlag) return undefined
    const bytes = from.bytes.subarray(this.#start, end + next.bytes.length)
    const content = {
      messages: this.messages + next.messages,
      plainBytes: this.plainBytes + next.plainBytes,
      wireBytes: this.wireBytes + next.wireBytes,
      dictionary: this.dictionary,
      packing: next.packing === "arenas" ? next.packing : this.packing,
      format: this.format ?? next.format,
    }
    from.live--
    from.liveBytes -= bytes.length
    this.#slab = next.#slab = undefined
    return new Chunk(bytes, content, from, this.#start)
  }
}

/** Collects the bytes of one chunk. */
export class ChunkBuilder {
  #slab: Slab | undefined
  #start = 0
  #references: Reference[] | undefined

  begin(): void {
    this.#slab = own.current
    this.#start = this.#slab.used
    this.#references = undefined
  }

  /** Appends a reference to a part, which is not copied. `part` is a fixed view. */
  refer(part: Uint8Array): void {
    const at = (this.#slab as Slab).used - this.#start
    this.#references ??= []
    this.#references.push({ part, length: part.length, at })
  }

  /** Appends a copy of `bytes`. */
  append(bytes: Uint8Array): void {
    const slab = this.reserve(bytes.length)
    copyShared(slab.bytes, slab.used, bytes)
    slab.used += bytes.length
  }

  /** Makes room for `length` more bytes in a single slab. */
  reserve(length: number): Slab {
    const slab = this.#slab as Slab
    if (slab.used + length <= slab.bytes.length) return slab
    const made = slab.bytes.subarray(this.#start, slab.used)
    const bytes = made.length + length
    const fits = bytes <= SLAB_BYTES && slab.slabs === own
    // Double the size, so that a large chunk that keeps growing is not copied each time.
    const next = fits ? own.next() : large.ofAtLeast(Math.max(bytes, 2 * made.length))
    next.bytes.set(made)
    next.used = made.length
    this.abandon()
    this.#slab = next
    this.#start = 0
    return next
  }

  end(content: Content): Chunk {
    const slab = this.#slab as Slab
    slab.live++
    const bytes = slab.bytes.subarray(this.#start, slab.used)
    return new Chunk(bytes, content, slab, this.#start, this.#references)
  }

  /** Discards the bytes appended last. */
  abandon(): void {
    const slab = this.#slab
    if (slab?.slabs === large) large.emptied(slab)
    else if (slab) slab.used = this.#start
  }
}
