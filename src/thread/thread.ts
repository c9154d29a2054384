import { type Transferable, Worker, type WorkerOptions } from "node:worker_threads"
import code from "thread-worker"
import { Queue } from "../base/queue.js"
import { clockMs, nextTick, setTimeout } from "../base/runtime.js"
import { throwLater } from "../base/throw-later.js"
import type { Chunk } from "../codec/chunk.js"
import { threadError } from "../codec/errors.js"
import { lz4 } from "../codec/lz4/format.js"
import { embeddedModule } from "../codec/module.js"
import type { Slab } from "../codec/slabs.js"
import { warn } from "../transport/diagnosis.js"
import {
  addThread,
  heard,
  heardBytes,
  type OtherThread,
  removeThread,
} from "../transport/last-poll.js"
import type { Readable } from "../transport/read-order.js"
import { mayReadNow, readNow, readSoon, TURN_MAX_MS } from "../transport/read-turns.js"
import { slabs } from "./framer.js"
import { inheritedFlags } from "./inherited-flags.js"
import { OpenBatch } from "./open-batch.js"
import {
  type EventNotice,
  type MessageFromWorker,
  type MessageToWorker,
  NOT_SHARED,
  type PostedEvent,
  type Request,
  readFromWorker,
  type SlabNotice,
  type SocketOperations,
  toWorker,
} from "./protocol.js"
import type { RemoteConnection } from "./remote-connection.js"
import type { RemoteReader } from "./remote-reader.js"
import { AnnouncedSlabs, SeenSlabs } from "./shared-slabs.js"

/** Bytes of writes at which they are posted before the program's current burst ends. */
const POST_BYTES = 64 * 1024
/** Bytes read at which slabs are released even if nothing else is being posted. */
const FREE_BYTES = 128 * 1024
/**
 * The clock is read after so many operations of a worker, and after so many bytes: each may be some
 * frames.
 */
const CLOCK_OPERATIONS = 16
const CLOCK_BYTES = 2048
/** Milliseconds after which the memory of flushed writes is released, unless that happens earlier. */
const HOLD_MS = 100

/** The user of an endpoint, which handles its events. */
export interface ThreadUser {
  onEvent(event: PostedEvent): void
  /** The thread has ended, and its connections with it. */
  threadDied(error: Error): void
}

/** A worker thread with connections, as seen by the socket thread. */
export class Thread implements SocketOperations, OtherThread, Readable {
  readonly #worker: Worker
  readonly #unused: (thread: Thread) => void
  readonly #users = new Map<number, ThreadUser>()
  readonly #connections = new Map<number, RemoteConnection>()
  /** Connections with written bytes whose memory is still in use. */
  readonly #holders = new Set<RemoteConnection>()
  #holding: NodeJS.Timeout | undefined
  #lastUser = 0
  isDead = false
  /** Callbacks of `poll()`, in order. */
  #polls: (() => void)[] = []

  #outbox: MessageToWorker = []
  #transfer: Transferable[] = []
  #outboxBytes = 0
  #posting = false
  /** Slabs of this thread that the worker knows. */
  readonly #announced: AnnouncedSlabs
  /** The cells of open batches that the worker knows. */
  #cells: Int32Array | undefined
  /** The number of the last write. */
  #latest = NOT_SHARED
  /** The worker's slabs, and the number of runs read in each since the last post. */
  readonly #slabs = new SeenSlabs()
  readonly #runsRead = new Map<number, number>()
  #readBytes = 0

  /** Messages of the worker that are not read yet, and the position in the first of them. */
  readonly #unread = new Queue<MessageFromWorker>()
  #unreadAt = 0
  /** Connections with frames for which there may be room now. */
  readonly #resumed = new Set<RemoteReader>()
  /** Whether the thread is in line to read, and whether it reads. */
  #isInLine = false
  #isReading = false
  shareMs: number | undefined
  readonly isBehind = false

  /** @param unused called when the thread has no users left, or has died. */
  constructor(unused: (thread: Thread) => void) {
    this.#unused = unused
    this.#worker = startWorker()
    this.#worker.on("message", (message: MessageFromWorker) => this.#received(message))
    this.#worker.on("error", (error) => this.#died(error))
    this.#worker.on("exit", (code) => this.#died(new Error(`it exited with code ${code}`)))
    this.#worker.unref() // last, because adding a message listener references the worker again
    this.#announced = new AnnouncedSlabs(slabs, (notice) => this.post(notice))
    addThread(this)
  }

