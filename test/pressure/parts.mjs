/** Messages that identify their origin: each is generated from its stream and number, and checked completely. */
import { createCipheriv } from "node:crypto"

/**
 * @typedef {object} Contents
 * @property {number | "mixed"} bytes                of a part
 * @property {"text" | "random" | "mixed"} content   whether parts compress
 * @property {number} [partsMax]                     parts of a message; 1 by default
 */

const MIXED_BYTES = [
  100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_048_576,
]
const KEY = Buffer.alloc(16, "pressure")
const LABEL = /^P(\d+)-(\d+)-0-/
const LABEL_BYTES_MAX = 40

/**
 * Returns a random number that the coordinates of a message determine.
 * @param {...number} coordinates
 */
function hash(...coordinates) {
  let state = 0x811c9dc5
  for (const value of coordinates) {
    state = Math.imul(state ^ value, 0x01000193)
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d)
  }
  return (state ^ (state >>> 13)) >>> 0
}

/**
 * Returns the size of a part; large ones are rare among mixed ones.
 * @param {Contents["bytes"]} bytes @param {number} draw
 */
function sizeOf(bytes, draw) {
  if (bytes !== "mixed") return bytes
  const count = MIXED_BYTES.length
  return MIXED_BYTES[Math.min(draw % count, (draw >>> 8) % count)]
}

/** @param {Contents} contents @returns {number} the mean size of a message */
export function meanBytes({ bytes, partsMax = 1 }) {
  const count = MIXED_BYTES.length
  const mixed = MIXED_BYTES.reduce((sum, size, i) => sum + size * (2 * (count - i) - 1), 0)
  return ((bytes === "mixed" ? mixed / count ** 2 : bytes) * (1 + partsMax)) / 2
}

/**
 * @param {number} stream @param {number} sequence @param {number} index
 * @param {Contents} contents
 */
function makePart(stream, sequence, index, { bytes, content }) {
  const size = /** @type {number} */ (sizeOf(bytes, hash(stream, sequence, index)))
  const label = `P${stream}-${sequence}-${index}-`
  const isText = content === "mixed" ? hash(index, sequence, stream) % 2 === 0 : content === "text"
  if (isText) return Buffer.alloc(size, label)
  const counter = Buffer.alloc(16)
  counter.writeUInt32BE(stream, 0)
  counter.writeUInt32BE(sequence, 4)
  counter.writeUInt16BE(index, 8) // and 48 bits that count blocks
  const part = createCipheriv("aes-128-ctr", KEY, counter).update(Buffer.alloc(size))
  part.write(label, "latin1")
  return part
}

/**
 * @param {number} stream @param {number} sequence
 * @param {Contents} contents
 */
export function makeMessage(stream, sequence, contents) {
  const count = 1 + (hash(stream, sequence) % (contents.partsMax ?? 1))
  return Array.from({ length: count }, (_, index) => makePart(stream, sequence, index, contents))
}

/**
 * Identifies a message, and checks its content.
 * @param {Buffer[]} parts
 * @param {Contents} contents
 * @returns {{ stream: number, sequence: number, problem?: string } | { problem: string }}
 */
export function checkMessage(parts, contents) {
  const label = LABEL.exec(parts[0]?.toString("latin1", 0, LABEL_BYTES_MAX) ?? "")
  if (!label) return { problem: `not a message of this run: ${parts.map(shown)}` }
  const stream = Number(label[1])
  const sequence = Number(label[2])
  const expected = makeMessage(stream, sequence, contents)
  const wrong = expected.findIndex((part, i) => !parts[i]?.equals(part))
  if (wrong < 0 && parts.length === expected.length) return { stream, sequence }
  const what = `message ${sequence} of stream ${stream} has ${parts.length} parts of ${expected.length}`
  return { stream, sequence, problem: `${what}; ${differs(parts[wrong], expected[wrong], wrong)}` }
}

/**
 * @param {Buffer | undefined} part
 * @param {Buffer | undefined} expected
 * @param {number} index
 */
function differs(part, expected, index) {
  if (!part || !expected) return "all of them right"
  const at = expected.findIndex((byte, i) => byte !== part[i])
  const length = part.length === expected.length ? "" : ` (of ${expected.length} bytes)`
  return `part ${index}${length} differs from byte ${at} on: ${shown(part.subarray(Math.max(at, 0)))}`
}

/** @param {Buffer} part */
const shown = (part) =>
  `${part.length} bytes ${JSON.stringify(part.toString("latin1", 0, LABEL_BYTES_MAX))}`
