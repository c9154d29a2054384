import type { Socket } from "node:net"
import { LANDING_BODY_BYTES, LANDING_MIN_BYTES, SLICE_BYTES } from "../base/limits.js"
import { clockMs } from "../base/runtime.js"
import { concat } from "../codec/arrays.js"
import { receivingInstance } from "../codec/module.js"
import type { Traffic } from "../codec/traffic.js"
import { Transcoder, type TranscoderSink } from "../codec/transcoder.js"
import { PlainPeerReceiver } from "../zmtp/plain-peer-receiver.js"
import type { Session } from "../zmtp/session.js"
import { bufferOf, HANDSHAKE_READ_BYTES } from "./channel.js"
import type { Violation } from "./connection-cipher.js"
import type { Readable } from "./read-order.js"
import { mayReadNow, readNow, readSoon, TURN_MAX_MS } from "./read-turns.js"
import type { ConnectionOptions, DirectionCounts } from "./transport.js"

/**
 * After a body that was read into its message, the next read takes this share of its bytes, within
 * limits, because a similar body may follow: what is read with its head is copied, and makes room for
 * the rest.
 */
const HEAD_SHARE = 1 / 4
const HEAD_MIN_BYTES = 64 * 1024

const NO_BYTES = new Uint8Array(0)

/** A decoder of received bytes into plain frames. */
type Receiver = Pick<
  Transcoder,
  | ("transcode" | "keep" | "keepsBytes" | "resume" | "count" | "hasDictionary" | "hasArenas")
  | ("bodyLeft" | "passed" | "close")
>

interface ReaderEvents {
  /** See Readable. */
  readonly isBehind: boolean
  /** The stream has an error. */
  failed(error: Error, reason?: Violation["reason"]): void
  /** Received bytes wait until the sink has room. */
  paused(): void
  /** Calls `opened` with the frames in bytes received after the handshake, which may be encrypted. */
  open(received: Uint8Array): void
}

/** A reused target for counting. */
const counted: Traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }

/**
 * The reading half of a connection. It decodes received bytes, in turn with the other connections
 * of the thread, and passes the frames to the session.
 */
export class SocketReader implements Readable, TranscoderSink {
  readonly #socket: Socket
  readonly #session: Session
  readonly #budgetBytes: number
  readonly #hasCurve: boolean
  readonly #connection: ReaderEvents
  #receiver: Receiver
  /** Received bytes of a handshake that are read in the next slice. */
  #unread: Uint8Array = NO_BYTES
  /** The rule that the peer broke after all that is still to be passed on. */
  #violation: Violation | undefined
  /** Decoded plain frames that the sink had no room for. */
  #kept: Uint8Array | undefined
  /** Whether the sink has no room for more. */
  #isStopped = false
  /** Whether the sink was full before this connection received anything. */
  #isHeld = false
  /**
   * Bytes that were read into a body, before all that is kept, and that the session does not know of
   * yet.
   */
  #landedBytes = 0
  /** Size of the body that bytes are read into, until the read after it; otherwise 0. */
  #bodyBytes = 0
  /** Received bytes to decode in this call. */
  #chunk: Uint8Array = NO_BYTES
  /** Bytes decoded in the current slice, and the time when it has to end. */
  #sliceBytes = 0
  #sliceEndMs = 0
  /** Whether the current slice ended before all received bytes were decoded and passed on. */
  #isCutShort = false
  /** Whether the connection is in line to decode. */
  #isInLine = false
  /** Whether received bytes are discarded. */
  #isDiscarding = false
  #isClosed = false
  shareMs: number | undefined

  constructor(
    socket: Socket,
    session: Session,
    options: ConnectionOptions,
    connection: ReaderEvents,
  ) {
    this.#socket = socket
    this.#session = session
    this.#budgetBytes = options.settings.budgetBytes
    this.#hasCurve = options.handshake.curve !== undefined
    this.#connection = connection
    // Opened here, where a lack of memory refuses the peer before it sends anything.
    this.#receiver = Transcoder.receiving(receivingInstance(), options.settings, true)
  }

