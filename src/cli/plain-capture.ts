/** `inspect --plain`: writes a recording with plain ZMTP, for programs that do not know `lz4+tcp://`. */
import { setMaxListeners } from "node:events"
import { CaptureFormatError, type CaptureOptions, placeOf, readCapture } from "../capture/index.js"
import { type PacketFile, pcap, pcapng } from "../capture/plain/packet-file.js"
import { type PlainCounts, PlainPackets } from "../capture/plain/plain-packets.js"
import { captureError, DamagedInput, InputError, UsageError } from "./errors.js"
import { nameOf, readChunks } from "./input.js"
import { count, Output, printErrorLine } from "./output.js"
import { OutputFile } from "./output-file.js"
import { Progress } from "./progress.js"

/** Bytes that are buffered before they are written. */
const BUFFER_BYTES = 1 << 18

/** @throws UsageError if the name of an output does not say which format it has. */
export function checkPlainName(name: string): void {
  if (name !== "-" && !/\.pcap(ng)?$/i.test(name))
    throw new UsageError(`--plain writes to a file .pcap or .pcapng, or to "-"; got ${name}`)
  if (name === "-" && process.stdout.isTTY)
    throw new UsageError("--plain - prints binary data: redirect it, or name a file")
}

/**
 * Writes the recording in `files` with plain ZMTP, and what was left out on standard error.
 *
 * @param name the file to write; "-" is standard output.
 * @throws InputError if a file cannot be read or written, or is not a capture.
 * @throws UsageError if the output is one of the inputs.
 */
export async function savePlain(
  name: string,
  files: readonly string[],
  options: CaptureOptions,
): Promise<void> {
  const target = targetOf(name, files)
  const stop = new AbortController()
  // Each file listens.
  setMaxListeners(0, stop.signal)
  process.once("SIGINT", () => stop.abort())
  const progress = new Progress(files, true)
  const onRead = (bytes: number) => progress.add(bytes)
  let damage: InputError | undefined

  /** Reads a file to its end, or to where it is damaged. */
  async function* chunksOf(file: string): AsyncGenerator<Buffer> {
    try {
      yield* readChunks(file, { signal: stop.signal, onRead })
    } catch (error) {
      if (!(error instanceof DamagedInput)) throw error
      damage ??= error
    }
  }

  const packets = new PlainPackets()
  const buffer = new FileBuffer(target)
  try {
    for await (const event of readCapture(files.map(chunksOf), options)) {
      // The bytes of one side have neither addresses nor times.
      if (event.type === "connection" && event.packet === undefined)
        throw new InputError("--plain needs packets: .pcap or .pcapng")
      if (event.type === "error" && !event.connection) {
        const file = nameOf(files[placeOf(event.error.offset).file] as string)
        damage ??= new InputError(`${file}: ${event.error.message}`)
      }
      for (const packet of packets.add(event)) await buffer.add(packet.bytes, packet.time)
    }
    await buffer.flush()
  } catch (error) {
    if (!(error instanceof CaptureFormatError)) throw error
    throw damage ?? captureError(nameOf(files[error.file] as string), error)
  } finally {
    progress.clear()
    target.close()
  }
  printErrorLine(`zeromq-lz4: ${name === "-" ? "" : `${name}: `}${describe(packets.counts)}`)
  if (damage) throw damage
}

/** Where the packets go, and how. */
interface Target {
  format: PacketFile
  write(bytes: Uint8Array): Promise<void> | void
  close(): void
}

function targetOf(name: string, files: readonly string[]): Target {
  if (name === "-") {
    const output = new Output(process.stdout, () => {})
    return { format: pcapng, write: (bytes) => output.write(bytes), close: () => {} }
  }
  const file = new OutputFile("--plain", name, files)
  return {
    format: name.toLowerCase().endsWith("ng") ? pcapng : pcap,
    write: (bytes) => file.append(bytes),
    close: () => file.close(),
  }
}

/** The beginning of the file and its packets, which are written together. */
class FileBuffer {
  readonly #target: Target
  #pieces: Uint8Array[]
  #bytes = 0

  constructor(target: Target) {
    this.#target = target
    this.#pieces = [target.format.head()]
  }

  /** Adds a packet. If it returns a promise, await it before the next call. */
  add(bytes: Uint8Array, time: bigint | undefined): Promise<void> | undefined {
    const piece = this.#target.format.packet(bytes, time)
    this.#pieces.push(piece)
    this.#bytes += piece.length
    return this.#bytes > BUFFER_BYTES ? this.flush() : undefined
  }

  async flush(): Promise<void> {
    const pieces = this.#pieces
    this.#pieces = []
    this.#bytes = 0
    await this.#target.write(Buffer.concat(pieces))
  }
}

function describe(counts: PlainCounts): string {
  const { connections, messages, commands, packets, leftOut, errors } = counts
  const written = [
    count(connections, "connection"),
    count(messages, "message"),
    count(commands, "command"),
  ]
  const { dictionaries, undecodable, encrypted, old } = leftOut
  const missing = [
    dictionaries > 0 && `${dictionaries} ${dictionaries === 1 ? "dictionary" : "dictionaries"}`,
    undecodable > 0 && `${count(undecodable, "message")} that cannot be decoded`,
    encrypted > 0 && count(encrypted, "encrypted connection"),
    old > 0 && `${count(old, "connection")} of ZMTP 1 or 2`,
  ].filter((what) => what !== false)
  return [
    `wrote ${written.join(", ")} in ${count(packets, "packet")}`,
    ...(missing.length > 0 ? [`left out: ${missing.join(", ")}`] : []),
    ...(errors > 0 ? [`${count(errors, "error")} in the recording: see inspect`] : []),
  ].join("; ")
}
