import type { CaptureError } from "../events.js"
import { type FileFormat, type Packet, UnreadableRecord } from "./file-format.js"
import { formatBegunAt } from "./file-type.js"

/** Splits a file of packets, given in chunks of any size, into its packets. */
export class PacketReader {
  #format: FileFormat
  readonly #packet: (packet: Packet) => void
  readonly #fileError: (error: CaptureError) => void
  /** An incomplete record, in the first #keptBytes of this array. */
  #kept: Uint8Array = new Uint8Array(1024)
  #keptBytes = 0
  #offset: number
  #broken = false

  constructor(
    format: FileFormat,
    packet: (packet: Packet) => void,
    fileError: (error: CaptureError) => void,
    offset: number,
  ) {
    this.#offset = offset
    this.#format = format
    this.#packet = packet
    this.#fileError = fileError
  }

  push(chunk: Uint8Array): void {
    if (this.#broken) return
    this.#try(() => this.#readWhole(chunk, this.#complete(chunk)))
  }

  end(): void {
    if (this.#broken) return
    this.#try(() => this.#readKept())
    if (this.#keptBytes === 0 || this.#broken) return
    const message = `the file ends ${this.#keptBytes} bytes after the beginning of a ${this.#format.record}, before it is complete`
    this.#report("ERR_CAPTURE_TRUNCATED", message)
  }

  #try(read: () => void): void {
    try {
      read()
    } catch (error) {
      if (!(error instanceof UnreadableRecord)) throw error
      this.#broken = true
      this.#report("ERR_CAPTURE_UNREADABLE", `${error.message}; nothing after it is read`)
    }
  }

  /** Reads the complete records that were kept because more might have come. */
  #readKept(): void {
    while (this.#keptBytes > 0) {
      const size = this.#size(this.#keptView, 0, this.#keptBytes, true)
      if (size > this.#keptBytes) break
      this.#take(size)
    }
  }

  get #keptView(): DataView {
    return new DataView(this.#kept.buffer, 0, this.#keptBytes)
  }

  /** Reads the first of the kept bytes, which are a record. */
  #take(size: number): void {
    this.#read(this.#keptView, 0, size)
    this.#kept.copyWithin(0, size, this.#keptBytes)
    this.#keptBytes -= size
  }

  /**
   * Completes the kept record, if there is one. Returns the number of bytes of the chunk that it used.
   */
  #complete(chunk: Uint8Array): number {
    let at = 0
    while (this.#keptBytes > 0) {
      const size = this.#size(this.#keptView, 0, this.#keptBytes)
      if (size <= this.#keptBytes) this.#take(size)
      else {
        if (at === chunk.length) break
        const missing = chunk.subarray(at, at + size - this.#keptBytes)
        this.#keep(missing)
        at += missing.length
      }
    }
    return at
  }

  /** Reads the complete records of a chunk, from `at` on, and keeps the rest. */
  #readWhole(chunk: Uint8Array, at: number): void {
    const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    for (;;) {
      const size = this.#size(view, at, chunk.length - at)
      if (at + size > chunk.length) break
      this.#read(view, at, size)
      at += size
    }
    this.#keep(chunk.subarray(at))
  }

  /** Returns the size of a record. Another file may begin there, if files were joined. */
  #size(view: DataView, at: number, available: number, isLast = false): number {
    this.#format = formatBegunAt(view, at, available) ?? this.#format
    return this.#format.size(view, at, available, isLast)
  }

  #read(view: DataView, at: number, size: number): void {
    const packet = this.#format.read(view, at, size, this.#offset)
    this.#offset += size
    if (packet) this.#packet(packet)
  }

  #keep(bytes: Uint8Array): void {
    const length = this.#keptBytes + bytes.length
    if (length > this.#kept.length) {
      // Bounded by the bytes read, whatever the record claims to need.
      const larger = new Uint8Array(2 * length)
      larger.set(this.#kept)
      this.#kept = larger
    }
    this.#kept.set(bytes, this.#keptBytes)
    this.#keptBytes = length
  }

  #report(code: CaptureError["code"], message: string): void {
    this.#fileError({ code, message, time: undefined, from: undefined, offset: this.#offset })
  }
}