  get users(): number {
    return this.#users.size
  }

  add(user: ThreadUser): number {
    this.#users.set(++this.#lastUser, user)
    return this.#lastUser
  }

  remove(number: number): void {
    this.#users.delete(number)
    if (this.#users.size === 0) this.#unused(this)
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
    this.#holding ??= setTimeout(this.#release, HOLD_MS).unref()
  }

  readonly #release = () => {
    this.#holding = undefined
    for (const connection of this.#holders)
      if (connection.release()) this.#holders.delete(connection)
    if (this.#holders.size > 0) this.#releaseLater()
  }

  end(): void {
    this.isDead = true
    removeThread(this)
    this.#announced.close()
    this.#worker.terminate()
  }

  #died(error: Error): void {
    if (this.isDead) return
    while (this.#unread.length > 0) this.#readNext()
    this.end()
    this.#unused(this)
    const users = [...this.#users.values()]
    this.#users.clear()
    const why = threadError(error)
    if (users.length > 0) warn(why)
    for (const user of users) {
      try {
        user.threadDied(why)
      } catch (error) {
        throwLater(error) // the other users must be notified too
      }
    }
  }

  // -- Messages to the worker ------------------------------------------------------

  /** Posts a request when the current burst of the program ends. */
  post(request: Request): void {
    this.#outbox.push(request)
    this.#postSoon()
  }

  /** Posts a request at once, and transfers ownership of `transfer`. */
  postNow(request: Request, transfer: Transferable[] = []): void {
    this.#outbox.push(request)
    this.#transfer.push(...transfer)
    this.#post()
  }

  depart(cells: Int32Array, place: number): void {
    this.postNow({ type: "depart", cells, place })
  }

  poll(polled: () => void): void {
    this.#polls.push(polled)
    this.postNow({ type: "poll" })
  }

  /** Lets a connection receive more. */
  grant(connection: number, messages: number, bytes: number): void {
    this.#outbox.push(toWorker.GRANT, connection, messages, bytes)
    this.#postSoon()
  }

  /** Opens a batch for messages to these connections, and shows it to the worker. */
  openBatch(connections: readonly number[]): OpenBatch | undefined {
    const batch = OpenBatch.open()
    if (!batch) return undefined
    const { slot, cells, at, start } = batch
    if (cells !== this.#cells) {
      this.#cells = cells
      this.#outbox.push({ type: "cells", cells })
    }
    const slab = this.#announced.numberOf(batch.slab)
    this.#outbox.push(toWorker.BATCH, slot, at, slab, start, connections.length)
    for (const connection of connections) this.#outbox.push(connection)
    this.#post()
    return batch
  }

  write(connection: number, chunk: Chunk): void {
    const number = numberOf(chunk)
    const slab = this.#announced.numberOf(chunk.slab as Slab)
    const { byteOffset, length } = chunk.bytes
    const operation = chunk.hasForms ? toWorker.WRITE_KEPT : toWorker.WRITE
    this.#outbox.push(operation, connection, slab, byteOffset, length, number)
    // The worker encodes a shared chunk once, so it counts once.
    if (number === NOT_SHARED || number !== this.#latest) this.#outboxBytes += chunk.bytes.length
    this.#latest = number
    if (this.#outboxBytes >= POST_BYTES) this.#post()
    else this.#postSoon()
  }

  #postSoon(): void {
    if (this.#posting) return
    this.#posting = true
    nextTick(this.#postAll)
  }

  readonly #postAll = () => {
    this.#posting = false
    if (this.#outbox.length > 0) this.#post()
  }

  #post(): void {
    for (const [slab, runs] of this.#runsRead) this.#outbox.push(toWorker.FREE, slab, runs)
    this.#runsRead.clear()
    this.#readBytes = 0
    const outbox = this.#outbox
    const transfer = this.#transfer
    this.#outbox = []
    this.#transfer = []
    this.#outboxBytes = 0
    if (!this.isDead) this.#worker.postMessage(outbox, transfer)
  }

  // -- Messages from the worker ----------------------------------------------------

  /** Reads a message in turn with the connections of this thread: it may be long, and many may come. */
  #received(message: MessageFromWorker): void {
    heardBytes()
    this.#unread.push(message)
    if (!this.#isInLine && mayReadNow(this)) readNow(this)
    else this.#getInLine()
  }

  readSoon(reader: RemoteReader): void {
    this.#resumed.add(reader)
    if (!this.#isReading) this.#getInLine()
  }

  #getInLine(): void {
    if (this.#isInLine) return
    this.#isInLine = true
    readSoon(this)
  }

  readSlice(): boolean {
    const endMs = clockMs() + TURN_MAX_MS
    this.#isReading = true
    do this.#readSome()
    while (this.#hasUnread && clockMs() < endMs)
    this.#isReading = false
    if (this.#readBytes >= FREE_BYTES) this.#post()
    this.#isInLine = this.#hasUnread
    return this.#isInLine
  }

  get #hasUnread(): boolean {
    return this.#unread.length > 0 || this.#resumed.size > 0
  }

  #readSome(): void {
    const endBytes = this.#readBytes + CLOCK_BYTES
    for (let i = 0; i < CLOCK_OPERATIONS && this.#hasUnread; i++) {
      this.#readNext()
      if (this.#readBytes >= endBytes) break
    }
  }

  /** Reads one operation of the worker, and some frames of who has room again. */
  #readNext(): void {
    for (const reader of this.#resumed) {
      this.#resumed.delete(reader)
      reader.readKept()
      break
    }
    const message = this.#unread.first()
    if (!message) return
    this.#unreadAt = readFromWorker(message, this.#unreadAt, this)
    if (this.#unreadAt < message.length) return
    this.#unreadAt = 0
    this.#unread.shift()
  }

  frames(connection: number, slab: number, start: number, length: number): void {
    try {
      this.#connections.get(connection)?.receivedFrames(this.#slabs.bytes(slab, start, length))
    } finally {
      // Count the run only now: a post in the meantime would release memory that is still being read.
      this.#runsRead.set(slab, (this.#runsRead.get(slab) ?? 0) + 1)
      this.#readBytes += length
    }
  }

  body(connection: number, flags: number, memory: ArrayBuffer): void {
    this.#connections.get(connection)?.receivedBody(flags, Buffer.from(memory))
  }

  flushed(connection: number): void {
    this.#connections.get(connection)?.writesFlushed()
  }

  polled(): void {
    this.#polls.shift()?.()
  }

  notice(notice: SlabNotice | EventNotice): void {
    if (notice.type !== "event") {
      this.#slabs.take(notice)
      return
    }
    heard()
    this.#users.get(notice.endpoint)?.onEvent(notice.event)
  }
}

/** @throws Error with the code ERR_LZ4_THREAD. */
function startWorker(): Worker {
  if (typeof SharedArrayBuffer === "undefined")
    throw threadError(new Error("this runtime has no SharedArrayBuffer"))
  const workerData = embeddedModule(lz4)
  try {
    // The code is text, because bundlers would leave out a file.
    return new Worker(code, {
      // Otherwise options such as stdin would come from the prototype of all objects, if they are there.
      __proto__: null,
      eval: true,
      name: "zeromq-lz4",
      workerData,
      // The thread prints nothing. If Node piped its output to the program's, errors of console.error()
      // and of warnings, such as a full disk, would no longer be ignored.
      stdout: true,
      stderr: true,
      // What the program is started with (--import, --require) must not run in this thread. NODE_OPTIONS
      // is read from the environment.
      execArgv: inheritedFlags(process.execArgv, process.env.NODE_OPTIONS),
      env: {},
    } as WorkerOptions)
  } catch (error) {
    throw threadError(error as Error)
  }
}

/** The numbers of chunks that several connections write. */
const numbers = new WeakMap<Chunk, number>()
let lastNumber = NOT_SHARED

/** Returns the same number for each write of a chunk that several connections write. */
function numberOf(chunk: Chunk): number {
  const known = numbers.get(chunk)
  if (known !== undefined) return known
  if (!chunk.isShared) return NOT_SHARED
  numbers.set(chunk, ++lastNumber)
  return lastNumber
}
