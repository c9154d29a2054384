import type { Socket } from "node:net"
import { LANDING_BODY_BYTES, LANDING_MIN_BYTES, SLICE_BYTES } from "../base/limits.js"
import { clockMs } from "../base/runtime.js"
import { concat } from "../codec/arrays.js"
import { loadFormatSync } from "../codec/formats.js"
import { receivingInstance } from "../codec/module.js"
import type { Settings } from "../codec/options.js"
import type { Traffic } from "../codec/traffic.js"
import { Transcoder, type TranscoderSink } from "../codec/transcoder.js"
import { PlainPeerReceiver } from "../zmtp/plain-peer-receiver.js"
import type { Session } from "../zmtp/session.js"
import { bufferOf, HANDSHAKE_READ_BYTES } from "./channel.js"
import type { ConnectionCipher, Violation } from "./connection-cipher.js"
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
/** The end of a slice that is over. */
const OVER = Number.NEGATIVE_INFINITY

/** A decoder of received bytes into plain frames. */
type Receiver = Pick<
  Transcoder,
  | ("transcode" | "keep" | "keepsBytes" | "resume" | "count" | "hasDictionary" | "hasArenas")
  | ("bodyLeft" | "passed" | "close")
> & { keeps?: boolean }

interface ReaderEvents {
  readonly isBehind: boolean
  /** Whether compressed parts are passed on as they came. */
  readonly keepsForms: boolean
  failed(error: Error, reason?: Violation["reason"]): void
  /** Received bytes wait until the sink has room. */
  paused(): void
}

/**
 * What becomes of received bytes:
 * - "reading": they are decoded as they arrive.
 * - "inLine": they wait for the connection's turn.
 * - "full": they wait until the sink has room, or "held" if it had none before anything was received.
 * - "ending": the socket has closed, and what arrived before is passed on as far as there is room.
 * - "discarding", "ended": nothing more is passed on.
 */
type State = "reading" | "inLine" | "full" | "held" | "ending" | "discarding" | "ended"

