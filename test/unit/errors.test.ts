/** docs/errors.md compared with the source, and the error code of every misuse. */
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { CaptureReader, decodeCapture, decodeFrames, readCapture } from "zeromq-lz4/capture"
import { Codec, type CodecOptions, trainDictionary } from "zeromq-lz4/codec"

import { dictionaryPart } from "../support/wire.js"

const root = new URL("../../", import.meta.url)
const document = readFileSync(new URL("docs/errors.md", root), "utf8")

function sources(directory: string): [file: string, text: string][] {
  const at = new URL(`src/${directory}`, root)
  return readdirSync(at, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => [`${directory}${file}`, readFileSync(new URL(file, at), "utf8")])
}

test("docs/errors.md lists every code exactly once", () => {
  const listed = [...document.matchAll(/^\| `(ERR_[A-Z0-9_]+)`/gm)].map(([, code]) => code)
  const used = sources("").flatMap(([, text]) =>
    [...text.matchAll(/"(ERR_[A-Z0-9_]+)"/g)].map(([, code]) => code),
  )
  expect(listed.sort()).toEqual([...new Set(used)].sort())
})

test("docs/errors.md lists the codes that sockets have in common with zeromq.js", () => {
  const listed = [...document.matchAll(/^\| `(E(?!RR_)[A-Z]+)`/gm)].map(([, code]) => code)
  const source = readFileSync(new URL("src/transport/zmq-error.ts", root), "utf8")
  const [, messages] = /const MESSAGES = \{\n(.*?)\n\}/s.exec(source) ?? expect.fail("no MESSAGES")
  const ours = [...messages!.matchAll(/^ {2}(E[A-Z]+):/gm)].map(([, code]) => code)
  // The last one is zeromq.js's, for schemes that it does not know.
  expect(listed).toEqual([...ours, "EPROTONOSUPPORT"].sort())
})

test("docs/errors.md describes codes as RFC.md does", () => {
  const rows = (text: string) =>
    [...text.matchAll(/^\| `?(ERR_[A-Z0-9_]+)`? \| (sent|declared|greeted) /gm)].map(
      ([, code, verb]) => `${code} ${verb}`,
    )
  const ofRfc = rows(readFileSync(new URL("RFC.md", root), "utf8"))
  expect(ofRfc.length).toBeGreaterThan(10)
  expect(rows(document)).toEqual(expect.arrayContaining(ofRfc))
})

