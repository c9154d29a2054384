import { decodeFrames } from "../capture/decode-frames.js"
import type { CapturePart, PartKind } from "../capture/events.js"
import { parseHex } from "../capture/hex-text.js"
import { printableJson, utf8 } from "../capture/printable.js"
import { describeCommand, withoutPassword } from "../capture/streams/describe-command.js"
import { greetingHandshake } from "../capture/streams/handshake.js"
import { kindOf, shippedIn } from "../capture/streams/messages.js"
import {
  areFlags,
  BODY_MAX_BYTES,
  COMMAND,
  FrameHead,
  framesLength,
  LONG,
  MORE,
  writeFrames,
} from "../codec/frames.js"
import { commandName } from "../zmtp/commands.js"
import { GREETING_BYTES } from "../zmtp/greeting.js"
import { parse } from "./args.js"
import { readDictionary } from "./dictionary.js"
import { InputError, UsageError } from "./errors.js"
import { readStart } from "./input.js"
import { count, printLines } from "./output.js"
import { cutTo } from "./terminal-text.js"

export const usage = `usage: zeromq-lz4 decode [options] HEX

Decodes bytes of a connection over lz4+tcp:// or tcp://: a frame with its head, several of them, a
greeting, or one part without the head of its frame, which begins with its sentinel. The first line
says for which of these the bytes were taken. HEX may have spaces, colons, 0x or lines between bytes,
or be as hexdump -C or xxd print it; "-" reads it from standard input:
xxd FILE | zeromq-lz4 decode -

      --dictionary FILE     the dictionary that the sender had shipped before
      --json                prints a JSON object for each greeting, command and message
  -h, --help                this text

The exit code is 1 if something does not decode; the reason begins with its byte, from 0.`

/** Maximum length of HEX on standard input. */
const TEXT_MAX_BYTES = 64 << 20
/** Maximum plaintext of one message: a few bytes can declare gigabytes. */
const MESSAGE_MAX_BYTES = 256 << 20
/** Columns of content that are printed as text. */
const CONTENT_COLUMNS = 4096
const SIGNATURE_FIRST = 0xff

function bytesOf(text: string): Uint8Array {
  try {
    const bytes = parseHex(text)
    if (bytes.length > 0) return bytes
  } catch (error) {
    throw new InputError((error as Error).message)
  }
  throw new InputError("there are no bytes to decode")
}

/** A line of the result: words, or an object in JSON. */
interface Row {
  words: string[]
  fields: object
  /** What does not decode, with its byte. */
  error?: string | undefined
}

export async function decode(args: string[]): Promise<void> {
  const { text, dictionary, json } = await readArgs(args)
  const bytes = bytesOf(text)
  const lines: string[] = []
  let failure: string | undefined
  for (const { words, fields, error } of rowsOf(bytes, dictionary)) {
    if (json) lines.push(printableJson(fields))
    else for (const line of words) lines.push(line)
    failure ??= error
  }
  await printLines(lines)
  if (failure !== undefined) throw new InputError(failure)
}

async function readArgs(args: string[]) {
  const { values, positionals } = parse({
    args,
    allowPositionals: true,
    options: { dictionary: { type: "string" }, json: { type: "boolean" } },
  })
  if (positionals.length === 0) throw new UsageError("no HEX given")
  const isInput = positionals.length === 1 && positionals[0] === "-"
  return {
    text: isInput ? String(await readStart("-", TEXT_MAX_BYTES)) : positionals.join(" "),
    dictionary: values.dictionary === undefined ? undefined : readDictionary(values.dictionary),
    json: values.json ?? false,
  }
}

/** Decodes everything, up to what cannot be understood. */
function* rowsOf(bytes: Uint8Array, dictionary: Uint8Array | undefined): Generator<Row> {
  const kind = kindOf(bytes)
  const isGreeting = bytes[0] === SIGNATURE_FIRST
  const as = kind !== "none" ? "part" : isGreeting ? "greeting" : "frames"
  const words = {
    part: "a part without the head of its frame",
    greeting: "the beginning of a connection: a greeting",
    frames: "frames of ZMTP",
  }[as]
  yield {
    words: [`${count(bytes.length, "byte")}, taken for ${words}`],
    fields: { type: "input", bytes: bytes.length, as },
  }
  if (as === "part") {
    yield messageRow([{ at: 0, body: bytes, isLast: true }], 0, bytes.length, dictionary)
    return
  }
  try {
    if (isGreeting) yield greetingRow(bytes)
    yield* frameRows(bytes, isGreeting ? GREETING_BYTES : 0, dictionary)
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    const { message } = error
    yield { words: [], fields: { type: "error", message }, error: message }
  }
}

