import { copy } from "../../codec/arrays.js"
import { budgetHalves, Decoder } from "../../codec/decoder.js"
import { outOfMemory, ProtocolError } from "../../codec/errors.js"
import type { FormatName } from "../../codec/format.js"
import { splitFrames } from "../../codec/frames.js"
import type { Instance } from "../../codec/instance.js"
import { SENTINEL as LZ4 } from "../../codec/lz4/wire.js"
import { NULL, type Pointer } from "../../codec/module-memory.js"
import { ArraySource, SharedSource } from "../../codec/source.js"
import { FIRST, LAST, SENTINEL_BYTES } from "../../codec/wire.js"
import { SENTINEL as ZSTD } from "../../codec/zstd/wire.js"
import type { CaptureError, CaptureMessage, CapturePart, PartKind, Side, Time } from "../events.js"
import { type PackedArena, PackedMessage, placesIn } from "./packed-message.js"

/** The transport of parts: with sentinels over `lz4+tcp` and `zstd+tcp`, without over `tcp`. */
export type TransportName = "lz4+tcp" | "zstd+tcp" | "tcp"

/** Properties of a message besides its parts. */
export interface Place {
  time: Time
  from: Side | undefined
  /** Its offset in the file. */
  offset: number
}

/** A message without its place in a capture. */
export type DecodedMessage = Pick<CaptureMessage, "parts" | "wireBytes" | "plainBytes" | "arena">

const REVISION = 2
/** Errors of a message that are described: two bytes can make another. */
const ERRORS_MAX = 100
const NOTHING = new Uint8Array(0)
/** The sentinel of plain parts, as a number. */
const PLAIN_WORD = 0

/** Returns the form of a part by its first bytes; "none" if it has no sentinel. */
export function kindOf(bytes: Uint8Array, at = 0): PartKind {
  if (bytes.length - at < SENTINEL_BYTES) return "none"
  const word =
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  switch (word >>> 0) {
    case PLAIN_WORD:
      return "plain"
    case LZ4.LZ4B:
      return "LZ4B"
    case LZ4.LZ4M:
      return "LZ4M"
    case LZ4.LZ4D:
      return "LZ4D"
    case LZ4.LZ4A:
      return "LZ4A"
    case ZSTD.FRAME:
      return "ZSTD"
    case ZSTD.ZDICT:
      return "ZDICT"
    case ZSTD.ZSTA:
      return "ZSTA"
    default:
      return "none"
  }
}

/** Returns the transport that a form is of; undefined if it may be of several. */
export function transportOf(kind: PartKind): TransportName | undefined {
  if (kind === "plain") return undefined
  if (kind === "none") return "tcp"
  return kind.startsWith("LZ4") ? "lz4+tcp" : "zstd+tcp"
}

/** Returns the transport that the parts of a message show; undefined if all are plain. */
export function transportIn(wire: readonly Uint8Array[]): TransportName | undefined {
  for (const [i, part] of wire.entries()) {
    const shown = transportOf(kindOf(part))
    if (shown && (i === 0 || shown !== "tcp")) return shown
  }
  return undefined
}

/** Returns the format of the parts of a transport. */
export const formatOf = (transport: TransportName): FormatName =>
  transport === "zstd+tcp" ? "zstd" : "lz4"

export const isDictionary = (kind: PartKind): boolean => kind === "LZ4D" || kind === "ZDICT"

/** Returns the dictionary that a part ships; undefined if it ships none, or it was refused. */
export function shippedIn({ kind, wire, error }: CapturePart): Uint8Array | undefined {
  if (error || !isDictionary(kind)) return undefined
  return kind === "LZ4D" ? wire.subarray(SENTINEL_BYTES) : wire
}

/** Returns the content of a part: its plaintext, or the dictionary that it ships. */
export const contentOf = (part: CapturePart): Uint8Array | undefined =>
  shippedIn(part) ?? part.plain