test("all errors of codec and capture have a code", () => {
  // Never thrown at users, or the places that create errors.
  const home = ["codec/errors.ts", "capture/errors.ts"]
  const bare = [...sources("codec/"), ...sources("capture/")]
    .filter(([file]) => !home.includes(file))
    .flatMap(([file, text]) =>
      [...text.matchAll(/new (Type|Range)?Error\(/g)].map(([found]) => `${file}: ${found}`),
    )
  expect(bare).toEqual([])
})

const bytes = new Uint8Array(100)
const create = (options: object) => Codec.createSync(options as CodecOptions)
const codec = Codec.createSync()
/** A codec that has received a dictionary. */
const withDictionary = () => {
  const codec = Codec.createSync()
  codec.decode([dictionaryPart(bytes)])
  return codec
}
const untyped = codec as unknown as Record<string, (...all: unknown[]) => unknown>
const closedCodec = Codec.createSync()
closedCodec.close()
const closedReader = new CaptureReader()
closedReader.close()
const read = async (file: unknown, options?: object) => {
  for await (const _ of readCapture(file as Blob, options)) expect.fail("an event")
}

describe.each<[code: string, type: typeof Error, calls: Record<string, () => unknown>]>([
  [
    "ERR_INVALID_ARG_TYPE",
    TypeError,
    {
      "options that are none": () => create(null as never),
      "new Codec()": () => new (Codec as unknown as new (options?: object) => Codec)(),
      "new Codec() with options": () =>
        new (Codec as unknown as new (options?: object) => Codec)({ level: 9 }),
      "a level of no known name": () => create({ level: "fast" }),
      "a progress that is no function": () => read(new Blob([bytes]), { onProgress: 5 }),
      "a signal that is none": () => read(new Blob([bytes]), { signal: 5 }),
      "options of reading that are none": () => read(new Blob([bytes]), null as never),
      "a dictionary that is text": () => create({ dictionary: "text" }),
      "autoDictionary of 1": () => create({ autoDictionary: 1 }),
      "arenas of 1": () => create({ arenas: 1 }),
      "a level that is text": () => create({ level: "9" }),
      "wasm of 5": () => create({ wasm: 5 }),
      "wasm of 5, later": () => Codec.create({ wasm: 5 as never }),
      "encode of text": () => untyped.encode!("text"),
      "encode of a part that is text": () => untyped.encode!(["text"]),
      "encodeBatch of text": () => untyped.encodeBatch!("text"),
      "decode of nothing": () => untyped.decode!(),
      "encodePart of text": () => untyped.encodePart!("text"),
      "decodePart of text": () => untyped.decodePart!("text"),
      "encodeInto text": () => untyped.encodeInto!(bytes, "text"),
      "decodeInto text": () => untyped.decodeInto!(bytes, "text"),
      "decodedSize of text": () => untyped.decodedSize!("text"),
      "samples that are none": () => trainDictionary(5 as never),
      "a sample that is text": () => trainDictionary(["text" as never]),
      "a capture that is text": () => decodeCapture("text" as never),
      "a chunk that is text": () => new CaptureReader().push("text" as never),
      "a file that is text": () => read("text"),
      "frames that are text": () => decodeFrames("text" as never, { transport: "tcp" }),
    },
  ],
  [
    "ERR_INVALID_ARG_VALUE",
    TypeError,
    {
      "an unknown option": () => create({ compression: 1 }),
      "both kinds of dictionary": () => create({ dictionary: bytes, autoDictionary: true }),
      "an adaptive codec": () => create({ level: "adaptive" }),
      "acceleration of level 9": () => create({ level: 9, acceleration: 2 }),
      "automatic arenas of a codec": () => create({ arenas: "auto" }),
      "a URL without waiting": () => create({ wasm: new URL("http://host/x.wasm") }),
      "a message without parts": () => untyped.encode!([]),
      "an unknown option of a capture": () => decodeCapture(bytes, { all: 1 } as never),
      "an unknown option of reading": () => read(new Blob([bytes]), { all: 1 }),
      "an unknown option of training": () => trainDictionary([], { size: 1 } as never),
      "an unknown transport": () => decodeFrames(bytes, { transport: "udp" as never }),
    },
  ],
  [
    "ERR_OUT_OF_RANGE",
    RangeError,
    {
      "an empty dictionary": () => create({ dictionary: new Uint8Array(0) }),
      "a dictionary of 8193 bytes": () => create({ dictionary: new Uint8Array(8193) }),
      "level 1": () => create({ level: 1 }),
      "level 13": () => create({ level: 13 }),
      "maxMessageSize of -2": () => create({ maxMessageSize: -2 }),
      "a capacity of 0": () => trainDictionary([], { capacity: 0 }),
      "half a message": () => decodeFrames(Uint8Array.of(0, 5, 1), { transport: "tcp" }),
    },
  ],
  [
    "ERR_LZ4_CLOSED",
    Error,
    {
      "a closed codec": () => closedCodec.encodePart(bytes),
      "a closed reader": () => closedReader.push(bytes),
      "the end of a closed reader": () => closedReader.end(),
    },
  ],
  [
    "ERR_LZ4_NO_PLAINTEXT",
    TypeError,
    {
      "decodedSize of a dictionary": () => codec.decodedSize(dictionaryPart(bytes)),
      "decodeInto of a dictionary": () => codec.decodeInto(dictionaryPart(bytes), bytes),
    },
  ],
  [
    "ERR_LZ4_DICTIONARY_REPEATED",
    Error,
    {
      "decodedSize of a second dictionary": () =>
        withDictionary().decodedSize(dictionaryPart(bytes)),
      "decodeInto of a second dictionary": () =>
        withDictionary().decodeInto(dictionaryPart(bytes), bytes),
    },
  ],
  [
    "ERR_LZ4_TARGET_TOO_SMALL",
    RangeError,
    { "an empty target": () => codec.encodeInto(bytes, new Uint8Array(0)) },
  ],
  [
    "ERR_LZ4_WASM",
    Error,
    {
      "no module": () => create({ wasm: bytes }),
      "no module, later": () => Codec.create({ wasm: bytes }),
      "another module": () => create({ wasm: Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0) }),
      "a URL that does not answer": () => Codec.create({ wasm: new URL("http://127.0.0.1:1/") }),
      "a file that is not there": () => Codec.create({ wasm: new URL("x.wasm", import.meta.url) }),
    },
  ],
  ["ERR_CAPTURE_FORMAT", Error, { "no capture": () => decodeCapture(bytes) }],
])("%s", (code, type, calls) => {
  test.each(Object.entries(calls))("%s", async (_, call) => {
    const error = await (async () => call())().catch((error) => error)
    expect(error).toBeInstanceOf(type)
    expect(error).toMatchObject({ code })
  })
})

test.each<[says: RegExp, call: () => unknown]>([
  [
    /^a codec is made by Codec\.create\(\) or Codec\.createSync\(\)$/,
    () => new (Codec as unknown as new () => Codec)(),
  ],
  [/^onProgress must be a function; got 5 /, () => read(new Blob([bytes]), { onProgress: 5 })],
  [/^signal must be an AbortSignal; got 5 /, () => read(new Blob([bytes]), { signal: 5 })],
  [
    /^unknown option "all"; known: .*wasm, onProgress, signal$/,
    () => read(new Blob([bytes]), { all: 1 }),
  ],
])("the error for a mistake has the allowed values: %s", async (says, call) => {
  await expect((async () => call())()).rejects.toThrow(says)
})
