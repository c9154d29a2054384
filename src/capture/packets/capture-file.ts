import { concat } from "../../codec/arrays.js"
import type { CaptureError } from "../events.js"
import type { Packet } from "./file-format.js"
import { fileType, SIGNATURE_BYTES } from "./file-type.js"
import { PacketReader } from "./packet-reader.js"
import type { StreamSink } from "./stream-sink.js"

/** Takes what a file contains. Offsets count from the file's base. */
export interface FileContent {
  packet(packet: Packet): void
  error(error: CaptureError): void
  /** Opens the connection of which the file has the bytes of one side, instead of packets. */
  stream(): StreamSink
}

export class CaptureFile {
  readonly #number: number
  readonly #base: number
  readonly #content: FileContent
  /** The first bytes, until there are enough to know the type of the file. */
  #head: Uint8Array = new Uint8Array(0)
  #input: PacketReader | RawStream | undefined
  #ended = false

  /** @param base is added to all offsets. */
  constructor(number: number, base: number, content: FileContent) {
    this.#number = number
    this.#base = base
    this.#content = content
  }

  get isEmpty(): boolean {
    return !this.#input && this.#head.length === 0
  }

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

  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#input ??= this.#begin()
    this.#input.end()
  }

  #begin(): PacketReader | RawStream {
    const { packet, error, stream } = this.#content
    const type = fileType(this.#head, this.#number)
    const input =
      type === "stream"
        ? new RawStream(stream(), this.#base)
        : new PacketReader(type, packet, error, this.#base)
    input.push(this.#head)
    return input
  }
}

/** One direction of a connection, without packets. It is treated as the client's. */
class RawStream {
  readonly #sink: StreamSink
  #wanted = true
  #offset: number

  constructor(sink: StreamSink, base: number) {
    this.#sink = sink
    this.#offset = base
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
