import { SLAB_BYTES, type Slab } from "../codec/chunk.js"
import { type EndpointEvent, TOLD } from "./protocol.js"
import { SharedSlabs, type SlabReader } from "./shared-slabs.js"

const NONE = -1
/** How long it may take that is told what has left, in milliseconds, where nothing else is. */
const STATE_MS = 5

/** A connection whose state has changed since it was told. */
export interface Stateful {
  readonly number: number
  /** The counts of both directions. */
  state(): number[]
}

/** What a thread tells the thread of the sockets, gathered until its event loop has had its turn. */
export class Outbox implements SlabReader {
  readonly #send: (told: unknown[]) => void
  readonly #slabs = new SharedSlabs()
  readonly #known = new Set<number>()
  readonly #changed = new Set<Stateful>()
  #told: unknown[] = []
  #posting = false
  #timer: NodeJS.Timeout | undefined
  /** Where the latest run of frames is told, which may become longer, and where it ends in its slab. */
  #latest = 0
  #end = NONE

  constructor(send: (told: unknown[]) => void) {
    this.#send = send
    this.#slabs.readers.add(this)
  }

  event(endpoint: number, event: EndpointEvent): void {
    this.#tell([TOLD.EVENT, endpoint, event])
  }

  #tell(operation: unknown[]): void {
    this.#told.push(...operation)
    this.#end = NONE
    this.#postSoon()
  }

  /** Frames that came over a connection. */
  frames(connection: number, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += SLAB_BYTES)
      this.#run(connection, bytes.subarray(at, at + SLAB_BYTES))
  }

  #run(connection: number, bytes: Uint8Array): void {
    const slab = this.#slabs.withRoom(bytes.length) as Slab
    const start = slab.used
    slab.bytes.set(bytes, start)
    slab.used += bytes.length
    const number = this.#slabs.numberOf(slab)
    const told = this.#told
    const latest = this.#latest
    if (this.#end === start && told[latest + 1] === connection && told[latest + 2] === number)
      told[latest + 4] = (told[latest + 4] as number) + bytes.length
    else {
      if (!this.#known.has(number)) {
        this.#known.add(number)
        told.push(TOLD.SLAB, number, slab.bytes.buffer)
      }
      this.#latest = told.length
      told.push(TOLD.CAME, connection, number, start, bytes.length)
      slab.live++
      this.#postSoon()
    }
    this.#end = slab.used
  }

  /** So many runs of a slab have been read. */
  free(number: number, runs: number): void {
    const slab = this.#slabs.at(number)
    slab.live -= runs
    if (slab.live === 0) this.#slabs.emptied(slab)
  }

  forget(slab: number): void {
    if (this.#known.delete(slab)) this.#tell([TOLD.SLAB, slab, undefined])
  }

  /** The state of a connection is to be told, at once or within a few milliseconds. */
  changed(connection: Stateful, now: boolean): void {
    this.#changed.add(connection)
    if (now) this.#postSoon()
    else this.#timer ??= setTimeout(post, STATE_MS, this)
  }

  /** The connection is over, and its state was told. */
  gone(connection: Stateful): void {
    this.#changed.delete(connection)
  }

  #postSoon(): void {
    if (this.#posting) return
    this.#posting = true
    setImmediate(post, this)
  }

  post(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#posting = false
    for (const connection of this.#changed)
      this.#told.push(TOLD.STATE, connection.number, ...connection.state())
    this.#changed.clear()
    if (this.#told.length === 0) return
    const told = this.#told
    this.#told = []
    this.#end = NONE
    this.#send(told)
  }
}

function post(outbox: Outbox): void {
  outbox.post()
}
