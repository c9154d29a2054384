import type { Socket } from "node:net"
import { clockMs } from "../base/runtime.js"
import type { ProtocolError } from "../codec/errors.js"
import type { Efforts } from "../codec/format.js"
import type { Traffic } from "../codec/traffic.js"
import type { Transcoder, TranscoderSink } from "../codec/transcoder.js"
import { EffortMeter } from "../transport/effort-meter.js"
import { NetworkMeter } from "../transport/network-meter.js"
import type { CurveEnd } from "./curve-end.js"
import { HandshakeCheck } from "./handshake-check.js"
import { LimitedStream, type MessageLimits } from "./message-limits.js"

export interface PumpHandlers {
  /** The stream broke a rule, or memory ran out. No more data is passed on. */
  failed(transcoder: Transcoder, error: Error): void
}

/** One of the two connections of a link, and its encryption. */
export interface PumpEnd {
  socket: Socket
  curve: CurveEnd | undefined
}

/** Size of a transcoder's pieces, unless a part makes a larger one. */
const SPARE_BYTES = 256 * 1024
/** A buffer to write from, unless a socket still holds it. */
let spare: Buffer | undefined

/**
 * Moves one direction of a link: reads from a socket, transcodes, and writes to another. It only
 * reads while the other side is writable, so that a slow reader stops the writer and little data is
 * held in between.
 */
export class Pump implements TranscoderSink {
  readonly #from: Socket
  readonly #fromCurve: CurveEnd | undefined
  readonly #to: Socket
  readonly #toCurve: CurveEnd | undefined
  readonly #transcoder: Transcoder
  readonly #handshake = new HandshakeCheck()
  /** For the plain side, the limits on the bytes read, or on those written. */
  readonly #input: LimitedStream | undefined
  readonly #output: LimitedStream | undefined
  readonly #handlers: PumpHandlers
  readonly #network: NetworkMeter | undefined
  readonly #meter: EffortMeter | undefined
  /** All traffic written so far, and that of the current call of `#run`, with the time of its writes. */
  #written: Traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }
  #encoded = { plainBytes: 0, wireBytes: 0, writeMs: 0 }
  #blocked = false
  /** A buffer that is still being written from. */
  #held: Buffer | undefined
  /** The error that makes the pump refuse the rest. */
  #refused: ProtocolError | undefined
  #ended = false
  #stopped = false
  /** The number of messages at which the other side is ended at the latest. */
  #endAtMessages: number | undefined

  /** @param efforts those of which one is chosen for what the pump encodes; undefined if it is fixed. */
  constructor(
    from: PumpEnd,
    to: PumpEnd,
    transcoder: Transcoder,
    limits: MessageLimits,
    handlers: PumpHandlers,
    efforts?: Efforts,
  ) {
    this.#from = from.socket
    this.#fromCurve = from.curve
    this.#to = to.socket
    this.#toCurve = to.curve
    this.#transcoder = transcoder
    // The decoder counts the plaintext received over lz4+tcp, before it allocates memory.
    const decodes = !transcoder.sends
    this.#input = decodes ? undefined : new LimitedStream(limits)
    this.#output = decodes ? new LimitedStream({ ...limits, maxBytes: -1 }) : undefined
    this.#handlers = handlers
    this.#network = efforts && new NetworkMeter()
    this.#meter = this.#network && new EffortMeter([this.#network], efforts as Efforts)
  }

  /** Whether this side has sent its last command of the handshake. */
  get isBegun(): boolean {
    return this.#handshake.isOver
  }

  /** Handles a chunk that was read; `isOpened` says that it was decrypted already. */
  push(received: Uint8Array, isOpened = false): void {
    if (this.#refused) return
    this.#run(() => {
      const curve = this.#fromCurve
      const chunk = curve && !isOpened ? curve.open(received) : received
      if (!this.#handshake.isOver) this.#handshake.read(chunk)
      const refused = this.#input?.check(chunk)
      this.#refused = refused?.error ?? curve?.violation
      this.#transcoder.transcode(refused ? chunk.subarray(0, refused.at) : chunk, this)
      this.#refuse()
    })
  }