/** Decodes the messages of one direction: wire parts to plaintext. */
export class MessageDecoder {
  readonly #instanceOf: (format: FormatName) => Instance
  #format: FormatName = "lz4"
  /** The instance of the receiver that is open. */
  #instance: Instance | undefined
  readonly #budgetBytes: number
  /** Whether bytes of the peer are not in the capture, among which it may have shipped a dictionary. */
  mayLackDictionary = false
  /** Opened for the first part that needs it. Plain `tcp://` never does. */
  #receiver: Pointer = NULL
  #decoder: Decoder | undefined
  /** The dictionary from the options, until the peer ships one. */
  #given: Uint8Array | undefined
  /** The `dictionary` of parts that are decompressed with it. */
  #mark: CapturePart["dictionary"]
  #hasDictionary = false

  constructor(instanceOf: (format: FormatName) => Instance, budgetBytes: number) {
    this.#instanceOf = instanceOf
    this.#budgetBytes = budgetBytes
  }

  /**
   * Sets a dictionary that was not shipped. Parts that are decompressed with it get `mark` as
   * `dictionary`.
   *
   * @throws ProtocolError if it is none of this format.
   */
  give(format: FormatName, dictionary: Uint8Array, mark?: CapturePart["dictionary"]): void {
    this.#use(format)
    this.#given = dictionary
    this.#mark = mark
    this.#install(dictionary)
  }

  /** Decodes the parts of one message. An arena returns several messages. */
  decode(wire: readonly Uint8Array[], transport: TransportName, place: Place): DecodedMessage[] {
    if (transport !== "tcp") this.#use(formatOf(transport))
    const parts: CapturePart[] = []
    let wireBytes = 0
    let plainBytes = 0
    let errors = 0
    let lastError: CaptureError | undefined
    for (let i = 0; i < wire.length; i++) {
      const bytes = wire[i] as Uint8Array
      wireBytes += bytes.length
      if (transport === "tcp") {
        parts.push(this.#withinBudget(bytes, i, plainBytes, place))
        plainBytes += bytes.length
        continue
      }
      const kind = kindOf(bytes)
      const standing = (i === 0 ? FIRST : 0) | (i === wire.length - 1 ? LAST : 0)
      const decoded = lastError ?? this.#part(kind, bytes, standing, i, place)
      if (decoded instanceof ArenaFrames && decoded.bytes.length > 0)
        return arenaMessages(kind, bytes, decoded.bytes, isStored(bytes) ? undefined : this.#mark)
      const part: CapturePart = {
        ...{ kind, wire: bytes, plain: undefined, error: undefined },
        dictionary: undefined,
      }
      if (decoded instanceof Uint8Array) {
        part.plain = decoded
        if (kind !== "plain") part.dictionary = this.#mark
      } else if (decoded instanceof ArenaFrames) part.plain = NOTHING
      else {
        part.error = decoded
        if (++errors === ERRORS_MAX) lastError = restOf(decoded, i + 1)
        if (/_CORRUPT_BLOCK$/.test(decoded.code) && this.mayLackDictionary && !this.#hasDictionary)
          part.dictionary = "missing"
      }
      plainBytes += part.plain?.length ?? 0
      parts.push(part)
    }
    return [{ parts, wireBytes, plainBytes, arena: undefined }]
  }

  close(): void {
    if (this.#receiver !== NULL) this.#instance?.exports.zl_receiver_close(this.#receiver)
    this.#receiver = NULL
    this.#decoder = undefined
  }

  /** Decodes parts of a format from now on. */
  #use(format: FormatName): void {
    if (format === this.#format) return
    this.close()
    this.#format = format
  }

  /** Checks a part of plain `tcp://`, which can only be too large. */
  #withinBudget(wire: Uint8Array, index: number, before: number, place: Place): CapturePart {
    const left = this.#budgetBytes - before
    if (this.#budgetBytes < 0 || wire.length <= left)
      return { kind: "none", wire, plain: wire, error: undefined, dictionary: undefined }
    const message = `part ${index} has ${wire.length} bytes; ${Math.max(left, 0)} left of maxMessageSize ${this.#budgetBytes}`
    return {
      ...{ kind: "none", wire, plain: undefined, dictionary: undefined },
      error: { code: "ERR_LZ4_BUDGET_EXCEEDED", message, ...place },
    }
  }

  #part(
    kind: PartKind,
    wire: Uint8Array,
    standing: number,
    index: number,
    place: Place,
  ): Uint8Array | ArenaFrames | CaptureError {
    const replaced = isDictionary(kind) ? this.#given : undefined
    try {
      if (replaced) this.close()
      this.#decoder ??= this.#open()
      const decoder = this.#decoder
      const decoded = withoutStack(() =>
        decoder.part(new SharedSource(wire), standing, index, (frames) => new ArenaFrames(frames)),
      )
      if (isDictionary(kind)) {
        this.#given = undefined
        this.#mark = undefined
        this.#hasDictionary = true
      }
      return decoded
    } catch (error) {
      if (replaced) {
        this.close()
        this.#install(replaced)
      }
      return this.#describe(error as Error, kind, place)
    }
  }

  #describe(error: Error, kind: PartKind, place: Place): CaptureError {
    if (!(error instanceof ProtocolError))
      return { code: "ERR_CAPTURE_UNREADABLE", message: error.message, ...place }
    const { code } = error
    let message = error.message.slice(code.length + 2)
    if (kind === "none") message += ": does its sender use tcp:// by mistake?"
    return { code, message, ...place }
  }

  #open(): Decoder {
    const instance = this.#instanceOf(this.#format)
    this.#instance = instance
    this.#receiver = instance.exports.zl_receiver_open(...budgetHalves(this.#budgetBytes), REVISION)
    if (this.#receiver === NULL) throw outOfMemory("a connection", 64)
    return new Decoder(instance, this.#receiver, this.#budgetBytes)
  }

  #install(dictionary: Uint8Array): void {
    this.#hasDictionary = true
    this.#decoder ??= this.#open()
    this.#decoder.install(new ArraySource(dictionary))
  }
}

/** Calls a function whose errors have no stack: to make one takes longer than to decode a part. */
function withoutStack<Result>(work: () => Result): Result {
  const { stackTraceLimit } = Error
  // Assigning it throws where a program has frozen it.
  Reflect.set(Error, "stackTraceLimit", 0)
  try {
    return work()
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit)
  }
}

/** The frames of an arena; none for a dictionary. */
class ArenaFrames {
  readonly bytes: Uint8Array

