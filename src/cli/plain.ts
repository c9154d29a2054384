import { type PacketFile, pcap, pcapng } from "../capture/plain/packet-file.js"
import { type PlainCounts, PlainPackets } from "../capture/plain/plain-packets.js"
import { counted } from "../capture/reports/report.js"
import {
  DECODING,
  DICTIONARY,
  decodingOf,
  FILE_HELP,
  filesOf,
  KEYS,
  secretFilesOf,
} from "./capture-options.js"
import { CaptureReading } from "./capture-reading.js"
import { type Command, command } from "./command.js"
import { InputError, UsageError } from "./errors.js"
import { Output, printErrorLine, untilClosed } from "./output.js"
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
    ...KEYS,
    ...DECODING,
  },
  async run({ output, ...values }, positionals) {
    if (output === undefined) throw new UsageError("no -o OUT given, to write to")
    const files = filesOf(positionals)
    checkName(output)
    const reading = new CaptureReading(files, decodingOf(values), true)
    await untilClosed(savePlain(output, [...files, ...secretFilesOf(values)], reading))
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
  inputs: readonly string[],
  reading: CaptureReading,
): Promise<void> {
  const target = targetOf(name, inputs)
  const packets = new PlainPackets()
  let pieces = [target.format.head()]
  let bytes = 0
  async function flush(): Promise<void> {
    const written = Buffer.concat(pieces)
    pieces = []
    bytes = 0
    await target.write(written)
  }
  try {
    for await (const events of reading.events())
      for (const event of events) {
        // The bytes of one side have neither addresses nor times.
        if (event.type === "connection" && event.packet === undefined)
          throw new InputError("plain needs packets: .pcap or .pcapng")
        for (const packet of packets.add(event)) {
          const piece = target.format.packet(packet.bytes, packet.time)
          pieces.push(piece)
          bytes += piece.length
          if (bytes > BUFFER_BYTES) await flush()
        }
      }
    await flush()
  } finally {
    target.close()
  }
  printErrorLine(`zeromq-lz4: ${name === "-" ? "" : `${name}: `}${describe(packets.counts)}`)
  reading.checkUndamaged()
}

/** Where packets go. */
interface Target {
  format: PacketFile
  write(bytes: Uint8Array): Promise<void> | void
  close(): void
}

function targetOf(name: string, inputs: readonly string[]): Target {
  if (name === "-") {
    const output = new Output()
    return { format: pcapng, write: (bytes) => output.write(bytes), close: () => {} }
  }
  const file = new OutputFile("-o", name, inputs)
  return {
    format: name.toLowerCase().endsWith("ng") ? pcapng : pcap,
    write: (bytes) => file.append(bytes),
    close: () => file.close(),
  }
}

function describe({ leftOut, errors, ...counts }: PlainCounts): string {
  const { dictionaries, undecodable, encrypted, old } = leftOut
  const written = [
    counted(counts.connections, "connection"),
    counted(counts.messages, "message"),
    counted(counts.commands, "command"),
  ]
  const missing = [
    dictionaries > 0 && `${dictionaries} ${dictionaries === 1 ? "dictionary" : "dictionaries"}`,
    undecodable > 0 && `${counted(undecodable, "message")} that cannot be decoded`,
    encrypted > 0 && counted(encrypted, "encrypted connection"),
    old > 0 && `${counted(old, "connection")} of ZMTP 1 or 2`,
  ].filter(Boolean)
  return [
    `wrote ${written.join(", ")} in ${counted(counts.packets, "packet")}`,
    missing.length > 0 && `left out: ${missing.join(", ")}`,
    errors > 0 && `${counted(errors, "error")} in the recording: see inspect`,
  ]
    .filter(Boolean)
    .join("; ")
}
