import { ALONE, budgetHalves, Decoder, FIRST, LAST } from "./decoder.js"
import { Encoder } from "./encoder.js"
import { outOfMemory, ProtocolError, shown } from "./errors.js"
import { groupMessages } from "./frames.js"
import { type Instance, NULL, type Pointer } from "./instance.js"
import { loadInstance, loadInstanceSync } from "./module.js"
import { type CodecOptions, checkBytes, checkCodecOptions, type Settings } from "./options.js"
import { ArraySource } from "./source.js"

/** What went one way: whole messages, and the bytes of their parts before and after encoding. */
export interface Traffic {
  messages: number
  /** Plaintext of all parts, in bytes. */
  plainBytes: number
  /** The same parts on the wire, envelopes and dictionaries included, frame headers not. */
  wireBytes: number
}

/**
 * Both directions of one connection: messages to wire parts and back
 * (RFC.md sections 4 to 7).
 *
 * Everything it returns belongs to the caller; nothing it is given is kept or
 * changed. After an error it can still be used.
 */
export class Codec {
  /** The version of the embedded liblz4, such as "1.10.0". */
  static get lz4Version(): string {
    const version = loadInstanceSync().exports.zl_lz4_version()
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
   * A codec, with the module loaded first if need be.
   *
   * @throws TypeError, RangeError for options that are unknown or out of range.
   */
  static async create(options: CodecOptions = {}): Promise<Codec> {
    const settings = checkCodecOptions(options)
    return new Codec(await loadInstance(options.wasm), settings)
  }

  /** The same at once, for Node and workers; `wasm` cannot be a URL. */
  static createSync(options: CodecOptions = {}): Codec {
    const settings = checkCodecOptions(options)
    return new Codec(loadInstanceSync(options.wasm), settings)
  }

  private constructor(instance: Instance, settings: Settings) {
    const { budgetBytes, revision } = settings
    this.#instance = instance
    this.#encoder = new Encoder(instance, settings)
    this.#receiver = instance.exports.zl_receiver_open(...budgetHalves(budgetBytes), revision)
    if (this.#receiver === NULL) throw outOfMemory("a codec", 64)
    this.#decoder = new Decoder(instance, this.#receiver, budgetBytes)
    this.#arenas = settings.arenas
    this.#dictionaryDue = settings.dictionary !== undefined
  }

  /**
   * Encodes one message. Returns the messages to send, in order: a dictionary
   * before the first message, when there is one, or before the first after it
   * has been trained.
   *
   * @throws TypeError when `message` is not a list of one or more Uint8Arrays.
   * @throws RangeError when memory runs out.
   */
  encode(message: readonly Uint8Array[]): Uint8Array[][] {
    this.#checkOpen()
    checkMessage(message)
    this.#adoptTrained()
    const wire = Array.from(message, (part, i) => this.#encoder.part(checkBytes(`part ${i}`, part)))
    this.#count(this.#sent, message, wire)
    this.#encoder.sample(message)
    return [...this.#shipDictionary(), wire]
  }

  /**
   * Encodes several messages; what `encode` returns for each, in order. With the
   * option `arenas`, small ones that follow each other share a part.
   */
  encodeBatch(messages: readonly (readonly Uint8Array[])[]): Uint8Array[][] {
    this.#checkOpen()
    if (!Array.isArray(messages))
      throw new TypeError(`messages must be an array; got ${shown(messages)}`)
    for (const message of messages) {
      checkMessage(message)
      for (const [i, part] of message.entries()) checkBytes(`part ${i}`, part)
    }
    if (!this.#arenas) return messages.flatMap((message) => this.encode(message))
    return groupMessages(messages).flatMap((group) =>
      group.length > 1 ? this.#encodeArena(group) : group.flatMap((alone) => this.encode(alone)),
    )
  }

  /**
   * Decodes one message from the wire. Returns the messages it carries: none
   * when it is a dictionary, which is installed, and those of an arena.
   *
   * @throws ProtocolError when the message breaks a rule of RFC.md section 5.
   * @throws TypeError when `wire` is not a list of one or more Uint8Arrays.
   * @throws RangeError when memory runs out.
   */
  decode(wire: readonly Uint8Array[]): Uint8Array[][] {
    this.#checkOpen()
    checkMessage(wire)
    const message: Uint8Array[] = []
    for (const [i, part] of wire.entries()) {
      const place = (i === 0 ? FIRST : 0) | (i === wire.length - 1 ? LAST : 0)
      const decoded = this.#decoder.part(new ArraySource(checkBytes(`part ${i}`, part)), place, i)
      if (Array.isArray(decoded)) {
        countMessages(this.#received, decoded)
        this.#received.wireBytes += part.length
        return decoded
      }
      message.push(decoded)
    }
    this.#count(this.#received, message, wire)
    return [message]
  }

  /**
   * Encodes one part. The dictionary is used, but not shipped: `encode` does
   * that. Counts as a message of one part.
   *
   * @throws TypeError when `plain` is not a Uint8Array.
   * @throws RangeError when memory runs out.
   */
  encodePart(plain: Uint8Array): Uint8Array {
    this.#checkOpen()
    const wire = this.#encoder.part(checkBytes("plain", plain))
    countPart(this.#sent, plain, wire)
    this.#sent.messages++
    return wire
  }

  /**
   * Decodes one part as a message of its own. A dictionary is installed and
   * gives an empty array. An arena is for `decode`.
   *
   * @throws ProtocolError when the part breaks a rule of RFC.md section 5, or is an arena.
   * @throws TypeError when `wire` is not a Uint8Array.
   * @throws RangeError when memory runs out.
   */
  decodePart(wire: Uint8Array): Uint8Array {
    this.#checkOpen()
    const decoded = this.#decoder.part(new ArraySource(checkBytes("wire", wire)), ALONE, 0)
    if (!Array.isArray(decoded)) {
      countPart(this.#received, decoded, wire)
      this.#received.messages++
      return decoded
    }
    if (decoded.length > 0)
      throw new ProtocolError(
        "ERR_LZ4_ARENA",
        `the part is an arena of ${decoded.length} messages, not a part of one; decode gives them`,
      )
    this.#received.wireBytes += wire.length
    return new Uint8Array(0)
  }

  /** What went through so far; a copy. */
  get stats(): { sent: Traffic; received: Traffic } {
    return { sent: { ...this.#sent }, received: { ...this.#received } }
  }

  /** Gives back all that the codec holds. It cannot be used afterwards; closing again does nothing. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#encoder.close()
    this.#instance.exports.zl_receiver_close(this.#receiver)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #encodeArena(messages: readonly (readonly Uint8Array[])[]): Uint8Array[][] {
    this.#adoptTrained()
    const wire = this.#encoder.arena(messages)
    for (const message of messages) this.#encoder.sample(message)
    countMessages(this.#sent, messages)
    this.#sent.wireBytes += wire.length
    return [...this.#shipDictionary(), [wire]]
  }

  #adoptTrained(): void {
    if (this.#encoder.adoptTrained()) this.#dictionaryDue = true
  }

  /** The dictionary's message, when it is due. */
  #shipDictionary(): Uint8Array[][] {
    if (!this.#dictionaryDue) return []
    this.#dictionaryDue = false
    const dictionary = this.#encoder.dictionaryPart() as Uint8Array
    this.#sent.wireBytes += dictionary.length
    return [[dictionary]]
  }

  #checkOpen(): void {
    if (this.#closed) throw new Error("the codec is closed")
  }

  #count(traffic: Traffic, plain: readonly Uint8Array[], wire: readonly Uint8Array[]): void {
    traffic.messages++
    for (const [i, part] of plain.entries()) countPart(traffic, part, wire[i] as Uint8Array)
  }
}

function countMessages(traffic: Traffic, messages: readonly (readonly Uint8Array[])[]): void {
  traffic.messages += messages.length
  for (const message of messages) for (const part of message) traffic.plainBytes += part.length
}

function countPart(traffic: Traffic, plain: Uint8Array, wire: Uint8Array): void {
  traffic.plainBytes += plain.length
  traffic.wireBytes += wire.length
}

function checkMessage(message: unknown): void {
  if (!Array.isArray(message))
    throw new TypeError(`a message must be an array of Uint8Array; got ${shown(message)}`)
  if (message.length === 0) throw new TypeError("a message must have at least one part; got none")
}
