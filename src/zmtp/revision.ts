/** The properties that announce the revisions that a peer reads (RFC.md sections 3.9 and 13.1). */
import { TextEncoder } from "../base/text.js"
import type { FormatName } from "../codec/format.js"
import { isNamed, latin1, type Property } from "./metadata.js"

/** The names of the properties. */
export const REVISION_NAMES: Readonly<Record<FormatName, string>> = {
  lz4: "X-Lz4-Revision",
  zstd: "X-Zstd-Revision",
}
const FORMATS = Object.keys(REVISION_NAMES) as FormatName[]
const VALUE = /^[1-9][0-9]{0,8}$/

/** A format, and the revision of it that a peer announced. */
export interface Announced {
  format: FormatName
  revision: number
}

/** Returns the property that announces a revision. */
export function revisionProperty(format: FormatName, revision: number): Property {
  return [REVISION_NAMES[format], new TextEncoder().encode(String(revision))]
}

/**
 * Returns the announced revisions in their order, the first of each format. Malformed ones are
 * ignored.
 */
export function readAnnounced(properties: Iterable<Property>): Announced[] {
  const seen = new Map<FormatName, Announced | undefined>()
  for (const [name, value] of properties) {
    const format = FORMATS.find((format) => isNamed(name, REVISION_NAMES[format]))
    if (!format || seen.has(format)) continue
    const text = latin1(value)
    seen.set(format, VALUE.test(text) ? { format, revision: Number(text) } : undefined)
  }
  return [...seen.values()].filter((announced) => announced !== undefined)
}

/**
 * Returns what both sides use, of what the peer announced; undefined if that has none of this side's
 * formats. If both have both, it is the one that both name first, and zstd if they do not agree.
 */
export function agreed(
  own: readonly FormatName[],
  announced: readonly Announced[],
): Announced | undefined {
  const common = announced.filter(({ format }) => own.includes(format))
  const [first] = common
  if (common.length < 2 || first?.format === own[0]) return first
  return common.find(({ format }) => format === "zstd")
}
