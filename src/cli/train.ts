import { writeFileSync } from "node:fs"
import { Codec } from "../codec/codec.js"
import { MIN_COMPRESS_BYTES_WITH_DICTIONARY } from "../codec/options.js"
import { trainDictionary } from "../codec/trainer.js"
import { DICTIONARY_MAX_BYTES } from "../codec/wire.js"
import { parse } from "./args.js"
import { fileError, InputError, UsageError } from "./errors.js"
import { readStart } from "./input.js"
import { printErrorLine, printLine } from "./output.js"

export const usage = `usage: zeromq-lz4 train -o FILE [options] SAMPLES…

Makes a dictionary from sample messages: one per file, or one per line with --lines. "-" reads
standard input. One sample in five is held out, to measure what the dictionary saves.

  -o, --output FILE     where to write the dictionary
      --lines           each line is a sample
      --capacity BYTES  the maximum size of the dictionary, 1 to 8192; default 2048
  -h, --help            this text`

/** More is not read of all files together. */
const READ_MAX_BYTES = 64 << 20
/** About what training uses; samples are thinned out evenly to it. */
const TRAINED_BYTES = 1 << 20
/** The first of this many samples is held out. */
const HELD_OUT = 5
const LINE_FEED = 10

export async function train(args: string[]): Promise<void> {
  const { output, capacity, lines, files } = readArgs(args)
  const samples = await readSamples(files, lines)
  if (samples.length === 0)
    throw new InputError(`no samples: ${lines ? "there is no line" : "all files are empty"}`)
  const few = samples.length < HELD_OUT
  const heldOut = few ? samples : samples.filter((_, i) => i % HELD_OUT === 0)
  const used = few ? samples : samples.filter((_, i) => i % HELD_OUT !== 0)

  const dictionary = await trainDictionary(thinOut(used), { capacity })
  if (dictionary.length === 0)
    throw new InputError(
      `nothing to gain: the samples (${samples.length}) have too little in common`,
    )
  try {
    writeFileSync(output, dictionary)
  } catch (error) {
    throw fileError(output, error)
  }

  const before = encode(heldOut)
  const after = encode(heldOut, dictionary)
  const short = heldOut.filter(({ length }) => length < MIN_COMPRESS_BYTES_WITH_DICTIONARY).length
  const what = few ? "samples, which it was made of" : "samples that were held out"
  printLine(`${output}: a dictionary of ${dictionary.length} bytes, made of ${used.length} samples`)
  printLine(`on ${heldOut.length} ${what}, ${before.plainBytes} bytes:`)
  printLine(`  without it  ${before.wireBytes} bytes on the wire, ${percent(before)}`)
  printLine(`  with it     ${after.wireBytes} bytes on the wire, ${percent(after)}`)
  if (short > 0)
    printLine(
      `${short} of them have less than ${MIN_COMPRESS_BYTES_WITH_DICTIONARY} bytes: for this, send with minCompressSize 0`,
    )
}

interface Sizes {
  plainBytes: number
  wireBytes: number
}

const percent = ({ plainBytes, wireBytes }: Sizes) =>
  `${((100 * wireBytes) / plainBytes).toFixed(1)} %`

function readArgs(args: string[]) {
  const parsed = parse({
    args,
    allowPositionals: true,
    options: {
      output: { type: "string", short: "o" },
      lines: { type: "boolean" },
      capacity: { type: "string" },
    },
  })
  const { output, capacity = "2048", lines = false } = parsed.values
  const files = parsed.positionals
  if (output === undefined) throw new UsageError("-o FILE says where the dictionary goes")
  if (files.length === 0) throw new UsageError("no SAMPLES given")
  if (files.filter((file) => file === "-").length > 1)
    throw new UsageError('"-" can be given only once')
  const bytes = /^\d{1,4}$/.test(capacity) ? Number(capacity) : 0
  if (bytes < 1 || bytes > DICTIONARY_MAX_BYTES)
    throw new UsageError(
      `--capacity must be 1 to ${DICTIONARY_MAX_BYTES} bytes; got ${JSON.stringify(capacity)}`,
    )
  return { output, capacity: bytes, lines, files }
}

/** The samples of all files, empty ones left out. */
async function readSamples(files: readonly string[], lines: boolean): Promise<Uint8Array[]> {
  const samples: Uint8Array[] = []
  let left = READ_MAX_BYTES
  for (const file of files) {
    const whole = await readStart(file, left)
    left -= whole.length
    for (const sample of lines ? splitLines(whole) : [whole])
      if (sample.length > 0) samples.push(sample)
    if (left > 0) continue
    printErrorLine(`zeromq-lz4: only the first ${READ_MAX_BYTES >> 20} MiB of samples are used`)
    break
  }
  return samples
}

function splitLines(bytes: Buffer): Uint8Array[] {
  const lines: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(LINE_FEED, at)
    const end = found < 0 ? bytes.length : found
    lines.push(bytes.subarray(at, end))
    at = end + 1
  }
  return lines
}

/** As many samples as training uses, evenly chosen. */
function thinOut(samples: readonly Uint8Array[]): Uint8Array[] {
  const bytes = samples.reduce((sum, { length }) => sum + length, 0)
  const step = Math.max(1, bytes / TRAINED_BYTES)
  const count = Math.ceil(samples.length / step)
  return Array.from({ length: count }, (_, i) => samples[Math.floor(i * step)] as Uint8Array)
}

/** What samples take on the wire, however short; the dictionary itself is not counted. */
function encode(samples: readonly Uint8Array[], dictionary?: Uint8Array): Sizes {
  using codec = Codec.createSync({ minCompressSize: 0, ...(dictionary && { dictionary }) })
  for (const sample of samples) codec.encodePart(sample)
  return codec.stats.sent
}
