/** A hex dump: offset, bytes, and their ASCII characters. */
import type { PartKind } from "../capture/events.js"
import { html } from "./dom.js"
import { hexByte } from "./readable.js"

const ROW_BYTES = 16

/** @param fields lengths of the first fields, which get different colours. */
export function hexDump(
  bytes: Uint8Array,
  offset: number,
  fields: readonly number[] = [],
): HTMLElement {
  const dump = html("pre", { class: "hex", tabindex: 0 })
  const envelope = fields.reduce((sum, length) => sum + length, 0)
  const colouredEnd = Math.min(bytes.length, Math.ceil(envelope / ROW_BYTES) * ROW_BYTES)
  let at = 0
  for (; at < colouredEnd; at += ROW_BYTES) dump.append(...colouredLine(bytes, at, offset, fields))
  let text = ""
  for (; at < bytes.length; at += ROW_BYTES) text += line(bytes, at, offset)
  dump.append(text)
  return dump
}

const address = (at: number) => `${at.toString(16).padStart(8, "0")}  `
const gap = (column: number) => (column === ROW_BYTES / 2 ? "  " : column ? " " : "")
const character = (byte: number) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·")

function line(bytes: Uint8Array, at: number, offset: number): string {
  let text = address(offset + at)
  let ascii = ""
  for (let column = 0; column < ROW_BYTES; column++) {
    const byte = bytes[at + column]
    text += gap(column) + (byte === undefined ? "  " : hexByte(byte))
    if (byte !== undefined) ascii += character(byte)
  }
  return `${text}  ${ascii}\n`
}

function colouredLine(
  bytes: Uint8Array,
  at: number,
  offset: number,
  fields: readonly number[],
): (Node | string)[] {
  const nodes: (Node | string)[] = [address(offset + at)]
  let ascii = ""
  for (let column = 0; column < ROW_BYTES; column++) {
    const byte = bytes[at + column]
    nodes.push(gap(column))
    if (byte === undefined) {
      nodes.push("  ")
      continue
    }
    const field = fieldAt(fields, at + column)
    nodes.push(field < 0 ? hexByte(byte) : html("b", { class: `field-${field}` }, hexByte(byte)))
    ascii += character(byte)
  }
  nodes.push(`  ${ascii}\n`)
  return nodes
}

function fieldAt(fields: readonly number[], at: number): number {
  let end = 0
  for (const [field, length] of fields.entries()) {
    end += length
    if (at < end) return field
  }
  return -1
}

const ARENA = [
  { name: "sentinel", bytes: 4 },
  { name: "compressed", bytes: 1 },
  { name: "reserved", bytes: 3 },
  { name: "inner size", bytes: 4 },
  { name: "messages", bytes: 4 },
]

/** The fields at the beginning of a part on the wire (RFC.md sections 4 and 13, and appendix A). */
export const envelopes: Partial<Record<PartKind, { name: string; bytes: number }[]>> = {
  plain: [{ name: "sentinel", bytes: 4 }],
  LZ4B: [
    { name: "sentinel", bytes: 4 },
    { name: "plain size", bytes: 8 },
  ],
  LZ4M: [
    { name: "sentinel", bytes: 4 },
    { name: "plain size", bytes: 8 },
    { name: "length of the first block", bytes: 4 },
  ],
  LZ4D: [{ name: "sentinel", bytes: 4 }],
  LZ4A: ARENA,
  ZSTD: [{ name: "sentinel", bytes: 4 }],
  ZDICT: [{ name: "sentinel", bytes: 4 }],
  ZSTA: ARENA,
}
