/** Captures in several files, joined files, and variants of .pcap. */
import { describe, expect, test } from "vitest"
import {
  CaptureFormatError,
  CaptureReader,
  decodeCapture,
  placeOf,
  readCapture,
} from "zeromq-lz4/capture"

import { withoutSecrets } from "../../../src/capture/without-secrets.js"
import {
  conversation,
  type Frame,
  framesOf,
  pcapFile,
  pcapngFile,
} from "../../support/capture-files.js"
import { eventsOf, linesOf } from "../../support/captures.js"
import { record, textBy } from "../../support/recorded-streams.js"
import { concat } from "../../support/wire.js"
import { handshake, message } from "../../support/zmtp.js"

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))
const texts = Array.from({ length: 12 }, (_, i) => `message ${i}`)
const packets = conversation(
  [
    ["client", handshake("PUSH")],
    ["server", handshake("PULL")],
    ...texts.map((text) => ["client", message(bytes(text))] as const),
  ],
  { closed: "FIN" },
)
const frames = framesOf(packets)

const textsIn = (files: readonly Uint8Array[]): string[] => {
  const { connections, errors } = decodeCapture(files)
  expect(errors).toEqual([])
  expect(connections).toHaveLength(1)
  expect(connections[0]!.errors).toEqual([])
  return connections[0]!.messages.map(({ parts }) => Buffer.from(parts[0]!.plain!).toString())
}

/** Deals the frames out: each to the file that `place` says. */
const dealt = (files: number, place: (index: number) => number): Frame[][] =>
  Array.from({ length: files }, (_, file) => frames.filter((_, i) => place(i) === file))

describe("several files", () => {
  test("several files of a ring are read as one, whatever their order", () => {
    const ring = dealt(4, (i) => Math.floor(i / 8)).map((some) => pcapFile(some))
    for (const order of [
      [0, 1, 2, 3],
      [2, 3, 0, 1],
      [3, 2, 1, 0],
    ])
      expect(textsIn(order.map((file) => ring[file]!))).toEqual(texts)
  })

  test("recorded at the same time are merged by time, and may have different formats", () => {
    const [even = [], odd = []] = dealt(2, (i) => i % 2)
    expect(textsIn([pcapFile(even), pcapngFile(odd)])).toEqual(texts)
    expect(textsIn([pcapFile(odd, { nanoseconds: true }), pcapFile(even)])).toEqual(texts)
  })

  test("packets without a time keep their place", () => {
    expect(textsIn([pcapngFile(frames, { block: "simple" }), pcapFile([])])).toEqual(texts)
  })

  test("the newest of a ring may be empty, but not the only one, nor all", () => {
    expect(textsIn([pcapFile(frames), new Uint8Array(0)])).toEqual(texts)
    expect(() => decodeCapture([new Uint8Array(0)])).toThrow("is empty")
    expect(() => decodeCapture([new Uint8Array(0), new Uint8Array(0)])).toThrow("is empty")
  })

  test("offsets say in which file a message is", () => {
    const ring = dealt(2, (i) => Number(i >= 20)).map((some) => pcapFile(some))
    const found = decodeCapture(ring).connections[0]!.messages.map(({ ranges }) => {
      const { file, offset } = placeOf(ranges[0]!)
      return Buffer.from(ring[file]!.subarray(offset, offset + ranges[1]!)).toString()
    })
    for (const [i, text] of texts.entries()) expect(found[i]).toContain(text)
    expect(placeOf(123)).toEqual({ file: 0, offset: 123 })
  })

  test("an error names its file, and what is no capture as well", () => {
    const cut = pcapFile(frames).subarray(0, 500)
    const { errors } = decodeCapture([pcapFile(frames), cut])
    expect(errors).toMatchObject([{ code: "ERR_CAPTURE_TRUNCATED" }])
    expect(placeOf(errors[0]!.offset).file).toBe(1)
    for (const other of [bytes("not a capture"), handshake("PUSH")]) {
      let thrown: unknown
      try {
        decodeCapture([pcapFile(frames), other])
      } catch (error) {
        thrown = error
      }
      expect(thrown).toBeInstanceOf(CaptureFormatError)
      expect(thrown).toMatchObject({ file: 1, code: "ERR_CAPTURE_FORMAT" })
    }
  })

  test("are read by readCapture, and by CaptureReader in the order that it asks for", async () => {
    const ring = dealt(3, (i) => Math.floor(i / 10)).map((some) => pcapFile(some))
    const whole = linesOf(new CaptureReader().push(pcapFile(frames)))
    const seen = []
    let progress: [number, number | undefined] = [0, 0]
    const options = {
      onProgress: (...args: [number, number | undefined]) => {
        progress = args
      },
    }
    const blobs = ring.map((file) => new Blob([file as Uint8Array<ArrayBuffer>]))
    for await (const event of readCapture(blobs, options)) seen.push(event)
    expect(linesOf(seen)).toEqual(whole)
    const size = ring.reduce((sum, { length }) => sum + length, 0)
    expect(progress).toEqual([size, size])

    const reader = new CaptureReader({}, 3)
    const asked: number[] = []
    const events = []
    const places = [0, 0, 0]
    for (let file = reader.wanted; file !== undefined; file = reader.wanted) {
      if (asked.at(-1) !== file) asked.push(file)
      const chunk = ring[file]!.slice(places[file]!, places[file]! + 100)
      places[file]! += 100
      events.push(...(chunk.length > 0 ? reader.push(chunk, file) : reader.endFile(file)))
      chunk.fill(0xee)
    }
    events.push(...reader.end())
    expect(linesOf(events)).toEqual(whole)
    // The beginning of each file, and then one after the other.
    expect(asked).toEqual([0, 1, 2, 0, 1, 2])
  })

  test.each([0, 4097, 1.5])("there are 1 to 4096, not %s", (files) => {
    expect(() => new CaptureReader({}, files)).toThrow(/files must be an integer from 1 to 4096/)
  })
})

