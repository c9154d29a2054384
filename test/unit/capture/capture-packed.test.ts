/** Messages from arenas that have more parts than bytes: parts are made when they are asked for. */
import { describe, expect, test } from "vitest"
import { type CaptureMessage, CaptureReader, decodeCapture, decodeFrames } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"
import { decodeBytes } from "../../../src/capture/decode-bytes.js"
import type { CaptureEvent } from "../../../src/capture/events.js"
import { captureFilter, Exchanges, Statistics } from "../../../src/capture/index.js"
import { jsonRow } from "../../../src/capture/json-rows.js"
import { eachPart, firstParts, partCount, printedParts } from "../../../src/capture/parts.js"
import { CaptureReader as SourceReader } from "../../../src/capture/reader.js"
import { messageBytes } from "../../../src/capture/streams/memory.js"
import { tableRow } from "../../../src/cli/inspect-table.js"
import { only } from "../../support/captures.js"
import { inChild } from "../../support/child.js"
import { NOISE, PACKED_PARTS, packedArena, packedPair } from "../../support/packed-arenas.js"
import { concat, joined, plainPart } from "../../support/wire.js"
import { frame, handshake, MORE, message } from "../../support/zmtp.js"

const text = (words: string): Uint8Array => Buffer.from(words, "latin1")
const nothing = new Uint8Array(0)
const stream = (...frames: Uint8Array[]): Uint8Array => concat(handshake("PUSH"), joined(frames))
const repeat = (bytes: Uint8Array, times: number): Buffer =>
  Buffer.alloc(bytes.length * times, bytes)

/** Returns the content of the parts, joined by "|". */
const contents = ({ parts }: Pick<CaptureMessage, "parts">): string =>
  parts.map(({ plain }) => Buffer.from(plain as Uint8Array).toString("latin1")).join("|")

const messageOf = (wire: Uint8Array): CaptureMessage =>
  only(stream(message(wire))).messages[0] as CaptureMessage

/** Returns a message with what the package keeps to itself. */
function eventOf(wire: Uint8Array): CaptureEvent & { type: "message" } {
  const events = new SourceReader().push(stream(message(wire)))
  return events.find((event) => event.type === "message") as never
}

describe("the parts of a message of more parts than bytes", () => {
  const wire = packedArena(text("x"))

  test("are those that the codec returns", () => {
    using codec = Codec.createSync()
    const [expected] = codec.decode([wire])
    const { parts, plainBytes, wireBytes, arena } = messageOf(wire)
    expect(parts).toHaveLength(PACKED_PARTS)
    expect(parts.map(({ plain }) => plain)).toEqual(expected)
    expect(new Set(parts.map(({ kind }) => kind))).toEqual(new Set(["LZ4A"]))
    expect(parts[7]?.wire).toEqual(wire)
    expect(plainBytes).toBe(NOISE.length + PACKED_PARTS - 1)
    expect(wireBytes).toBe(wire.length)
    expect(arena).toEqual({ index: 0, messages: 1 })
  })

  test("stay the same in a loop, in copies of the message and of its frames", () => {
    const whole = messageOf(wire)
    expect(whole.parts[9]).toBe(whole.parts[9])
    expect(contents({ ...whole })).toEqual(contents(whole))
    expect(contents(structuredClone(whole))).toEqual(contents(whole))
    expect(Object.keys(whole)).toContain("parts")
    const [again] = decodeFrames(message(wire), { transport: "lz4+tcp" })
    expect(again && contents(again)).toEqual(contents(whole))
    const pair = only(stream(message(packedPair(text("y"))))).messages
    expect(pair.map(({ parts }) => parts.length)).toEqual([PACKED_PARTS / 2, PACKED_PARTS / 2])
    expect(pair[1]?.parts.at(-1)?.plain).toEqual(new Uint8Array(text("y")))
  })

  test("can be replaced, for a report too", () => {
    const { connection, message } = eventOf(wire)
    message.parts = firstParts(message, 2)
    expect(message.parts).toHaveLength(2)
    expect(partCount(message)).toBe(2)
    expect(captureFilter("parts=2")({ type: "message", connection, message })).toBe(true)
  })

  test("are searched, counted and joined without making them", () => {
    const event = eventOf(packedArena(text("needle")))
    Object.defineProperty(event.message, "parts", {
      get: () => {
        throw new Error("all parts are made")
      },
    })
    const matches = (filter: string) => captureFilter(filter)(event)
    expect(matches("needle")).toBe(true)
    expect(matches("needlen")).toBe(false)
    expect(matches(`parts=${PACKED_PARTS} kind=LZ4A`)).toBe(true)
    const statistics = new Statistics()
    statistics.add(event)
    expect(statistics.summary().total.messages).toBe(1)
    new Exchanges().add(event)
    expect(Array.from(eachPart(event.message))).toHaveLength(PACKED_PARTS)
    tableRow(event, { columns: 200, colour: false })
    jsonRow(event, () => "")
  })
})

