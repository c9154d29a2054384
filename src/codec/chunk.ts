import { allocate } from "./arrays.js"
import { copyShared } from "./shared-copy.js"
import { KEEPS_BYTES, LargeSlabs, SLAB_BYTES, type Slab, Slabs, SPARE_MAX } from "./slabs.js"

/** Slabs of chunks that this thread writes to the network. */
const own = new Slabs(allocate, SPARE_MAX, KEEPS_BYTES)
const large = new LargeSlabs()

/**
 * The form of messages on the wire: the bare frames of tcp://, parts with sentinels, or parts with
 * sentinels and arenas.
 */
export type Packing = "frames" | "parts" | "arenas"

/** The contents of a chunk. */
export interface Content {
  readonly messages: number
  /** Bytes of the parts before and after encoding. */
  readonly plainBytes: number
  readonly wireBytes: number
  /** The message that ships the dictionary, which must have been sent before the chunk. */
  readonly dictionary: Uint8Array | undefined
  /** "arenas" if the chunk may contain some. */
  readonly packing: Packing
}

/** Whole messages in wire form. */
export class Chunk implements Content {
  readonly bytes: Uint8Array
  readonly messages: number
  readonly plainBytes: number
  readonly wireBytes: number
  readonly dictionary: Uint8Array | undefined
  readonly packing: Packing
  /** The slab, undefined once the bytes are copied; the offset in the slab; the number of references. */
  #slab: Slab | undefined
  readonly #start: number
  #holds = 1
  #copy: Chunk | undefined

  constructor(bytes: Uint8Array, content: Content, from: Slab | undefined, start: number) {
    this.bytes = bytes
    this.messages = content.messages
    this.plainBytes = content.plainBytes
    this.wireBytes = content.wireBytes
    this.dictionary = content.dictionary
    this.packing = content.packing
    this.#slab = from
    this.#start = start
    if (from) from.liveBytes += bytes.length
  }

  /** Returns whether a peer that is sent messages in `packing` can read this chunk. */
  fits(packing: Packing): boolean {
    return packing === this.packing || (packing === "arenas" && this.packing === "parts")
  }

  /** The slab that holds the bytes; undefined if they have memory of their own. */
  get slab(): Slab | undefined {
    return this.#slab
  }

  /** Whether there are several references. */
  get isShared(): boolean {
    return this.#holds > 1
  }

  /** Adds references, so that `places` owners in all must release the chunk. */
  share(places: number): void {
    this.#holds += places - 1
    if (this.#slab) this.#slab.live += places - 1
  }

  /** Releases a reference. With the last one, the memory may be reused. */
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
    this.#copy ??= new Chunk(new Uint8Array(this.bytes), this, undefined, 0)
    this.release()
    return this.#copy
  }

  /**
   * Returns one chunk in place of this one and `next`, if they are adjacent in memory; undefined if
   * they cannot be joined.
   */
  joined(next: Chunk): Chunk | undefined {
    const from = this.#slab
    const end = this.#start + this.bytes.length
    if (!from || from !== next.#slab || end !== next.#start) return undefined
    if (this.dictionary !== next.dictionary) return undefined
    if ((this.packing === "frames") !== (next.packing === "frames")) return undefined
    if (this.#holds > 1 || next.#holds > 1) return undefined
    const bytes = from.bytes.subarray(this.#start, end + next.bytes.length)
    const content = {
      messages: this.messages + next.messages,
      plainBytes: this.plainBytes + next.plainBytes,
      wireBytes: this.wireBytes + next.wireBytes,
      dictionary: this.dictionary,
      packing: next.packing === "arenas" ? next.packing : this.packing,
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

  begin(): void {
    this.#slab = own.current
    this.#start = this.#slab.used
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
    return new Chunk(slab.bytes.subarray(this.#start, slab.used), content, slab, this.#start)
  }

  /** Discards the bytes appended last. */
  abandon(): void {
    const slab = this.#slab
    if (slab?.slabs === large) large.emptied(slab)
    else if (slab) slab.used = this.#start
  }
}
