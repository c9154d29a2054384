/** Encodes messages of a recording again, to see what would make them smaller. */

import { clockMs, setTimeout } from "../base/runtime.js"
import { Codec } from "../codec/codec.js"
import { framesLength } from "../codec/frames.js"
import type { CodecOptions } from "../codec/options.js"
import { trainDictionary } from "../codec/trainer.js"
import type { SampledGroup } from "./advice-samples.js"
import { MIN_COMPRESS_BYTES_WITH_DICTIONARY, shippedBytes, thinOut } from "./dictionary.js"

/** The effect of options on the measured messages. */
export interface Measured {
  level: 0 | 9
  arenas: boolean
  dictionary: Uint8Array | undefined
  /** Undefined for the default. */
  minCompressSize: 0 | undefined
  /** Wire bytes of the measured messages, frame heads included, without the dictionary. */
  bytes: number
  milliseconds: number
  /** Messages of a connection after which the dictionary has saved its own size; undefined if never. */
  breakEvenMessages: number | undefined
  /**
   * Bytes that the whole recording would be shorter by, if all of it were like the measured messages,
   * with the new dictionary on each connection in place of the recorded ones. May be negative.
   */
  savedBytes: number
}

export interface MeasuredGroup {
  group: SampledGroup
  messages: number
  plainBytes: number
  recordedBytes: number
  /** In the order of what they cost. */
  results: Measured[]
  /** The one that is worth it; undefined if none is. */
  best: Measured | undefined
}

/** Options that save less than this share of the recorded bytes are not advised. */
const WORTH = 0.05
/** Cheaper options are preferred if they save up to this share less. */
const SIMILAR = 0.02
const CAPACITIES = [2048, 8192]
/** Batches that are encoded with each of the options before the clock is read. */
const BATCHES_A_TURN = 32

/**
 * Trains dictionaries on the first half of a group's messages, and encodes the others with several
 * options until the time is over, or it is stopped.
 *
 * @param onProgress called with the share that is done.
 */
export async function measure(
  group: SampledGroup,
  limitMs: number,
  signal: AbortSignal,
  onProgress: (share: number) => void,
): Promise<MeasuredGroup> {
  const end = clockMs() + limitMs
  const { batches } = group
  const half = batches.length >> 1
  const trained = await dictionariesOf(batches.slice(0, half).flatMap(({ messages }) => messages))
  const hasSmall = batches.some(({ messages }) => messages.flat().some(isSmall))
  const results = optionsWith(trained, hasSmall).map((options) => ({ ...options, ...NOTHING }))
  const measured = { messages: 0, plainBytes: 0, recordedBytes: 0 }
  // A single batch is in this half.
  const tested = batches.slice(half)
  const goesOn = () => clockMs() < end && !signal.aborted
  // Not counted: whatever comes first takes longer, until the code is compiled.
  for (const result of results) {
    if (!goesOn()) break
    encode(tested.slice(0, BATCHES_A_TURN), result)
    await nextTurn()
  }
  for (let at = 0; at < tested.length && (at === 0 || goesOn()); at += BATCHES_A_TURN) {
    const some = tested.slice(at, at + BATCHES_A_TURN)
    for (const { messages, plainBytes, recordedBytes } of some) {
      measured.messages += messages.length
      measured.plainBytes += plainBytes
      measured.recordedBytes += recordedBytes
    }
    for (const result of results) {
      const encoded = encode(some, result)
      result.bytes += encoded.bytes
      result.milliseconds += encoded.milliseconds
    }
    onProgress(at / tested.length)
    await nextTurn()
  }
  const rated = results.map((result) => rate(group, measured, result, results))
  return { group, ...measured, results: rated, best: bestOf(rated, group) }
}

const NOTHING = { bytes: 0, milliseconds: 0, breakEvenMessages: undefined, savedBytes: 0 }

