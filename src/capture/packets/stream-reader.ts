import { CaptureFormatError } from "../errors.js"
import type { CaptureError, Time } from "../events.js"
import { CaptureFile } from "./capture-file.js"
import { TcpConnections } from "./connections.js"
import type { Packet } from "./file-format.js"
import { FILE_STRIDE } from "./file-place.js"
import { IpFragments } from "./fragments.js"
import type { IpPayload } from "./ip.js"
import { Layers } from "./layers.js"
import { MergedPackets } from "./merged-packets.js"
import { segmentIn } from "./segment.js"
import type { StreamSink, TcpConnection } from "./stream-sink.js"
import { linkTypeName } from "./unread.js"

/** Maximum number of kinds of packets, and of servers, that are counted separately. */
const COUNTED_MAX = 1000

/** Reads the bytes of a capture, in one file or several, and passes on those of its TCP connections. */
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
    unread: (what) => count(this.unread, what),
  })
  /** Numbers of packets that are not read, by what they are. */
  readonly unread: Map<string, number> = new Map()
  /** Numbers of connections that were refused, by their server. */
  readonly refused: Map<string, number> = new Map()
  readonly #files: readonly CaptureFile[]
  /** Undefined if there is only one file, whose packets need not wait for others. */
  readonly #merged: MergedPackets | undefined
  #ended = false
  #offset = 0
  #time: Time
  /** Number of packets that were read, or are being read. */
  packets = 0
  readonly #reported = new Set<string>()

  /**
   * @param open makes the sink of a connection when its first bytes arrive.
   * @param fileError handles errors of the file itself; `from` is undefined.
   * @param files the number of files.
   */
  constructor(
    open: (connection: TcpConnection) => StreamSink,
    fileError: (error: CaptureError) => void,
    files = 1,
  ) {
    this.#open = open
    const merged =
      files > 1 ? new MergedPackets(files, (packet) => this.#packet(packet)) : undefined
    this.#merged = merged
    this.#files = Array.from(
      { length: files },
      (_, file) =>
        new CaptureFile(file, file * FILE_STRIDE, {
          packet: (packet) => (merged ? merged.add(file, packet) : this.#packet(packet)),
          error: (error) => this.#fileError(error),
          stream: () => this.#stream(file),
        }),
    )
    this.#fileError = fileError
    this.#connections = new TcpConnections(open, {
      crowded: () =>
        this.#reportOnce(
          "too many connections at once: the longest idle are no longer followed",
          this.#offset,
          this.#time,
        ),
      unread: (what) => count(this.unread, what),
      refused: (server) => count(this.refused, server),
    })
  }

  /** The file whose next bytes are needed; undefined if all have ended. */
  get wanted(): number | undefined {
    return this.#merged ? this.#merged.wanted : this.#ended ? undefined : 0
  }

  /**
   * Reads the next bytes of a file, which are not kept. The sizes of the chunks do not matter,
   * except that a raw stream is passed on in the same chunks; they are not Buffers, whose views take
   * longer to create. Throws a CaptureFormatError if the file is not a capture.
   */
  push(chunk: Uint8Array, file = 0): void {
    this.#files[file]?.push(chunk)
    this.#merged?.passOn()
  }

  /** Ends a file. Throws a CaptureFormatError if it was too short to be a capture. */
  endFile(file: number): void {
    const ended = this.#files[file]
    // The newest file of a ring may not have been written to.
    if (!this.#merged || !ended?.isEmpty) ended?.end()
    this.#ended = true
    this.#merged?.end(file)
    this.#merged?.passOn()
  }

  /** Ends all files. Throws as `endFile` does, and if all are empty. */
  end(): void {
    for (const file of this.#files.keys()) this.endFile(file)
    if (this.#files.every(({ isEmpty }) => isEmpty)) this.#files[0]?.end()
    this.#fragments.end()
    this.#connections.end()
  }

  #stream(file: number): StreamSink {
    if (this.#merged)
      throw new CaptureFormatError(
        "has the bytes of one side of a connection, without times: such a file is read alone",
        file,
      )
    return this.#open({ client: "client", server: "server", begun: true, time: undefined })
  }

  #packet(packet: Packet): void {
    this.packets++
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
    else count(this.unread, "TCP, cut off or damaged")
  }

  #reportOnce(message: string, offset: number, time: Time): void {
    if (this.#reported.has(message)) return
    this.#reported.add(message)
    this.#fileError({ code: "ERR_CAPTURE_UNREADABLE", message, time, from: undefined, offset })
  }
}

function count(counts: Map<string, number>, what: string): void {
  const counted = counts.has(what) || counts.size < COUNTED_MAX - 1 ? what : "others"
  counts.set(counted, (counts.get(counted) ?? 0) + 1)
}
