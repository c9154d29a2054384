/** Reads ZMTP frames from chunks that end anywhere. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"

import { FrameReader, type FrameSink } from "../../../src/zmtp/frame-reader.js"
import { heldBytes } from "../../support/held-bytes.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame, frameHead, LONG, MORE } from "../../support/zmtp.js"

type Taken = [flags: number, body: string]

const bytesOf = (length: number, fill = length): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (i * 7 + fill) & 0xff)
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

class Sink implements FrameSink {
  readonly frames: Taken[] = []
  readonly heads: [flags: number, bodyBytes: number][] = []
  readonly bodies: Buffer[] = []
  /** The number of frames after which it stops. */
  wanted = Number.POSITIVE_INFINITY

  frame(flags: number, body: Buffer): boolean {
    this.frames.push([flags, text(body)])
    this.bodies.push(body)
    return --this.wanted > 0
  }

  head(flags: number, bodyBytes: number): void {
    this.heads.push([flags & ~LONG, bodyBytes])
  }
}

/** Reads chunks, and overwrites each afterwards, like the network's buffer. */
function read(chunks: readonly Uint8Array[]): Sink {
  const sink = new Sink()
  const reader = new FrameReader()
  for (const chunk of chunks) {
    const used = Uint8Array.from(chunk)
    expect(reader.read(used, 0, sink)).toBe(chunk.length)
    used.fill(0xee)
  }
  expect(reader.insideFrame).toBe(false)
  return sink
}

const frames: [flags: number, body: Uint8Array][] = [
  [0, bytesOf(0)],
  [MORE, bytesOf(1)],
  [0, bytesOf(255)],
  [MORE, bytesOf(256)],
  [COMMAND, bytesOf(0)],
  [COMMAND, bytesOf(300)],
  [0, bytesOf(0)],
]
const stream = concat(...frames.map(([flags, body]) => frame(body, flags)))
const expected = frames.map(([flags, body]): Taken => [flags, text(body)])

describe("frames are the same", () => {
  test("frames are the same at once, and byte by byte", () => {
    expect(read([stream]).frames).toEqual(expected)
    expect(read(Array.from(stream, (byte) => Uint8Array.of(byte))).frames).toEqual(expected)
  })

  test("frames are the same cut at every byte", () => {
    for (let at = 0; at <= stream.length; at++)
      expect(read([stream.subarray(0, at), stream.subarray(at)]).frames).toEqual(expected)
  })

  test("frames are the same cut at every two bytes of the heads", () => {
    const short = concat(
      ...frames.map(([flags, body]) => frame(body.subarray(0, 3), flags)),
      frame(bytesOf(256)),
    )
    const last = short.length - 250
    const whole = read([short]).frames
    for (let a = 0; a <= last; a++)
      for (let b = a; b <= last; b++)
        expect(
          read([short.subarray(0, a), short.subarray(a, b), short.subarray(b)]).frames,
        ).toEqual(whole)
  })

  test("a short body after a long header", () => {
    const long = concat(Uint8Array.of(LONG, 0, 0, 0, 0, 0, 0, 0, 3), bytesOf(3))
    for (let at = 0; at <= long.length; at++)
      expect(read([long.subarray(0, at), long.subarray(at)]).frames).toEqual([
        [0, text(bytesOf(3))],
      ])
  })

  test("frames are the same of any sizes, in any chunks", () => {
    const size = fc.oneof(
      fc.nat(10),
      fc.constantFrom(254, 255, 256, 2047, 2048, 2049, 8190, 8192, 70_000),
      fc.nat(20_000),
    )
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(0, MORE, COMMAND), size), { maxLength: 30 }),
        fc.array(fc.nat(), { maxLength: 30 }),
        (given, cuts) => {
          const all = concat(...given.map(([flags, length], i) => frame(bytesOf(length, i), flags)))
          const places = [
            0,
            ...cuts.map((cut) => cut % (all.length + 1)).sort((a, b) => a - b),
            all.length,
          ]
          const chunks = places.slice(1).map((end, i) => all.subarray(places[i], end))
          const sink = read(chunks)
          expect(sink.heads).toEqual(given)
          expect(sink.frames.length).toBe(given.length)
          for (const [i, [flags, length]] of given.entries())
            expect(
              sink.frames[i]?.[0] === flags && sink.frames[i]?.[1] === text(bytesOf(length, i)),
            ).toBe(true)
          // Read the bodies again: those that follow must not have changed them.
          expect(sink.bodies.map(text)).toEqual(sink.frames.map(([, body]) => body))
          for (const { byteOffset } of sink.bodies) expect(byteOffset % 8).toBe(0)
        },
      ),
    )
  })
})

test("bodies belong to their receiver: changing one does not change another", () => {
  const sink = read([concat(...[3, 200, 2000, 5000].map((length) => frame(bytesOf(length))))])
  for (const body of sink.bodies) {
    const others = sink.bodies.filter((other) => other !== body).map(text)
    body.fill(0)
    expect(sink.bodies.filter((other) => other !== body).map(text)).toEqual(others)
  }
})

