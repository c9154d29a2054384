/** Reads test/vectors: wire parts whose blocks another LZ4 library compressed. */
import { readFileSync } from "node:fs"

import { type Kind, plaintext } from "./plaintexts.js"

export interface VectorPlaintext {
  readonly kind: Kind
  readonly size: number
  readonly sha256: string
}

export interface VectorPart {
  readonly kind: Kind
  readonly size: number
  readonly dictionary: boolean
  readonly form: "LZ4B" | "LZ4M"
  /** The level of LZ4HC; undefined if the fast compressor made the block. */
  readonly compression?: number
  /** Plaintext of a block, in parts for the small-blocks build of the module. */
  readonly blockSize?: number
  readonly offset: number
  readonly length: number
}

/** An arena of equal messages, whose parts are letters "a". */
export interface VectorArena {
  readonly messages: number
  /** The number of parts of each message, and their size in bytes. */
  readonly parts: number
  readonly size: number
  /** Whether it has more parts than RFC.md section A.1 allows. */
  readonly refused: boolean
  readonly offset: number
  readonly length: number
}

interface Manifest {
  readonly dictionarySha256: string
  readonly binSha256: string
  readonly plaintexts: readonly VectorPlaintext[]
  readonly parts: readonly VectorPart[]
  readonly arenas: readonly VectorArena[]
}

const directory = new URL("../vectors/", import.meta.url)

export const manifest = JSON.parse(
  readFileSync(new URL("vectors.json", directory), "utf8"),
) as Manifest
export const bin: Uint8Array = readFileSync(new URL("vectors.bin", directory))

export const wireOf = ({ offset, length }: VectorPart | VectorArena): Uint8Array =>
  bin.subarray(offset, offset + length)

export const plainOf = ({ kind, size }: { kind: Kind; size: number }): Uint8Array =>
  plaintext(kind, size)

/** Returns a name for tests, such as "text 4096 B, dictionary". */
export function nameOf(vector: Partial<VectorPart> & { kind: Kind; size: number }): string {
  const details = [
    vector.form,
    vector.dictionary && "dictionary",
    vector.compression !== undefined && `LZ4HC ${vector.compression}`,
    vector.blockSize !== undefined && `blocks of ${vector.blockSize} B`,
  ]
  return [`${vector.kind} ${vector.size} B`, ...details.filter(Boolean)].join(", ")
}

export const nameOfArena = ({ messages, parts, size, refused }: VectorArena): string =>
  `${messages} × ${parts} parts of ${size} B, ${refused ? "refused" : "accepted"}`