function greetingRow(bytes: Uint8Array): Row {
  if (bytes.length < GREETING_BYTES)
    throw new InputError(
      `byte 0: a greeting has ${GREETING_BYTES} bytes; there are ${bytes.length}`,
    )
  if (bytes[9] !== 0x7f)
    throw new InputError(
      `byte 9: ${hexOf(bytes, 9)} where a greeting, which begins with ff, has 7f`,
    )
  const { version, mechanism, asServer } = greetingHandshake(bytes.subarray(0, GREETING_BYTES))
  const role = asServer ? ", as its server" : ""
  return {
    words: [`byte 0: greeting of ZMTP ${version}, mechanism ${mechanism}${role}`],
    fields: { type: "greeting", offset: 0, version, mechanism, asServer },
  }
}

/** A part of a message and its place. */
interface Part {
  at: number
  body: Uint8Array
  isLast: boolean
}

function* frameRows(
  bytes: Uint8Array,
  start: number,
  given: Uint8Array | undefined,
): Generator<Row> {
  let dictionary = given
  let parts: Part[] = []
  let messageAt = start
  const message = (end: number) => messageRow(parts, messageAt, end - messageAt, dictionary)
  let at = start
  while (at < bytes.length) {
    const { flags, bodyAt, end } = frameAt(bytes, at)
    const body = bytes.subarray(bodyAt, end)
    if (flags & COMMAND) {
      yield commandRow(body, at, end - at)
    } else {
      if (parts.length === 0) messageAt = at
      parts.push({ at: bodyAt, body, isLast: (flags & MORE) === 0 })
      if (!(flags & MORE)) {
        const row = message(end)
        yield row
        dictionary = row.shipped ?? dictionary
        parts = []
      }
    }
    at = end
  }
  if (parts.length > 0) yield message(at)
}

/** Reads the frame at a position. @throws InputError if there is none, or not all of it. */
function frameAt(bytes: Uint8Array, at: number): { flags: number; bodyAt: number; end: number } {
  const head = new FrameHead()
  const bodyAt = head.read(bytes, at)
  const { flags, bodyBytes } = head
  if (!areFlags(flags)) {
    const expected = at === 0 ? "a frame, a greeting or a part with its sentinel" : "a frame"
    throw new InputError(`byte ${at}: ${hexOf(bytes, at)} cannot begin ${expected}`)
  }
  if (bodyAt > bytes.length)
    throw new InputError(
      `byte ${at}: the head of a ${flags & LONG ? "long" : "short"} frame has ${bodyAt - at} bytes; there are ${bytes.length - at}`,
    )
  if (bodyBytes >= BODY_MAX_BYTES)
    throw new InputError(`byte ${at + 1}: the length of the frame has its highest bit set`)
  if (bodyAt + bodyBytes > bytes.length)
    throw new InputError(
      `byte ${at + 1}: the frame declares ${BigInt(bodyBytes)} bytes; ${bytes.length - bodyAt} follow`,
    )
  return { flags, bodyAt, end: bodyAt + bodyBytes }
}

function commandRow(body: Uint8Array, offset: number, bytes: number): Row {
  const name = commandName(body)
  if (name === undefined) {
    const message = `byte ${offset}: a command without a name`
    return { words: [message], fields: { type: "error", message }, error: message }
  }
  const all = body.subarray(1 + name.length)
  const data = name === "HELLO" ? withoutPassword(all) : all
  const detail = describeCommand(name, data)
  return {
    words: [
      `byte ${offset}: command ${name}, ${count(bytes, "byte")}${detail ? `: ${detail}` : ""}`,
    ],
    fields: { type: "command", offset, bytes, name, detail, body: content(data) },
  }
}

