// For projects whose libraries do not have Symbol.dispose yet.
/// <reference lib="esnext.disposable" preserve="true" />

import { fixedBytes } from "../base/fixed-view.js"
import { budgetHalves, Decoder } from "./decoder.js"
import { Encoder } from "./encoder.js"
import { closed, outOfMemory, ProtocolError, shown, wrongType, wrongValue } from "./errors.js"
import { loadFormat, loadFormatSync } from "./formats.js"
import { splitFrames } from "./frames.js"
import { Instance } from "./instance.js"
import { exportsOf } from "./lz4/exports.js"
import { lz4 } from "./lz4/format.js"
import { loadInstance, loadInstanceSync } from "./module.js"
import { NULL, type Pointer } from "./module-memory.js"
import { type CodecOptions, checkCodecOptions, checkView, own, type Settings } from "./options.js"
import { ArraySource } from "./source.js"
import type { Traffic } from "./traffic.js"
import { ALONE, FIRST, LAST } from "./wire.js"

/**
 * A codec for both directions of one connection: messages to wire parts and back (RFC.md sections 4
 * to 7).
 *
 * Everything it returns belongs to the caller; it neither keeps nor changes its arguments. In Node,
 * arrays of less than 4 KiB are slices of pooled memory, like small Buffers: their `buffer` holds
 * others as well and cannot be transferred. The codec stays usable after an error.
 *
 * @example
 * ```js
 * import { Codec } from "zeromq-lz4/codec"
 *
 * const codec = await Codec.create({ maxMessageSize: 1 << 20 })
 * const [wire] = codec.encode([new TextEncoder().encode("hello ".repeat(1000))])
 * const [[part]] = codec.decode(wire)
 * codec.close()
 * ```
 */
export class Codec {
  /** The version of the embedded liblz4, such as "1.10.0". */
  static get lz4Version(): string {
    const version = exportsOf(loadInstanceSync(lz4)).zl_lz4_version()
    return [Math.floor(version / 10000), Math.floor(version / 100) % 100, version % 100].join(".")
  }

  readonly #instance: Instance
  readonly #receiver: Pointer
  readonly #encoder: Encoder
  readonly #decoder: Decoder
  readonly #sent: Traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }
  readonly #received: Traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }
  readonly #arenas: boolean
  #dictionaryDue: boolean
  #closed = false

  /**
   * Creates a codec. Loads the module on first use.
   *
   * @throws TypeError or RangeError if an option is unknown or out of range.
   * @throws Error with the code ERR_LZ4_WASM if the module cannot be loaded.
   * @throws RangeError if memory runs out.
   */
  static async create(options: CodecOptions = {}): Promise<Codec> {
    const { format: name, wasm } = own(options)
    const format = await loadFormat(name)
    const settings = checkCodecOptions(options, format)
    return make(await loadInstance(format, wasm), settings)
  }

  /**
   * Creates a codec synchronously, for Node and workers; `wasm` cannot be a URL.
   *
   * @throws TypeError or RangeError if an option is unknown or out of range, or `wasm` is a URL.
   * @throws Error with the code ERR_LZ4_WASM if the module cannot be loaded.
   * @throws RangeError if memory runs out.
   */
  static createSync(options: CodecOptions = {}): Codec {
    const { format: name, wasm } = own(options)
    const format = loadFormatSync(name)
    const settings = checkCodecOptions(options, format)
    return make(loadInstanceSync(format, wasm), settings)
  }

  private constructor(instance: Instance, settings: Settings) {
    // The constructor is private in the types, but not in JavaScript.
    if (!(instance instanceof Instance))
      throw wrongType("a codec is made by Codec.create() or Codec.createSync()")
    const { budgetBytes, revision } = settings
    this.#instance = instance
    this.#encoder = new Encoder(instance, settings)
    this.#receiver = instance.exports.zl_receiver_open(...budgetHalves(budgetBytes), revision)
    if (this.#receiver === NULL) {
      this.#encoder.close()
      throw outOfMemory("a codec", 64)
    }
    this.#decoder = new Decoder(instance, this.#receiver, budgetBytes)
    this.#arenas = settings.arenas === true
    this.#dictionaryDue = settings.dictionary !== undefined
  }

  /**
   * Encodes one message. Returns the messages to send, in order. A dictionary comes before the
   * first message, or before the first one after it was trained.
   *
   * @throws TypeError if `message` is not a list of one or more Uint8Arrays.
   * @throws RangeError if memory runs out.
   * @throws Error with the code ERR_LZ4_CLOSED after `close`.
   */
  encode(message: readonly Uint8Array[]): Uint8Array[][] {
    return this.encodeBatch([message])
  }

