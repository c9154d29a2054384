/**
 * A simulated network, and the part of node:net that src/transport uses. The seed determines how
 * much a write accepts, how bytes are split, how long they travel, resets, half-closes and
 * refusals.
 */
import { EventEmitter } from "node:events"
import type { Random } from "./random.js"
import type { EventLoop, World } from "./world.js"

/** The properties of a link. */
export interface LinkTraits {
  latencyMs: number
  jitterMs: number
  /** Maximum number of bytes that are travelling or not read yet. */
  capacityBytes: number
  /** Maximum size of a piece that arrives at once. */
  pieceBytes: number
  /** Maximum size of a piece that is read at once. */
  readBytes: number
}

/** A fault of a link. */
export interface Fault {
  kind: "reset" | "fin" | "pause"
  /** Number of bytes in one direction after which the fault occurs. */
  afterBytes: number
  /** The direction: "out" is sent by the side that dialled. */
  direction: "out" | "in"
  /** Duration of a pause, in milliseconds. */
  ms?: number
}

/** The network's treatment of a connection that is dialled. */
export interface Treatment {
  traits: LinkTraits
  refused: boolean
  faults: Fault[]
  /** Set if somebody on the way changes what is sent in one direction. */
  tampered?: { direction: Fault["direction"]; by: Tamperer } | undefined
}

/** Somebody on the way, who sees whole streams and may change them. */
export interface Tamperer {
  /** The position after what was tampered with, among the bytes that go on. */
  readonly endsAt: number | undefined
  /** Returns what goes on in place of these bytes. */
  pass(bytes: Uint8Array): Uint8Array
}

const READ_BYTES = 64 * 1024
/** A share of what is read at once that hardly takes more than one read. */
const READS = 8

function systemError(code: string, syscall: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall, errno: -1 })
}

/** One direction of a link: bytes that one side wrote and the other has not read. */
class Direction {
  readonly link: Link
  /** The handle that reads the bytes. */
  readonly reader: Handle
  readonly writer: Handle
  readonly traits: LinkTraits
  readonly #random: Random
  /** Number of bytes that are travelling. */
  travelling = 0
  /** Pieces that have arrived. */
  readonly arrived: Uint8Array[] = []
  arrivedBytes = 0
  /** Number of bytes that were ever accepted, after tampering, and number of those that were read. */
  taken = 0
  wasRead = 0
  /** Whether the end was sent, and whether it has arrived. */
  ended = false
  endArrived = false
  /** The time at which the end was sent. */
  endSentMs = Number.POSITIVE_INFINITY
  #lastArrival = 0
  /** The time until which nothing arrives. */
  pausedUntil = 0
  faults: Fault[] = []
  tamperer: Tamperer | undefined

  constructor(link: Link, writer: Handle, reader: Handle, traits: LinkTraits, random: Random) {
    this.link = link
    this.writer = writer
    this.reader = reader
    this.traits = traits
    this.#random = random
  }

  get room(): number {
    return Math.max(0, this.traits.capacityBytes - this.travelling - this.arrivedBytes)
  }

  /** Accepts as many bytes as there is room for, and copies them. */
  take(bytes: Uint8Array): number {
    const length = Math.min(bytes.length, this.room)
    if (length === 0) return 0
    const copy = new Uint8Array(bytes.subarray(0, length))
    Socket.watcher?.took(this.link, this, copy)
    const going = this.tamperer ? this.#tamper(this.tamperer, copy) : copy
    if (going.length > 0) this.#send(going)
    return length
  }