/** Decodes a message; one whose last part is missing as if it ended here. */
function messageRow(
  parts: readonly Part[],
  offset: number,
  bytes: number,
  dictionary: Uint8Array | undefined,
): Row & { shipped: Uint8Array | undefined } {
  const [first] = parts as [Part]
  const isWhole = parts.at(-1)?.isLast === true
  const end = isWhole ? "" : "; more parts follow it"
  if (isSealed(first.body))
    return {
      words: [`byte ${offset}: MESSAGE of CURVE, ${count(bytes, "byte")}, encrypted`],
      fields: { type: "encrypted", offset, bytes },
      shipped: undefined,
    }
  const bodies = parts.map(({ body }) => body)
  const frames = new Uint8Array(framesLength(bodies))
  writeFrames(frames, 0, bodies)
  const transport = kindOf(first.body) === "none" ? "tcp" : "lz4+tcp"
  const messages = decodeFrames(frames, {
    transport,
    maxMessageSize: MESSAGE_MAX_BYTES,
    ...(dictionary && { dictionary }),
  })
  const errors: string[] = []
  const words = messages.flatMap(({ parts: decoded, arena }) => {
    const what = arena ? `message ${arena.index + 1} of ${arena.messages} in an arena` : "message"
    const scheme = transport === "tcp" ? ", without sentinels as over tcp://" : ""
    return [
      `byte ${offset}: ${what}, ${count(decoded.length, "part")}${scheme}${end}`,
      ...decoded.flatMap((part, i) => partWords(part, parts[arena ? 0 : i]?.at ?? offset)),
    ]
  })
  for (const { parts: decoded } of messages)
    for (const [i, { error }] of decoded.entries())
      if (error) errors.push(`byte ${parts[i]?.at}: ${error.code}: ${error.message}`)
  const fields = {
    type: "message",
    offset,
    bytes,
    transport,
    isWhole,
    messages: messages.map(({ parts: decoded, wireBytes, plainBytes, arena }) => ({
      wireBytes,
      plainBytes,
      arena: arena ?? null,
      parts: decoded.map((part, i) => partFields(part, parts[arena ? 0 : i]?.at ?? offset)),
    })),
  }
  const shipped = shippedIn(messages[0]?.parts[0] as CapturePart)
  return { words, fields, error: errors[0], shipped }
}

/** Returns whether a frame is a MESSAGE command of CURVE, whose frames have no COMMAND. */
const isSealed = (body: Uint8Array): boolean => body.length > 32 && commandName(body) === "MESSAGE"

const NAMES: Readonly<Record<PartKind, string>> = {
  none: "no sentinel",
  plain: "plain",
  LZ4B: "LZ4B, one block",
  LZ4M: "LZ4M, several blocks",
  LZ4D: "LZ4D, a dictionary",
  LZ4A: "LZ4A, from an arena",
}

function partWords({ kind, wire, plain, error }: CapturePart, at: number): string[] {
  const sizes = `${count(wire.length, "byte")}, ${plain ? `${plain.length} plain` : "not decoded"}`
  const head = `  byte ${at}: ${NAMES[kind]}; ${sizes}`
  if (error) return [head, `    ${error.code}: ${error.message}`]
  const shown = kind === "LZ4D" ? wire.subarray(4) : plain
  return shown && shown.length > 0 ? [head, `    ${textOf(shown)}`] : [head]
}

function partFields({ kind, wire, plain, error }: CapturePart, offset: number): object {
  const shown = kind === "LZ4D" ? wire.subarray(4) : plain
  return {
    kind,
    offset,
    wireBytes: wire.length,
    plainBytes: plain?.length ?? null,
    ...(shown ? content(shown) : {}),
    ...(error ? { error: { code: error.code, message: error.message } } : {}),
  }
}

/** Formats content as text if it is UTF-8, otherwise in hexadecimal. */
function textOf(bytes: Uint8Array): string {
  const start = bytes.subarray(0, 4 * CONTENT_COLUMNS)
  const text = start.length === bytes.length ? utf8(bytes) : undefined
  return cutTo(
    text ??
      Buffer.from(start)
        .toString("hex")
        .replace(/..(?=.)/g, "$& "),
    CONTENT_COLUMNS,
  )
}

function content(bytes: Uint8Array): { text?: string; base64?: string } {
  const text = utf8(bytes)
  return text === undefined ? { base64: Buffer.from(bytes).toString("base64") } : { text }
}

const hexOf = (bytes: Uint8Array, at: number): string =>
  (bytes[at] as number).toString(16).padStart(2, "0")
