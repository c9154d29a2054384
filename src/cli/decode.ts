import {
  type BytesKind,
  type DecodedPiece,
  decodeBytes,
  kindOfBytes,
  type MessagePiece,
} from "../capture/decode-bytes.js"
import type { CapturePart, PartKind } from "../capture/events.js"
import { parseHex } from "../capture/hex-text.js"
import { contentFields, partFields } from "../capture/json-rows.js"
import { partCount, printedParts, variousParts, wireBytesOf } from "../capture/parts.js"
import { printableJson, utf8 } from "../capture/printable.js"
import { counted } from "../capture/reports/report.js"
import { contentOf } from "../capture/streams/messages.js"
import { visible } from "../capture/visible.js"
import { loadFormat } from "../codec/formats.js"
import { type Command, command } from "./command.js"
import { readDictionary } from "./dictionary.js"
import { InputError, orInputError, UsageError } from "./errors.js"
import { readStart } from "./input.js"
import { base64, moreText, Output, untilClosed } from "./output.js"
import { cutTo } from "./terminal-text.js"

export const decode: Command = command({
  synopsis: "decode [options] HEX",
  summary: "decode a frame, or a part of a message, given in hexadecimal",
  about: `Decodes bytes of a connection over lz4+tcp://, zstd+tcp:// or tcp://: a frame with its head,
several of them, a greeting, or one part without the head of its frame, which begins with its
sentinel. The first line says for which of these the bytes were taken. HEX may have spaces, colons, 0x
or lines between bytes, or be as hexdump -C or xxd print it; "-" reads it from standard input:
xxd FILE | zeromq-lz4 decode -`,
  options: {
    "--dictionary FILE": "the dictionary that the sender had shipped before",
    "--json": "prints a JSON object for each greeting, command and message",
  },
  notes: `The exit code is 1 if something does not decode; the reason begins with its byte, from 0.`,
  async run({ dictionary, json = false }, positionals) {
    if (positionals.length === 0) throw new UsageError("no HEX given")
    const isInput = positionals.length === 1 && positionals[0] === "-"
    const text = isInput ? String(await readStart("-", TEXT_MAX_BYTES)) : positionals.join(" ")
    const given = dictionary === undefined ? undefined : readDictionary(dictionary)
    await printDecoded(bytesOf(text), given, json)
  },
})

/** Maximum length of HEX on standard input. */
const TEXT_MAX_BYTES = 64 << 20
const CONTENT_COLUMNS = 4096

function bytesOf(text: string): Uint8Array {
  const bytes = orInputError(() => parseHex(text))
  if (bytes.length === 0) throw new InputError("there are no bytes to decode")
  return bytes
}

/** A line of the result: words, or an object in JSON. */
interface Row {
  words: string[]
  fields: object
  /** What does not decode, with its byte. */
  error?: string | undefined
}

async function printDecoded(
  bytes: Uint8Array,
  dictionary: Uint8Array | undefined,
  json: boolean,
): Promise<void> {
  const output = new Output()
  await loadFormat("zstd") // the bytes may be of either
  let failure: string | undefined
  async function print(): Promise<void> {
    for (const { words, fields, error } of rowsOf(bytes, dictionary)) {
      for (const line of json ? [printableJson(fields)] : words)
        await output.add(`${visible(line)}\n`)
      failure ??= error
    }
    await output.flush()
  }
  await untilClosed(print())
  if (failure !== undefined) throw new InputError(failure)
}

const KINDS: Readonly<Record<BytesKind, string>> = {
  part: "a part without the head of its frame",
  greeting: "the beginning of a connection: a greeting",
  frames: "frames of ZMTP",
}

function* rowsOf(bytes: Uint8Array, dictionary: Uint8Array | undefined): Generator<Row> {
  const as = kindOfBytes(bytes)
  yield {
    words: [`${counted(bytes.length, "byte")}, taken for ${KINDS[as]}`],
    fields: { type: "input", bytes: bytes.length, as },
  }
  try {
    for (const piece of decodeBytes(bytes, dictionary)) yield rowOf(piece)
  } catch (error) {
    // The dictionary is not of the format that the bytes are of.
    throw error instanceof TypeError ? new InputError(`--dictionary: ${error.message}`) : error
  }
}

