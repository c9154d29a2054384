import { allocate, concat } from "./arrays.js"

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
const NOTHING = new Uint8Array(0)

/** Slabs of one kind of memory. */
export class Slabs {
  readonly #allocate: (bytes: number) => Uint8Array
  readonly #spareMax: number
  /** A chunk of this many bytes may keep a slab while it waits. */
  readonly keepsBytes: number
  /** The one that the next chunk goes into: they are made one after the other. */
  #current: Slab | undefined
  readonly #spare: Slab[] = []

  constructor(allocate: (bytes: number) => Uint8Array, spareMax: number, keepsBytes: number) {
    this.#allocate = allocate
    this.#spareMax = spareMax
    this.keepsBytes = keepsBytes
  }

  /** How many are kept for use. */
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
    this.#current = this.#spare.pop() ?? {
      bytes: this.#allocate(SLAB_BYTES),
      used: 0,
      live: 0,
      liveBytes: 0,
      slabs: this,
    }
    return this.#current
  }

  /** A slab with room for so many bytes; undefined where none is as large. */
  withRoom(bytes: number): Slab | undefined {
    if (bytes > SLAB_BYTES) return undefined
    const { current } = this
    return current.used + bytes <= SLAB_BYTES ? current : this.next()
  }

  /** Whether a slab is kept for few bytes: no more go into it, and little of it still has to be written. */
  isWasted(slab: Slab): boolean {
    return slab !== this.#current && slab.liveBytes * WASTE_MAX < SLAB_BYTES
  }

  /** Nothing in it is needed any more. Returns whether it is kept for use. */
  emptied(slab: Slab): boolean {
    slab.used = 0
    if (slab === this.#current) return true
    return this.#spare.length < this.#spareMax && this.#spare.push(slab) > 0
  }
}

/** Those of what goes to a network from this thread. */
const own = new Slabs(allocate, SPARE_MAX, KEEPS_BYTES)

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
  /** Instead, where they would not fit into a slab. */
  #pieces: Uint8Array[] | undefined

  begin(): void {
    this.#slab = own.current
    this.#start = this.#slab.used
    this.#pieces = undefined
  }

  /** Appends bytes, which are copied. */
  append(bytes: Uint8Array): void {
    if (!this.#pieces && !this.#fits(bytes.length)) this.#leave()
    if (this.#pieces) {
      this.#pieces.push(new Uint8Array(bytes))
      return
    }
    const current = this.#slab as Slab
    current.bytes.set(bytes, current.used)
    current.used += bytes.length
  }

  /** Appends bytes that nobody else uses. */
  adopt(bytes: Uint8Array): void {
    this.#leave()
    this.#pieces?.push(bytes)
  }

  end(content: Content): Chunk {
    const current = this.#slab as Slab
    if (this.#pieces) {
      const [first = NOTHING] = this.#pieces
      const bytes = this.#pieces.length > 1 ? concat(this.#pieces) : first
      return new Chunk(bytes, content, undefined, 0)
    }
    current.live++
    const bytes = current.bytes.subarray(this.#start, current.used)
    return new Chunk(bytes, content, current, this.#start)
  }

  /** What was appended is not wanted after all. */
  abandon(): void {
    if (this.#slab && !this.#pieces) this.#slab.used = this.#start
    this.#pieces = undefined
  }

  /** Whether there is room for so many bytes, in a new slab if need be. */
  #fits(length: number): boolean {
    const current = this.#slab as Slab
    if (current.used + length <= SLAB_BYTES) return true
    const made = current.bytes.subarray(this.#start, current.used)
    if (made.length + length > SLAB_BYTES) return false
    const next = own.next()
    next.bytes.set(made)
    next.used = made.length
    current.used = this.#start
    this.#slab = next
    this.#start = 0
    return true
  }

  #leave(): void {
    if (this.#pieces) return
    const current = this.#slab as Slab
    const made = current.bytes.subarray(this.#start, current.used)
    this.#pieces = made.length > 0 ? [new Uint8Array(made)] : []
    current.used = this.#start
  }
}
