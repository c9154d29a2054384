/** Checks section 13 of RFC.md, on zstd+tcp, against the code: its examples and its tables. */
import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { Codec } from "zeromq-lz4/codec"
import { provideZstd } from "../../src/codec/formats.js"
import { checkLz4Options } from "../../src/codec/options.js"
import { Sender } from "../../src/codec/sender.js"
import { zstd } from "../../src/codec/zstd/format.js"
import { type Example, readTable, rfc, zstdExamples } from "../support/rfc.js"
import { ZSTD_SENTINELS, zstdFormOf } from "../support/wire.js"
import { message } from "../support/zmtp.js"

provideZstd(zstd)

const texts = (parts: readonly Uint8Array[]) => parts.map((part) => Buffer.from(part).toString())
const named = (which: (example: Example) => unknown) =>
  zstdExamples.filter(which).map((example) => [example.name, example] as const)
const codes = readTable("### 5.3").map(([code]) => code?.replace("ERR_LZ4_", "ERR_ZSTD_"))

function receiver({ budget, dictionary }: Example): Codec {
  const codec = Codec.createSync({ format: "zstd", maxMessageSize: budget })
  if (dictionary) codec.decodePart(dictionary)
  return codec
}

const PLAIN = ({ plain }: Example) => plain.length > 0

describe("examples of parts", () => {
  test.each(named(PLAIN))("%s decodes", (_, example) => {
    using codec = receiver(example)
    expect(codec.decode(example.wire).map(texts)).toEqual([texts(example.plain)])
  })

  test.each(named(({ installs }) => installs))("%s is installed, and shipped", (_, example) => {
    using codec = receiver(example)
    expect(codec.decode(example.wire)).toEqual([])
    using sender = Codec.createSync({ format: "zstd", dictionary: example.installs })
    const [first] = sender.encode([new Uint8Array(1)])
    expect(Buffer.compare(first?.[0] as Uint8Array, example.wire[0] as Uint8Array)).toBe(0)
  })

  test.each(named(({ messages }) => messages.length > 0))("%s has the messages", (_, example) => {
    using codec = receiver(example)
    const received = codec.decode(example.wire)
    expect(received.map(texts)).toEqual(example.messages.map(texts))
  })
})

describe("examples of refused parts", () => {
  const refused = named(({ error }) => error)

  test.each(refused)("%s", (_, example) => {
    using codec = receiver(example)
    let code: unknown
    try {
      codec.decode(example.wire)
    } catch (error) {
      code = (error as { code: string }).code
    }
    expect(code).toBe(example.error)
    expect(codes).toContain(code)
  })

  test("each check of a frame has one", () => {
    const shown = new Set(refused.map(([, { error }]) => error))
    const checks = readTable("### 13.3")
    expect(checks.map(([step]) => step)).toEqual(checks.map((_row, i) => `Z${i + 1}`))
    for (const row of checks) expect(shown).toContain(row.at(-1))
  })
})

test("the sentinels are those of the table", () => {
  const rows = readTable("### 13.2").map(([bytes, name]) => [name, bytes?.replaceAll("`", "")])
  const ours = Object.entries(ZSTD_SENTINELS).map(([name, bytes]) => [
    name,
    Buffer.from(bytes)
      .toString("hex")
      .toUpperCase()
      .replace(/(..)(?!$)/g, "$1 "),
  ])
  expect(rows).toEqual(ours)
})

test("the thresholds are those of the text", () => {
  expect(rfc).toContain("The thresholds are 512 bytes, and 64 with a dictionary.")
  expect(zstd.minCompressBytes).toEqual([512, 64])
})

test("frames state the size, and are sent only if they are shorter", () => {
  const settings = checkLz4Options({ level: 1 }, -1, [], zstd)
  const sender = new Sender(settings)
  const part = (plain: Uint8Array) => {
    const chunk = sender.encode(new Uint8Array(), [plain])
    const [bytes] = chunk.arrays as [Uint8Array]
    const copy = new Uint8Array(bytes)
    chunk.release()
    return copy
  }
  const frame = part(new Uint8Array(600))
  expect(zstdFormOf(frame.subarray(2))).toBe("frame")
  // A single segment, and a size of two bytes that begins with 256.
  expect([...frame.subarray(6, 9)]).toEqual([0x60, (600 - 256) & 0xff, (600 - 256) >> 8])
  const noise = Uint8Array.from({ length: 600 }, (_, i) => (i * i * 31 + (i >> 3) * 97) & 0xff)
  const plain = part(noise)
  expect(plain.length).toBeLessThanOrEqual(message(noise).length + 4)
  sender.close()
})

test("this project announces what the text says", () => {
  const source = readFileSync(new URL("../../src/zmtp/revision.ts", import.meta.url), "utf8")
  for (const name of ["X-Lz4-Revision", "X-Zstd-Revision"]) {
    expect(rfc).toContain(`\`${name}\``)
    expect(source).toContain(name)
  }
})
