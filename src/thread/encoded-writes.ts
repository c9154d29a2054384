import { clearTimeout, setTimeout } from "../base/runtime.js"
import type { Chunk } from "../codec/chunk.js"
import type { Packing } from "../codec/packing.js"
import type { Sender } from "../codec/sender.js"

/** Maximum size of the chunks that are kept, unless one alone is larger, in bytes. */
const KEPT_MAX_BYTES = 2 << 20
/** Maximum number of writes that are kept: small ones are quickly encoded again. */
const KEPT_MAX = 256
/** Milliseconds without a write after which chunks are dropped, at the latest after twice as many. */
const KEPT_MS = 100

const NONE: readonly EncodedWrite[] = []

/** A write in encoded form. */
export interface EncodedWrite {
  readonly sender: Sender
  readonly packing: Packing
  /** The effort that was chosen for the connections with the sender; undefined for frames. */
  readonly effort: number | undefined
  readonly chunk: Chunk
}

/** The connections that have made a write so far, and its chunks. */
interface Entry<Connection> {
  readonly connections: Connection[]
  readonly encoded: EncodedWrite[]
}

/**
 * The writes that several connections of an endpoint make, some of them later than others. Their
 * encoded forms are kept, so that the later ones need not encode them again.
 */
export class EncodedWrites<Connection> {
  /** By the number of the write; the oldest entry is first. */
  readonly #entries = new Map<number, Entry<Connection>>()
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  /** Whether a chunk was added since the timer began. */
  #isInUse = false

  /** Adds a connection to a write, and returns all that have made it. */
  join(write: number, connection: Connection): readonly Connection[] {
    let entry = this.#entries.get(write)
    if (!entry) {
      entry = { connections: [], encoded: [] }
      this.#entries.set(write, entry)
    }
    entry.connections.push(connection)
    return entry.connections
  }

  /** Returns the encoded forms of a write, whose chunks belong to this object. */
  formsOf(write: number): readonly EncodedWrite[] {
    return this.#entries.get(write)?.encoded ?? NONE
  }

  /** Keeps a chunk of a write for the connections that make the write later. */
  keep(write: number, form: EncodedWrite): void {
    const { chunk } = form
    const encoded = this.#entries.get(write)?.encoded
    if (!encoded) return
    encoded.push(form)
    chunk.share(2)
    this.#bytes += chunk.length
    for (const [oldest, entry] of this.#entries) {
      const fits = this.#bytes <= KEPT_MAX_BYTES && this.#entries.size <= KEPT_MAX
      if (fits || oldest === write) break
      this.#drop(oldest, entry)
    }
    this.#isInUse = true
    this.#timer ??= setTimeout(this.#clearUnused, KEPT_MS).unref()
  }

  /** Drops all chunks, unless one was added since the last call. */
  readonly #clearUnused = () => {
    this.#timer = undefined
    if (!this.#isInUse) this.clear()
    else this.#timer = setTimeout(this.#clearUnused, KEPT_MS).unref()
    this.#isInUse = false
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const [write, entry] of this.#entries) this.#drop(write, entry)
  }

  #drop(write: number, { encoded }: Entry<Connection>): void {
    this.#entries.delete(write)
    for (const { chunk } of encoded) {
      this.#bytes -= chunk.length
      chunk.release()
    }
  }
}
