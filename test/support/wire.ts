/** Builds parts of the wire format for tests (RFC.md section 4). */

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text)

export const SENTINELS = {
  plain: new Uint8Array(4),
  LZ4B: ascii("LZ4B"),
  LZ4M: ascii("LZ4M"),
  LZ4D: ascii("LZ4D"),
  LZ4A: ascii("LZ4A"),
} as const

export const ZSTD_SENTINELS = {
  plain: new Uint8Array(4),
  frame: Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd),
  ZDICT: Uint8Array.of(0x37, 0xa4, 0x30, 0xec),
  ZSTA: ascii("ZSTA"),
} as const

export type Form = keyof typeof SENTINELS
export type ZstdForm = keyof typeof ZSTD_SENTINELS

export const concat = (...pieces: readonly Uint8Array[]): Uint8Array => joined(pieces)

/** Does the same with more pieces than a call can have arguments. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let end = 0
  for (const piece of pieces) {
    all.set(piece, end)
    end += piece.length
  }
  return all
}

export const plainPart = (plain: Uint8Array): Uint8Array => concat(SENTINELS.plain, plain)

export const dictionaryPart = (dictionary: Uint8Array): Uint8Array =>
  concat(SENTINELS.LZ4D, dictionary)

export const formOf = (wire: Uint8Array): Form | undefined => findForm(SENTINELS, wire)
export const zstdFormOf = (wire: Uint8Array): ZstdForm | undefined => findForm(ZSTD_SENTINELS, wire)

function findForm<Name extends string>(
  sentinels: Readonly<Record<Name, Uint8Array>>,
  wire: Uint8Array,
): Name | undefined {
  const forms = Object.keys(sentinels) as Name[]
  return forms.find((form) => sentinels[form].every((byte, i) => wire[i] === byte))
}

/** Returns the plaintext size that a part declares; undefined if it has none. */
export function declaredSize(wire: Uint8Array): bigint | undefined {
  const form = formOf(wire)
  if (form === "plain") return BigInt(wire.length - 4)
  if ((form !== "LZ4B" && form !== "LZ4M") || wire.length < 12) return undefined
  return new DataView(wire.buffer, wire.byteOffset).getBigUint64(4, true)
}