  #tamper(tamperer: Tamperer, bytes: Uint8Array): Uint8Array {
    const going = tamperer.pass(bytes)
    // What is held back may never go on.
    if (going.length !== bytes.length || tamperer.endsAt !== undefined) this.link.wasCut = true
    return going
  }

  #send(bytes: Uint8Array): void {
    let end = bytes.length
    const [fault] = this.faults
    const cut = fault !== undefined && this.taken + bytes.length >= fault.afterBytes
    if (cut) end = Math.max(0, fault.afterBytes - this.taken)
    this.taken += bytes.length
    this.travelling += bytes.length
    for (let at = 0; at < end; ) {
      const length = Math.min(end - at, 1 + this.#random.below(this.traits.pieceBytes))
      this.#travel(bytes.subarray(at, at + length))
      at += length
    }
    if (!cut) return
    this.faults.shift()
    const rest = bytes.subarray(end)
    this.#fault(fault, rest)
  }

  /** Bytes after a reset are lost; bytes after a pause are late. */
  #fault(fault: Fault, rest: Uint8Array): void {
    const { world } = this.link
    if (fault.kind === "pause") {
      this.pausedUntil = Math.max(world.now, this.#lastArrival) + (fault.ms ?? 10)
      if (rest.length > 0) this.#travel(rest)
      return
    }
    this.travelling -= rest.length
    this.link.wasCut = true
    const at = this.#arrivalTime()
    if (fault.kind === "reset") world.at(at, () => this.link.reset("network"))
    else this.#endAt(at)
  }

  #arrivalTime(): number {
    const { latencyMs, jitterMs } = this.traits
    const now = this.link.world.now
    const at = Math.max(now + latencyMs + this.#random.fraction() * jitterMs, this.pausedUntil)
    this.#lastArrival = Math.max(this.#lastArrival, at)
    return this.#lastArrival
  }

  #travel(piece: Uint8Array): void {
    const { world } = this.link
    world.at(this.#arrivalTime(), () => {
      this.travelling -= piece.length
      if (this.link.isOver || this.endArrived) return
      if (this.reader.isClosed) {
        this.link.reset(this.reader)
        return
      }
      this.arrived.push(piece)
      this.arrivedBytes += piece.length
      world.log(10, piece.length, () => `${this.reader.label} has ${this.arrivedBytes} bytes`)
      this.reader.readable()
    })
  }

  /** Sends the end, after all accepted bytes. */
  end(): void {
    if (this.ended) return
    this.#endAt(this.#arrivalTime())
  }

  #endAt(at: number): void {
    this.ended = true
    const { world } = this.link
    this.endSentMs = Math.min(this.endSentMs, world.now)
    world.at(at, () => {
      if (this.link.isOver) return
      this.endArrived = true
      world.log(11, 0, () => `${this.reader.label} has the end`)
      this.reader.readable()
    })
  }

  /** Reads a piece into a buffer. Returns 0 if there is none. */
  read(into: Uint8Array): number {
    const limit = Math.min(into.length, 1 + this.#random.below(this.traits.readBytes))
    let length = 0
    while (this.arrived.length > 0 && length < limit) {
      const [first] = this.arrived as [Uint8Array]
      const part = first.subarray(0, limit - length)
      into.set(part, length)
      length += part.length
      if (part.length === first.length) this.arrived.shift()
      else this.arrived[0] = first.subarray(part.length)
    }
    this.arrivedBytes -= length
    this.wasRead += length
    if (length > 0) this.writer.writable()
    return length
  }
}

/** A connection, whose two handles are its ends. */
export class Link {
  readonly world: World
  readonly number: number
  readonly openedMs: number
  readonly out: Direction
  readonly in: Direction
  readonly dialling: Handle
  readonly accepting: Handle
  /** Whether it was reset. */
  isOver = false
  /** Whether the seed made it end. */
  wasCut = false
  /** The handle that was closed before the other one. */
  firstCloser: Handle | undefined
  /** The time of the reset, or of the first close. */
  endedMs = Number.POSITIVE_INFINITY

  constructor(
    world: World,
    number: number,
    dialling: Handle,
    accepting: Handle,
    { traits, faults, tampered }: Treatment,
    random: Random,
  ) {
    this.world = world
    this.number = number
    this.openedMs = world.now
    this.dialling = dialling
    this.accepting = accepting
    this.out = new Direction(this, dialling, accepting, traits, random.fork(1))
    this.in = new Direction(this, accepting, dialling, traits, random.fork(2))
    for (const fault of faults) this[fault.direction].faults.push(fault)
    if (tampered) this[tampered.direction].tamperer = tampered.by
    this.out.faults.sort((a, b) => a.afterBytes - b.afterBytes)
    this.in.faults.sort((a, b) => a.afterBytes - b.afterBytes)
    dialling.plug(this.out, this.in)
    accepting.plug(this.in, this.out)
  }

