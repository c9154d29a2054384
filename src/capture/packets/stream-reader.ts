import { concat } from "../../codec/arrays.js"
import type { CaptureError, Time } from "../events.js"
import { TcpConnections } from "./connections.js"
import type { Packet } from "./file-format.js"
import { fileType, SIGNATURE_BYTES } from "./file-type.js"
import { IpFragments } from "./fragments.js"
import type { IpPayload } from "./ip.js"
import { Layers } from "./layers.js"
import { PacketReader } from "./packet-reader.js"
import { segmentIn } from "./segment.js"
import type { StreamSink, TcpConnection } from "./stream-sink.js"
import { linkTypeName } from "./unread.js"

/** Kinds of packets that are not read, and counted apart. */
const UNREAD_MAX_KINDS = 1000

/** Reads the bytes of a capture file, and passes on those of its TCP connections. */
export class StreamReader {
  readonly #open: (connection: TcpConnection) => StreamSink
  readonly #fileError: (error: CaptureError) => void
  readonly #connections: TcpConnections
  readonly #fragments = new IpFragments(() =>
    this.#reportOnce(
      "fragments of IP packets are missing, so their packets are lost: a capture filter for a port, for example, keeps only the first fragment of each packet",
      this.#offset,
      this.#time,
    ),
  )
  readonly #layers = new Layers({
    ip: (bytes, ip) => this.#ip(bytes, ip),
    unread: (what) => this.#count(what),
  })
  /** Numbers of packets that are not read, by what they are. */
  readonly unread: Map<string, number> = new Map()
  /** The first bytes, until there are enough to know the type of the file. */
  #head: Uint8Array = new Uint8Array(0)
  #input: PacketReader | RawStream | undefined
  /** The offset of the current packet. */
  #offset = 0
  #time: Time
  /** Messages that were already reported. */
  readonly #reported = new Set<string>()

  /**
   * @param open makes the sink of a connection when its first bytes arrive.
   * @param fileError handles errors of the file itself; `from` is undefined.
   */
  constructor(
    open: (connection: TcpConnection) => StreamSink,
    fileError: (error: CaptureError) => void,
  ) {
    this.#open = open
    this.#fileError = fileError
    this.#connections = new TcpConnections(open, () =>
      this.#reportOnce(
        "too many connections at once: the longest idle are no longer followed",
        this.#offset,
        this.#time,
      ),
    )
  }

  /**
   * Reads the next bytes of the file, which are not kept. The sizes of the chunks do not matter,
   * except that a raw stream is passed on in the same chunks; they are not Buffers, whose views take
   * longer to create. Throws a CaptureFormatError if the
   * file is not a capture.
   */
  push(chunk: Uint8Array): void {
    let bytes = chunk
    if (!this.#input) {
      const more = bytes.subarray(0, SIGNATURE_BYTES - this.#head.length)
      this.#head = concat([this.#head, more])
      if (this.#head.length < SIGNATURE_BYTES) return
      this.#input = this.#begin()
      bytes = bytes.subarray(more.length)
    }
    this.#input.push(bytes)
  }

  /** Ends the file. Throws a CaptureFormatError if it was too short to be a capture. */
  end(): void {
    this.#input ??= this.#begin()
    this.#input.end()
    this.#fragments.end()
    this.#connections.end()
  }

  #begin(): PacketReader | RawStream {
    const type = fileType(this.#head)
    const input =
      type === "stream"
        ? new RawStream(this.#open)
        : new PacketReader(type, (packet) => this.#packet(packet), this.#fileError)
    input.push(this.#head)
    return input
  }

  #packet(packet: Packet): void {
    this.#offset = packet.offset
    this.#time = packet.time
    if (this.#layers.read(packet)) return
    const message = `packets of link type ${linkTypeName(packet.linkType)} are not read: Ethernet, Linux cooked capture, BSD loopback and raw IP are`
    this.#reportOnce(message, packet.offset, packet.time)
  }

  #ip(bytes: Uint8Array, ip: IpPayload): void {
    if (ip.fragment) {
      for (const segment of this.#fragments.push(bytes, ip, ip.fragment, this.#offset, this.#time))
        this.#connections.push(segment)
      return
    }
    const segment = segmentIn(bytes, ip, this.#offset, this.#time)
    if (segment) this.#connections.push(segment)
    else this.#count("TCP, cut off or damaged")
  }

  #count(what: string): void {
    const { unread } = this
    const kind = unread.has(what) || unread.size < UNREAD_MAX_KINDS - 1 ? what : "other kinds"
    unread.set(kind, (unread.get(kind) ?? 0) + 1)
  }

  #reportOnce(message: string, offset: number, time: Time): void {
    if (this.#reported.has(message)) return
    this.#reported.add(message)
    this.#fileError({ code: "ERR_CAPTURE_UNREADABLE", message, time, from: undefined, offset })
  }
}

/** One direction of a connection, without packets. It is treated as the client's. */
class RawStream {
  readonly #sink: StreamSink
  #wanted = true
  #offset = 0

  constructor(open: (connection: TcpConnection) => StreamSink) {
    this.#sink = open({ client: "client", server: "server", begun: true, time: undefined })
  }

  push(chunk: Uint8Array): void {
    if (this.#wanted && chunk.length > 0)
      this.#wanted = this.#sink.data("client", chunk, this.#offset, undefined)
    this.#offset += chunk.length
  }

  end(): void {
    if (!this.#wanted) return
    this.#sink.end("client", undefined, true)
    this.#sink.end("server", undefined, true)
  }
}
