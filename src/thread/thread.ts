import { type Transferable, Worker } from "node:worker_threads"
import code from "thread-worker"
import type { Chunk, Slab } from "../codec/chunk.js"
import { threadError } from "../codec/errors.js"
import { embeddedModule } from "../codec/module.js"
import { throwLater } from "../transport/throw-later.js"
import { framer } from "./framer.js"
import { OpenBatch } from "./open-batch.js"
import {
  type Control,
  fromWorker,
  fromWorkerLengths,
  type PostedEvent,
  toWorker,
} from "./protocol.js"
import type { RemoteConnection } from "./remote-connection.js"
import type { SlabReader } from "./shared-slabs.js"

/** Bytes of writes at which they are posted before the program's current burst ends. */
const POST_BYTES = 64 * 1024
/** Bytes read at which slabs are released even if nothing else is being posted. */
const FREE_BYTES = 128 * 1024
/** Milliseconds after which the memory of flushed writes is released, unless that happens earlier. */
const HOLD_MS = 100

/** The user of an endpoint, which handles its events. */
export interface ThreadUser {
  onEvent(event: PostedEvent): void
  /** The thread has ended, and its connections with it. */
  threadDied(error: Error): void
}

/** A worker thread with connections, as seen by the socket thread. */
export class Thread implements SlabReader {
  readonly #worker: Worker
  readonly #ended: (thread: Thread) => void
  readonly #users = new Map<number, ThreadUser>()
  readonly #connections = new Map<number, RemoteConnection>()
  /** Connections with written bytes that are not flushed yet, which still occupy memory here. */
  readonly #holders = new Set<RemoteConnection>()
  #holding: NodeJS.Timeout | undefined
  #lastUser = 0
  #isDead = false

  #outbox: unknown[] = []
  #transfer: Transferable[] = []
  #outboxBytes = 0
  #posting = false
  /** Numbers of our slabs that the worker knows. */
  readonly #known = new Set<number>()
  /** The cells of open batches that the worker knows. */
  #cells: Int32Array | undefined
  /** The chunk of the last write that has not been posted. */
  #latest: Chunk | undefined
  /** The worker's slabs, and the number of runs read in each since the last post. */
  readonly #slabs = new Map<number, Uint8Array>()
  readonly #read = new Map<number, number>()
  #readBytes = 0

