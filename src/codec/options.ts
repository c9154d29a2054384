import { fixedView, isUint8Array } from "../base/fixed-view.js"
import { outOfRange, shown, wrongType, wrongValue } from "./errors.js"
import type { FormatName } from "./format.js"
import type { Format } from "./instance.js"
import { integer } from "./integer.js"
import { lz4 } from "./lz4/format.js"
import type { WasmSource } from "./module.js"
import { NO_EFFORT } from "./no-effort.js"
import { DICTIONARY_MAX_BYTES } from "./wire.js"

/** A compression level of LZ4: 0, or one of LZ4HC. Higher ones compress more and take longer. */
export type Lz4Level = 0 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12

/** A compression level of Zstandard: higher ones compress more and take longer. */
export type ZstdLevel = -7 | -6 | -5 | -4 | -3 | -2 | -1 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9

/** A compression level of either format, or "none": nothing is compressed. */
export type Level = Lz4Level | ZstdLevel | "none"

/**
 * Options of one endpoint or codec: how it compresses, and what it accepts. Any peer can read the
 * result, except arenas with `arenas: true`.
 */
export interface Lz4Options {
  /**
   * The dictionary, of 1 to 8192 bytes, which is sent to the peer before the first message. Zstandard
   * needs one in its own format. Default: none. RFC.md section 6.
   */
  dictionary?: Uint8Array
  /**
   * Whether to train a dictionary for each connection, on the first messages that it is sent, and
   * send it. It has up to `capacity` bytes (1 to 8192, default 2048), and is trained after `trigger`
   * messages (1 to 8192, default 100). Connections that are sent the same messages share one.
   *
   * "shared", or `shared: true`: one is trained for all connections of the endpoint, on the
   * messages to any of them, so each peer can read pieces of messages to the others.
   *
   * Default: false. Excludes `dictionary`. RFC.md sections 6.4 and 8.3.
   */
  autoDictionary?: boolean | "shared" | { capacity?: number; trigger?: number; shared?: boolean }
  /**
   * Minimum plaintext of a part that is compressed, in bytes; 0 tries every part. Default: 512; with a
   * dictionary 128, or 64 if the format is Zstandard. RFC.md sections 5 and 13.
   */
  minCompressSize?: number
  /**
   * LZ4's acceleration, 1 to 65537: higher is faster and compresses less. It applies to level 0,
   * which it implies if no level is given. Zstandard has none. Default: 1.
   */
  acceleration?: number
  /**
   * The compression level. Fix one to save bytes at any cost.
   *
   * - Over `lz4+tcp://`, 0: LZ4. 3 to 12: LZ4HC, which compresses more and takes longer the higher it
   *   is.
   * - Over `zstd+tcp://`, -7 (the fastest) to -1 and 1 to 9: the levels of Zstandard.
   * - "none": nothing is compressed, no dictionary is sent, and no arena is made.
   * - "adaptive", for sockets only: each connection is measured and uses the level with the highest
   *   throughput, from "none" to 9, or to 3 over `zstd+tcp://`. If neither the network nor the processor
   *   is the limit, that is level 0, or 1. Many connections that send little each use "none" while they
   *   keep their thread busy together. `lz4.connections` has the level in use.
   *
   * Default: "adaptive" for sockets, 0 for the bridge; with CURVE "none", unless `acceleration`,
   * `dictionary` or `autoDictionary` is given.
   */
  level?: Level | "adaptive"
  /**
   * Whether small messages that are queued together are sent as one part, an arena, which only
   * peers that read revision 2 can read. Nothing is put together if nothing is compressed.
   *
   * - "auto", for sockets only: to peers that announced revision 2 in their handshakes, or have sent an
   *   arena themselves.
   * - true: to all peers, also those that read arenas but do neither.
   *
   * Default: "auto"; with CURVE false. RFC.md section 3.9 and appendix A.
   */
  arenas?: boolean | "auto"
  /**
   * The format revision that is accepted, and that sockets announce in their handshakes: 1 refuses
   * arenas. Default: 2. RFC.md section 3.9.
   */
  revision?: 1 | 2
}

/** Options of a codec: how it compresses, what it accepts, and the source of its module. */
export interface CodecOptions extends Omit<Lz4Options, "level" | "arenas" | "autoDictionary"> {
  /**
   * Whether to train a dictionary on the first messages and send it. It has up to `capacity` bytes
   * (1 to 8192, default 2048), and is trained after `trigger` messages (1 to 8192, default 100).
   * Default: false. Excludes `dictionary`. RFC.md section 6.4.
   */
  autoDictionary?: boolean | { capacity?: number; trigger?: number }
  /**
   * The compression level.
   *
   * - 0: LZ4. 3 to 12: LZ4HC, which compresses more and takes longer the higher it is.
   * - With the format "zstd", -7 (the fastest) to -1, and 1 to 9.
   * - "none": nothing is compressed, no dictionary is sent, and no arena is made.
   *
   * Default: 0; with the format "zstd" 1.
   */
  level?: Level
  /**
   * Whether `encodeBatch` puts small messages into one part. Only for peers that read revision 2.
   * Default: false. RFC.md appendix A.
   */
  arenas?: boolean
  /**
   * Maximum plaintext of one received message over all its parts, in bytes. Default: -1, no limit.
   * RFC.md section 7.
   */
  maxMessageSize?: number
  /** The format of compressed parts. Default: "lz4". */
  format?: FormatName
  /** The WebAssembly module to use instead of the embedded one, which has to be the format's. */
  wasm?: WasmSource
}