describe("what is printed of a message", () => {
  test("of a message from an arena: 100 parts and one for each byte on the wire, and what the others are", () => {
    const wire = packedArena()
    const event = eventOf(wire)
    const printed = 100 + wire.length
    const row = JSON.parse(jsonRow(event, (bytes) => Buffer.from(bytes).toString("base64")))
    expect(row.parts).toHaveLength(printed)
    expect(row.more).toEqual({ parts: PACKED_PARTS - printed, plainBytes: 0 })
    const full = tableRow(event, { columns: 1 << 20, colour: false })
    expect(full).toContain(` | (empty) | and ${PACKED_PARTS - printed} more parts, 0 bytes`)
    const cut = tableRow(event, { columns: 1500, colour: false })
    expect(cut).toMatch(/\(empty\) .*…$/)
    expect(cut.length).toBeLessThanOrEqual(1500)
    expect(printedParts(eventOf(packedArena(text("x"))).message).more?.plainBytes).toBeGreaterThan(
      0,
    )
  })

  test("all parts of one that is no longer than its parts", () => {
    const parts = 5000
    const { messages } = only(stream(repeat(frame(nothing, MORE), parts - 1), frame(text("x"))))
    expect(printedParts(messages[0] as CaptureMessage)).toMatchObject({ more: undefined })
    expect(printedParts(messages[0] as CaptureMessage).parts).toHaveLength(parts)
  })
})

describe("memory", () => {
  test("a piece of a capture takes little more than its plaintext", async () => {
    const arena = message(packedArena())
    const file = stream(repeat(arena, Math.floor(250_000 / arena.length)))
    const [held, messages, parts] = await inChild(async ({ CaptureReader, memory }, file) => {
      const reader = new CaptureReader()
      const before = await memory()
      const events = reader.push(file)
      const after = await memory()
      const said = events.filter(({ type }) => type === "message") as never as {
        message: { parts: unknown[] }
      }[]
      // They can be read one after another as well.
      let parts = 0
      for (const { message } of said) parts += message.parts.length
      const bytes = after.heap + after.arrayBuffers - before.heap - before.arrayBuffers
      return [bytes, said.length, parts] as const
    }, file)
    expect(messages).toBe(Math.floor(250_000 / arena.length))
    expect(parts).toBe(messages * PACKED_PARTS)
    expect(held).toBeLessThan(32e6)
  })

  test.each([
    { what: "messages of plain tcp://", frames: message(text("x")) },
    {
      what: "parts of plain tcp://",
      frames: concat(repeat(frame(text("x"), MORE), 99), frame(nothing)),
    },
    { what: "plain parts", frames: message(...Array(100).fill(plainPart(text("x")))) },
    { what: "broken parts", frames: message(plainPart(text("x")), ...Array(99).fill(nothing)) },
    { what: "packed arenas", frames: message(packedArena()) },
  ])("$what: counted as what they take", async ({ frames }) => {
    const times = Math.floor(60_000 / frames.length)
    const file = stream(repeat(frames, times))
    const held = await inChild(async ({ CaptureReader, memory }, file) => {
      const reader = new CaptureReader()
      const before = await memory()
      const events = reader.push(file)
      const after = await memory()
      return events.length && after.heap + after.arrayBuffers - before.heap - before.arrayBuffers
    }, file)
    const counted = new SourceReader()
      .push(file)
      .reduce((sum, event) => sum + (event.type === "message" ? messageBytes(event.message) : 0), 0)
    // Collections leave some garbage.
    expect(held).toBeLessThan(1.25 * counted + 1e6)
  })

  test("of the parts of a message that do not decode, a hundred have errors of their own", () => {
    const broken = message(plainPart(text("x")), ...Array<Uint8Array>(5000).fill(nothing))
    const { messages } = only(stream(broken))
    const errors = (messages[0] as CaptureMessage).parts.flatMap(({ error }) => error ?? [])
    expect(errors).toHaveLength(5000)
    expect(new Set(errors).size).toBe(101)
    expect(errors.at(-1)).toMatchObject({
      code: "ERR_LZ4_PART_TOO_SHORT",
      message: "part 101 and those after it are not decoded: 100 before it did not decode",
    })
  })

  test("errors of parts leave the limit of stack traces as it was", () => {
    const { stackTraceLimit } = Error
    decodeCapture(stream(message(plainPart(text("x")), nothing)))
    expect(Error.stackTraceLimit).toBe(stackTraceLimit)
  })

  test("bytes in hexadecimal have no more parts than a captured message", () => {
    const frames = repeat(frame(nothing, MORE), (1 << 20) + 1)
    expect([...decodeBytes(frames, undefined)]).toEqual([
      { type: "error", message: "byte 2097152: the message has more than 1048576 parts" },
    ])
  })
})

test("a recording of 10 million empty parts of one message: it is skipped, and the next is read", () => {
  const reader = new CaptureReader()
  const messages: CaptureMessage[] = []
  const errors: string[] = []
  const read = (bytes: Uint8Array) => {
    for (const event of reader.push(bytes)) {
      if (event.type === "message") messages.push(event.message)
      if (event.type === "error") errors.push(event.error.message)
    }
  }
  read(handshake("PUSH"))
  const piece = repeat(frame(nothing, MORE), 100_000)
  for (let i = 0; i < 100; i++) read(piece)
  read(concat(frame(nothing), message(text("next"))))
  expect(errors).toEqual(["a message of more than 1048576 parts: skipped"])
  expect(messages.map(({ parts }) => parts.length)).toEqual([1])
})
