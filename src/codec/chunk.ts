import { allocate } from "./arrays.js"
import { copyShared } from "./shared-copy.js"

/** Memory that chunks are slices of. It is reused once all of them are written. */
export interface Slab {
  readonly bytes: Uint8Array
  used: number
  /** Number of chunks that are not written yet. */
  live: number
  /** Bytes of these chunks, each counted once. */
  liveBytes: number
  readonly slabs: Slabs
}

/** Size with room for two chunks of 128 KiB of incompressible plaintext. */
export const SLAB_BYTES: number = 260 * 1024
const KEEPS_BYTES = 32 * 1024
/** Queued chunks are copied out of a slab that is larger than this multiple of their bytes. */
const WASTE_MAX = 3
/** Maximum number of spare slabs. */
export const SPARE_MAX = 16
/** A chunk that is too large for a slab gets a slab of its own, whose size is a multiple of this. */
const LARGE_STEP_BYTES = 256 * 1024
/** Large slabs of up to this size are kept as spares. */
const LARGE_KEPT_MAX_BYTES = 2 << 20
const LARGE_SPARE_MAX = 4

/** A pool of slabs of one kind of memory. */
export class Slabs {
  readonly #allocate: (bytes: number) => Uint8Array
  readonly #spareMax: number
  /** A queued chunk of at least this many bytes may keep its slab. */
  readonly keepsBytes: number
  /** Size of a slab in bytes. */
  readonly #bytes: number
  /** The slab for the next chunk. */
  #current: Slab | undefined
  readonly #spare: Slab[] = []

  constructor(
    allocate: (bytes: number) => Uint8Array,
    spareMax: number,
    keepsBytes: number,
    bytes: number = SLAB_BYTES,
  ) {
    this.#allocate = allocate
    this.#spareMax = spareMax
    this.keepsBytes = keepsBytes
    this.#bytes = bytes
  }

  /** Number of empty slabs kept for reuse. */
  get spare(): number {
    return this.#spare.length
  }

  /** Removes all but `max` spare slabs, and returns them. */
  dropSpare(max: number): Slab[] {
    return this.#spare.splice(max)
  }

  get current(): Slab {
    this.#current ??= this.next()
    return this.#current
  }

  /** Makes an empty slab the current one, and returns it. */
  next(): Slab {
    this.#current = this.take()
    return this.#current
  }

  /** Returns an empty slab for a single chunk. */
  take(): Slab {
    return this.#spare.pop() ?? this.make(this.#bytes)
  }

  /** Allocates a slab of `bytes`. It is only reused if that is the usual size. */
  make(bytes: number): Slab {
    const slab = { bytes: this.#allocate(bytes), used: 0, live: 0, liveBytes: 0, slabs: this }
    return slab
  }

  /** A slab with room for `bytes`; undefined if that is more than a slab has. */
  withRoom(bytes: number): Slab | undefined {
    if (bytes > SLAB_BYTES) return undefined
    const { current } = this
    return current.used + bytes <= SLAB_BYTES ? current : this.next()
  }

  /** Whether a slab holds few bytes that are still to be written, and takes no more. */
  isWasted(slab: Slab): boolean {
    return slab !== this.#current && slab.liveBytes * WASTE_MAX < slab.bytes.length
  }

  /** Takes back a slab that is no longer in use. Returns whether it was kept. */
  emptied(slab: Slab): boolean {
    slab.used = 0
    if (slab === this.#current) return true
    if (slab.bytes.length !== this.#bytes) return false
    return this.#spare.length < this.#spareMax && this.#spare.push(slab) > 0
  }
}

/** Slabs of chunks that this thread writes to the network. */
const own = new Slabs(allocate, SPARE_MAX, KEEPS_BYTES)

/** A pool of slabs of any size, for one chunk each. */
class LargeSlabs extends Slabs {
  readonly #spareLarge: Slab[] = []

  constructor() {
    super(allocate, 0, KEEPS_BYTES)
  }

  /** Returns a slab of at least `bytes`. */
  ofAtLeast(bytes: number): Slab {
    const at = this.#spareLarge.findIndex((slab) => slab.bytes.length >= bytes)
    const [spare] = at < 0 ? [] : this.#spareLarge.splice(at, 1)
    return spare ?? this.make(Math.ceil(bytes / LARGE_STEP_BYTES) * LARGE_STEP_BYTES)
  }

  override emptied(slab: Slab): boolean {
    slab.used = 0
    if (slab.bytes.length > LARGE_KEPT_MAX_BYTES) return false
    return this.#spareLarge.length < LARGE_SPARE_MAX && this.#spareLarge.push(slab) > 0
  }
}

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
  /** Whether the chunk contains the dictionary, and whether the dictionary must have been sent before it. */
  readonly shipsDictionary: boolean
  readonly needsDictionary: boolean
  /** "arenas" if the chunk may contain some. */
  readonly packing: Packing
}

/** Whole messages in wire form. */
export class Chunk implements Content {
  readonly bytes: Uint8Array
  readonly messages: number
  readonly plainBytes: number
  readonly wireBytes: number
  readonly shipsDictionary: boolean
  readonly needsDictionary: boolean
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
    this.shipsDictionary = content.shipsDictionary
    this.needsDictionary = content.needsDictionary
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
   * Joins this chunk with the next one if they are adjacent in memory. Replaces both; undefined if
   * they cannot be joined.
   */
  joined(next: Chunk): Chunk | undefined {
    const from = this.#slab
    const end = this.#start + this.bytes.length
    if (!from || from !== next.#slab || end !== next.#start) return undefined
    if (this.shipsDictionary || next.shipsDictionary) return undefined
    if (this.needsDictionary !== next.needsDictionary) return undefined
    if ((this.packing === "frames") !== (next.packing === "frames")) return undefined
    if (this.#holds > 1 || next.#holds > 1) return undefined
    const bytes = from.bytes.subarray(this.#start, end + next.bytes.length)
    const content = {
      messages: this.messages + next.messages,
      plainBytes: this.plainBytes + next.plainBytes,
      wireBytes: this.wireBytes + next.wireBytes,
      shipsDictionary: false,
      needsDictionary: this.needsDictionary,
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
