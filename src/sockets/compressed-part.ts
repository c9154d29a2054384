import { outOfRange, shown, wrongValue } from "../codec/errors.js"
import { KeptPart } from "../codec/formed-part.js"
import { SENTINEL as LZ4 } from "../codec/lz4/wire.js"
import { checkView } from "../codec/options.js"
import { readSentinel, SENTINEL_BYTES } from "../codec/wire.js"
import { SENTINEL as ZSTD } from "../codec/zstd/wire.js"
import { rememberedForm } from "../zmtp/part.js"

/**
 * The form of a compressed part: one block of LZ4 or several (RFC.md section 4), or a frame of Zstandard
 * (section 13).
 */
export type CompressedForm = "LZ4B" | "LZ4M" | "ZSTD"

const FORMS: ReadonlyMap<number, CompressedForm> = new Map([
  [LZ4.LZ4B, "LZ4B"],
  [LZ4.LZ4M, "LZ4M"],
  [ZSTD.FRAME, "ZSTD"],
])

/** The parts inside. */
const parts = new WeakMap<object, KeptPart>()
let exist = false

/** Whether there has been a CompressedPart, so that `send()` has to look for them. */
export const areThereCompressedParts = (): boolean => exist

/** Returns the part inside a CompressedPart; undefined for other values. */
export const partInside = (value: unknown): KeptPart | undefined =>
  exist && typeof value === "object" && value !== null ? parts.get(value) : undefined

/**
 * A part as it was on the wire: compressed, without a dictionary. `send()` takes it wherever it takes a
 * part. It is sent as it is to peers that take that form, and as plaintext to others.
 * {@link Lz4.compressedOf} returns one for a received part.
 */
export class CompressedPart {
  /**
   * Returns the part with these bytes, which are those of another one's `bytes`. They are copied and
   * checked: the part is decoded, which takes as much memory as its plaintext.
   *
   * @param bytes the part as the body of a frame.
   * @param maxPlainLength the maximum of its plaintext in bytes, checked before anything is decoded.
   * Default: Infinity.
   * @throws TypeError if `bytes` is not a Uint8Array, or with the code ERR_INVALID_ARG_VALUE if they do
   * not begin as a compressed part does.
   * @throws RangeError with the code ERR_OUT_OF_RANGE if there is more plaintext, or if memory runs out.
   * @throws ProtocolError if the part breaks a rule of RFC.md section 4 or 13, or needs a dictionary.
   */
  static from(
    bytes: Uint8Array,
    maxPlainLength: number = Number.POSITIVE_INFINITY,
  ): CompressedPart {
    const copy = new Uint8Array(checkView("bytes", bytes))
    if (copy.length < SENTINEL_BYTES || !FORMS.has(readSentinel(copy)))
      throw wrongValue(
        `bytes must be a part in the form LZ4B, LZ4M or ZSTD; they begin with ${begin(copy)}`,
      )
    if (typeof maxPlainLength !== "number" || !(maxPlainLength >= 0))
      throw wrongValue(`maxPlainLength must be a number of bytes; got ${shown(maxPlainLength)}`)
    const part = new KeptPart(copy)
    if (part.plainLength > maxPlainLength)
      throw outOfRange(
        `the part has ${part.plainLength} bytes of plaintext; at most ${maxPlainLength} are allowed`,
      )
    part.plaintext()
    return make(part)
  }

  private constructor(part: KeptPart) {
    // The constructor is private in the types, but not in JavaScript.
    if (!(part instanceof KeptPart))
      throw wrongValue("a CompressedPart is made by CompressedPart.from() or lz4.compressedOf()")
    parts.set(this, part)
    exist = true
  }

  /** Length of the plaintext in bytes. */
  get plainLength(): number {
    return inside(this).plainLength
  }

  /** Length on the wire in bytes, without the head of its frame. */
  get wireLength(): number {
    return inside(this).bytes.length
  }

  /** How the part is compressed. */
  get form(): CompressedForm {
    return FORMS.get(readSentinel(inside(this).bytes)) as CompressedForm
  }

  /** The part as the body of a frame, as `Codec.decodePart` reads it. Each read returns a copy. */
  get bytes(): Buffer {
    return Buffer.from(inside(this).bytes)
  }
}

/** Calls the private constructor. Inside the class, that would change the name that Node prints. */
const make = (part: KeptPart): CompressedPart =>
  Reflect.construct(CompressedPart, [part]) as CompressedPart

const inside = (part: CompressedPart): KeptPart => parts.get(part) as KeptPart

const begin = (bytes: Uint8Array): string =>
  bytes.length === 0
    ? "nothing"
    : Buffer.from(bytes.subarray(0, SENTINEL_BYTES)).toString("hex").toUpperCase()

/** Returns what a part was on the wire, if it is one that was received and kept. */
export function compressedOf(part: unknown): CompressedPart | undefined {
  const kept = rememberedForm(checkView("part", part, (view) => view))
  return kept && make(kept)
}