  /**
   * Encodes several messages, and returns what `encode` would return for each, in order. If it
   * throws, none of them counts as encoded. With the option `arenas`, consecutive small messages
   * share a part.
   *
   * @throws TypeError if `messages` is not an array of lists of one or more Uint8Arrays.
   * @throws RangeError if memory runs out.
   * @throws Error with the code ERR_LZ4_CLOSED after `close`.
   */
  encodeBatch(messages: readonly (readonly Uint8Array[])[]): Uint8Array[][] {
    this.#checkOpen()
    if (!Array.isArray(messages))
      throw wrongType(`messages must be an array; got ${shown(messages)}`)
    const plain = checkAll(messages, (message) => checkMessage(message, fixedBytes))
    const wire: Uint8Array[][] = []
    let shipped = false
    for (const group of this.#arenas ? this.#encoder.groups(plain) : plain.map((one) => [one])) {
      if (this.#encoder.adoptTrained()) this.#dictionaryDue = true
      const encoded = this.#encoder.messages(group)
      if (this.#dictionaryDue && !shipped) {
        wire.push([this.#encoder.dictionaryPart() as Uint8Array])
        shipped = true
      }
      wire.push(...encoded)
      for (const message of group) this.#encoder.sample(message)
    }
    if (shipped) this.#dictionaryDue = false
    countPlain(this.#sent, plain)
    countWire(this.#sent, wire)
    return wire
  }

  /**
   * Decodes one message from the wire. Returns the messages that it carries: none for a dictionary,
   * which is installed, and possibly several for an arena.
   *
   * @throws ProtocolError if the message breaks a rule of RFC.md section 5 or 13.
   * @throws TypeError if `wire` is not a list of one or more Uint8Arrays.
   * @throws RangeError if memory runs out.
   * @throws Error with the code ERR_LZ4_CLOSED after `close`.
   */
  decode(wire: readonly Uint8Array[]): Uint8Array[][] {
    this.#checkOpen()
    const parts = checkMessage(wire)
    const message: Uint8Array[] = []
    for (const [i, part] of parts.entries()) {
      const place = (i === 0 ? FIRST : 0) | (i === parts.length - 1 ? LAST : 0)
      const decoded = this.#decoder.part(new ArraySource(part), place, i, splitFrames)
      if (Array.isArray(decoded)) return this.#receive(decoded, parts)
      message.push(decoded)
    }
    return this.#receive([message], parts)
  }

  /**
   * Encodes one part, which counts as a message of one part. The dictionary is used but not sent:
   * only `encode` returns it.
   *
   * @throws TypeError if `plain` is not a Uint8Array.
   * @throws RangeError if memory runs out.
   * @throws Error with the code ERR_LZ4_CLOSED after `close`.
   */
  encodePart(plain: Uint8Array): Uint8Array {
    this.#checkOpen()
    const bytes = checkView("plain", plain)
    const wire = this.#encoder.part(bytes)
    countPart(this.#sent, bytes.length, wire.length)
    return wire
  }

  /**
   * Decodes one part as a message of its own. A dictionary is installed and returns undefined; an
   * empty part returns an empty array. Arenas need `decode`.
   *
   * @throws ProtocolError if the part breaks a rule of RFC.md section 5 or 13, or is an arena.
   * @throws TypeError if `wire` is not a Uint8Array.
   * @throws RangeError if memory runs out.
   * @throws Error with the code ERR_LZ4_CLOSED after `close`.
   */
  decodePart(wire: Uint8Array): Uint8Array | undefined {
    this.#checkOpen()
    const bytes = checkView("wire", wire)
    const decoded = this.#decoder.part(new ArraySource(bytes), ALONE, 0, splitFrames)
    if (!Array.isArray(decoded)) {
      countPart(this.#received, decoded.length, bytes.length)
      return decoded
    }
    if (decoded.length > 0)
      throw new ProtocolError(
        "ERR_LZ4_ARENA",
        `the part is an arena of ${decoded.length} messages, not a part of one; decode returns them`,
      )
    this.#receive([], [bytes])
    return undefined
  }

  /**
   * Encodes one part, as `encodePart` does, to the start of `target`. Returns the number of bytes
   * written; the bytes after them are not changed. `plain.length + 4` bytes are enough for up to 1
   * GiB of plaintext. Above that it takes 12 bytes, 20 for each GiB, and 1/255 more.
   *
   * @throws RangeError with the code ERR_LZ4_TARGET_TOO_SMALL if `target` is too small. Nothing has
   * been written then.
   * @throws TypeError if an argument is not a Uint8Array.
   * @throws RangeError if memory runs out.
   * @throws Error with the code ERR_LZ4_CLOSED after `close`.
   */
  encodeInto(plain: Uint8Array, target: Uint8Array): number {
    this.#checkOpen()
    const bytes = checkView("plain", plain)
    const wireBytes = this.#encoder.partInto(bytes, checkView("target", target))
    countPart(this.#sent, bytes.length, wireBytes)
    return wireBytes
  }

  /**
   * Decodes one part as a message of its own to the start of `target`. Returns the number of bytes
   * written, which `decodedSize` returns in advance; the bytes after them are not changed. `target`
   * and `wire` must not overlap. Dictionaries and arenas need `decode`.
   *
   * @throws RangeError with the code ERR_LZ4_TARGET_TOO_SMALL if `target` is too small. Nothing has
   * been written then.
   * @throws ProtocolError if the part breaks a rule of RFC.md section 5 or 13. If it declares more than
   * 1 GiB, some of its plaintext may have been written then.
   * @throws TypeError if an argument is not a Uint8Array, or with the code ERR_LZ4_NO_PLAINTEXT if
   * the part is a dictionary or an arena.
   * @throws RangeError if memory runs out.
   * @throws Error with the code ERR_LZ4_CLOSED after `close`.
   */
  decodeInto(wire: Uint8Array, target: Uint8Array): number {
    this.#checkOpen()
    const bytes = checkView("wire", wire)
    const plainBytes = this.#decoder.partInto(bytes, checkView("target", target))
    countPart(this.#received, plainBytes, bytes.length)
    return plainBytes
  }

  /**
   * Returns the bytes of plaintext that a part declares, which `decodeInto` will write. It reads
   * only the head of the part: it decodes and counts nothing, and takes no memory.
   *
   * @throws ProtocolError if the head breaks a rule of RFC.md section 5 or 13, such as declaring more
   * than `maxMessageSize`.
   * @throws TypeError if `wire` is not a Uint8Array, or with the code ERR_LZ4_NO_PLAINTEXT if it is
   * a dictionary or an arena.
   * @throws Error with the code ERR_LZ4_CLOSED after `close`.
   */
  decodedSize(wire: Uint8Array): number {
    this.#checkOpen()
    return this.#decoder.plainBytes(checkView("wire", wire))
  }

  /** The traffic so far. Each read returns a copy. */
  get stats(): { sent: Traffic; received: Traffic } {
    return { sent: { ...this.#sent }, received: { ...this.#received } }
  }

  /** Frees the codec's memory. The codec cannot be used afterwards; closing it again has no effect. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#encoder.close()
    this.#instance.exports.zl_receiver_close(this.#receiver)
  }

  /** Calls `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close()
  }

  #checkOpen(): void {
    if (this.#closed) throw closed("the codec")
  }

  /** Counts the messages that one message from the wire carried, and returns them. */
  #receive(messages: Uint8Array[][], wire: readonly Uint8Array[]): Uint8Array[][] {
    countPlain(this.#received, messages)
    countWire(this.#received, [wire])
    return messages
  }
}

function countPlain(traffic: Traffic, messages: readonly (readonly Uint8Array[])[]): void {
  traffic.messages += messages.length
  for (const message of messages) for (const part of message) traffic.plainBytes += part.length
}

function countPart(traffic: Traffic, plainBytes: number, wireBytes: number): void {
  traffic.messages++
  traffic.plainBytes += plainBytes
  traffic.wireBytes += wireBytes
}

/** Creates a codec. The bundler renames a class that refers to itself, as code inside Codec would. */
function make(instance: Instance, settings: Settings): Codec {
  type Constructor = new (instance: Instance, settings: Settings) => Codec
  return new (Codec as unknown as Constructor)(instance, settings)
}

function countWire(traffic: Traffic, messages: readonly (readonly Uint8Array[])[]): void {
  for (const message of messages) for (const part of message) traffic.wireBytes += part.length
}

/** Returns fixed views of the parts of a message. */
function checkMessage(message: unknown, fixed?: (array: Uint8Array) => Uint8Array): Uint8Array[] {
  if (!Array.isArray(message))
    throw wrongType(`a message must be an array of Uint8Array; got ${shown(message)}`)
  if (message.length === 0) throw wrongValue("a message must have at least one part; got none")
  return checkAll(message, (part, i) => checkView(`part ${i}`, part, fixed))
}

/**
 * Returns the results of checking the items of a list. Reads each item once, because a getter may
 * return something else each time. A hole, which forEach would skip, counts as undefined.
 */
function checkAll<T>(list: readonly unknown[], check: (item: unknown, index: number) => T): T[] {
  const results: T[] = []
  for (let i = 0; i < list.length; i++) results.push(check(list[i], i))
  return results
}