  ended(): void {
    this.endedMs = Math.min(this.endedMs, this.world.now)
  }

  /** Ends both sides, and drops all travelling bytes. */
  reset(by: "network" | Handle): void {
    if (this.isOver) return
    this.isOver = true
    this.ended()
    if (by === "network") this.wasCut = true
    this.world.log(12, this.number, () => `link ${this.number} is reset`)
    for (const handle of [this.dialling, this.accepting]) if (handle !== by) handle.wasReset()
  }
}

/** The operating system's socket, with the interface of Node's handle. */
export class Handle {
  readonly world: World
  readonly loop: EventLoop
  readonly label: string
  owner: Socket | undefined
  /** The set that contains the handle while it is open. */
  handles: Set<Handle> | undefined
  out: Direction | undefined
  in: Direction | undefined
  localPort = 0
  remotePort = 0
  remoteAddress = "127.0.0.1"
  isReading = false
  isClosed = false
  isReset = false
  /** The time since when the next reads would find the end; undefined if there is more to read. */
  endSince: number | undefined
  /** The time of the last read that brought bytes. */
  readMs = Number.NEGATIVE_INFINITY
  closedMs = Number.POSITIVE_INFINITY
  #readPosted = false
  #writing: { bytes: Uint8Array; done: (error?: Error) => void } | undefined
  #writePosted = false

  constructor(loop: EventLoop, label: string) {
    this.loop = loop
    this.world = loop.world
    this.label = label
  }

  plug(out: Direction, from: Direction): void {
    this.out = out
    this.in = from
  }

  // -- Reading ---------------------------------------------------------------------

  readStart(): void {
    this.isReading = true
    this.readable()
  }

  readStop(): void {
    this.isReading = false
    this.endSince = undefined
  }