function receiverOf(settings: Settings): Receiver {
  return Transcoder.receiving(receivingInstance(loadFormatSync(settings.format)), settings, true)
}

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
  /** Opens what follows the handshake, with CURVE. */
  #cipher: ConnectionCipher | undefined
  /** Decoded plain frames that the sink had no room for. */
  #kept: Uint8Array | undefined
  #state: State = "reading"
  /** Bytes that were read into a body, before all that is kept, unknown to the session as yet. */
  #landedBytes = 0
  /** Size of the body that bytes are read into, until the read after it; otherwise 0. */
  #bodyBytes = 0
  /** Received bytes to decode in this call. */
  #chunk: Uint8Array = NO_BYTES
  /** Bytes decoded in the current slice, and the time when it has to end. */
  #sliceBytes = 0
  #sliceEndMs = 0
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
    this.#receiver = receiverOf(options.settings)
  }

  /** Decodes what follows the handshake as parts of another format. */
  receiveAs(settings: Settings): void {
    const receiver = receiverOf(settings)
    this.#receiver.close()
    this.#receiver = receiver
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
    return this.#state === "discarding"
  }

  get #goesOn(): boolean {
    return this.#state === "reading" || this.#state === "ending"
  }

  get counts(): DirectionCounts {
    this.#receiver.count(counted)
    return { ...counted, dictionary: this.#receiver.hasDictionary }
  }

  /** Whether the peer has sent an arena. Call it before `close()`. */
  get hasArenas(): boolean {
    return this.#receiver.hasArenas
  }

  /** Opens all that follows the handshake with `cipher`. */
  decrypt(cipher: ConnectionCipher): void {
    this.#cipher = cipher
  }

  /** Reads a chunk of the stream. It is valid during the call only. */
  read(chunk: Uint8Array): void {
    if (this.isDiscarding || this.#cipher?.violation) return
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

  #readFirst(chunk: Uint8Array): void {
    const received = this.#session.isReady ? chunk : this.#readHandshake(chunk)
    if (this.isDiscarding || received.length === 0) return
    if (this.#cipher) this.#open(this.#cipher, received)
    else this.#readFrames(received)
  }

  /** Reads encrypted frames. A peer that breaks a rule loses its connection after all before that. */
  #open(cipher: ConnectionCipher, received: Uint8Array): void {
    try {
      cipher.open(received, (frames) => this.#readFrames(frames))
    } catch (error) {
      this.#connection.failed(error as Error) // there is no memory for a frame
    }
    if (cipher.violation && this.#state !== "inLine" && !this.isWaiting) this.#goOn()
  }

  #readFrames(frames: Uint8Array): void {
    if (this.isDiscarding) return
    const isNow = this.#mayReadNow
    if (isNow) this.#chunk = frames
    else this.#receiver.keep(frames)
    this.#readOrWait(isNow)
  }

  /** Everything received so far was decoded. */
  #goOn(): void {
    const violation = this.#cipher?.violation
    if (violation) this.#connection.failed(violation.error, violation.reason)
    else if (this.#socket.isPaused()) this.#socket.resume()
  }

  get #mayReadNow(): boolean {
    return this.#state === "reading" && mayReadNow(this)
  }

  #readOrWait(isNow: boolean): void {
    if (isNow) readNow(this)
    else if (this.#state === "reading") this.#getInLine()
    if (this.isDiscarding) return
    if (this.#state === "inLine" || this.isWaiting) this.#socket.pause()
    if (this.isWaiting) this.#connection.paused()
  }

  /** Returns where the next bytes are best read to; undefined for anywhere. */
  landing(): Uint8Array | undefined {
    if (this.#takesTurns) return bufferOf(HANDSHAKE_READ_BYTES)
    if (this.#state !== "reading") return undefined
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
    if (this.isDiscarding) return
    this.#landedBytes += bytes
    this.#readOrWait(this.#mayReadNow)
  }

  /**
   * Whether received bytes wait until the sink has room. A stopped connection without any is still
   * read, so that it notices when the peer leaves.
   */
  get isWaiting(): boolean {
    if (this.#state !== "full" && this.#state !== "held") return false
    return this.#kept !== undefined || this.#landedBytes > 0 || this.#receiver.keepsBytes
  }

  /** Reads the greeting and the handshake, and returns the bytes after it, which are left to decode. */
  #readHandshake(chunk: Uint8Array): Uint8Array {
    const session = this.#session
    try {
      const frames = session.isGreeted ? chunk : chunk.subarray(session.greet(chunk))
      return this.isDiscarding ? NO_BYTES : frames.subarray(session.receive(frames))
    } catch (error) {
      this.#connection.failed(error as Error)
      return NO_BYTES
    }
  }

  #getInLine(): void {
    this.#state = "inLine"
    readSoon(this)
  }

  readSlice(): boolean {
    if (this.#state === "inLine") this.#state = "reading"
    if (this.#state !== "reading") return false
    if (this.#unread.length > 0) return this.#readUnread()
    this.#sliceBytes = 0
    // A few bytes may be very many frames.
    this.#sliceEndMs = clockMs() + TURN_MAX_MS
    const chunk = this.#chunk
    this.#chunk = NO_BYTES
    this.#receiver.keeps = this.#connection.keepsForms
    try {
      this.#takeKept()
      if (this.#goesOn && !this.#kept) this.#takeLanded()
      if (this.#goesOn && !this.#kept) this.#receiver.transcode(chunk, this)
    } catch (error) {
      this.#connection.failed(error as Error)
      return false
    }
    return this.#endSlice(this.#kept !== undefined || this.#sliceEndMs === OVER)
  }

  /** Reads bytes of a handshake. Returns whether frames follow it, for the next slice. */
  #readUnread(): boolean {
    const unread = this.#unread
    this.#unread = NO_BYTES
    // The frames get in line once this slice is charged.
    this.#state = "inLine"
    this.#readFirst(unread)
    if (this.#state === "inLine") this.#state = "reading"
    return this.#endSlice(this.#receiver.keepsBytes)
  }

  /** Ends a slice. Returns whether to put the connection in line for what is left. */
  #endSlice(isLeft: boolean): boolean {
    if (this.isDiscarding) return false
    if (this.isWaiting) this.#connection.paused()
    // The sink may have had room again meanwhile.
    else if (this.#state === "inLine") return false
    else if (isLeft && this.#state === "reading") {
      this.#state = "inLine"
      return true
    } else this.#goOn()
    return false
  }

  /** Returns whether the slice is over, so that other connections, timers and I/O get their turn. */
  #isOver(): boolean {
    if (this.#sliceBytes >= SLICE_BYTES || clockMs() >= this.#sliceEndMs) this.#sliceEndMs = OVER
    return this.#sliceEndMs === OVER
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
    while (at < frames.length && this.#goesOn && !this.#isOver())
    return this.isDiscarding ? frames.length : at
  }

  /** Passes on what was decoded even if the sink is full. */
  #takeAllKept(): void {
    while (this.#kept) this.#takeKept()
  }

  take(piece: Uint8Array): boolean {
    if (this.isDiscarding) return true
    this.#sliceBytes += piece.length
    const used = this.#receive(piece)
    if (used < piece.length) this.#kept = new Uint8Array(piece.subarray(used))
    return this.isDiscarding || (this.#goesOn && !this.#kept && !this.#isOver())
  }

  /** The sink has no room for more. */
  stop(): void {
    if (this.#state === "reading" || this.#state === "inLine") this.#state = "full"
    else if (this.#state === "ending") this.#state = "ended"
  }

  /** The sink has no room, and nothing was received yet. */
  hold(): void {
    this.stop()
    if (this.#state === "full") this.#state = "held"
  }

  /** The sink has room again. */
  resume(): void {
    if (this.#state === "full" || this.#state === "held") this.#getInLine()
  }

  discard(): void {
    this.#state = "discarding"
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
    const state = this.#state
    if (state === "discarding") return
    this.#state = state === "full" || state === "held" ? "ended" : "ending"
    if (state === "held") return
    this.#sliceBytes = Number.NEGATIVE_INFINITY
    this.#sliceEndMs = Number.POSITIVE_INFINITY
    try {
      this.#takeAllKept()
      this.#takeLanded()
      while (this.#goesOn) {
        this.#receiver.resume(this)
        if (!this.#kept) break
        this.#takeAllKept()
      }
    } catch {
      // The remaining bytes broke a rule, but the connection has already ended.
    }
  }

  close(): void {
    if (!this.isDiscarding) this.#state = "ended"
    this.#receiver.close()
    this.#cipher?.close()
  }
}
