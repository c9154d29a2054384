import { allocate } from "./arrays.js"
import { copyShared } from "./shared-copy.js"

/** Memory that chunks are cut from, and that is used again when all of them are written. */
export interface Slab {
  readonly bytes: Uint8Array
  used: number
  /** Chunks that are not written yet. */
  live: number
  /** Bytes of these, each counted once. */
  liveBytes: number
  readonly slabs: Slabs
}

/** Room for two chunks of 128 KiB of plaintext that does not compress. */
export const SLAB_BYTES: number = 260 * 1024
const KEEPS_BYTES = 32 * 1024
/** Chunks that wait move out of a slab of more than so many times their bytes. */
const WASTE_MAX = 3
/** Slabs that are kept for use. */
export const SPARE_MAX = 16
/** Chunks that fit into no slab have one of their own, with a multiple of so many bytes. */
const LARGE_STEP_BYTES = 256 * 1024
/** One of up to so many bytes is kept for the next. */
const LARGE_KEPT_MAX_BYTES = 2 << 20
const LARGE_SPARE_MAX = 4

/** Slabs of one kind of memory. */
export class Slabs {
  readonly #allocate: (bytes: number) => Uint8Array
  readonly #spareMax: number
  /** A chunk of this many bytes may keep a slab while it waits. */
  readonly keepsBytes: number
  /** Bytes of a slab. */
  readonly #bytes: number
  /** The one that the next chunk goes into: they are made one after the other. */
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

  /** Empty slabs kept for reuse. */
  get spare(): number {
    return this.#spare.length
  }

  /** Keeps no more than so many for use, and gives the others. */
  dropSpare(max: number): Slab[] {
    return this.#spare.splice(max)
  }

  get current(): Slab {
    this.#current ??= this.next()
    return this.#current
  }

  /** Another slab, with nothing in it. */
  next(): Slab {
    this.#current = this.take()
    return this.#current
  }

  /** A slab for one chunk alone, with nothing in it. */
  take(): Slab {
    return this.#spare.pop() ?? this.make(this.#bytes)
  }

  /** A slab with so many bytes, which is kept for use only if that is the usual number. */
  make(bytes: number): Slab {
    const slab = { bytes: this.#allocate(bytes), used: 0, live: 0, liveBytes: 0, slabs: this }
    return slab
  }

  /** A slab with room for so many bytes; undefined where none is as large. */
  withRoom(bytes: number): Slab | undefined {
    if (bytes > SLAB_BYTES) return undefined
    const { current } = this
    return current.used + bytes <= SLAB_BYTES ? current : this.next()
  }

  /** Whether a slab is kept for few bytes: no more go into it, and little of it still has to be written. */
  isWasted(slab: Slab): boolean {
    return slab !== this.#current && slab.liveBytes * WASTE_MAX < slab.bytes.length
  }

  /** Nothing in it is needed any more. Returns whether it is kept for use. */
  emptied(slab: Slab): boolean {
    slab.used = 0
    if (slab === this.#current) return true
    if (slab.bytes.length !== this.#bytes) return false
    return this.#spare.length < this.#spareMax && this.#spare.push(slab) > 0
  }
}

/** Those of what goes to a network from this thread. */
const own = new Slabs(allocate, SPARE_MAX, KEEPS_BYTES)

/** Slabs for one chunk each, of any size. */
class LargeSlabs extends Slabs {
  readonly #spareLarge: Slab[] = []

  constructor() {
    super(allocate, 0, KEEPS_BYTES)
  }

  /** A slab of at least so many bytes. */
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
 * How messages go over the wire: as the bare frames of tcp://, as parts with sentinels, or as such
 * and in arenas.
 */
export type Packing = "frames" | "parts" | "arenas"

/** Contents of a chunk. */
export interface Content {
  readonly messages: number
  /** Bytes of the parts before and after encoding. */
  readonly plainBytes: number
  readonly wireBytes: number
  /** Whether the dictionary is in it, and whether it has to have been shipped before. */
  readonly shipsDictionary: boolean
  readonly needsDictionary: boolean
  /** "arenas" where there may be some. */
  readonly packing: Packing
}

/** Whole messages as they go over the wire. */
export class Chunk implements Content {
  readonly bytes: Uint8Array
  readonly messages: number
  readonly plainBytes: number
  readonly wireBytes: number
  readonly shipsDictionary: boolean
  readonly needsDictionary: boolean
  readonly packing: Packing
  /** The slab, the offset in it, and the number of references; no slab once the bytes are copied. */
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

  /** Whether a peer can read it that is sent messages in a packing. */
  fits(packing: Packing): boolean {
    return packing === this.packing || (packing === "arenas" && this.packing === "parts")
  }

  /** The slab that holds the bytes; undefined where they have memory of their own. */
  get slab(): Slab | undefined {
    return this.#slab
  }

  /** It goes to so many places, each of which will release it. */
  share(places: number): void {
    this.#holds += places - 1
    if (this.#slab) this.#slab.live += places - 1
  }

  /** The bytes are written, or not wanted: their memory may be used again. */
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
   * The same in memory of its own, for one that has to wait and is small, or is little of what its
   * slab takes; this one is released. To be asked again, as others of the slab are written meanwhile.
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

  /** One chunk of this and the next, where they lie in a row; both are the new one then. */
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

  /** Appends bytes, which are copied. */
  append(bytes: Uint8Array): void {
    const slab = this.reserve(bytes.length)
    copyShared(slab.bytes, slab.used, bytes)
    slab.used += bytes.length
  }

  /** Makes room for so many bytes more, which are better appended to one slab. */
  reserve(length: number): Slab {
    const slab = this.#slab as Slab
    if (slab.used + length <= slab.bytes.length) return slab
    const made = slab.bytes.subarray(this.#start, slab.used)
    const bytes = made.length + length
    const fits = bytes <= SLAB_BYTES && slab.slabs === own
    // One that grew large, and grows on, is not copied each time.
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
