/** Encodes messages of a recording again, to see what would make them smaller. */
import { Codec } from "../codec/codec.js"
import { framesLength } from "../codec/frames.js"
import type { CodecOptions } from "../codec/options.js"
import { clockMs, setTimeout } from "../codec/runtime.js"
import { trainDictionary } from "../codec/trainer.js"
import type { SampledGroup } from "./advice-samples.js"
import { shippedBytes, thinOut } from "./training-data.js"

/** The effect of options on the measured messages. */
export interface Measured {
  level: 0 | 9
  arenas: boolean
  /** The dictionary that was trained; undefined without one. */
  dictionary: Uint8Array | undefined
  /** Bytes on the wire of the measured messages, with the heads of frames, without the dictionary. */
  bytes: number
  /** Time of encoding, in milliseconds. */
  milliseconds: number
  /** Messages of a connection after which the dictionary has made up for itself; undefined if it does not, or if there is none. */
  breakEvenMessages: number | undefined
  /**
   * What would be saved of all that was recorded, in bytes, if the rest is like what was measured,
   * less the dictionary on each connection, and with dictionaries that were recorded; negative if it would be more.
   */
  savedBytes: number
}

export interface MeasuredGroup {
  group: SampledGroup
  /** The messages that were measured. */
  messages: number
  plainBytes: number
  recordedBytes: number
  /** In the order of what they cost. */
  results: Measured[]
  /** The one that is worth it; undefined if none is. */
  best: Measured | undefined
}

/** Share of what was recorded that has to be saved, to be worth an option. */
const WORTH = 0.05
/** Share of what was recorded for which nobody needs an option that costs more. */
const SIMILAR = 0.02
const CAPACITIES = [2048, 8192]
/** Batches that are encoded with each of the options before the time is looked at. */
const BATCHES_A_TURN = 32

/**
 * Trains dictionaries on the first half of a group's messages, and encodes the others with several
 * options until the time is over.
 *
 * @param onProgress called with the share that is done.
 */
export async function measure(
  group: SampledGroup,
  limitMs: number,
  onProgress: (share: number) => void,
): Promise<MeasuredGroup> {
  const end = clockMs() + limitMs
  const { batches } = group
  const half = batches.length >> 1
  const trained = await dictionariesOf(batches.slice(0, half).flatMap(({ messages }) => messages))
  const results = optionsWith(trained).map((options) => ({ ...options, ...NOTHING }))
  const measured = { messages: 0, plainBytes: 0, recordedBytes: 0 }
  // A batch that is alone is all there is.
  const tested = batches.slice(half)
  for (let at = 0; at < tested.length && (at === 0 || clockMs() < end); at += BATCHES_A_TURN) {
    const some = tested.slice(at, at + BATCHES_A_TURN)
    for (const { messages, plainBytes, recordedBytes } of some) {
      measured.messages += messages.length
      measured.plainBytes += plainBytes
      measured.recordedBytes += recordedBytes
    }
    for (const result of results) {
      const start = clockMs()
      result.bytes += encodedBytes(some, result)
      result.milliseconds += clockMs() - start
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
    // The larger one is only worth a try if it has more in it.
    if (dictionary.length > (dictionaries.at(-1)?.length ?? 0)) dictionaries.push(dictionary)
  }
  return dictionaries
}

type Options = Pick<Measured, "level" | "arenas" | "dictionary">

/** Returns what is tried, in the order of what it costs. */
function optionsWith(dictionaries: readonly Uint8Array[]): Options[] {
  const one = (options: Partial<Options>): Options => ({
    ...{ level: 0, arenas: false, dictionary: undefined },
    ...options,
  })
  const [dictionary] = dictionaries
  return [
    one({}),
    one({ arenas: true }),
    ...dictionaries.map((dictionary) => one({ dictionary })),
    ...(dictionary ? [one({ arenas: true, dictionary })] : []),
    one({ level: 9 }),
    ...(dictionary ? [one({ level: 9, dictionary })] : []),
  ]
}

function encodedBytes(batches: SampledGroup["batches"], options: Options): number {
  const { level, arenas, dictionary } = options
  const given: CodecOptions = { level, arenas, ...(dictionary && { dictionary }) }
  using codec = Codec.createSync(given)
  const shipped = dictionary ? shippedBytes(dictionary) : 0
  let bytes = 0
  for (const { messages } of batches)
    for (const wire of codec.encodeBatch(messages)) bytes += framesLength(wire)
  // The codec sends it before the first message.
  return bytes - shipped
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