describe("files that were joined", () => {
  const thirds = dealt(3, (i) => Math.floor(i / 11))
  const joined = concat(
    pcapFile(thirds[0]!),
    pcapngFile(thirds[1]!),
    pcapFile(thirds[2]!, { littleEndian: false, nanoseconds: true }),
  )

  test("are read on, in pieces of any size", () => {
    expect(textsIn([joined])).toEqual(texts)
    expect(
      textsIn([concat(pcapFile(thirds[0]!), pcapFile(thirds[1]!), pcapFile(thirds[2]!))]),
    ).toEqual(texts)
    const whole = record(joined)
    expect(whole.errors).toEqual([])
    for (const chunk of [1, 2, 3, 7, 100])
      expect(record(joined, { chunks: [chunk] })).toEqual(whole)
    expect(textBy(whole.connections[0]!, "client").at(-1)).toBe("end")
  })

  test("stay as they are where nothing is hidden", () => {
    expect(withoutSecrets([joined])).toEqual([joined])
  })
})

test.each([0, 1, 15])(
  "the only packet of a .pcap is read, however few bytes follow it: %i",
  (more) => {
    // The first one with data.
    const frame = frames[3]
    const plain = pcapFile([frame!, frame!]).subarray(0, 24 + 16 + frame!.bytes.length + more)
    for (const chunk of [1, 30, 1000]) {
      const reader = new CaptureReader()
      for (let at = 0; at < plain.length; at += chunk) reader.push(plain.subarray(at, at + chunk))
      reader.end()
      expect(reader.tcpConnections).toBe(1)
      const errors = linesOf(eventsOf(plain, chunk)).filter((line) => line.startsWith("file:"))
      expect(errors).toEqual(
        more > 0
          ? [
              expect.stringContaining(
                `the file ends ${more} bytes after the beginning of a packet, before it is complete`,
              ),
            ]
          : [],
      )
    }
  },
)

describe("variants of .pcap with longer packet headers", () => {
  test.each([
    { name: "Nokia", extra: 4 },
    { name: "Red Hat 6.1", extra: 8 },
  ])("are read: $name", ({ extra }) => {
    const plain = pcapFile(frames)
    const pieces = [plain.subarray(0, 24)]
    let at = 24
    for (const frame of frames) {
      pieces.push(plain.subarray(at, at + 16), new Uint8Array(extra), frame.bytes)
      at += 16 + frame.bytes.length
    }
    const variant = concat(...pieces)
    const lines = linesOf(eventsOf(plain))
    expect(linesOf(eventsOf(variant))).toEqual(lines)
    for (const chunk of [1, 7, 16, 100, 1000])
      expect(linesOf(eventsOf(variant, chunk)), `${chunk}`).toEqual(lines)
  })
})