  readable(): void {
    if (!this.isReading || this.isClosed) return
    const from = this.in as Direction
    const isNext = from.arrivedBytes <= from.traits.readBytes / READS
    if (isNext && (from.endArrived || this.isReset)) this.endSince ??= this.world.now
    if (this.#readPosted) return
    if (from.arrivedBytes === 0 && !from.endArrived && !this.isReset) return
    this.#readPosted = true
    this.loop.post(() => this.#read(), 0.001)
  }

  #read(): void {
    this.#readPosted = false
    if (!this.isReading || this.isClosed) return
    const from = this.in as Direction
    const socket = this.owner as Socket
    const buffer = socket.buffer
    const length = from.read(buffer)
    if (length > 0) {
      this.world.log(13, length, () => `${this.label} reads ${length} bytes`)
      this.readMs = this.world.now
      socket.cameIn(length)
      this.readable()
    } else if (this.isReset) {
      this.isReading = false
      socket.readFailed(systemError("ECONNRESET", "read"))
    } else if (from.endArrived) {
      this.isReading = false
      this.world.log(14, 0, () => `${this.label} reads the end`)
      socket.endCameIn()
    }
  }

  // -- Writing ---------------------------------------------------------------------

  /** Writes bytes. Returns true if all were accepted at once; otherwise `done` is called. */
  write(bytes: Uint8Array, done: (error?: Error) => void): boolean | Error {
    if (this.isReset) return systemError("EPIPE", "write")
    const to = this.out as Direction
    const taken = to.ended ? bytes.length : to.take(bytes)
    this.world.log(15, taken, () => `${this.label} writes ${taken} of ${bytes.length} bytes`)
    if (taken === bytes.length) return true
    this.#writing = { bytes: bytes.subarray(taken), done }
    this.writable()
    return false
  }

  /** Writes what is accepted at once, as a system call does, and returns the number of bytes. */
  writeNow(bytes: Uint8Array): number {
    if (this.#writing) this.world.fail("nothing is written in between", this.label)
    if (this.isReset) return 0
    const to = this.out as Direction
    const taken = to.ended ? bytes.length : to.take(bytes)
    this.world.log(
      15,
      taken,
      () => `${this.label} writes ${taken} of ${bytes.length} bytes at once`,
    )
    return taken
  }

  /** Bytes of the write in progress that the system has not accepted. */
  get writeQueueSize(): number {
    return this.#writing?.bytes.length ?? 0
  }

  writable(): void {
    if (!this.#writing || this.#writePosted || this.isClosed) return
    if ((this.out as Direction).room === 0 && !this.isReset) return
    this.#writePosted = true
    this.loop.post(() => this.#write(), 0.001)
  }

  #write(isAfterRead = false): void {
    // As libuv does: of what a poll brings for a connection, it reads first.
    if (this.#readPosted && !isAfterRead) {
      this.loop.post(() => this.#write(true), 0.001)
      return
    }
    this.#writePosted = false
    const writing = this.#writing
    if (!writing || this.isClosed) return
    if (this.isReset) {
      this.#writing = undefined
      writing.done(systemError("EPIPE", "write"))
      return
    }
    const to = this.out as Direction
    const taken = to.ended ? writing.bytes.length : to.take(writing.bytes)
    this.world.log(16, taken, () => `${this.label} goes on to write ${taken} bytes`)
    writing.bytes = writing.bytes.subarray(taken)
    if (writing.bytes.length === 0) {
      this.#writing = undefined
      writing.done()
    } else this.writable()
  }

  shutdown(done: () => void): void {
    if (!this.isReset) (this.out as Direction).end()
    this.loop.post(done, 0.001)
  }

  // -- End -------------------------------------------------------------------------

  wasReset(): void {
    this.isReset = true
    if (this.isReading) this.readable()
    this.writable()
  }

  /** Closes the handle. If bytes are unread, the other side is reset. */
  close(done: () => void): void {
    if (this.isClosed) return
    this.isClosed = true
    this.closedMs = this.world.now
    this.isReading = false
    this.#writing = undefined
    this.handles?.delete(this)
    const { link } = (this.out ?? {}) as { link?: Link }
    this.world.log(17, 0, () => `${this.label} is closed`)
    if (link && !link.isOver) {
      link.firstCloser ??= this
      link.ended()
      const from = this.in as Direction
      if (from.arrivedBytes > 0) link.reset(this)
      else (this.out as Direction).end()
    }
    this.loop.post(done, 0.001)
  }
}

interface OnRead {
  /** Returns where the next bytes are read to. */
  buffer: () => Uint8Array
  callback: (length: number, buffer: Uint8Array) => boolean
}

interface Write {
  chunk: Uint8Array
  encoding: string
  callback: ((error?: Error) => void) | undefined
}

interface SocketOptions {
  handle?: Handle
  allowHalfOpen?: boolean
  onread?: OnRead
}

/** A watcher of sockets, for the rules that they must follow. */
export interface SocketWatcher {
  /** The system accepted bytes in a direction of a link. */
  took(link: Link, direction: object, bytes: Uint8Array): void
  /** Bytes were written to a connection whose end the next poll of the event loop would have found. */
  wroteUnaware(socket: Socket, bytes: Uint8Array, endSince: number): void
  /** Bytes were written to a connection that is known to have ended. */
  wroteInVain(socket: Socket, bytes: Uint8Array, why: string): void
}

/** The part of net.Socket that src/transport uses. */
export class Socket extends EventEmitter {
  static watcher: SocketWatcher | undefined
  _handle: Handle | null
  destroyed = false
  errored: Error | null = null
  connecting = false
  writableNeedDrain = false
  writableLength = 0
  /** What Node shows of the write in progress, as a part of its internals. */
  readonly _writableState = { writelen: 0 }
  readonly allowHalfOpen: boolean
  readonly #onread: OnRead | undefined
  readonly #loop: EventLoop
  #buffer: Uint8Array | undefined
  #isCorked = false
  #queue: Write[] = []
  #isWriting = false
  #isPaused = false
  #isEnding = false
  #isFinished = false
  #isShuttingDown = false
  #endSeen = false
  #endEmitted = false
  #closeEmitted = false
  /** The reason for its end, once its owner was notified of the end or caused it. */
  #over: string | undefined
  readonly #remotePort: number | undefined
  readonly #localPort: number | undefined

  constructor(options: SocketOptions) {
    super()
    const { handle, onread, allowHalfOpen = false } = options
    this._handle = handle ?? null
    this.#onread = onread
    this.allowHalfOpen = allowHalfOpen
    this.#loop = (handle as Handle).loop
    this.#remotePort = handle?.remotePort
    this.#localPort = handle?.localPort
    if (handle) handle.owner = this
    if (handle?.in && onread) handle.readStart()
  }

  get label(): string {
    return this._handle?.label ?? "a socket that is closed"
  }

  get remoteAddress(): string | undefined {
    return this._handle?.out ? this._handle.remoteAddress : undefined
  }

  get remotePort(): number | undefined {
    return this._handle?.out ? this._handle.remotePort || this.#remotePort : undefined
  }

  get localPort(): number | undefined {
    return this._handle?.localPort || this.#localPort
  }

  get writableEnded(): boolean {
    return this.#isEnding
  }

  get buffer(): Uint8Array {
    this.#buffer ??= this.#onread?.buffer() ?? Buffer.alloc(READ_BYTES)
    return this.#buffer
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  // -- Connecting ------------------------------------------------------------------

  connected(): void {
    if (this.destroyed) return
    this.connecting = false
    this.emit("connect")
    if (this.destroyed) return
    if (!this.#isPaused) this._handle?.readStart()
    this.#writeNext()
  }

  refused(): void {
    this.#destroy(systemError("ECONNREFUSED", "connect"))
  }

  // -- Reading ---------------------------------------------------------------------

  cameIn(length: number): void {
    if (!this.#onread) {
      this.emit("data", Buffer.from(this.buffer.subarray(0, length)))
      return
    }
    const { buffer, callback } = this.#onread
    if (callback(length, this.buffer) === false) this.pause()
    this.#buffer = buffer()
  }

  endCameIn(): void {
    this.#endSeen = true
    this.#loop.nextTick(() => {
      if (this.destroyed || this.#endEmitted) return
      this.#endEmitted = true
      this.#over ??= "ended by its peer"
      this.emit("end")
      if (!this.allowHalfOpen) this.end()
      this.#checkOver()
    })
  }

  readFailed(error: Error): void {
    this.#destroy(error)
  }

  pause(): this {
    this.#isPaused = true
    if (!this.connecting) this._handle?.readStop()
    return this
  }

  isPaused(): boolean {
    return this.#isPaused
  }

  resume(): this {
    this.#isPaused = false
    const handle = this._handle
    if (!this.connecting && handle && !handle.isReading && !this.#endSeen) handle.readStart()
    return this
  }

  // -- Writing ---------------------------------------------------------------------

  write(bytes: Uint8Array, callback?: (error?: Error) => void): boolean {
    const endSince = this._handle?.endSince
    if (this.#over) Socket.watcher?.wroteInVain(this, bytes, this.#over)
    else if (endSince !== undefined) Socket.watcher?.wroteUnaware(this, bytes, endSince)
    if (this.#isEnding) {
      this.#fail(
        Object.assign(new Error("write after end"), { code: "ERR_STREAM_WRITE_AFTER_END" }),
      )
      return false
    }
    if (this.destroyed) return false
    this.writableLength += bytes.length
    const hasRoom = this.writableLength < 16 * 1024
    if (!hasRoom) this.writableNeedDrain = true
    this.#queue.push({ chunk: bytes, encoding: "buffer", callback })
    if (!this.#isCorked) this.#writeNext(true)
    return hasRoom
  }

  cork(): void {
    this.#isCorked = true
  }

  uncork(): void {
    this.#isCorked = false
    this.#writeNext(true)
  }

  /** Passes all queued writes to the system at once. */
  #writeNext(sync = false): void {
    if (this.destroyed || this.#isWriting || this.#isCorked || this.connecting) return
    const queue = this.#queue
    if (queue.length === 0) {
      this.#checkEnd()
      return
    }
    this.#queue = []
    this.#isWriting = true
    let length = 0
    for (const { chunk } of queue) length += chunk.length
    this._writableState.writelen = length
    const written = (error?: Error) => {
      this.#isWriting = false
      this._writableState.writelen = 0
      for (const { callback } of queue) callback?.(error)
      if (this.destroyed) return
      if (error) {
        this.#destroy(error)
        return
      }
      this.writableLength -= length
      this.#writeNext()
      if (sync) this.#loop.nextTick(() => this.#afterWrite())
      else this.#afterWrite()
    }
    let isNow = true
    const done = (error?: Error) => {
      if (!isNow) sync = false
      if (isNow && error) {
        this.#isWriting = false
        this.#fail(error)
      } else written(error)
    }
    if (queue.length > 1) this._writev(queue, done)
    else this._write((queue[0] as Write).chunk, "buffer", done)
    isNow = false
  }

  // Both write to the system. The owner of a socket may put functions of its own in their place.

  _writev(writes: readonly Write[], callback: (error?: Error) => void): void {
    const bytes = Buffer.concat(writes.map(({ chunk }) => chunk))
    Socket.prototype._write.call(this, bytes, "buffer", callback)
  }

  _write(bytes: Uint8Array, _encoding: string, callback: (error?: Error) => void): void {
    const told = (error?: Error) => {
      callback(error)
      if (error && !this.destroyed) this.#over ??= "broken"
    }
    const result = (this._handle as Handle).write(bytes, told)
    if (result instanceof Error) told(result)
    else if (result) told()
  }

  #afterWrite(): void {
    if (this.destroyed || !this.writableNeedDrain || this.writableLength > 0 || this.#isEnding)
      return
    this.writableNeedDrain = false
    this.emit("drain")
  }

  end(bytes?: Uint8Array): this {
    if (bytes) this.write(bytes)
    if (this.#isEnding) return this
    this.#isEnding = true
    this.#over ??= "ended"
    if (!this.destroyed) this.#checkEnd()
    return this
  }

  #checkEnd(): void {
    if (!this.#isEnding || this.#isShuttingDown || this.connecting) return
    if (this.#isWriting || this.#queue.length > 0) return
    this.#isShuttingDown = true
    this._handle?.shutdown(() => {
      if (this.destroyed) return
      this.#isFinished = true
      this.emit("finish")
      this.#checkOver()
    })
  }

  // -- End -------------------------------------------------------------------------

  #checkOver(): void {
    if (this.#isFinished && this.#endEmitted) this.destroy()
  }

  #fail(error: Error): void {
    this.#loop.nextTick(() => this.#destroy(error))
  }

  destroy(error?: Error): this {
    this.#over ??= "destroyed"
    this.#destroy(error)
    return this
  }

  #destroy(error: Error | undefined): void {
    if (this.destroyed) return
    this.destroyed = true
    if (error) {
      this.errored = error
      this.#loop.nextTick(() => {
        this.#over ??= "broken"
        this.emit("error", error)
      })
    }
    const callbacks = this.#queue.flatMap(({ callback }) => callback ?? [])
    if (callbacks.length > 0)
      this.#loop.nextTick(() => {
        for (const callback of callbacks) callback(error ?? new Error("destroyed"))
      })
    this.#queue = []
    const handle = this._handle
    const closed = () => {
      if (this.#closeEmitted) return
      this.#closeEmitted = true
      this.emit("close", error !== undefined)
    }
    if (handle) {
      handle.close(closed)
      this._handle = null
    } else this.#loop.nextTick(closed)
  }
}

/** A handle that listens, as made by net._createServerHandle. */
class ServerHandle {
  readonly network: Network
  readonly loop: EventLoop
  readonly port: number
  server: Server | undefined
  isClosed = false

  constructor(network: Network, loop: EventLoop, port: number) {
    this.network = network
    this.loop = loop
    this.port = port
  }

  listen(): number {
    return 0
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.network.release(this)
  }
}

/** The part of net.Server that src/transport uses. */
export class Server extends EventEmitter {
  _handle: ServerHandle | null = null
  readonly loop: EventLoop

  constructor(loop: EventLoop, accepted: (socket: Socket) => void) {
    super()
    this.loop = loop
    this.on("connection", accepted)
  }

  _listen2(): void {
    const handle = this._handle as ServerHandle
    handle.server = this
    this.loop.nextTick(() => this.emit("listening"))
  }

  address(): { address: string; port: number; family: string } | null {
    return this._handle && { address: "127.0.0.1", port: this._handle.port, family: "IPv4" }
  }

  unref(): this {
    return this
  }

  close(): this {
    this._handle?.close()
    this._handle = null
    this.loop.post(() => this.emit("close"), 0.001)
    return this
  }
}

/** Options of net.connect. The local address identifies the dialling socket. */
interface DialOptions {
  port: number
  localAddress?: string
  allowHalfOpen?: boolean
  onread?: OnRead
}

/** All hosts, ports and links of a run. */
export class Network {
  readonly world: World
  readonly #random: Random
  readonly #treat: (random: Random, port: number, from: string) => Treatment
  readonly #listening = new Map<number, ServerHandle>()
  readonly links: Link[] = []
  /** The handles of all connections, until they are closed. */
  readonly handles: Set<Handle> = new Set()
  #lastPort = 40_000
  #dialled = 0

  constructor(
    world: World,
    random: Random,
    treat: (random: Random, port: number, from: string) => Treatment,
  ) {
    this.world = world
    this.#random = random
    this.#treat = treat
  }

  /** Returns node:net for the code of one thread. */
  moduleFor(loop: EventLoop): object {
    return {
      Socket,
      Server,
      connect: (options: DialOptions) => this.dial(loop, options),
      createServer: (_options: object, accepted: (socket: Socket) => void) =>
        new Server(loop, accepted),
      _createServerHandle: (_host: string, port: number) => this.#listen(loop, port),
    }
  }

  get listening(): number {
    return this.#listening.size
  }

  #listen(loop: EventLoop, asked: number): ServerHandle | number {
    const port = asked === 0 ? ++this.#lastPort : asked
    if (this.#listening.has(port)) return -98
    const handle = new ServerHandle(this, loop, port)
    this.#listening.set(port, handle)
    return handle
  }

  /** Closes all sockets of a thread, as the system does when it ends. */
  ended(loop: EventLoop): void {
    for (const handle of this.handles) {
      if (handle.loop !== loop) continue
      const link = handle.out?.link
      if (link) link.wasCut = true
      handle.close(() => {})
    }
    for (const handle of this.#listening.values()) if (handle.loop === loop) handle.close()
  }

  release(handle: ServerHandle): void {
    this.#listening.delete(handle.port)
  }

  dial(loop: EventLoop, options: DialOptions): Socket {
    const { port, localAddress = "127.0.0.1", ...rest } = options
    const number = ++this.#dialled
    const handle = new Handle(loop, `link ${number} out`)
    handle.localPort = ++this.#lastPort
    handle.remotePort = port
    const socket = new Socket({ ...rest, handle })
    socket.connecting = true
    const random = this.#random.fork(number)
    const treatment = this.#treat(random, port, localAddress)
    const { traits, refused } = treatment
    const roundTripMs = 2 * traits.latencyMs + random.fraction() * traits.jitterMs
    this.world.log(20, port, () => `${handle.label} dials ${port}`)
    this.world.later(roundTripMs, () => {
      const listener = refused ? undefined : this.#listening.get(port)
      if (handle.isClosed || loop.isOver) return
      if (!listener?.server) {
        this.world.log(21, port, () => `${handle.label} is refused`)
        loop.post(() => socket.refused())
        return
      }
      this.#accept(listener, handle, localAddress, number, treatment, random)
      loop.post(() => socket.connected())
    })
    return socket
  }

  #accept(
    listener: ServerHandle,
    dialling: Handle,
    from: string,
    number: number,
    treatment: Treatment,
    random: Random,
  ): void {
    const accepting = new Handle(listener.loop, `link ${number} in`)
    accepting.localPort = listener.port
    accepting.remotePort = dialling.localPort
    accepting.remoteAddress = from
    const link = new Link(this.world, number, dialling, accepting, treatment, random)
    this.links.push(link)
    for (const handle of [dialling, accepting]) {
      this.handles.add(handle)
      handle.handles = this.handles
    }
    this.world.log(22, number, () => `link ${number} is open`)
    listener.loop.post(() => {
      const { server } = listener
      if (!server || listener.isClosed) accepting.close(() => {})
      else server.emit("connection", new Socket({ handle: accepting }))
    }, random.fraction() * treatment.traits.jitterMs)
  }
}
