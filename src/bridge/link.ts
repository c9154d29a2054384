import type { Socket } from "node:net"
import type { Instance } from "../codec/instance.js"
import type { Settings } from "../codec/options.js"
import type { Trainer } from "../codec/trainer.js"
import { Transcoder } from "../codec/transcoder.js"
import { AdaptiveLevel } from "../transport/adaptive-level.js"
import type { Channel, ChannelHandlers } from "../transport/channel.js"
import type { ConnectionCounts } from "../transport/connection.js"
import type { MessageLimits } from "./message-limits.js"
import { Pump, type PumpHandlers } from "./pump.js"

/** How long a peer that was sent everything may take to close its side, in milliseconds. */
const FAREWELL_MS = 1000

/** How a link ended. */
export interface End {
  /** Whether libzmq closed its side first, which it does when it has nothing left to send. */
  byLibzmq: boolean
  error: Error | undefined
}

export type Side = "remote" | "local"

export interface LinkHandlers {
  /** One side broke a rule, or memory ran out for it; the link ends next. */
  failed(error: Error, side: Side, link: Link): void
  /** The TCP connection is over; `error` is what ended it, if anything. */
  disconnected(error: Error | undefined, link: Link): void
  /** libzmq has taken all there was, too. */
  ended(end: End, link: Link): void
}

/**
 * One connection: TCP to the peer on one side, a socket to libzmq on the other,
 * private or that of a bridge, and a transcoder each way between them.
 *
 * Data that one side has handed over is written to the other before that is
 * closed, however the link ends.
 */
export class Link implements ChannelHandlers, PumpHandlers {
  readonly #counts: ConnectionCounts = {
    sent: { messages: 0, plainBytes: 0, wireBytes: 0, dictionary: false },
    received: { messages: 0, plainBytes: 0, wireBytes: 0, dictionary: false },
  }
  readonly #remote: Socket
  readonly #local: Socket
  readonly #receiving: Transcoder
  readonly #sending: Transcoder
  readonly #handlers: LinkHandlers
  readonly #fromPeer: Pump
  readonly #fromLibzmq: Pump
  #end: End | undefined
  #farewell: NodeJS.Timeout | undefined
  #open = 2

  /** Joins two channels. */
  constructor(
    remote: Channel,
    local: Channel,
    instance: Instance,
    settings: Settings,
    limits: MessageLimits,
    trainer: Trainer | undefined,
    handlers: LinkHandlers,
  ) {
    this.#remote = remote.socket
    this.#local = local.socket
    this.#handlers = handlers
    this.#receiving = Transcoder.receiving(instance, settings)
    this.#sending = Transcoder.sending(instance, settings, trainer)
    this.#fromPeer = new Pump(
      remote.socket,
      local.socket,
      this.#receiving,
      // Bytes are the decoder's to count: those of the wire tell little of the plaintext.
      { ...limits, maxBytes: -1 },
      this,
    )
    const level = settings.adaptive ? new AdaptiveLevel() : undefined
    this.#fromLibzmq = new Pump(local.socket, remote.socket, this.#sending, limits, this, level)

    remote.handlers = this
    local.handlers = this
  }

  /** Lets data through. `early` is what was read from the local side already. */
  start(early: readonly Uint8Array[] = []): void {
    for (const chunk of early) this.#fromLibzmq.push(chunk)
    this.#local.resume()
    this.#remote.resume()
  }

  /** What went through. */
  get counts(): ConnectionCounts {
    if (this.#open > 0) this.#count()
    return this.#counts
  }

  data(chunk: Uint8Array, { socket }: Channel): void {
    if (socket === this.#local) this.#fromLibzmq.push(chunk)
    else this.#fromPeer.push(chunk)
  }

  drained({ socket }: Channel): void {
    if (socket === this.#local) this.#fromPeer.drained()
    else this.#fromLibzmq.drained()
  }

  ended({ socket }: Channel): void {
    if (socket === this.#local) {
      this.#fromLibzmq.finish()
      this.#end ??= { byLibzmq: true, error: undefined }
      this.#fromPeer.stop()
      this.#local.end()
    } else {
      this.#fromPeer.finish()
      this.#end ??= { byLibzmq: false, error: undefined }
    }
  }

  finished({ socket }: Channel): void {
    // Otherwise `drain` has said goodbye, and the peer may have much to say yet.
    if (socket !== this.#remote || !this.#end) return
    this.#farewell = setTimeout(() => socket.destroy(), FAREWELL_MS).unref()
  }

  closed({ socket }: Channel): void {
    if (socket === this.#local) {
      this.#end ??= { byLibzmq: true, error: undefined }
      this.#fromPeer.stop()
      this.#fromLibzmq.finish()
    } else {
      clearTimeout(this.#farewell)
      this.#end ??= { byLibzmq: false, error: socket.errored ?? undefined }
      this.#fromLibzmq.stop()
      this.#fromPeer.finish()
      this.#handlers.disconnected(this.#end.error, this)
    }
    this.#open--
    if (this.#open > 0) return
    this.#count()
    this.#receiving.close()
    this.#sending.close()
    this.#handlers.ended(this.#end, this)
  }

  /**
   * Ends the link for both sides. The one that sent more is told first: it closes, all
   * that it had handed over goes through, and the other is told then. The message that
   * is on its way to it gets there; those behind are lost, as when any connection ends.
   */
  drain(): void {
    if (this.#end) return
    const moreReceived = this.#receiving.messages > this.#sending.messages
    if (moreReceived) this.#fromLibzmq.conclude()
    else this.#fromPeer.conclude()
  }

  /** Ends the link at once, whatever it still holds. */
  destroy(): void {
    this.#local.destroy()
    this.#remote.destroy()
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
    this.#end ??= { byLibzmq: false, error }
    const byRemote = transcoder === this.#receiving
    const [offender, other] = byRemote ? [this.#remote, this.#local] : [this.#local, this.#remote]
    this.#handlers.failed(error, byRemote ? "remote" : "local", this)
    offender.destroy()
    other.end() // after all that came before
  }
}
