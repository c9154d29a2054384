/** Recordings of zstd+tcp, recognised by what is on the wire (RFC.md section 13). */
import { describe, expect, test } from "vitest"
import {
  type CapturePart,
  CaptureReader,
  captureFilter,
  decodeCapture,
  decodeFrames,
  readCapture,
} from "zeromq-lz4/capture"
import { Codec, trainDictionary } from "zeromq-lz4/codec"

import { payload } from "../../../bench/payloads.mjs"
import { captured, only, saidIn } from "../../support/captures.js"
import { concat, plainPart } from "../../support/wire.js"
import { greeting, message, ready } from "../../support/zmtp.js"

const text = (content: string) => new TextEncoder().encode(content)
const long = "so it goes, ".repeat(60)
const samples = Array.from({ length: 300 }, (_, i) => payload("json", 200, i))
const dictionary = await trainDictionary(samples, { format: "zstd" })
const event = payload("json", 300, 7)

/** What one side sends: messages of texts, or of bytes. */
function sent(messages: (string | Uint8Array)[][], options: object = {}): Uint8Array {
  using codec = Codec.createSync({ format: "zstd", ...options })
  const all = messages.map((parts) =>
    parts.map((part) => (typeof part === "string" ? text(part) : part)),
  )
  const wire =
    "arenas" in options ? codec.encodeBatch(all) : all.flatMap((one) => codec.encode(one))
  return concat(...wire.map((parts) => message(...parts)))
}
const begin = (type: string, format?: string) =>
  concat(greeting(), format ? ready(type, 2, format) : ready(type))
const push = begin("PUSH", "Zstd")
const pull = begin("PULL", "Zstd")

test("sides that announce different formats, or only one of them any, have a warning", () => {
  const warningOf = (client: Uint8Array, server: Uint8Array, ...messages: Uint8Array[]) =>
    only(
      captured([
        ["client", client],
        ["server", server],
        ...messages.map((one) => ["client", one] as const),
      ]),
    ).warning
  expect(warningOf(push, begin("PULL", "Lz4"))).toBe(
    "the client speaks zstd+tcp:// and the server lz4+tcp://, so they refuse each other: use the same on both sides, or the option acceptPlain on one of them",
  )
  expect(warningOf(push, pull)).toBeUndefined()
  const first = sent([["a"]])
  // Also if a message comes before the other side's READY.
  for (const [client, ...messages] of [[push, first], [concat(push, first)]] as const)
    expect(warningOf(client, begin("PULL"), ...messages)).toMatch(
      /^the client speaks zstd\+tcp:\/\/, and the server does not announce that it does/,
    )
})

describe("the format is that of what is sent, however much is announced", () => {
  test.each([
    ["announced", push, pull],
    ["not announced", begin("PUSH"), begin("PULL")],
    ["announced as another", begin("PUSH", "Lz4"), begin("PULL", "Lz4")],
  ])("%s", (_, client, server) => {
    const stream = concat(client, sent([["a"], [long, "b"], ["c"]]))
    const file = captured([
      ["client", stream],
      ["server", server],
    ])
    expect(saidIn(file)).toEqual([
      "client: plain a",
      `client: ZSTD ${long} | plain b`,
      "client: plain c",
    ])
    const { transport, messages, warning } = only(file)
    expect({ transport, warning }).toEqual({ transport: "zstd+tcp", warning: undefined })
    expect(messages[1]?.wireBytes).toBeLessThan(100)
  })
})

test("plain parts alone are of the announced format", () => {
  const file = (format?: string) =>
    captured([
      ["client", concat(begin("PUSH", format), sent([["a"]]))],
      ["server", begin("PULL", format)],
    ])
  expect(only(file("Zstd")).transport).toBe("zstd+tcp")
  expect(only(file("Lz4")).transport).toBe("lz4+tcp")
  expect(only(file()).transport).toBe("lz4+tcp")
})

test("a dictionary and what needs it, and arenas", () => {
  const small = Array.from({ length: 50 }, (_, i) => [`event ${i} of this connection`])
  const stream = concat(push, sent([[event]], { dictionary }), sent(small, { arenas: true }))
  const { messages, shipments } = only(stream)
  expect(shipments[0]?.parts[0]).toMatchObject({ kind: "ZDICT", plain: new Uint8Array() })
  expect(messages[0]?.parts[0]?.kind).toBe("ZSTD")
  expect(Buffer.compare(messages[0]?.parts[0]?.plain as Uint8Array, event)).toBe(0)
  expect(messages.slice(1).map(({ arena }) => arena?.index)).toEqual(small.map((_, i) => i))
  expect(messages[1]?.parts[0]?.kind).toBe("ZSTA")
})

