import type { CaptureFilter } from "../capture/filter/capture-filter.js"
import { counted } from "../capture/reports/report.js"
import { Codec } from "../codec/codec.js"
import type { FormatName } from "../codec/format.js"
import { loadFormat } from "../codec/formats.js"
import { frameHeadLength } from "../codec/frames.js"
import type { Traffic } from "../codec/traffic.js"
import { trainDictionary } from "../codec/trainer.js"
import { DICTIONARY_MAX_BYTES } from "../codec/wire.js"
import { FILTER, filterOf } from "./capture-options.js"
import { type Command, command } from "./command.js"
import { thinOut } from "./dictionary.js"
import { InputError, UsageError } from "./errors.js"
import { printBytes, printErrorLine, printResult } from "./output.js"
import { OutputFile } from "./output-file.js"
import { type SampleOptions, Samples } from "./samples.js"

export const train: Command = command({
  synopsis: "train -o FILE [options] SAMPLES…",
  summary: "make a dictionary from sample messages",
  about: `Makes a dictionary from sample messages. SAMPLES are files: a .pcap or .pcapng, of which each part
of each message is a sample, or any other file, which is one sample, or one per line with --lines.
They may be compressed with gzip; "-" reads standard input. One message in five is held out, to
measure what the dictionary saves.`,
  options: {
    "-o, --output FILE":
      'where to write the dictionary; "-" is standard output, and the report then goes to standard error',
    "--lines": "each line is a sample",
    ...FILTER,
    "--format NAME": "lz4 (default), or zstd for endpoints of zstd+tcp://",
    "--capacity BYTES": "the maximum size of the dictionary, 1 to 8192; default 2048",
  },
  async run({ output, capacity: size = "2048", format = "lz4", lines = false, filter }, files) {
    if (output === undefined) throw new UsageError("no -o FILE given, to write the dictionary to")
    if (files.length === 0) throw new UsageError("no SAMPLES given")
    if (files.filter((file) => file === "-").length > 1)
      throw new UsageError('"-" can be given only once')
    const capacity = /^\d{1,4}$/.test(size) ? Number(size) : 0
    if (capacity < 1 || capacity > DICTIONARY_MAX_BYTES)
      throw new UsageError(
        `--capacity must be 1 to ${DICTIONARY_MAX_BYTES} bytes; got ${JSON.stringify(size)}`,
      )
    if (format !== "lz4" && format !== "zstd")
      throw new UsageError(`--format must be lz4 or zstd; got ${JSON.stringify(format)}`)
    const newFilter = () => filterOf(filter) as CaptureFilter
    // Mistakes are reported before anything is read.
    if (filter) newFilter()
    const options = { lines, filter: filter && newFilter }
    await makeDictionary(output, { capacity, format }, files, options)
  },
})

/** One message in this many is held out for the test. */
const HELD_OUT = 5

async function makeDictionary(
  output: string,
  { capacity, format }: { capacity: number; format: FormatName },
  files: readonly string[],
  options: SampleOptions,
): Promise<void> {
  const toOutput = output === "-"
  if (toOutput && process.stdout.isTTY)
    throw new UsageError("-o - does not write a dictionary, which is binary, to a terminal")
  const file = toOutput ? undefined : new OutputFile("-o", output, files)
  const { messages, captured } = await Samples.read(files, options)
  if (messages.length === 0)
    throw new InputError(`no samples: ${noSamplesReason(options, captured)}`)
  const few = messages.length < HELD_OUT
  const tested = few ? messages : messages.filter((_, i) => i % HELD_OUT === 0)
  const heldOut = tested.flat()
  const used = few ? messages : messages.filter((_, i) => i % HELD_OUT !== 0)
  const usedSamples = counted(used.flat().length, "sample")

  const dictionary = await trainDictionary(thinOut(used), { capacity, format })
  if (dictionary.length === 0)
    throw new InputError(
      `nothing to gain: the samples (${messages.flat().length}) have too little in common`,
    )
  if (file) file.write(dictionary)
  else await printBytes(dictionary)

  const { dictionaryPart, minCompressBytes } = await loadFormat(format)
  const [, minBytes] = minCompressBytes
  const before = encode(heldOut, format)
  const after = encode(heldOut, format, dictionary)
  const short = heldOut.filter(({ length }) => length < minBytes).length
  const what = few ? ", which it was made of" : " held out"
  const lines = [
    `${nameOfOutput(output)}: a dictionary of ${dictionary.length} bytes, made of ${usedSamples}`,
    `on ${counted(heldOut.length, "sample")}${what}, ${before.plainBytes} bytes:`,
    `  without it  ${before.wireBytes} bytes on the wire, ${percent(before)}`,
    `  with it     ${after.wireBytes} bytes on the wire, ${percent(after)}`,
    breakEven(dictionaryPart(dictionary), (before.wireBytes - after.wireBytes) / tested.length),
  ]
  if (short > 0)
    lines.push(
      `${short} of them have less than ${minBytes} bytes: to compress those, send with minCompressSize 0`,
    )
  if (toOutput) for (const line of lines) printErrorLine(line)
  else await printResult(...lines)
}

const nameOfOutput = (output: string): string => (output === "-" ? "standard output" : output)

/** Says after how many messages of a connection the part with the dictionary has saved its own bytes. */
function breakEven({ length }: Uint8Array, savedPerMessage: number): string {
  const bytes = frameHeadLength(length) + length
  const sent = `each connection first sends the dictionary, ${bytes} bytes`
  if (savedPerMessage <= 0) return `${sent}, and these messages do not make up for it`
  return `${sent}: it pays after ${counted(Math.ceil(bytes / savedPerMessage), "message")} like these`
}

function noSamplesReason({ lines, filter }: SampleOptions, captured: boolean): string {
  if (captured) return filter ? "no message matches" : "there is no message that decodes"
  return lines ? "there is no line" : "all files are empty"
}

type Sizes = Pick<Traffic, "plainBytes" | "wireBytes">

const percent = ({ plainBytes, wireBytes }: Sizes) =>
  `${((100 * wireBytes) / plainBytes).toFixed(1)} %`

/** Returns the wire bytes of samples, all of which are tried. The dictionary itself does not count. */
function encode(
  samples: readonly Uint8Array[],
  format: FormatName,
  dictionary?: Uint8Array,
): Sizes {
  using codec = Codec.createSync({ format, minCompressSize: 0, ...(dictionary && { dictionary }) })
  for (const sample of samples) codec.encodePart(sample)
  return codec.stats.sent
}