const nextTurn = () => new Promise<void>((resolve) => setTimeout(resolve, 0))

async function dictionariesOf(messages: readonly Uint8Array[][]): Promise<Uint8Array[]> {
  const dictionaries: Uint8Array[] = []
  for (const capacity of CAPACITIES) {
    const dictionary = await trainDictionary(thinOut(messages), { capacity })
    // With few messages, a larger capacity gives no larger dictionary.
    if (dictionary.length > (dictionaries.at(-1)?.length ?? 0)) dictionaries.push(dictionary)
  }
  return dictionaries
}

type Options = Pick<Measured, "level" | "arenas" | "dictionary" | "minCompressSize">

/** Whether a part is sent plain unless `minCompressSize` says otherwise, even with a dictionary. */
const isSmall = ({ length }: Uint8Array): boolean =>
  length > 0 && length < MIN_COMPRESS_BYTES_WITH_DICTIONARY

/**
 * Returns what is tried, in the order of what it costs.
 *
 * @param hasSmall whether there are parts that only `minCompressSize` lets compress.
 */
function optionsWith(dictionaries: readonly Uint8Array[], hasSmall: boolean): Options[] {
  const one = (options: Partial<Options>): Options => ({
    ...{ level: 0, arenas: false, dictionary: undefined, minCompressSize: undefined },
    ...options,
  })
  const [dictionary] = dictionaries
  return [
    one({}),
    one({ arenas: true }),
    ...dictionaries.map((dictionary) => one({ dictionary })),
    ...(hasSmall ? dictionaries.map((dictionary) => one({ dictionary, minCompressSize: 0 })) : []),
    ...(dictionary ? [one({ arenas: true, dictionary })] : []),
    one({ level: 9 }),
    ...(dictionary ? [one({ level: 9, dictionary })] : []),
    ...(dictionary && hasSmall ? [one({ level: 9, dictionary, minCompressSize: 0 })] : []),
  ]
}

function encode(
  batches: SampledGroup["batches"],
  { level, arenas, dictionary, minCompressSize }: Options,
): { bytes: number; milliseconds: number } {
  const given: CodecOptions = {
    ...{ level, arenas },
    ...(dictionary && { dictionary }),
    ...(minCompressSize !== undefined && { minCompressSize }),
  }
  using codec = Codec.createSync(given)
  const start = clockMs()
  const wire = batches.flatMap(({ messages }) => codec.encodeBatch(messages))
  const milliseconds = clockMs() - start
  const bytes = wire.reduce((sum, parts) => sum + framesLength(parts), 0)
  // The codec sends it before the first message.
  return { bytes: bytes - (dictionary ? shippedBytes(dictionary) : 0), milliseconds }
}

function rate(
  group: SampledGroup,
  { messages, recordedBytes }: { messages: number; recordedBytes: number },
  result: Measured,
  results: readonly Measured[],
): Measured {
  const { level, arenas, dictionary, bytes } = result
  const shipped = dictionary ? shippedBytes(dictionary) : 0
  const saved = (1 - bytes / recordedBytes) * group.recordedBytes + group.dictionaryBytes
  const without = results.find(
    (other) => other.level === level && other.arenas === arenas && !other.dictionary,
  )
  const perMessage = ((without?.bytes ?? 0) - bytes) / messages
  return {
    ...result,
    savedBytes: Math.round(saved - shipped * group.connections),
    breakEvenMessages: shipped > 0 && perMessage > 0 ? Math.ceil(shipped / perMessage) : undefined,
  }
}

function bestOf(results: readonly Measured[], group: SampledGroup): Measured | undefined {
  const recordedBytes = group.recordedBytes + group.dictionaryBytes
  const most = Math.max(...results.map(({ savedBytes }) => savedBytes))
  if (most < WORTH * recordedBytes) return undefined
  return results.find(({ savedBytes }) => savedBytes >= most - SIMILAR * recordedBytes)
}