test("what is broken has an error, with the code of the format", () => {
  const part = new Uint8Array(sent([[long]])).slice(2)
  const cut = part.slice(0, -3)
  const file = concat(push, message(cut), sent([[long]]))
  expect(saidIn(file)).toEqual(["client: ZSTD (ERR_ZSTD_TRUNCATED)", `client: ZSTD ${long}`])
})

test("a dictionary from before the recording is missing, or given", () => {
  using codec = Codec.createSync({ format: "zstd", dictionary })
  codec.encode([event])
  const later = Array.from({ length: 3 }, () =>
    message(...(codec.encode([event])[0] as Uint8Array[])),
  )
  const stream = captured([["client", concat(...later)]], { begun: false })
  expect(only(stream).warning).toMatch(/^messages of the client do not decode/)
  const given = only(stream, { dictionary })
  expect(given.messages[0]?.parts[0]).toMatchObject({ kind: "ZSTD", dictionary: "given" })
  expect(Buffer.compare(given.messages[0]?.parts[0]?.plain as Uint8Array, event)).toBe(0)
  const { errors, connections } = decodeCapture(stream, { dictionary: text("raw bytes") })
  expect([...errors, ...(connections[0]?.errors ?? [])][0]?.message).toMatch(
    /the given dictionary is not one of zstd\+tcp:\/\//,
  )
})

test("the two sides of a connection may not have different formats", () => {
  using lz4 = Codec.createSync()
  const [other] = lz4.encode([text(long)])
  const file = captured([
    ["client", concat(push, sent([[long]]))],
    ["server", concat(pull, message(...(other as Uint8Array[])))],
  ])
  expect(saidIn(file)).toContain(
    "client: ERR_LZ4_UNKNOWN_SENTINEL: parts of the server are those of lz4+tcp://, and those of the client of zstd+tcp:// (RFC.md section 13.1)",
  )
})

test("frames are found in the middle of a recording", () => {
  const stream = sent(Array.from({ length: 20 }, (_, i) => [`${i} ${long}`]))
  const said = saidIn(captured([["client", stream.subarray(5)]], { begun: false }))
  expect(said.at(-1)).toBe(`client: ZSTD 19 ${long}`)
})

test("decodeFrames, filters and readCapture know the forms", async () => {
  const frames = sent([[long]])
  const [decoded] = decodeFrames(frames, { transport: "zstd+tcp" })
  expect(decoded?.parts[0]).toMatchObject({ kind: "ZSTD", plain: text(long) })
  const withDictionary = sent([[event]], { dictionary }).subarray(9 + dictionary.length)
  const [again] = decodeFrames(withDictionary, { transport: "zstd+tcp", dictionary })
  expect(Buffer.compare(again?.parts[0]?.plain as Uint8Array, event)).toBe(0)
  expect(() => decodeFrames(frames, { transport: "zstd+tcp", dictionary: text("raw") })).toThrow(
    "dictionary must be in the format of Zstandard",
  )
  const file = concat(push, frames, sent([["a"]]))
  const parts: CapturePart[] = []
  const isZstd = captureFilter("kind=zstd")
  for await (const one of readCapture(new Blob([Buffer.from(file)])))
    if (one.type === "message" && isZstd(one)) parts.push(...one.message.parts)
  expect(parts.map(({ kind }) => kind)).toEqual(["ZSTD"])
})

test("a compressed part of 1 MiB in one byte at a time is decoded", () => {
  const plain = new Uint8Array(2 ** 20)
  const file = concat(push, sent([[plain]]), sent([["end"]]))
  using reader = new CaptureReader()
  const found = []
  for (const byte of file) found.push(...reader.push(Uint8Array.of(byte)))
  found.push(...reader.end())
  const sizes = found.flatMap((one) => (one.type === "message" ? [one.message.plainBytes] : []))
  expect(sizes).toEqual([2 ** 20, 3])
})

test("a plain part of the other sentinel's text is only plain", () => {
  const file = concat(push, message(plainPart(text("ZSTA and LZ4B"))))
  expect(saidIn(file)).toEqual(["client: plain ZSTA and LZ4B"])
})