  /** The other side is writable again. */
  drained(): void {
    if (!this.#blocked) return
    this.#network?.drained()
    this.#meter?.drained()
    if (this.#held) spare = this.#held
    this.#held = undefined
    this.#blocked = false
    this.#resume()
  }

  /** Ends the other side once it has everything received so far, because no more will arrive. */
  finish(): void {
    this.#ended = true
    if (!this.#blocked) this.#resume()
  }

  /** Ends the other side once it has the message in progress. Drops the rest. */
  endAfterMessage(): void {
    // A message that is counted but whose body is incomplete has ended when two more are counted.
    this.#endAtMessages = this.#transcoder.messages + 2
    this.#endIfComplete()
  }

  /** Drops everything read from now on. */
  stop(): void {
    this.#stopped = true
    this.#from.resume()
  }

  #resume(): void {
    this.#run(() => {
      this.#transcoder.resume(this)
      this.#refuse()
    })
    if (this.#stopped || this.#blocked) return
    if (this.#ended) {
      this.stop()
      this.#to.end()
    } else {
      this.#from.resume()
    }
  }

  /** Ends the stream at the part that exceeds a limit, once everything before it was passed on. */
  #refuse(): void {
    if (this.#refused && !this.#blocked) throw this.#refused
  }

  #run(transcode: () => void): void {
    if (this.#stopped) return
    const meter = this.#meter
    const effort = meter?.next()
    const begunAt = clockMs()
    if (effort !== undefined) {
      this.#encoded = { plainBytes: 0, wireBytes: 0, writeMs: 0 }
      this.#transcoder.effort = effort
    }
    try {
      transcode()
      const { plainBytes, wireBytes, writeMs } = this.#encoded
      if (effort !== undefined) meter?.encoded(effort, plainBytes, wireBytes, begunAt + writeMs)
    } catch (error) {
      this.stop()
      this.#handlers.failed(this.#transcoder, error as Error)
      return
    }
    if (this.#endAtMessages !== undefined) this.#endIfComplete()
    if (this.#blocked && !this.#stopped) this.#from.pause()
  }

  #endIfComplete(): void {
    const { insideMessage, messages } = this.#transcoder
    if (this.#stopped || (insideMessage && messages < (this.#endAtMessages as number))) return
    this.stop()
    this.#to.end()
  }

  take(piece: Uint8Array, copied: boolean): boolean {
    const refused = this.#output?.check(piece)
    const allowed = refused ? piece.subarray(0, refused.at) : piece
    const startedAt = this.#network ? clockMs() : 0
    if (this.#toCurve) this.#toCurve.seal(allowed)
    else if (copied) this.#to.write(allowed)
    else this.#writeCopy(allowed)
    if (refused) throw refused.error
    // The stream also asks for a pause when the system took everything at once.
    this.#blocked = this.#to.writableNeedDrain && this.#to.writableLength > 0
    if (this.#network) this.#measureWrite(this.#network, startedAt)
    return !this.#blocked
  }

  #measureWrite(network: NetworkMeter, startedAt: number): void {
    const { plainBytes, wireBytes } = this.#written
    this.#transcoder.count(this.#written)
    const plain = this.#written.plainBytes - plainBytes
    const wire = this.#written.wireBytes - wireBytes
    network.wrote(plain, wire, startedAt, this.#blocked)
    this.#encoded.plainBytes += plain
    this.#encoded.wireBytes += wire
    this.#encoded.writeMs += clockMs() - startedAt
  }

  /** Writes a copy, in a buffer that is reused if the system takes all of it at once. */
  #writeCopy(piece: Uint8Array): void {
    if (this.#to.writableLength > 0 || piece.length > SPARE_BYTES) {
      this.#to.write(Buffer.from(piece))
      return
    }
    const buffer = spare ?? Buffer.allocUnsafeSlow(SPARE_BYTES)
    spare = undefined
    buffer.set(piece)
    this.#to.write(buffer.subarray(0, piece.length))
    if (this.#to.writableLength === 0) spare = buffer
    else this.#held = buffer
  }
}
