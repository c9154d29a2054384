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
/** A queued chunk smaller than this is copied out of its slab, so that the slab can be reused. */
export const KEEPS_BYTES: number = 32 * 1024
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

  /** Allocates a slab of `bytes`. Unless it has the usual size, only LargeSlabs reuses it. */
  make(bytes: number): Slab {
    return { bytes: this.#allocate(bytes), used: 0, live: 0, liveBytes: 0, slabs: this }
  }

  /** Returns a slab with room for `bytes`; undefined if that is more than a slab has. */
  withRoom(bytes: number): Slab | undefined {
    if (bytes > this.#bytes) return undefined
    const { current } = this
    return current.used + bytes <= this.#bytes ? current : this.next()
  }

  /** Returns whether few of a slab's bytes are still to be written, and no chunk will be added. */
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

/** A pool that also has slabs of any larger size, for one chunk each. */
export class LargeSlabs extends Slabs {
  readonly #spareLarge: Slab[] = []

  /** Number of empty slabs of larger sizes kept for reuse. */
  get spareLarge(): number {
    return this.#spareLarge.length
  }

  /** Removes all of these, and returns them. */
  dropLarge(): Slab[] {
    return this.#spareLarge.splice(0)
  }

  /** Returns a slab of at least `bytes`, which are more than a usual slab has. */
  ofAtLeast(bytes: number): Slab {
    const at = this.#spareLarge.findIndex((slab) => slab.bytes.length >= bytes)
    const [spare] = at < 0 ? [] : this.#spareLarge.splice(at, 1)
    return spare ?? this.make(Math.ceil(bytes / LARGE_STEP_BYTES) * LARGE_STEP_BYTES)
  }

  override emptied(slab: Slab): boolean {
    if (slab.bytes.length <= SLAB_BYTES) return super.emptied(slab)
    slab.used = 0
    if (slab.bytes.length > LARGE_KEPT_MAX_BYTES) return false
    return this.#spareLarge.length < LARGE_SPARE_MAX && this.#spareLarge.push(slab) > 0
  }
}