function rowOf(piece: DecodedPiece): Row {
  if (piece.type === "message") return messageRow(piece)
  if (piece.type === "error") return { words: [], fields: piece, error: piece.message }
  const at = `byte ${piece.offset}`
  if (piece.type === "greeting") {
    const role = piece.asServer ? ", as its server" : ""
    const words = `${at}: greeting of ZMTP ${piece.version}, mechanism ${piece.mechanism}${role}`
    return { words: [words], fields: piece }
  }
  const size = counted(piece.bytes, "byte")
  if (piece.type === "encrypted")
    return { words: [`${at}: MESSAGE of CURVE, ${size}, encrypted`], fields: piece }
  const { data, ...fields } = piece
  const meaning = piece.detail ? `: ${piece.detail}` : ""
  return {
    words: [`${at}: command ${piece.name}, ${size}${meaning}`],
    fields: { ...fields, body: contentFields(data, base64) },
  }
}

function messageRow({ type, messages, partOffset, ...piece }: MessagePiece): Row {
  const { offset, transport, isWhole } = piece
  const scheme = transport === "tcp" ? ", without sentinels as over tcp://" : ""
  const end = isWhole ? "" : "; more parts follow it"
  const words: string[] = []
  const errors: string[] = []
  const fields = messages.map((message) => {
    const { arena = null, wireBytes, plainBytes } = message
    const { parts, more } = printedParts(message)
    const what = arena ? `message ${arena.index + 1} of ${arena.messages} in an arena` : "message"
    words.push(`byte ${offset}: ${what}, ${counted(partCount(message), "part")}${scheme}${end}`)
    const wire = wireBytesOf(message, parts)
    for (const [i, part] of parts.entries()) {
      const bytes = counted(part.wire.length, "byte")
      const size = arena ? `${wire[i]} of the arena's ${bytes}` : bytes
      words.push(...partWords(part, size, partOffset(message, i)))
    }
    if (more) words.push(`  ${moreText(more)}`)
    for (const [i, { error }] of variousParts(message).entries())
      if (error) errors.push(`byte ${partOffset(message, i)}: ${error.code}: ${error.message}`)
    return {
      ...{ wireBytes, plainBytes, arena },
      parts: parts.map((part, i) => ({
        offset: partOffset(message, i),
        ...partFields(part, wire[i] as number, true, base64),
      })),
      ...(more && { more }),
    }
  })
  return { words, fields: { type, ...piece, messages: fields }, error: errors[0] }
}

const NAMES: Readonly<Record<PartKind, string>> = {
  none: "no sentinel",
  plain: "plain",
  LZ4B: "LZ4B, one block",
  LZ4M: "LZ4M, several blocks",
  LZ4D: "LZ4D, a dictionary",
  LZ4A: "LZ4A, from an arena",
  ZSTD: "ZSTD, a frame",
  ZDICT: "ZDICT, a dictionary",
  ZSTA: "ZSTA, from an arena",
}

function partWords(part: CapturePart, size: string, at: number): string[] {
  const { kind, plain, error } = part
  const sizes = `${size}, ${plain ? `${plain.length} plain` : "not decoded"}`
  const head = `  byte ${at}: ${NAMES[kind]}; ${sizes}`
  if (error) return [head, `    ${error.code}: ${error.message}`]
  const shown = contentOf(part)
  return shown && shown.length > 0 ? [head, `    ${textOf(shown)}`] : [head]
}

/** Formats content as text if it is UTF-8, otherwise in hexadecimal. */
function textOf(bytes: Uint8Array): string {
  const start = bytes.subarray(0, 4 * CONTENT_COLUMNS)
  const text = start.length === bytes.length ? utf8(bytes) : undefined
  const hex = () => Buffer.from(start).toString("hex")
  return cutTo(text ?? hex().replace(/..(?=.)/g, "$& "), CONTENT_COLUMNS)
}
