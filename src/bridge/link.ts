import type { Socket } from "node:net"
import { clearTimeout } from "../base/runtime.js"
import { ProtocolError } from "../codec/errors.js"
import { loadFormatSync } from "../codec/formats.js"
import type { Instance } from "../codec/instance.js"
import type { Settings } from "../codec/options.js"
import { Transcoder } from "../codec/transcoder.js"
import type { Channel, ChannelHandlers } from "../transport/channel.js"
import { Deadline } from "../transport/deadline.js"
import { destroyLater } from "../transport/farewell.js"
import type { ConnectionCounts } from "../transport/transport.js"
import { zmqError } from "../transport/zmq-error.js"
import { GREETING_BYTES, notLibzmq, SIGNATURE_BYTES } from "../zmtp/greeting.js"
import type { CurveEnd } from "./curve-end.js"
import type { LinkTraining } from "./link-training.js"
import type { MessageLimits } from "./message-limits.js"
import { Pump, type PumpHandlers } from "./pump.js"

/** Milliseconds for a peer's greeting, and for the handshake of two joined sides: libzmq's default. */
export const HANDSHAKE_MS = 30_000

/** One of the two connections of a link. */
export type LinkEnd = "lz4" | "plain"

/** The two connections, and their encryption. */
export interface LinkChannels {
  lz4: Channel
  plain: Channel
  lz4Curve: CurveEnd | undefined
  plainCurve: CurveEnd | undefined
}

export interface LinkHandlers {
  /** Both sides have completed their handshake. */
  begun(): void
  /** A side broke a rule, or memory ran out for it. The link will be ended. */
  failed(error: Error, end: LinkEnd): void
  /** The connection of the lz4+tcp side has ended. */
  disconnected(): void
  /** Both connections have ended; `error` is the cause, if there was one. */
  ended(error: Error | undefined): void
}

/**
 * A pair of joined connections, one of lz4+tcp or zstd+tcp ("lz4") and a plain one, with a transcoder
 * for each direction.
 *
 * Data that one side has sent is written to the other before that is closed, however the link ends.
 */