  constructor(frames: Uint8Array) {
    this.bytes = copy(frames, 0, frames.length)
  }
}

/** Returns the error that all parts from an index on share. */
const restOf = ({ message: _, ...error }: CaptureError, index: number): CaptureError => ({
  ...error,
  message: `part ${index} and those after it are not decoded: ${ERRORS_MAX} before it did not decode`,
})

/** Returns whether the body of an arena is not compressed. */
const isStored = (arena: Uint8Array): boolean => arena[SENTINEL_BYTES] === 0

/** Returns the messages of an arena. Each gets a share of the wire bytes in proportion to its frames. */
function arenaMessages(
  kind: PartKind,
  wire: Uint8Array,
  frames: Uint8Array,
  dictionary: CapturePart["dictionary"],
): DecodedMessage[] {
  const places = placesIn(frames)
  const isPacked = places.reduce((sum, { parts }) => sum + parts, 0) > wire.length
  const form = { kind, wire, error: undefined, dictionary } as const
  const packed: PackedArena = { frames, alike: [{ ...form, plain: NOTHING }] }
  const split = isPacked ? [] : splitFrames(frames)
  let counted = 0
  return places.map((place, index) => {
    const until = Math.floor((place.end / frames.length) * wire.length)
    const wireBytes = until - counted
    counted = until
    const arena = { index, messages: places.length }
    if (isPacked) return new PackedMessage(packed, place, wireBytes, arena)
    const parts = (split[index] as Uint8Array[]).map((plain) => ({ ...form, plain }))
    return { parts, wireBytes, plainBytes: place.plainBytes, arena }
  })
}
