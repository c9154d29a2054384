import { SLAB_BYTES, type Slab } from "../codec/chunk.js"
import { copyShared } from "../codec/shared-copy.js"
import { fromWorker, type PostedEvent } from "./protocol.js"
import { SharedSlabs, type SlabReader } from "./shared-slabs.js"

const NONE = -1

/** Events for the socket thread, collected during a turn of the event loop. */
export class Outbox implements SlabReader {
  readonly #send: (told: unknown[]) => void
  readonly #slabs = new SharedSlabs()
  readonly #known = new Set<number>()
  #operations: unknown[] = []
  #posting = false
  /** The index of the latest run of frames, which may still grow, and the end of the run in the slab. */
  #latest = 0
  #end = NONE

  constructor(send: (told: unknown[]) => void) {
    this.#send = send
    this.#slabs.readers.add(this)
  }

  event(endpoint: number, event: PostedEvent): void {
    this.#add([fromWorker.EVENT, endpoint, event])
  }

  #add(operation: unknown[]): void {
    this.#operations.push(...operation)
    this.#end = NONE
    this.#postSoon()
  }

  /** Adds frames received over a connection. */
  frames(connection: number, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += SLAB_BYTES)
      this.#run(connection, bytes.subarray(at, at + SLAB_BYTES))
  }

  #run(connection: number, bytes: Uint8Array): void {
    const slab = this.#slabs.withRoom(bytes.length) as Slab
    const start = slab.used
    copyShared(slab.bytes, start, bytes)
    slab.used += bytes.length
    const number = this.#slabs.numberOf(slab)
    const told = this.#operations
    const latest = this.#latest
    if (this.#end === start && told[latest + 1] === connection && told[latest + 2] === number)
      told[latest + 4] = (told[latest + 4] as number) + bytes.length
    else {
      if (!this.#known.has(number)) {
        this.#known.add(number)
        told.push(fromWorker.SLAB, number, slab.bytes.buffer)
      }
      this.#latest = told.length
      told.push(fromWorker.FRAMES, connection, number, start, bytes.length)
      slab.live++
      this.#postSoon()
    }
    this.#end = slab.used
  }

  /** Releases runs of a slab that the socket thread has read. */
  free(number: number, runs: number): void {
    const slab = this.#slabs.at(number)
    slab.live -= runs
    if (slab.live === 0) this.#slabs.emptied(slab)
  }

  forget(slab: number): void {
    if (this.#known.delete(slab)) this.#add([fromWorker.SLAB, slab, undefined])
  }

  /** Reports that the socket thread's wanted number of a connection's writes has been flushed. */
  writesFlushed(connection: number): void {
    this.#add([fromWorker.FLUSHED, connection])
  }

  #postSoon(): void {
    if (this.#posting) return
    this.#posting = true
    setImmediate(post, this)
  }

  post(): void {
    this.#posting = false
    if (this.#operations.length === 0) return
    const told = this.#operations
    this.#operations = []
    this.#end = NONE
    this.#send(told)
  }
}

function post(outbox: Outbox): void {
  outbox.post()
}
