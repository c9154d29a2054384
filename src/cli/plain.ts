import { type PacketFile, pcap, pcapng } from "../capture/plain/packet-file.js"
import { type PlainCounts, PlainPackets } from "../capture/plain/plain-packets.js"
import { counted } from "../capture/reports/report.js"
import { DECODING, DICTIONARY, decodingOf, FILE_HELP, filesOf } from "./capture-options.js"
import { CaptureReading } from "./capture-reading.js"
import { type Command, command } from "./command.js"
import { InputError, UsageError } from "./errors.js"
import { Output, OutputClosed, printErrorLine } from "./output.js"
import { OutputFile } from "./output-file.js"

export const plain: Command = command({
  synopsis: "plain -o OUT [options] FILE…",
  summary: "write a capture with plain ZMTP, for tools that do not know lz4+tcp://",
  about: `Writes the same recording with plain ZMTP over TCP in place of lz4+tcp://, for tools that do not know it:
zeromq-lz4 plain -o - traffic.pcap | wireshark -k -i -
${FILE_HELP}`,
  options: {
    "-o, --output OUT":
      'where to write: a .pcap or .pcapng, or "-" for standard output, as .pcapng',
    ...DICTIONARY,
    ...DECODING,
  },
  async run({ output, ...values }, positionals) {
    if (output === undefined) throw new UsageError("no -o OUT given, to write to")
    const files = filesOf(positionals)
    checkName(output)
    try {
      await savePlain(output, files, new CaptureReading(files, decodingOf(values), true))
    } catch (error) {
      if (!(error instanceof OutputClosed)) throw error
    }
  },
})

/** Bytes that are buffered before they are written. */
const BUFFER_BYTES = 1 << 18

/** @throws UsageError if the name of an output does not say which format it has. */
function checkName(name: string): void {
  if (name !== "-" && !/\.pcap(ng)?$/i.test(name))
    throw new UsageError(`-o takes a file .pcap or .pcapng, or "-"; got ${name}`)
  if (name === "-" && process.stdout.isTTY)
    throw new UsageError("-o - prints binary data: redirect it, or name a file")
}

/** Writes what is read, and what was left out on standard error. */
async function savePlain(
  name: string,
  files: readonly string[],
  reading: CaptureReading,
): Promise<void> {
  const target = targetOf(name, files)
  const packets = new PlainPackets()
  const buffer = new FileBuffer(target)
  try {
    for await (const events of reading.events())
      for (const event of events) {
        // The bytes of one side have neither addresses nor times.
        if (event.type === "connection" && event.packet === undefined)
          throw new InputError("plain needs packets: .pcap or .pcapng")
        for (const packet of packets.add(event)) await buffer.add(packet.bytes, packet.time)
      }
    await buffer.flush()
  } finally {
    target.close()
  }
  printErrorLine(`zeromq-lz4: ${name === "-" ? "" : `${name}: `}${describe(packets.counts)}`)
  reading.checkUndamaged()
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
  const file = new OutputFile("-o", name, files)
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
    counted(connections, "connection"),
    counted(messages, "message"),
    counted(commands, "command"),
  ]
  const { dictionaries, undecodable, encrypted, old } = leftOut
  const missing = [
    dictionaries > 0 && `${dictionaries} ${dictionaries === 1 ? "dictionary" : "dictionaries"}`,
    undecodable > 0 && `${counted(undecodable, "message")} that cannot be decoded`,
    encrypted > 0 && counted(encrypted, "encrypted connection"),
    old > 0 && `${counted(old, "connection")} of ZMTP 1 or 2`,
  ].filter((what) => what !== false)
  return [
    `wrote ${written.join(", ")} in ${counted(packets, "packet")}`,
    ...(missing.length > 0 ? [`left out: ${missing.join(", ")}`] : []),
    ...(errors > 0 ? [`${counted(errors, "error")} in the recording: see inspect`] : []),
  ].join("; ")
}
