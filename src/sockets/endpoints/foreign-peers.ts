import { ProtocolError } from "../../codec/errors.js"
import { Deadline } from "../../transport/deadline.js"
import { warn } from "../../transport/diagnosis.js"
import type { ConnectionCounts, PeerConnection } from "../../transport/transport.js"
import type { Lz4, Observed } from "../lz4.js"

const SILENCE_MS = 2000

/** Notices which peers of an endpoint speak tcp:// or the other format, and tells the program. */
export class ForeignPeers {
  readonly #endpoint: Observed
  /** The listeners of `lz4` may refer to the socket, so it is not kept. */
  readonly #host: { readonly lz4: Lz4 }
  #hasWarned = false
  /** The peers that will be reported unless they send something. */
  readonly #silent = new Map<PeerConnection, Deadline>()
  #hasReportedSilence = false

  constructor(endpoint: Observed, host: { readonly lz4: Lz4 }) {
    this.#endpoint = endpoint
    this.#host = host
  }

  /**
   * Reports a peer that announced no revision, unless it sends something within `SILENCE_MS`. It may
   * be a plain SUB or PULL, which cannot read what it is sent and reports no error.
   */
  watch(connection: PeerConnection): void {
    if (this.#hasReportedSilence || connection.scheme === "tcp") return
    if (connection.peerRevision !== undefined) return
    const limit = new Deadline(SILENCE_MS, () => {
      this.#silent.delete(connection)
      if (connection.counts.received.messages === 0) this.#report(connection)
    })
    this.#silent.set(connection, limit)
  }

  /** Reports a silent peer, once for the endpoint: to the channel, or by a warning if nobody listens. */
  #report(connection: PeerConnection): void {
    if (this.#hasReportedSilence) return
    this.#hasReportedSilence = this.#host.lz4.silent(connection, this.#endpoint)
    // Peers other than libzmq may read lz4+tcp:// although they announce nothing.
    if (this.#hasReportedSilence || !connection.peerIsLibzmq) return
    this.#hasReportedSilence = true
    this.#warn(
      connection,
      `has sent nothing, and announced no ${this.#endpoint.format} revision: it speaks tcp://, so it cannot read what it is sent. ${this.#advice}`,
      "ERR_LZ4_PLAIN_PEER",
    )
  }

  get #advice(): string {
    return `Both ends have to be ${this.#endpoint.format}+tcp://, unless this one has the option acceptPlain.`
  }

  #warn({ remoteAddress, remotePort }: PeerConnection, what: string, code: string): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    warn(`the peer ${remoteAddress}:${remotePort} of ${this.#endpoint.address} ${what}`, { code })
  }

  /** The connection has ended. What a peer of libzmq was sent is lost, however soon it has gone. */
  forget(connection: PeerConnection, { sent, received }: ConnectionCounts): void {
    const isLost = connection.peerIsLibzmq && sent.messages > 0 && received.messages === 0
    if (this.#stopWatching(connection) && isLost) this.#report(connection)
  }

  /** Returns whether the peer was still to be reported. */
  #stopWatching(connection: PeerConnection): boolean {
    this.#silent.get(connection)?.clear()
    return this.#silent.delete(connection)
  }

  /**
   * Adds to a peer's error that it probably speaks tcp://. Warns if nobody listens for the event, also
   * if the peer speaks the other format.
   */
  explain(connection: PeerConnection, error: ProtocolError, isOtherFormat: boolean): ProtocolError {
    // It is not silent: what it said is reported as an error.
    this.#stopWatching(connection)
    const isHeard = this.#host.lz4.listenerCount("protocolError") > 0
    if (isOtherFormat && !isHeard)
      this.#warn(
        connection,
        `was refused: ${error.message}. Give one of the two this option, or both the same scheme.`,
        error.code,
      )
    if (!isProbablyPlain(connection, error)) return error
    const explained = new ProtocolError(
      error.code,
      `${error.message.slice(error.code.length + 2)}; the peer announced nothing, so it probably speaks tcp://`,
    )
    if (!isHeard)
      this.#warn(
        connection,
        `lost its connection: ${explained.message}. ${this.#advice}`,
        explained.code,
      )
    return explained
  }
}

/**
 * Returns whether the first part of a peer that announced no revision had no sentinel. It may follow an
 * empty one: a plain ROUTER returns the delimiter of a REQ as it was sent.
 */
function isProbablyPlain(connection: PeerConnection, { code }: ProtocolError): boolean {
  if (!/_(PART_TOO_SHORT|UNKNOWN_SENTINEL)$/.test(code)) return false
  const { messages, plainBytes } = connection.counts.received
  return connection.peerRevision === undefined && messages <= 1 && plainBytes === 0
}
