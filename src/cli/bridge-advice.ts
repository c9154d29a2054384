import { loadFormatSync } from "../codec/formats.js"
import { NO_EFFORT } from "../codec/no-effort.js"
import type { Settings } from "../codec/options.js"
import type { Traffic } from "../codec/traffic.js"

/** Plaintext to send before advice is given. */
const ENOUGH_BYTES = 1 << 20
/** Compression that leaves this share of the plaintext is not worth its time. */
const NOT_SMALLER = 0.95
/** Compressors find little to refer back to in messages of up to this size. */
const SMALL_BYTES = 4096

/** What could be done about traffic that does not get smaller. */
export interface Advice {
  options: string[]
  words: string
}

/**
 * Returns advice if what was sent so far did not get smaller; undefined if it did, or if there is too
 * little of it.
 *
 * @param isChosen whether the level was chosen by the user.
 */
export function adviceOn(sent: Traffic, settings: Settings, isChosen: boolean): Advice | undefined {
  const { messages, plainBytes, wireBytes } = sent
  if (plainBytes < ENOUGH_BYTES || wireBytes < NOT_SMALLER * plainBytes) return undefined
  const { levelOf, efforts } = loadFormatSync(settings.format)
  const usual = `--level ${levelOf(efforts.all[efforts.usual] as number)}`
  if (settings.effort === NO_EFFORT && !settings.adaptive) {
    if (isChosen) return undefined
    return advice(
      [usual],
      `nothing is compressed, because lengths tell observers of an encrypted connection about content: if docs/curve.md says that it is safe here, ${usual} compresses`,
    )
  }
  const meanBytes = Math.round(plainBytes / Math.max(messages, 1))
  const hasDictionary = settings.dictionary !== undefined || settings.training !== undefined
  if (meanBytes < SMALL_BYTES && !hasDictionary)
    return advice(
      ["--dictionary", "--auto-dictionary"],
      `messages have ${meanBytes} bytes on average, which is little to compress by itself: --auto-dictionary, or --dictionary with a file made by zeromq-lz4 train, may help`,
    )
  if (meanBytes < settings.minCompressBytes && settings.arenas !== true)
    return advice(
      ["--arenas", "--min-compress-size"],
      `messages have ${meanBytes} bytes on average, and shorter parts than ${settings.minCompressBytes} bytes go plain: --arenas, for peers that read revision 2, or --min-compress-size may help`,
    )
  if (settings.adaptive)
    return advice(
      [usual],
      `--level adaptive compresses little while the network is faster: ${usual} always compresses`,
    )
  return advice(
    ["--level 9", "--level none"],
    "--level 9 may help; if they are compressed or encrypted already, --level none saves the processor's time",
  )
}

function advice(options: string[], words: string): Advice {
  return { options, words: `messages do not get smaller: ${words}` }
}