/** The first format revision with arenas, and the latest one. */
export const ARENAS_REVISION = 2

const TRIGGER_MAX = 8192
const CAPACITY = 2048
const TRIGGER = 100

/** The options that endpoints and codecs have in common. */
export const LZ4_NAMES: readonly string[] = [
  "dictionary",
  "autoDictionary",
  "minCompressSize",
  "acceleration",
  "level",
  "arenas",
  "revision",
]
const CODEC_NAMES = [...LZ4_NAMES, "format", "maxMessageSize", "wasm"]

/** Limits on received messages, with defaults filled in. */
export interface ReceiveSettings {
  /** Maximum plaintext of one message, in bytes; -1 is no limit. */
  budgetBytes: number
  revision: number
}

/** Options for training dictionaries. */
export interface Training {
  /** Whether one is trained for all connections, on messages to any of them. */
  isShared?: boolean
  capacityBytes: number
  /** Number of messages that are sampled. */
  trigger: number
  /** `minCompressBytes` once there is a dictionary. */
  minCompressBytes: number
}

/** Options with defaults filled in. */
export interface Settings extends ReceiveSettings {
  format: FormatName
  /** A copy, because the caller may change its array later. */
  dictionary: Uint8Array | undefined
  training: Training | undefined
  minCompressBytes: number
  /** The effort as the format's module takes it, or NO_EFFORT. */
  effort: number
  /** Whether the effort adapts to each connection. */
  adaptive: boolean
  /** "auto": for peers that have shown that they read arenas; for none if the handshake is not seen. */
  arenas: boolean | "auto"
  /** The settings for peers that announce the other format, of an endpoint that serves both. */
  other?: Settings | undefined
}

/** Returns the settings for peers of a format, which an endpoint serves. */
export function settingsFor(settings: Settings, format: FormatName): Settings {
  return settings.format === format ? settings : (settings.other as Settings)
}

/** Checks options. Throws TypeError or RangeError with the given and the allowed values. */
export function checkCodecOptions(options: CodecOptions, format: Format = lz4): Settings {
  const own = ownOptions(options, CODEC_NAMES)
  if ((own as Lz4Options).level === "adaptive") throw wrongValue('level "adaptive" is for sockets')
  if ((own as Lz4Options).arenas === "auto") throw wrongValue('arenas "auto" is for sockets')
  return readLz4Options(own as Lz4Options, format, checkBudget(own.maxMessageSize))
}

/** Returns the maximum plaintext of one message in bytes; -1 is no limit. */
export function checkBudget(maxMessageSize: unknown): number {
  return integer("maxMessageSize", maxMessageSize, -1, -1)
}

/** Checks options without `maxMessageSize`. `others` are names that are allowed in addition. */
export function checkLz4Options(
  options: Lz4Options,
  budgetBytes: number,
  others: readonly string[] = [],
  format: Format = lz4,
): Settings {
  const given = ownOptions(options, [...LZ4_NAMES, ...others])
  const { autoDictionary, isShared } = splitTraining(given.autoDictionary)
  given.autoDictionary = autoDictionary
  const settings = readLz4Options(given, format, budgetBytes)
  const { training } = settings
  return { ...settings, training: training && { ...training, isShared } }
}

/** Splits off "shared", which only endpoints have, from the options of training. */
function splitTraining(given: Lz4Options["autoDictionary"]): {
  autoDictionary: CodecOptions["autoDictionary"]
  isShared: boolean
} {
  if (given === "shared") return { autoDictionary: true, isShared: true }
  if (typeof given === "string")
    throw wrongType(`autoDictionary must be a boolean, "shared" or an object; got ${shown(given)}`)
  if (typeof given !== "object" || given === null || !Object.hasOwn(given, "shared"))
    return { autoDictionary: given, isShared: false }
  const { shared, ...autoDictionary } = given
  return { autoDictionary, isShared: boolean("shared", shared ?? false) }
}

/** Checks options of a socket's endpoint: adaptive unless a level or an acceleration is given. */
export function checkEndpointOptions(
  options: Lz4Options,
  budgetBytes: number,
  others: readonly string[],
  format: Format = lz4,
): Settings {
  const settings = checkLz4Options(options, budgetBytes, others, format)
  const { level, acceleration } = own(options)
  return {
    ...settings,
    adaptive: level === undefined ? acceleration === undefined : settings.adaptive,
  }
}