  /** @param ended called when the thread ends or dies, and accepts no more users. */
  constructor(ended: (thread: Thread) => void) {
    this.#ended = ended
    // The code is text, because bundlers would leave out a file.
    this.#worker = new Worker(code, {
      eval: true,
      name: "zeromq-lz4",
      workerData: embeddedModule(),
      // The program's own flags, such as --import and --inspect, must not apply to this thread.
      execArgv: [],
    })
    this.#worker.on("message", (told: unknown[]) => this.#readAll(told))
    this.#worker.on("error", (error) => this.#died(error))
    this.#worker.on("exit", (code) => this.#died(new Error(`it exited with code ${code}`)))
    this.#worker.unref() // last, because adding a message listener references the worker again
    framer.slabs.readers.add(this)
  }

  /** The number of endpoints that use the thread. */
  get users(): number {
    return this.#users.size
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** Adds an endpoint and returns its number. */
  add(user: ThreadUser): number {
    this.#users.set(++this.#lastUser, user)
    return this.#lastUser
  }

  remove(number: number): void {
    this.#users.delete(number)
    if (this.#users.size === 0) this.#ended(this)
  }

  addConnection(connection: RemoteConnection): void {
    this.#connections.set(connection.number, connection)
  }

  removeConnection(connection: RemoteConnection): void {
    this.#connections.delete(connection.number)
    this.#holders.delete(connection)
  }

  /** Registers a connection with written bytes, to release their memory once they are flushed. */
  holds(connection: RemoteConnection): void {
    this.#holders.add(connection)
    this.#releaseLater()
  }

  #releaseLater(): void {
    this.#holding ??= setTimeout(release, HOLD_MS, this).unref()
  }

  release(): void {
    this.#holding = undefined
    for (const connection of this.#holders)
      if (connection.release()) this.#holders.delete(connection)
    if (this.#holders.size > 0) this.#releaseLater()
  }

  end(): void {
    this.#isDead = true
    framer.slabs.readers.delete(this)
    this.#worker.terminate()
  }

  #died(error: Error): void {
    if (this.#isDead) return
    this.end()
    this.#ended(this)
    const users = [...this.#users.values()]
    this.#users.clear()
    const why = threadError(error)
    if (users.length > 0) process.emitWarning(why)
    for (const user of users) {
      try {
        user.threadDied(why)
      } catch (error) {
        throwLater(error) // the other users must be notified too
      }
    }
  }

  // -- Messages to the worker ------------------------------------------------------

  /** Posts an operation when the current burst of the program ends. */
  post(...operation: unknown[]): void {
    this.#outbox.push(...operation)
    this.#postSoon()
  }

  /** Posts an operation at once, and transfers ownership of `transfer`. */
  postNow(operation: unknown[], transfer: Transferable[] = []): void {
    this.#outbox.push(...operation)
    this.#transfer.push(...transfer)
    this.#post()
  }

  /** Makes the worker write frames of whole messages over an endpoint's connection, as the process exits. */
  deliver(endpoint: number, frames: Uint8Array[]): void {
    this.post(toWorker.DELIVER, endpoint, frames)
  }

  /** Makes the worker count what it has left to write. */
  depart(cells: Int32Array, place: number): void {
    this.postNow([toWorker.DEPART, cells, place])
  }

  control(connection: number, control: Control): void {
    this.post(toWorker.CONTROL, connection, control)
  }

  /** Opens a batch for messages to these connections, and shows it to the worker. */
  openBatch(connections: readonly number[]): OpenBatch | undefined {
    const batch = OpenBatch.open()
    if (!batch) return undefined
    const { slot, cells, at, start } = batch
    if (cells !== this.#cells) {
      this.#cells = cells
      this.#outbox.push(toWorker.CELLS, cells)
    }
    this.postNow([toWorker.BATCH, slot, at, this.#numberOf(batch.slab), start, connections])
    return batch
  }

  /** Returns the number of a slab, and makes the slab known to the worker. */
  #numberOf(slab: Slab): number {
    const number = framer.slabs.numberOf(slab)
    if (!this.#known.has(number)) {
      this.#known.add(number)
      this.#outbox.push(toWorker.SLAB, number, slab.bytes.buffer)
    }
    return number
  }

  write(connection: number, chunk: Chunk): void {
    if (chunk === this.#latest) this.#outbox.push(toWorker.WRITE_SAME, connection)
    else if (chunk.slab) {
      const slab = this.#numberOf(chunk.slab)
      const { byteOffset, length } = chunk.bytes
      this.#outbox.push(toWorker.WRITE, connection, slab, byteOffset, length)
    } else this.#outbox.push(toWorker.WRITE_LARGE, connection, chunk.bytes)
    this.#latest = chunk
    this.#outboxBytes += chunk.bytes.length
    if (this.#outboxBytes >= POST_BYTES) this.#post()
    else this.#postSoon()
  }

  forget(slab: number): void {
    if (this.#known.delete(slab)) this.post(toWorker.SLAB, slab, undefined)
  }

  #postSoon(): void {
    if (this.#posting) return
    this.#posting = true
    process.nextTick(postAll, this)
  }

  postAll(): void {
    this.#posting = false
    if (this.#outbox.length > 0) this.#post()
  }

  #post(): void {
    for (const [slab, runs] of this.#read) this.#outbox.push(toWorker.FREE, slab, runs)
    this.#read.clear()
    this.#readBytes = 0
    const outbox = this.#outbox
    const transfer = this.#transfer
    this.#outbox = []
    this.#transfer = []
    this.#outboxBytes = 0
    this.#latest = undefined
    if (!this.#isDead) this.#worker.postMessage(outbox, transfer)
  }

  // -- Messages from the worker ----------------------------------------------------

  #readAll(operations: unknown[]): void {
    for (let at = 0; at < operations.length; ) {
      const length = fromWorkerLengths[operations[at] as number] as number
      try {
        this.#readOne(operations, at)
      } catch (error) {
        throwLater(error) // the remaining operations must not be lost
      }
      at += length
    }
    if (this.#readBytes >= FREE_BYTES) this.#post()
  }

  #readOne(operations: unknown[], at: number): void {
    const number = operations[at + 1] as number
    switch (operations[at]) {
      case fromWorker.FRAMES: {
        const slab = operations[at + 2] as number
        const start = operations[at + 3] as number
        const bytes = operations[at + 4] as number
        const memory = this.#slabs.get(slab) as Uint8Array
        try {
          this.#connections.get(number)?.receivedFrames(memory.subarray(start, start + bytes))
        } finally {
          // Count the run only now: a post in the meantime would release memory that is still being read.
          this.#read.set(slab, (this.#read.get(slab) ?? 0) + 1)
          this.#readBytes += bytes
        }
        break
      }
      case fromWorker.FLUSHED:
        this.#connections.get(number)?.writesFlushed()
        break
      case fromWorker.EVENT:
        this.#users.get(number)?.onEvent(operations[at + 2] as PostedEvent)
        break
      case fromWorker.SLAB: {
        const memory = operations[at + 2] as SharedArrayBuffer | undefined
        if (memory) this.#slabs.set(number, new Uint8Array(memory))
        else this.#slabs.delete(number)
      }
    }
  }
}

function postAll(thread: Thread): void {
  thread.postAll()
}

function release(thread: Thread): void {
  thread.release()
}
