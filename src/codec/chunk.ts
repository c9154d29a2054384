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
/** Slabs that are kept for use at any time. */
const SPARE_MAX = 16
/**
 * While messages flow more are kept, in bytes: as many wait as high-water marks allow, and new memory
 * costs more than to fill it. What was not used for so long is given back.
 */
const BUSY_SPARE_MAX_BYTES = 256 << 20
const UNUSED_MS = 1000
/** Chunks that fit into no slab have one of their own, with a multiple of so many bytes. */
const LARGE_STEP_BYTES = 256 * 1024
/** Larger ones are not kept for use. */
const LARGE_MAX_BYTES = 2 << 20

/** Slabs of one kind of memory. */
export class Slabs {
  readonly #allocate: (bytes: number) => Uint8Array
  /** A chunk of this many bytes may keep a slab while it waits. */
  readonly keepsBytes: number
  /** Bytes of a slab. */
  readonly #bytes: number
  readonly #spareMax: number
  /** The one that the next chunk goes into: they are made one after the other. */
  #current: Slab | undefined
  readonly #spare: Slab[] = []
  /** The fewest that were spare since unused ones were given back. */
  #unused = 0
  #timer: NodeJS.Timeout | undefined

  constructor(
    allocate: (bytes: number) => Uint8Array,
    keepsBytes: number,
    bytes: number = SLAB_BYTES,
    spareMax: number = SPARE_MAX,
  ) {
    this.#allocate = allocate
    this.keepsBytes = keepsBytes
    this.#bytes = bytes
    this.#spareMax = spareMax
  }

  /** How many are kept for use. */
  get spare(): number {
    return this.#spare.length
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
    const slab = this.#spare.pop() ?? this.make(this.#bytes)
    this.#unused = Math.min(this.#unused, this.#spare.length)
    return slab
  }

  /** A slab with so many bytes, which is kept for use only if that is the usual number. */
  make(bytes: number): Slab {
    const slab = { bytes: this.#allocate(bytes), used: 0, live: 0, liveBytes: 0, slabs: this }
    return slab
  }

  /** A slab with room for so many bytes; undefined where none is as large. */
  withRoom(bytes: number): Slab | undefined {
    if (bytes > this.#bytes) return undefined
    const { current } = this
    return current.used + bytes <= this.#bytes ? current : this.next()
  }

  /** Whether a slab is kept for few bytes: no more go into it, and little of it still has to be written. */
  isWasted(slab: Slab): boolean {
    return slab !== this.#current && slab.liveBytes * WASTE_MAX < slab.bytes.length
  }

  /** Nothing in it is needed any more. */
  emptied(slab: Slab): void {
    slab.used = 0
    if (slab === this.#current) return
    const keptBytes = this.#spare.length * this.#bytes
    if (slab.bytes.length !== this.#bytes || keptBytes >= BUSY_SPARE_MAX_BYTES) this.dropped(slab)
    else if (this.#spare.push(slab) > this.#spareMax) this.#watch()
  }

  /** A slab is not kept any more. */
  protected dropped(_slab: Slab): void {}

  #watch(): void {
    if (this.#timer !== undefined) return
    this.#unused = this.#spare.length
    this.#timer = setTimeout(dropUnused, UNUSED_MS, this)
    this.#timer.unref()
  }

  /** Gives back what was not needed for a while. */
  dropUnused(): void {
    this.#timer = undefined
    const dropped = Math.min(this.#unused, this.#spare.length - this.#spareMax)
    for (const slab of this.#spare.splice(0, Math.max(0, dropped))) this.dropped(slab)
    if (this.#spare.length > this.#spareMax) this.#watch()
  }
}

function dropUnused(slabs: Slabs): void {
  slabs.dropUnused()
}

/** Those of what goes to a network from this thread. */
const own = new Slabs(allocate, KEEPS_BYTES)

/** Slabs for one chunk each, by their sizes. */
const large = new Map<number, Slabs>()

/** A slab of at least so many bytes. */
function takeLarge(bytes: number): Slab {
  const size = Math.ceil(bytes / LARGE_STEP_BYTES) * LARGE_STEP_BYTES
  if (size > LARGE_MAX_BYTES) return own.make(size)
  let slabs = large.get(size)
  if (!slabs) {
    slabs = new Slabs(allocate, KEEPS_BYTES, size, 0)
    large.set(size, slabs)
  }
  return slabs.take()
}

/** What a chunk holds. */
export interface Content {
  readonly messages: number
  /** Bytes of the parts before and after encoding. */
  readonly plainBytes: number
  readonly wireBytes: number
  /** Whether the dictionary is in it, and whether it has to have been shipped before. */
  readonly shipsDictionary: boolean
  readonly needsDictionary: boolean
  /** Whether there may be arenas in it. */
  readonly arenas: boolean
}

/** Whole messages as they go over the wire. */
export class Chunk implements Content {
  readonly bytes: Uint8Array
  readonly messages: number
  readonly plainBytes: number
  readonly wireBytes: number
  readonly shipsDictionary: boolean
  readonly needsDictionary: boolean
  readonly arenas: boolean
  /** Where the bytes are, from where on, and how often they are held; of no slab once they are copied. */
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
    this.arenas = content.arenas
    this.#slab = from
    this.#start = start
    if (from) from.liveBytes += bytes.length
  }

  /** Where the bytes are; undefined where they have memory of their own. */
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
  owned(): Chunk {
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
    if (this.#holds > 1 || next.#holds > 1) return undefined
    const bytes = from.bytes.subarray(this.#start, end + next.bytes.length)
    const content = {
      messages: this.messages + next.messages,
      plainBytes: this.plainBytes + next.plainBytes,
      wireBytes: this.wireBytes + next.wireBytes,
      shipsDictionary: false,
      needsDictionary: this.needsDictionary,
      arenas: this.arenas || next.arenas,
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
    const fits = bytes <= SLAB_BYTES
    // One that grew large, and grows on, is not copied each time.
    const next = fits ? own.next() : takeLarge(Math.max(bytes, 2 * made.length))
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

  /** What was appended is not wanted after all. */
  abandon(): void {
    const slab = this.#slab
    if (slab?.bytes.length === SLAB_BYTES) slab.used = this.#start
    else slab?.slabs.emptied(slab)
  }
}