/** Returns the own properties of an object: libraries may add to the prototype of all objects. */
export function own<T extends object>(options: T): T {
  return Object.assign(Object.create(null), options)
}

/** Returns the own properties of options. Refuses unknown names. */
export function ownOptions<T extends object>(options: T, known: readonly string[]): T {
  if (typeof options !== "object" || options === null)
    throw wrongType(`options must be an object; got ${shown(options)}`)
  for (const name of Object.keys(options)) {
    if (!known.includes(name))
      throw wrongValue(`unknown option ${shown(name)}; known: ${known.join(", ")}`)
  }
  return own(options)
}

function readLz4Options(options: Lz4Options, format: Format, budgetBytes: number): Settings {
  const { dictionary, minCompressSize, arenas, revision } = options
  const min = (defaultBytes: number) => integer("minCompressSize", minCompressSize, defaultBytes, 0)
  const [minBytes, minBytesWithDictionary] = format.minCompressBytes
  const minWithDictionary = min(minBytesWithDictionary)
  const settings: Settings = {
    format: format.name,
    budgetBytes,
    dictionary: dictionary === undefined ? undefined : checkDictionary(dictionary, format),
    training: readTraining(options, minWithDictionary),
    minCompressBytes: dictionary ? minWithDictionary : min(minBytes),
    effort: readEffort(format, options),
    adaptive: options.level === "adaptive",
    arenas: arenas === undefined || arenas === "auto" ? "auto" : checkArenas(arenas),
    revision: integer("revision", revision, ARENAS_REVISION, 1, ARENAS_REVISION),
  }
  if (settings.effort !== NO_EFFORT) return settings
  // Nothing will be compressed.
  return { ...settings, dictionary: undefined, training: undefined, arenas: false }
}

function readTraining(
  { autoDictionary, dictionary }: Lz4Options,
  minCompressBytes: number,
): Training | undefined {
  if (autoDictionary === undefined || autoDictionary === false) return undefined
  if (autoDictionary !== true && (typeof autoDictionary !== "object" || autoDictionary === null))
    throw wrongType(`autoDictionary must be a boolean or an object; got ${shown(autoDictionary)}`)
  if (dictionary !== undefined)
    throw wrongValue("dictionary and autoDictionary exclude each other; got both")
  const given = ownOptions(autoDictionary === true ? {} : autoDictionary, ["capacity", "trigger"])
  return {
    capacityBytes: checkCapacity(given.capacity),
    trigger: integer("trigger", given.trigger, TRIGGER, 1, TRIGGER_MAX),
    minCompressBytes,
  }
}

/** Returns the capacity of a trained dictionary, in bytes. */
export function checkCapacity(capacity: unknown): number {
  return integer("capacity", capacity, CAPACITY, 1, DICTIONARY_MAX_BYTES)
}

function readEffort(format: Format, { acceleration, level }: Lz4Options): number {
  const isNamed = level === "none" || level === "adaptive"
  if (isNamed && acceleration !== undefined)
    throw wrongValue(`acceleration applies to level 0 only; got it with level "${level}"`)
  if (level === "none") return NO_EFFORT
  if (typeof level === "string" && !isNamed)
    throw wrongType(
      `level must be a number; got ${shown(level)} ("none" and, for sockets, "adaptive" are also levels)`,
    )
  return format.readEffort(isNamed ? undefined : level, acceleration)
}

/** Returns a copy of a dictionary. */
export function checkDictionary(dictionary: unknown, format: Format = lz4): Uint8Array {
  const bytes = checkView("dictionary", dictionary)
  if (bytes.length < 1 || bytes.length > DICTIONARY_MAX_BYTES)
    throw outOfRange(
      `dictionary must be 1 to ${DICTIONARY_MAX_BYTES} bytes long; got ${bytes.length}`,
    )
  const why = format.refusesDictionary(bytes)
  if (why) throw wrongValue(`dictionary ${why}`)
  return new Uint8Array(bytes)
}

/** Accepts a Uint8Array of any realm, including a Buffer. Returns a fixed view of it. */
export function checkView(
  what: string,
  value: unknown,
  fixed: (array: Uint8Array) => Uint8Array = fixedView,
): Uint8Array {
  if (!isUint8Array(value)) throw wrongType(`${what} must be a Uint8Array; got ${shown(value)}`)
  return fixed(value)
}

function checkArenas(arenas: unknown): boolean {
  if (typeof arenas !== "boolean")
    throw wrongType(`arenas must be a boolean; got ${shown(arenas)} (sockets have "auto", too)`)
  return arenas
}

/** @throws TypeError if the value is neither true nor false. */
export function boolean(name: string, value: unknown): boolean {
  if (typeof value !== "boolean") throw wrongType(`${name} must be a boolean; got ${shown(value)}`)
  return value
}