  /** Decodes nothing that follows the handshake, which has shown that the peer is a plain one. */
  receivePlain(): void {
    const receiver = new PlainPeerReceiver(this.#budgetBytes)
    this.#receiver.close()
    this.#receiver = receiver
    this.#session.headCheck = receiver
  }

  get isBehind(): boolean {
    return this.#connection.isBehind
  }

  get isDiscarding(): boolean {
    return this.#isDiscarding
  }

  get counts(): DirectionCounts {
    this.#receiver.count(counted)
    return { ...counted, dictionary: this.#receiver.hasDictionary }
  }

  /** Whether the peer has sent an arena. */
  get hasArenas(): boolean {
    return !this.#isClosed && this.#receiver.hasArenas
  }

  /** Reads a chunk of the stream. It is valid during the call only. */
  read(chunk: Uint8Array): void {
    if (this.#isDiscarding || this.#violation) return
    if (!this.#takesTurns && this.#unread.length === 0) {
      this.#readFirst(chunk)
      return
    }
    const isNow = this.#mayReadNow
    this.#unread = isNow ? chunk : concat([this.#unread, chunk])
    this.#readOrWait(isNow)
  }

  /**
   * Whether the handshake is read in slices. The keys of CURVE take longer than anything else that a
   * stranger can ask for in a few bytes.
   */
  get #takesTurns(): boolean {
    return this.#hasCurve && !this.#session.isReady
  }

  /** Reads bytes in which the handshake may go on, or end. */
  #readFirst(chunk: Uint8Array): void {
    const received = this.#session.isReady ? chunk : this.#readHandshake(chunk)
    if (this.#isDiscarding || received.length === 0) return
    this.#connection.open(received)
  }

  /** Reads frames that were opened. They are valid during the call only. */
  opened(frames: Uint8Array): void {
    if (this.#isDiscarding) return
    const isNow = this.#mayReadNow
    if (isNow) this.#chunk = frames
    else this.#receiver.keep(frames)
    this.#readOrWait(isNow)
  }

  /**
   * Ends the connection, whose peer broke a rule, once all that was opened before has been passed on.
   */
  failAfterRest(violation: Violation): void {
    this.#violation = violation
    if (!this.#isInLine && !this.isWaiting) this.#goOn()
  }

  /** Reads on, after everything received so far was decoded. */
  #goOn(): void {
    if (this.#violation) this.#connection.failed(this.#violation.error, this.#violation.reason)
    else if (this.#socket.isPaused()) this.#socket.resume()
  }

  get #mayReadNow(): boolean {
    return !this.#isStopped && !this.#isInLine && mayReadNow(this)
  }

  /** Decodes what has arrived, now or when it is the connection's turn. */
  #readOrWait(isNow: boolean): void {
    if (isNow) readNow(this)
    else if (!this.#isStopped) this.#getInLine()
    if (this.#isDiscarding) return
    if (this.#isInLine || this.isWaiting) this.#socket.pause()
    if (this.isWaiting) this.#connection.paused()
  }

  /** Returns where the next bytes are best read to; undefined for anywhere. */
  landing(): Uint8Array | undefined {
    if (this.#takesTurns) return bufferOf(HANDSHAKE_READ_BYTES)
    if (this.#isInLine || this.#isStopped || this.#isDiscarding) return undefined
    const { missingBytes, bodyBytes: latestBytes } = this.#session
    const isLarge = latestBytes >= LANDING_BODY_BYTES && missingBytes >= LANDING_MIN_BYTES
    if (isLarge && this.#receiver.bodyLeft >= missingBytes) {
      this.#bodyBytes = latestBytes
      try {
        return this.#session.bodyRoom()
      } catch (error) {
        this.#connection.failed(error as Error) // there is no memory for the body
        return undefined
      }
    }
    const bodyBytes = this.#bodyBytes
    if (bodyBytes === 0) return undefined
    this.#bodyBytes = 0
    return bufferOf(Math.max(bodyBytes * HEAD_SHARE, HEAD_MIN_BYTES))
  }

  /** Bytes were read into the room that `landing()` returned. */
  landed(bytes: number): void {
    if (this.#isDiscarding) return
    this.#landedBytes += bytes
    this.#readOrWait(this.#mayReadNow)
  }

  /**
   * Whether received bytes wait until the sink has room. A stopped connection without any is still
   * read, so that it notices when the peer leaves.
   */
  get isWaiting(): boolean {
    if (!this.#isStopped) return false
    return this.#kept !== undefined || this.#landedBytes > 0 || this.#receiver.keepsBytes
  }

  /** Reads the greeting and the handshake, and returns the bytes after it, which are left to decode. */
  #readHandshake(chunk: Uint8Array): Uint8Array {
    const session = this.#session
    try {
      const frames = session.isGreeted ? chunk : chunk.subarray(session.greet(chunk))
      return this.#isDiscarding ? NO_BYTES : frames.subarray(session.receive(frames))
    } catch (error) {
      this.#connection.failed(error as Error)
      return NO_BYTES
    }
  }

  #getInLine(): void {
    if (this.#isInLine) return
    this.#isInLine = true
    readSoon(this)
  }

  readSlice(): boolean {
    this.#isInLine = false
    if (this.#isDiscarding || this.#isClosed) return false
    if (this.#unread.length > 0) return this.#readUnread()
    this.#isCutShort = false
    this.#sliceBytes = 0
    // A few bytes may be very many frames.
    this.#sliceEndMs = clockMs() + TURN_MAX_MS
    const chunk = this.#chunk
    this.#chunk = NO_BYTES
    try {
      this.#takeKept()
      if (!this.#isStopped && !this.#kept) this.#takeLanded()
      if (!this.#isStopped && !this.#kept) this.#receiver.transcode(chunk, this)
    } catch (error) {
      this.#connection.failed(error as Error)
      return false
    }
    if (this.#isDiscarding) return false
    if (this.isWaiting) {
      this.#connection.paused()
      return false
    }
    if (!this.#isStopped && (this.#kept || this.#isCutShort)) {
      this.#isInLine = true
      return true
    }
    this.#goOn()
    return false
  }

  /** Reads bytes of a handshake. Returns whether frames follow it, for the next slice. */
  #readUnread(): boolean {
    const unread = this.#unread
    this.#unread = NO_BYTES
    // They get in line once this slice is charged.
    this.#isInLine = true
    this.#readFirst(unread)
    this.#isInLine = !this.#isDiscarding && !this.#isStopped && this.#receiver.keepsBytes
    if (!this.#isInLine && !this.#isDiscarding && !this.isWaiting) this.#goOn()
    return this.#isInLine
  }

  /** Returns whether the slice is over, so that other connections, timers and I/O get their turn. */
  #isOver(): boolean {
    this.#isCutShort ||= this.#sliceBytes >= SLICE_BYTES || clockMs() >= this.#sliceEndMs
    return this.#isCutShort
  }

  #takeLanded(): void {
    const landed = this.#landedBytes
    if (landed === 0) return
    this.#landedBytes = 0
    this.#sliceBytes += landed
    this.#receiver.passed(landed)
    this.#session.landed(landed)
  }

  #takeKept(): void {
    const kept = this.#kept
    if (!kept) return
    const used = this.#receive(kept)
    this.#kept = used < kept.length ? kept.subarray(used) : undefined
  }

  /**
   * Passes decoded frames to the session. Returns the position where the sink had no room for more,
   * or the slice was over, or the end.
   */
  #receive(frames: Uint8Array): number {
    let at = 0
    do at = this.#session.receive(frames, at)
    while (at < frames.length && !this.#isStopped && !this.#isDiscarding && !this.#isOver())
    return this.#isDiscarding ? frames.length : at
  }

  /** Passes on everything that was decoded, even if the sink is full. */
  #takeAllKept(): void {
    while (this.#kept) this.#takeKept()
  }

  take(piece: Uint8Array): boolean {
    if (this.#isDiscarding) return true
    this.#sliceBytes += piece.length
    const used = this.#receive(piece)
    if (used < piece.length) this.#kept = new Uint8Array(piece.subarray(used))
    return !this.#isStopped && !this.#kept && !this.#isOver()
  }

  /** Stops, because the sink has no room for more. */
  stop(): void {
    this.#isStopped = true
  }

  /** Stops before anything was received. */
  hold(): void {
    this.#isStopped = true
    this.#isHeld = true
  }

  resume(): void {
    if (!this.#isStopped || this.#isClosed) return
    this.#isStopped = false
    this.#isHeld = false
    this.#getInLine()
  }

  /** Discards everything received from now on. */
  discard(): void {
    this.#isDiscarding = true
    this.#unread = NO_BYTES
    this.#kept = undefined
    this.#landedBytes = 0
  }

  /**
   * Passes on the bytes received before the socket was closed: the decoded ones in any case, because
   * they are counted, and the others as far as there is room. Does nothing if the sink was already
   * full when the connection began, because every reconnect would add to its queue.
   */
  readRest(): void {
    this.#isClosed = true
    if (this.#isDiscarding || this.#isHeld) return
    this.#sliceBytes = Number.NEGATIVE_INFINITY
    this.#sliceEndMs = Number.POSITIVE_INFINITY
    this.#isCutShort = false
    try {
      this.#takeAllKept()
      this.#takeLanded()
      while (!this.#isStopped) {
        this.#receiver.resume(this)
        if (!this.#kept) break
        this.#takeAllKept()
      }
    } catch {
      // The remaining bytes broke a rule, but the connection has already ended.
    }
  }

  close(): void {
    this.#isClosed = true
    this.#receiver.close()
  }
}