describe("the memory of a body", () => {
  /** Returns a stream of `count` frames whose bodies have `length` bytes. */
  const alike = (length: number, count: number): Uint8Array =>
    concat(...Array.from({ length: count }, (_, i) => frame(bytesOf(length, i))))

  test("begins at a multiple of 8, whatever the size", () => {
    for (let length = 0; length <= 2100; length++)
      for (const { byteOffset } of read([alike(length, 4)]).bodies) expect(byteOffset % 8).toBe(0)
  })

  test.each([0, 1, 8, 20, 100, 255, 256, 2000, 2048, 2049, 100_000])(
    "the memory of a body of %i bytes is not emptied when that of another one is transferred",
    (length) => {
      const { bodies } = read([alike(length, 20)])
      expect(bodies).toHaveLength(20)
      const expected = bodies.map(text)
      const lost = bodies.map(({ buffer }) => {
        try {
          structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })
        } catch (error) {
          expect(error).toHaveProperty("name", "DataCloneError")
        }
        return buffer.byteLength === 0
      })
      // Those that could be transferred were alone in their memory.
      expect(bodies.map(text)).toEqual(expected.map((body, i) => (lost[i] ? "" : body)))
      expect(lost.every(Boolean)).toBe(length === 0 || length > 2048)
    },
  )

  test("is its own if it arrives alone", () => {
    for (const length of [0, 1, 20, 2000]) {
      const [body] = read([frame(bytesOf(length))]).bodies as [Buffer]
      expect(body.buffer.byteLength).toBe(length)
      structuredClone(body, { transfer: [body.buffer as ArrayBuffer] })
      expect(body).toHaveLength(0)
    }
  })

  test.each([1, 8, 20, 64, 100, 250, 300, 1000, 2000, 5000])(
    "the memory of a body of %i bytes is small even if the program keeps one in a hundred",
    (length) => {
      const all = alike(length, 2000)
      const { bodies } = read([all.subarray(0, 100), all.subarray(100)])
      const kept = new Set(bodies.filter((_, i) => i % 100 === 0).map(({ buffer }) => buffer))
      expect(kept.size).toBeLessThanOrEqual(20)
      const most = length > 2048 ? length : Math.min(Math.max(32 * (length + 9), 1100), 8192)
      for (const { byteLength } of kept) expect(byteLength).toBeLessThanOrEqual(most)
    },
  )
})

describe("a sink that stops", () => {
  test.each([1, 2, 3])("after %i frames gets the next ones later, each once", (wanted) => {
    for (let cut = 0; cut <= stream.length; cut++) {
      const sink = new Sink()
      const reader = new FrameReader()
      for (const chunk of [stream.subarray(0, cut), stream.subarray(cut)])
        for (let at = 0; at < chunk.length; ) {
          sink.wanted = wanted
          const before = sink.frames.length
          at = reader.read(chunk, at, sink)
          expect(sink.frames.length - before).toBeLessThanOrEqual(wanted)
        }
      expect(sink.frames).toEqual(expected)
    }
  })
})

test("nothing is read after a refused header", () => {
  const sink = new Sink()
  sink.head = () => {
    throw new Error("refused")
  }
  for (const bodyBytes of [0, 10, 300, 2 ** 40])
    expect(() => new FrameReader().read(frameHead(bodyBytes), 0, sink)).toThrow("refused")
  expect(sink.frames).toEqual([])
})

test("nothing is allocated for a header alone", () => {
  const before = heldBytes()
  const readers = Array.from({ length: 50 }, () => new FrameReader())
  for (const reader of readers) {
    reader.read(concat(frameHead(2n ** 40n), bytesOf(100)), 0, new Sink())
    expect(reader.insideFrame).toBe(true)
  }
  expect(heldBytes() - before).toBeLessThan(8 * 2 ** 20)
  expect(readers).toHaveLength(50)
})

test("messages for a sink that takes few at a time use little memory", () => {
  const bytes = concat(...Array.from({ length: 1000 }, (_, i) => frame(bytesOf(15, i))))
  const sink = new Sink()
  const reader = new FrameReader()
  for (let at = 0; at < bytes.length; ) {
    sink.wanted = 1
    at = reader.read(bytes, at, sink)
  }
  expect(sink.frames).toHaveLength(1000)
  for (const body of sink.bodies.slice(1)) expect(body.buffer.byteLength).toBeLessThan(512)
})

describe("the rest of a body may be read into its room", () => {
  const body = bytesOf(1_000_000)
  const bytes = frame(body)

  test("a body is read into its room in pieces of any size, and what is missing counts down", () => {
    for (const piece of [1, 1000, 65_536, 2_000_000]) {
      const sink = new Sink()
      const reader = new FrameReader()
      let at = reader.read(bytes.subarray(0, 5000), 0, sink)
      while (reader.missingBytes > 0) {
        expect(reader.missingBytes).toBe(bytes.length - at)
        const room = reader.bodyRoom()
        expect(room.length).toBeLessThanOrEqual(16 * at + 65_536)
        const length = Math.min(piece === 1 && at > 6000 ? 9999 : piece, room.length)
        room.set(bytes.subarray(at, at + length))
        at += length
        expect(reader.landed(length, sink)).toBe(true)
      }
      expect(sink.bodies[0]?.equals(body)).toBe(true)
      expect(reader.insideFrame).toBe(false)
      reader.read(frame(bytesOf(3)), 0, sink)
      expect(sink.frames[1]).toEqual([0, text(bytesOf(3))])
    }
  })

  test("a body is read into its room and the sink may stop with that frame", () => {
    const sink = new Sink()
    sink.wanted = 1
    const reader = new FrameReader()
    const at = reader.read(bytes.subarray(0, bytes.length - 10), 0, sink)
    reader.bodyRoom().set(bytes.subarray(at))
    expect(reader.landed(10, sink)).toBe(false)
    expect(reader.missingBytes).toBe(0)
  })
})
