/**
 * What a compressed part is: a format's sentinels, module, levels and errors (RFC.md). Nothing outside
 * the codec asks which one it has.
 */
import type { Pointer } from "./module-memory.js"
import type { Rules } from "./refused-part.js"
import type { Source } from "./source.js"

/** A format of compressed parts: that of `lz4+tcp://` or `zstd+tcp://`. */
export type FormatName = "lz4" | "zstd"

/** A function that takes the pieces of a part, which are valid during the call only. */
export type Give<T> = (...pieces: Uint8Array[]) => T

/** A large part whose head was accepted. */
export interface LargePart {
  /** The kind that the module reported. */
  readonly kind: number
  readonly plainBytes: number
  /** The whole part. */
  readonly wire: Source
}

/** The compression efforts of which the controller of a connection chooses one. */
export interface Efforts {
  /** From no compression, the first, to the most thorough. */
  readonly all: readonly number[]
  /** The index of that of connections that neither the network nor the processor limits. */
  readonly usual: number
  /** The index of the first that is only worth its time where the network is the limit. */
  readonly thorough: number
}

/** `Instance` is an instance of the format's module, which has its format in turn. */
export interface FormatOf<Instance> extends Rules {
  /** The scheme of its endpoints, without "://". */
  readonly scheme: "lz4+tcp" | "zstd+tcp"
  /** The function of the module that only this format's has. */
  readonly ownExport: string
  /** The module's bytes. Always the same array. */
  readonly wasm: Uint8Array
  /** Maximum size of a part's head, in bytes. */
  readonly headBytes: number
  /** Default of `minCompressSize`, without and with a dictionary. */
  readonly minCompressBytes: readonly [without: number, withDictionary: number]
  /**
   * Returns the compression effort, as the module takes it.
   *
   * @throws TypeError or RangeError for levels that the format does not have.
   */
  readEffort(level: unknown, acceleration: unknown): number
  readonly efforts: Efforts
  /** Returns the level that users know an effort by; "none" for no compression. */
  levelOf(effort: number): number | "none"
  /** Returns the part that sends a dictionary. */
  dictionaryPart(dictionary: Uint8Array): Uint8Array
  /** Returns why bytes are no dictionary of the format; undefined if they are one. */
  refusesDictionary(dictionary: Uint8Array): string | undefined
  /**
   * Decodes a large part piece by piece. Parts of other connections may be decoded between two pieces. A
   * piece is valid until then.
   *
   * @param dictionary a dictionary of `instance`, or NULL.
   * @param fail returns the error for a negative status.
   */
  decodeLarge(
    instance: Instance,
    dictionary: Pointer,
    part: LargePart,
    fail: (status: number) => Error,
  ): Generator<Uint8Array>
  /**
   * Passes on the pieces of a large part, which is compressed if that makes it shorter. `instance` is
   * one for large parts.
   */
  encodeLarge<T>(
    instance: Instance,
    dictionary: Pointer,
    effort: number,
    plain: Source,
    give: Give<T>,
  ): T
}
