import type { Side } from "../events.js"
import { other } from "../sides.js"
import { ACK, type End, FIN, PSH, RST, readEnd, SYN, tcpPacket } from "./tcp-packet.js"

/**
 * Maximum data of a segment: 45 of Ethernet's, as hosts record them that leave the cutting to their
 * network card. Nearly every message then has one packet of its own, which is a row in Wireshark.
 * It is less than a window without a scale.
 */
const SEGMENT_MAX_BYTES = 45 * 1448
/** Spreads initial sequence numbers, so that a port that is used again has others. */
const SPREAD = 0x9e3779b1

/** Writes the packets of one TCP connection without losses, as IP packets. */
export class TcpConversation {
  readonly #ends: Record<Side, End>
  /** The sequence number of the next byte of each side, and of the first that is not acknowledged. */
  readonly #next: Record<Side, number>
  readonly #acknowledged: Record<Side, number>

  constructor(client: string, server: string, id: number) {
    this.#ends = { client: readEnd(client), server: readEnd(server) }
    const initial = Math.imul(id, SPREAD) >>> 0
    this.#next = { client: initial, server: initial ^ SPREAD }
    this.#acknowledged = { ...this.#next }
  }

  *open(): Generator<Uint8Array> {
    yield this.#packet("client", SYN)
    yield this.#packet("server", SYN | ACK)
    yield this.#packet("client", ACK)
  }

  *send(from: Side, pieces: readonly Uint8Array[]): Generator<Uint8Array> {
    for (const data of segmentsOf(pieces)) {
      const bytes = data.reduce((sum, { length }) => sum + length, 0)
      if (this.#next[from] + bytes - this.#acknowledged[from] > SEGMENT_MAX_BYTES)
        yield this.#packet(other(from), ACK)
      yield this.#packet(from, PSH | ACK, data)
    }
  }

  /** Leaves out bytes, as if packets were missing from the recording. */
  skip(from: Side, bytes: number): void {
    this.#next[from] += bytes
  }

  *close(by: Side, how: "FIN" | "RST"): Generator<Uint8Array> {
    if (how === "RST") {
      yield this.#packet(by, RST | ACK)
      return
    }
    yield this.#packet(by, FIN | ACK)
    yield this.#packet(other(by), FIN | ACK)
    yield this.#packet(by, ACK)
  }

  #packet(from: Side, flags: number, data: readonly Uint8Array[] = []): Uint8Array {
    const to = other(from)
    const segment = { sequence: this.#next[from], acknowledged: this.#next[to], flags, data }
    if (flags & ACK) this.#acknowledged[to] = this.#next[to]
    const counted = flags & (SYN | FIN) ? 1 : 0
    this.#next[from] += data.reduce((sum, { length }) => sum + length, counted)
    return tcpPacket(this.#ends[from], this.#ends[to], segment)
  }
}

/** Cuts pieces into the data of segments. */
function* segmentsOf(pieces: readonly Uint8Array[]): Generator<Uint8Array[]> {
  let segment: Uint8Array[] = []
  let room = SEGMENT_MAX_BYTES
  for (const piece of pieces)
    for (let at = 0; at < piece.length; ) {
      const taken = piece.subarray(at, at + room)
      segment.push(taken)
      at += taken.length
      room -= taken.length
      if (room > 0) continue
      yield segment
      segment = []
      room = SEGMENT_MAX_BYTES
    }
  if (segment.length > 0) yield segment
}