export class Link implements ChannelHandlers, PumpHandlers {
  readonly #counts: ConnectionCounts = {
    sent: { messages: 0, plainBytes: 0, wireBytes: 0, dictionary: false },
    received: { messages: 0, plainBytes: 0, wireBytes: 0, dictionary: false },
  }
  readonly #lz4: Socket
  readonly #plain: Socket
  readonly #lz4Curve: CurveEnd | undefined
  readonly #plainCurve: CurveEnd | undefined
  readonly #receiving: Transcoder
  readonly #sending: Transcoder
  readonly #training: LinkTraining | undefined
  readonly #handlers: LinkHandlers
  readonly #fromLz4: Pump
  readonly #fromPlain: Pump
  /** How the link ends, once it does. */
  #end: { error: Error | undefined } | undefined
  /** Whether the link is ended from here: a server that then closes its connection refuses nobody. */
  #isEnding = false
  #farewell: NodeJS.Timeout | undefined
  /** Bytes of the greetings not yet received. */
  #lz4GreetingLeft = GREETING_BYTES
  #plainGreetingLeft = GREETING_BYTES
  /** Whether the link ended to make room for a newer one. */
  isCrowdedOut = false
  readonly #scheme: string
  /** The time limit of the handshake, until that is over. */
  #limit: Deadline | undefined
  #open = 2

  constructor(
    { lz4, plain, lz4Curve, plainCurve }: LinkChannels,
    instance: Instance,
    settings: Settings,
    limits: MessageLimits,
    training: LinkTraining | undefined,
    handlers: LinkHandlers,
  ) {
    this.#lz4 = lz4.socket
    this.#plain = plain.socket
    this.#lz4Curve = lz4Curve
    this.#plainCurve = plainCurve
    this.#handlers = handlers
    this.#scheme = loadFormatSync(settings.format).scheme
    this.#receiving = Transcoder.receiving(instance, settings)
    this.#sending = Transcoder.sending(instance, settings, training?.trainer)
    this.#training = training
    const lz4End = { socket: lz4.socket, curve: lz4Curve }
    const plainEnd = { socket: plain.socket, curve: plainCurve }
    this.#fromLz4 = new Pump(lz4End, plainEnd, this.#receiving, limits, this)
    const efforts = settings.adaptive ? loadFormatSync(settings.format).efforts : undefined
    this.#fromPlain = new Pump(plainEnd, lz4End, this.#sending, limits, this, efforts)

    lz4.handlers = this
    plain.handlers = this
  }

  /** Starts to pass on data: first what one side has sent already, without encryption. */
  start({ socket }: Channel, sent: Uint8Array): void {
    this.#limit = new Deadline(HANDSHAKE_MS, () => this.#timedOut())
    this.#plain.resume()
    this.#lz4.resume()
    this.#pass(socket, sent, true)
  }

  get counts(): ConnectionCounts {
    if (this.#open > 0) this.#count()
    return this.#counts
  }

  data(chunk: Uint8Array, { socket }: Channel): void {
    this.#pass(socket, chunk, false)
  }

  drained({ socket }: Channel): void {
    if (socket === this.#plain) this.#fromLz4.drained()
    else this.#fromPlain.drained()
  }

  ended({ socket }: Channel): void {
    this.#checkRefused(socket)
    const isPlain = socket === this.#plain
    const pump = isPlain ? this.#fromPlain : this.#fromLz4
    pump.finish()
    this.#end ??= { error: undefined }
    if (!isPlain) return
    this.#fromLz4.stop()
    this.#plain.end()
  }

  finished({ socket }: Channel): void {
    // Otherwise `drain` has ended this side, and the peer may still have much to send.
    if (socket !== this.#lz4 || !this.#end) return
    this.#farewell = destroyLater(socket)
  }

  closed({ socket }: Channel): void {
    this.#checkRefused(socket)
    if (socket === this.#plain) {
      this.#end ??= { error: undefined }
      this.#fromLz4.stop()
      this.#fromPlain.finish()
    } else {
      clearTimeout(this.#farewell)
      this.#end ??= { error: socket.errored ?? undefined }
      this.#fromPlain.stop()
      this.#fromLz4.finish()
      this.#handlers.disconnected()
    }
    this.#open--
    if (this.#open > 0) return
    this.#limit?.clear()
    this.#count()
    this.#receiving.close()
    this.#sending.close()
    this.#lz4Curve?.close()
    this.#plainCurve?.close()
    this.#handlers.ended(this.#end.error)
  }

  /**
   * Ends the link for both sides. The side that has sent more messages is sent the message in progress,
   * and then the end of the stream. Once it has closed, everything that it sent is passed on, and the
   * other side is ended. Later messages of the other side are lost, as when any connection ends.
   */
  drain(): void {
    this.#isEnding = true
    if (this.#end) return
    const moreReceived = this.#receiving.messages > this.#sending.messages
    if (moreReceived) this.#fromPlain.endAfterMessage()
    else this.#fromLz4.endAfterMessage()
  }

  /** Ends the link at once, with all the data that it holds. */
  destroy(): void {
    this.#isEnding = true
    this.#plain.destroy()
    this.#lz4.destroy()
  }

  /** @param isOpened whether the bytes have no encryption any more. */
  #pass(socket: Socket, bytes: Uint8Array, isOpened: boolean): void {
    if (socket === this.#plain) {
      const start = GREETING_BYTES - this.#plainGreetingLeft
      if (this.#limit) this.#plainGreetingLeft -= bytes.length
      this.#fromPlain.push(start < SIGNATURE_BYTES ? notLibzmq(bytes, start) : bytes, isOpened)
      this.#training?.check()
    } else {
      if (this.#limit) this.#lz4GreetingLeft -= bytes.length
      this.#fromLz4.push(bytes, isOpened)
    }
    if (!this.#limit || !this.#fromPlain.isBegun || !this.#fromLz4.isBegun) return
    this.#limit.clear()
    this.#limit = undefined
    this.#handlers.begun()
  }

  #timedOut(): void {
    const what = `${this.#unfinished()} in ${HANDSHAKE_MS / 1000} seconds`
    this.#end ??= { error: zmqError("ETIMEDOUT", undefined, what) }
    this.destroy()
  }

  /** Describes what there is to wait for. */
  #unfinished(): string {
    const own = `the ${this.#scheme} side`
    const sideOf = (isOwn: boolean) => (isOwn ? own : "the plain side")
    // The side that sent less: libzmq sends the rest of its greeting after it has received some of
    // the peer's.
    if (this.#plainGreetingLeft > 0 || this.#lz4GreetingLeft > 0)
      return `${sideOf(this.#lz4GreetingLeft >= this.#plainGreetingLeft)} sent no whole greeting`
    const unsecured = [this.#lz4Curve, this.#plainCurve].find((curve) => curve?.isSecured === false)
    if (unsecured)
      return `${sideOf(unsecured === this.#lz4Curve)} did not complete the handshake of CURVE`
    if (!this.#fromPlain.isBegun && !this.#fromLz4.isBegun)
      return "neither side completed its handshake"
    return `${sideOf(this.#fromPlain.isBegun)} did not complete its handshake`
  }

  /** Reports a server that closes the connection in the handshake, as it does if keys are wrong. */
  #checkRefused(socket: Socket): void {
    const end = socket === this.#lz4 ? "lz4" : "plain"
    const curve = end === "lz4" ? this.#lz4Curve : this.#plainCurve
    if (this.#end || this.#isEnding || socket.errored || !curve?.isAwaitingServer) return
    const what =
      "the server closed the connection during the handshake of CURVE: it may have another key than this side was given, or not accept this side's"
    const error = new ProtocolError("ERR_ZMTP_HANDSHAKE", what)
    this.#end = { error }
    this.#handlers.failed(error, end)
  }

  /** Ends a link whose handshake is not over, at once. */
  crowdedOut(): void {
    this.isCrowdedOut = true
    const what = "a newer connection took its place before its handshake was over"
    this.#end ??= { error: zmqError("ETIMEDOUT", undefined, what) }
    this.destroy()
  }

  #count(): void {
    const { sent, received } = this.#counts
    this.#sending.count(sent)
    sent.dictionary = this.#sending.hasDictionary
    this.#receiving.count(received)
    received.dictionary = this.#receiving.hasDictionary
  }

  /** Ends a link of which one side broke a rule. */
  failed(transcoder: Transcoder, error: Error): void {
    this.#end ??= { error }
    const byLz4 = transcoder === this.#receiving
    const [offender, other] = byLz4 ? [this.#lz4, this.#plain] : [this.#plain, this.#lz4]
    this.#handlers.failed(error, byLz4 ? "lz4" : "plain")
    offender.destroy()
    other.end() // after all that came before
  }
}
