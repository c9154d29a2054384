import type { Socket } from "node:net"
import type { Traffic } from "../codec/codec.js"
import type { ProtocolError } from "../codec/errors.js"
import type { Transcoder, TranscoderSink } from "../codec/transcoder.js"
import { EffortMeter, Link } from "../transport/effort-meter.js"
import { LimitedStream, type MessageLimits } from "./message-limits.js"

export interface PumpHandlers {
  /** The stream broke a rule, or memory ran out; nothing moves through it any more. */
  failed(transcoder: Transcoder, error: Error): void
}

/** The size of a transcoder's pieces, unless a part makes a larger one. */
const SPARE_BYTES = 256 * 1024
/** A buffer to write from, unless a socket still holds it. */
let spare: Buffer | undefined

/**
 * Moves one direction of a link: reads from a socket, transcodes, writes to
 * another. It reads only while the other side takes what it writes, so that a
 * slow reader stops the writer and little is held in between.
 */
export class Pump implements TranscoderSink {
  readonly #from: Socket
  readonly #to: Socket
  readonly #transcoder: Transcoder
  /** The plain side: the bytes read, or those written of them. */
  readonly #input: LimitedStream | undefined
  readonly #output: LimitedStream | undefined
  readonly #handlers: PumpHandlers
  readonly #network: Link | undefined
  readonly #meter: EffortMeter | undefined
  /** Traffic as far as it was written, and that of the current run, with the time for its writes. */
  #written: Traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }
  #encoded = { plainBytes: 0, wireBytes: 0, writeMs: 0 }
  #blocked = false
  /** A buffer that is still being written from. */
  #held: Buffer | undefined
  /** Why what comes from here on is not taken. */
  #refused: ProtocolError | undefined
  #ended = false
  #stopped = false
  /** The count of messages at which the other side is ended at the latest. */
  #concludeAt: number | undefined

  constructor(
    from: Socket,
    to: Socket,
    transcoder: Transcoder,
    limits: MessageLimits,
    handlers: PumpHandlers,
    adaptive = false,
  ) {
    this.#from = from
    this.#to = to
    this.#transcoder = transcoder
    // Bytes of plaintext that comes over lz4+tcp are the decoder's to count, before it takes memory.
    const decodes = !transcoder.sends
    this.#input = decodes ? undefined : new LimitedStream(limits)
    this.#output = decodes ? new LimitedStream({ ...limits, maxBytes: -1 }) : undefined
    this.#handlers = handlers
    this.#network = adaptive ? new Link() : undefined
    this.#meter = this.#network && new EffortMeter([this.#network])
  }

  /** Takes a chunk that was read. */
  push(chunk: Uint8Array): void {
    if (this.#refused) return
    this.#run(() => {
      const refused = this.#input?.check(chunk)
      this.#refused = refused?.error
      this.#transcoder.transcode(refused ? chunk.subarray(0, refused.at) : chunk, this)
      this.#refuse()
    })
  }

  /** The other side has room again. */
  drained(): void {
    if (!this.#blocked) return
    this.#network?.drained()
    this.#meter?.drained()
    if (this.#held) spare = this.#held
    this.#held = undefined
    this.#blocked = false
    this.#resume()
  }

  /** Nothing more comes: ends the other side when it has all that came before. */
  finish(): void {
    this.#ended = true
    if (!this.#blocked) this.#resume()
  }

  /** Ends the other side when it has the message that is under way; drops what follows. */
  conclude(): void {
    // One that is counted, and whose body is still on its way, has ended when two more are.
    this.#concludeAt = this.#transcoder.messages + 2
    this.#checkConcluded()
  }

  /** Drops what is read from now on. */
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

  /** Ends the stream at what is beyond a limit, once all that came before is through. */
  #refuse(): void {
    if (this.#refused && !this.#blocked) throw this.#refused
  }

  #run(transcode: () => void): void {
    if (this.#stopped) return
    const meter = this.#meter
    if (meter) {
      this.#encoded = { plainBytes: 0, wireBytes: 0, writeMs: 0 }
      this.#transcoder.effort = meter.next()
    }
    try {
      transcode()
      meter?.encoded(this.#encoded.plainBytes, this.#encoded.wireBytes, this.#encoded.writeMs)
    } catch (error) {
      this.stop()
      this.#handlers.failed(this.#transcoder, error as Error)
      return
    }
    if (this.#concludeAt !== undefined) this.#checkConcluded()
    if (this.#blocked && !this.#stopped) this.#from.pause()
  }

  #checkConcluded(): void {
    const { insideMessage, messages } = this.#transcoder
    if (this.#stopped || (insideMessage && messages < (this.#concludeAt as number))) return
    this.stop()
    this.#to.end()
  }

  take(piece: Uint8Array, copied: boolean): boolean {
    const refused = this.#output?.check(piece)
    const taken = refused ? piece.subarray(0, refused.at) : piece
    const begunAt = this.#network ? performance.now() : 0
    if (copied) this.#to.write(taken)
    else this.#writeCopy(taken)
    if (refused) throw refused.error
    // The stream asks to wait even where the system took all at once.
    this.#blocked = this.#to.writableNeedDrain && this.#to.writableLength > 0
    if (this.#network) this.#measureWrite(this.#network, begunAt)
    return !this.#blocked
  }

  #measureWrite(network: Link, begunAt: number): void {
    const { plainBytes, wireBytes } = this.#written
    this.#transcoder.count(this.#written)
    const plain = this.#written.plainBytes - plainBytes
    const wire = this.#written.wireBytes - wireBytes
    network.wrote(plain, wire, begunAt, this.#blocked)
    this.#encoded.plainBytes += plain
    this.#encoded.wireBytes += wire
    this.#encoded.writeMs += performance.now() - begunAt
  }

  /** Writes a copy, in a buffer that is used again when the system takes all of it at once. */
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
