/** Reads RFC.md: its examples, in the notation of its section 11, and its tables. */
import { readFileSync } from "node:fs"
import { expect } from "vitest"

import { concat, dictionaryPart } from "./wire.js"
import { message, ready } from "./zmtp.js"

export const rfc: string = readFileSync(new URL("../../RFC.md", import.meta.url), "utf8")

export interface Example {
  readonly name: string
  /** Whether only decoding is checked. */
  readonly receiverOnly: boolean
  readonly plain: Uint8Array[]
  readonly wire: Uint8Array[]
  readonly dictionary: Uint8Array | undefined
  readonly installs: Uint8Array | undefined
  readonly budget: number | undefined
  readonly error: string | undefined
  readonly greeting: Uint8Array | undefined
  readonly frames: Uint8Array | undefined
  readonly handshake: Uint8Array | undefined
  readonly socket: string | undefined
  readonly announces: string | undefined
  /** The bodies of the frames that the receiver answers with. */
  readonly answers: Uint8Array[]
  readonly commands: string[]
  readonly messages: Uint8Array[][]
}

/** Reads the examples of a format, in the notation of RFC.md section 11. */
function readExamples(text: string, fence: "hex" | "zstd"): Example[] {
  const start = `^\`\`\`${fence}`
  const blocks = [
    ...text.matchAll(new RegExp(`${start} example=(\\S+)( receiver)?\\n(.*?)^\`\`\`$`, "gms")),
  ]
  expect(blocks.length).toBe([...text.matchAll(new RegExp(start, "gm"))].length)
  expect(new Set(blocks.map(([, name]) => name)).size).toBe(blocks.length)
  return blocks.map(([, name, receiverOnly, body]) => {
    const entries = readEntries(body!)
    const all = (key: string) => entries.filter((entry) => entry.key === key)
    const one = (key: string) => {
      expect(all(key).length).toBeLessThan(2)
      return all(key)[0]?.value
    }
    const bytes = (key: string) => {
      const value = one(key)
      return value === undefined ? undefined : bytesOf(value)
    }
    const budget = one("budget")
    return {
      name: name!,
      receiverOnly: receiverOnly !== undefined,
      plain: all("plain").map(({ value }) => bytesOf(value)),
      wire: all("wire").map(({ value }) => bytesOf(value)),
      dictionary: bytes("dictionary"),
      installs: bytes("installs"),
      budget: budget === undefined ? undefined : Number(budget),
      error: one("error"),
      greeting: bytes("greeting"),
      frames: bytes("frames"),
      handshake: bytes("handshake"),
      socket: entries.find(({ key }) => key === "socket")?.value.replaceAll("'", ""),
      announces: one("announces"),
      answers: all("answer").map(({ value }) => bytesOf(value)),
      commands: all("command").map(({ value }) => new TextDecoder().decode(bytesOf(value))),
      messages: all("message").map(({ value }) => partsOf(value)),
    }
  })
}

const KEYS = new Set(readTable("## 11.").map(([key]) => key!.replaceAll("`", "")))

function readEntries(body: string): { key: string; value: string }[] {
  const entries: { key: string; value: string }[] = []
  for (const line of body.trimEnd().split("\n")) {
    const bare = line.replace(/^((?:[^'#]|'[^']*')*)#.*$/, "$1").trimEnd()
    const [, key, value] = /^(\w+): *(.*)$/.exec(bare) ?? []
    if (key !== undefined) {
      expect(KEYS).toContain(key)
      entries.push({ key, value: value! })
    } else {
      expect(bare).toMatch(/^ +\S/)
      entries.at(-1)!.value += ` ${bare.trim()}`
    }
  }
  return entries
}

export function bytesOf(text: string): Uint8Array {
  const parts = partsOf(text)
  expect(parts).toHaveLength(1)
  return parts[0]!
}

/** Parses bytes in the notation of RFC.md section 11, with a bar between two parts. */
function partsOf(text: string): Uint8Array[] {
  const token = /\s*(?:'([^']*)'|([\da-f]{2})\.\.([\da-f]{2})|([\da-f]{2})|x (\d+)|([(|)])|$)/y
  const parts: Uint8Array[] = []
  const groups: Uint8Array[][] = [[]]
  while (token.lastIndex < text.length) {
    const at = token.lastIndex
    const found = token.exec(text)
    if (!found) throw new Error(`RFC.md: not in the notation of section 11: ${text.slice(at)}`)
    const [, ascii, from, to, byte, count, sign] = found
    const items = groups.at(-1)!
    if (ascii !== undefined) items.push(new TextEncoder().encode(ascii))
    else if (from !== undefined) items.push(run(Number(`0x${from}`), Number(`0x${to}`)))
    else if (byte !== undefined) items.push(new Uint8Array([Number(`0x${byte}`)]))
    else if (count !== undefined) items.push(concat(...Array(Number(count)).fill(items.pop()!)))
    else if (sign === "(") groups.push([])
    else if (sign === ")") groups.at(-2)!.push(concat(...groups.pop()!))
    else if (sign === "|") parts.push(concat(...items.splice(0)))
  }
  expect(groups).toHaveLength(1)
  return [...parts, concat(...groups[0]!)]
}

function run(from: number, to: number): Uint8Array {
  const step = from < to ? 1 : -1
  return Uint8Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => from + i * step)
}

/** Reads the first table under a heading, without its header row. */
export function readTable(heading: string): string[][] {
  const start = rfc.indexOf(`\n${heading} `)
  if (start < 0) throw new Error(`RFC.md has no section ${heading}`)
  const table = /(?:^\|.*\n)+/m.exec(rfc.slice(start))![0]
  return table
    .trimEnd()
    .split("\n")
    .slice(2)
    .map((row) =>
      row
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

export const examples: readonly Example[] = readExamples(rfc, "hex")
/** Those of zstd+tcp, in section 13. */
export const zstdExamples: readonly Example[] = readExamples(rfc, "zstd")

/** Returns the examples that a test is for, each with its name. */
export const named = (which: (example: Example) => boolean): (readonly [string, Example])[] =>
  examples.filter(which).map((example) => [example.name, example] as const)

/** Returns the bytes that a receiver of an example gets after the greeting. */
export function streamOf({ wire, dictionary, frames, handshake, socket }: Example): Uint8Array {
  if (handshake) return handshake
  return concat(
    ready(PEER_TYPES[socket ?? "PULL"] as string),
    dictionary ? message(dictionaryPart(dictionary)) : new Uint8Array(),
    frames ?? message(...wire),
  )
}

/** The socket types of receivers in examples, and a type of peer for each. */
export const PEER_TYPES: Readonly<Record<string, string>> = {
  PULL: "PUSH",
  REQ: "REP",
  XPUB: "SUB",
}

/** Returns the messages that a receiver of an example delivers. */
export function deliveredIn({ plain, wire, messages, error, installs }: Example): Uint8Array[][] {
  return wire.length === 0 || error || installs ? messages : [plain]
}

/** Whether a receiver gets the example after a greeting. */
export const isReceived = ({ wire, frames, handshake, commands }: Example): boolean =>
  (wire.length > 0 || frames !== undefined || handshake !== undefined) &&
  !commands.includes("READY")
