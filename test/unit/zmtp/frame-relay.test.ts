/** Relays ZMTP frames in pieces, from which a reader gets the same frames. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"

import { FrameReader, type FrameSink } from "../../../src/zmtp/frame-reader.js"
import { FrameRelay, type RelaySink } from "../../../src/zmtp/frame-relay.js"
import { heldBytes } from "../../support/held-bytes.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame, frameHead, LONG, MORE } from "../../support/zmtp.js"

type Taken = [flags: number, body: string]

const MIB = 2 ** 20
const NO_LIMIT = Number.POSITIVE_INFINITY

const bytesOf = (length: number, fill = length): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (i * 7 + fill) & 0xff)
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

/** A fast expect(), for a million checks. */
function must(condition: boolean, what: string): void {
  if (!condition) throw new Error(`not so: ${what}`)
}

/** Reads frames from the pieces, and counts those that end in each. */
class Sink implements RelaySink, FrameSink {
  readonly heads: Taken[] = []
  /** Frames of messages and commands, in order. */
  readonly taken: Taken[] = []
  /** Messages that may still come, and answers to what is passed on: yes, when there are no more. */
  room = NO_LIMIT
  answers: boolean[] = []
  messages = 0
  /** Frames of messages that began in the pieces. */
  begun = 0
  /** Large bodies. */
  large = 0
  stopped = false
  readonly #reader = new FrameReader()
  readonly #frames: FrameSink = {
    head: () => {},
    frame: (flags, body) => {
      this.taken.push([flags, text(body)])
      if (!(flags & MORE)) this.messages++
      return true
    },
  }

  head(flags: number, bodyBytes: number): void {
    this.heads.push([flags & ~LONG, String(bodyBytes)])
  }

  frames(piece: Uint8Array, messages: number, frames: number): boolean {
    must(!this.stopped, "nothing is passed on after a no")
    must(piece.length > 0, "pieces have bytes")
    const before = this.messages
    this.#reader.read(Uint8Array.from(piece), 0, this.#frames)
    must(messages === this.messages - before, "so many messages end in the piece")
    this.begun += frames
    this.room -= messages
    return this.#answer(this.room > 0)
  }

  frame(flags: number, body: Buffer): boolean {
    must(!this.stopped, "nothing is passed on after a no")
    must(!this.#reader.insideFrame, "a command comes between frames")
    this.taken.push([flags & ~LONG, text(body)])
    return this.#answer(true)
  }

  body(flags: number, body: Buffer): boolean {
    must(!this.stopped, "nothing is passed on after a no")
    must(!this.#reader.insideFrame, "a large body comes between frames")
    must(body.length === body.buffer.byteLength, "a large body has memory of its own")
    this.taken.push([flags, text(body)])
    this.large++
    this.begun++
    if (!(flags & MORE)) {
      this.messages++
      this.room--
    }
    return this.#answer(this.room > 0)
  }

  #answer(wanted: boolean): boolean {
    const answer = wanted && (this.answers.shift() ?? true)
    this.stopped = !answer
    return answer
  }
}

/** Relays chunks, and overwrites each afterwards, like the network's buffer. */
function relay(
  chunks: readonly Uint8Array[],
  { rooms = [], answers = [] }: { rooms?: number[]; answers?: boolean[] } = {},
): Sink {
  const sink = new Sink()
  sink.answers = [...answers]
  const more = [...rooms]
  const relaying = new FrameRelay()
  for (const chunk of chunks) {
    const used = Uint8Array.from(chunk)
    let at = 0
    while (at < used.length) {
      sink.room = more.shift() ?? NO_LIMIT
      sink.stopped = false
      const { room, messages } = sink
      at = relaying.read(used, at, sink)
      must(sink.messages - messages <= Math.max(1, room), "no more come than there is room for")
      must(at === used.length || sink.stopped, "it stops only for a no")
    }
    used.fill(0xee)
  }
  return sink
}

const cutAt = (bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] => {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length]
  places.sort((a, b) => a - b)
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end))
}

const frames: [flags: number, body: Uint8Array][] = [
  [0, bytesOf(0)],
  [COMMAND, bytesOf(0)],
  [MORE, bytesOf(1)],
  [0, bytesOf(255)],
  [COMMAND, bytesOf(3)],
  [COMMAND, bytesOf(300)],
  [MORE, bytesOf(256)],
  [MORE, bytesOf(0)],
  [COMMAND, bytesOf(5)],
  [0, bytesOf(0)],
  [0, bytesOf(20)],
]
const stream = concat(...frames.map(([flags, body]) => frame(body, flags)))
const expected = frames.map(([flags, body]): Taken => [flags, text(body)])

describe("relayed pieces give the same messages and commands, in the same order", () => {
  test("relayed pieces are the same at once, and byte by byte", () => {
    expect(relay([stream]).taken).toEqual(expected)
    expect(relay(Array.from(stream, (byte) => Uint8Array.of(byte))).taken).toEqual(expected)
  })

  test("relayed pieces are the same cut at every byte, with any room", () => {
    for (const room of [0, 1, 2, NO_LIMIT])
      for (let at = 0; at <= stream.length; at++) {
        const rooms = Array<number>(20).fill(room)
        expect(relay(cutAt(stream, [at]), { rooms }).taken).toEqual(expected)
      }
  })

  test("relayed pieces are the same cut at every two bytes of the heads", () => {
    const short = concat(
      ...frames.map(([flags, body]) => frame(body.subarray(0, 3), flags)),
      frame(bytesOf(256), COMMAND),
      frame(bytesOf(256)),
    )
    const whole = relay([short]).taken
    // Everywhere but in the two long bodies.
    const places = Array.from({ length: short.length }, (_, i) => i).filter((at) => {
      const fromEnd = short.length - at
      return (fromEnd < 5 || fromEnd > 250) && (fromEnd < 270 || fromEnd > 515)
    })
    for (const [i, a] of places.entries())
      for (const b of places.slice(i)) expect(relay(cutAt(short, [a, b])).taken).toEqual(whole)
  })

  test("relayed pieces are the same of any sizes, in any chunks, with any room, and sinks that stop", () => {
    const size = fc.oneof(
      fc.nat(10),
      fc.constantFrom(254, 255, 256, 2048, 4095, 4096, 4097, 8192, 65_535, 65_536, 70_000),
      fc.nat(20_000),
    )
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(0, MORE, COMMAND), size), { maxLength: 30 }),
        fc.array(fc.nat(), { maxLength: 30 }),
        fc.array(fc.constantFrom(-3, 0, 1, 2, 3, 10), { maxLength: 40 }),
        fc.array(fc.boolean(), { maxLength: 40 }),
        (given, cuts, rooms, answers) => {
          const all = concat(...given.map(([flags, length], i) => frame(bytesOf(length, i), flags)))
          const sink = relay(cutAt(all, cuts), { rooms, answers })
          expect(sink.heads).toEqual(given.map(([flags, length]) => [flags, String(length)]))
          expect(sink.taken.length).toBe(given.length)
          expect(sink.begun).toBe(given.filter(([flags]) => flags !== COMMAND).length)
          for (const [i, [flags, length]] of given.entries())
            expect(
              sink.taken[i]?.[0] === flags && sink.taken[i]?.[1] === text(bytesOf(length, i)),
              `frame ${i}`,
            ).toBe(true)
        },
      ),
    )
  })

  test("a short body after a long header", () => {
    const long = (flags: number) =>
      concat(Uint8Array.of(LONG | flags, 0, 0, 0, 0, 0, 0, 0, 3), bytesOf(3))
    const both = concat(long(0), long(COMMAND))
    for (let at = 0; at <= both.length; at++)
      expect(relay(cutAt(both, [at])).taken).toEqual([
        [0, text(bytesOf(3))],
        [COMMAND, text(bytesOf(3))],
      ])
  })
})

test("without room, exactly one message is passed on", () => {
  const sink = new Sink()
  sink.room = 0
  const two = concat(frame(bytesOf(5)), frame(bytesOf(6)))
  expect(new FrameRelay().read(two, 0, sink)).toBe(2 + 5)
  expect(sink.messages).toBe(1)
})

test("a piece of a message is passed on before the rest has arrived", () => {
  const sink = new Sink()
  const pieces: [bytes: number, messages: number][] = []
  sink.frames = ({ length }, messages) => {
    pieces.push([length, messages])
    return true
  }
  const relaying = new FrameRelay()
  const all = concat(frame(bytesOf(5)), frame(bytesOf(1000)))
  for (const chunk of cutAt(all, [7 + 4, 500])) relaying.read(chunk, 0, sink)
  expect(pieces).toEqual([
    [7 + 4, 1],
    [500 - 11, 0],
    [all.length - 500, 1],
  ])
})

describe("a large body is passed on whole", () => {
  const large = bytesOf(100_000)
  const all = concat(
    frame(bytesOf(5), MORE),
    frame(large, MORE),
    frame(bytesOf(6)),
    frame(large),
    frame(bytesOf(7)),
  )
  const taken: Taken[] = [
    [MORE, text(bytesOf(5))],
    [MORE, text(large)],
    [0, text(bytesOf(6))],
    [0, text(large)],
    [0, text(bytesOf(7))],
  ]

  test("a large body is passed on whole in pieces of any size", () => {
    for (const piece of [1000, 64 * 1024, 99_999, all.length]) {
      const cuts = Array.from({ length: Math.ceil(all.length / piece) }, (_, i) => i * piece)
      const { taken: got, large: count } = relay(cutAt(all, cuts))
      expect(got).toEqual(taken)
      expect(count).toBe(2)
    }
  })

  test("unless its head is cut", () => {
    for (let cut = 1; cut < 9; cut++) {
      const sink = relay(cutAt(all, [7 + cut]))
      expect(sink.taken).toEqual(taken)
      expect(sink.large).toBe(1)
    }
  })

  test("a large body is passed on whole and may be read into place", () => {
    const sink = new Sink()
    const relaying = new FrameRelay()
    let at = 7 + 9 + 1000
    relaying.read(all.subarray(0, at), 0, sink)
    expect(relaying.bodyBytes).toBe(large.length)
    while (relaying.missingBytes > 0) {
      const room = relaying.bodyRoom()
      const length = Math.min(room.length, 30_000)
      room.set(all.subarray(at, at + length))
      at += length
      relaying.landed(length, sink)
    }
    expect(sink.taken).toEqual(taken.slice(0, 2))
    relaying.read(all, at, sink)
    expect(sink.taken).toEqual(taken)
  })
})

test("of a large body, only 2 MiB are passed on before its sink is asked again", () => {
  const sink = new Sink()
  const relaying = new FrameRelay()
  const large = new Uint8Array(5 * MIB).fill(7)
  const all = concat(frame(bytesOf(5)), frame(large), frame(bytesOf(6)))
  const passed: number[] = []
  for (let at = 0; at < all.length; ) {
    const next = relaying.read(all, at, sink)
    passed.push(next - at)
    at = next
  }
  expect(Math.max(...passed)).toBe(2 * MIB)
  expect(passed).toHaveLength(Math.ceil(all.length / (2 * MIB)))
  expect(sink.taken.map(([, body]) => body.length)).toEqual([5, large.length, 6])
})

test.each([
  ["messages", 0],
  ["parts", MORE],
  ["commands", COMMAND],
])(
  "of very many %s, some thousands are passed on before the time is looked at again",
  (_, flags) => {
    const sink = new Sink()
    const relaying = new FrameRelay()
    const all = concat(...Array.from({ length: 10_000 }, () => frame(bytesOf(0), flags)))
    expect(relaying.read(all, 0, sink)).toBe(2 * 4096)
    for (let at = 2 * 4096; at < all.length; ) at = relaying.read(all, at, sink)
    expect(sink.taken).toHaveLength(10_000)
  },
)

describe("a refused header", () => {
  test.each([0, 10, 300, 2 ** 40])("a header of %d bytes ends reading", (bodyBytes) => {
    for (const flags of [0, COMMAND]) {
      const sink = new Sink()
      sink.head = () => {
        throw new Error("refused")
      }
      expect(() => new FrameRelay().read(frameHead(bodyBytes, flags), 0, sink)).toThrow("refused")
      expect(sink.taken).toEqual([])
    }
  })

  test.each([
    ["a message", 0],
    ["a command", COMMAND],
  ])("is one of %s: earlier messages are still passed on", (_, flags) => {
    const sink = new Sink()
    sink.head = (_, bodyBytes) => {
      if (bodyBytes === 99) throw new Error("refused")
    }
    const all = concat(frame(bytesOf(5)), frame(bytesOf(6)), frameHead(99, flags))
    expect(() => new FrameRelay().read(all, 0, sink)).toThrow("refused")
    expect(sink.taken).toEqual([5, 6].map((length) => [0, text(bytesOf(length))]))
  })
})

test.each([
  ["a command that declares 1 MiB", frameHead(MIB, COMMAND)],
  ["a part that declares 1 TiB", frameHead(2n ** 40n)],
])("nothing is allocated for a header alone: %s and never arrives", (_, head) => {
  const before = heldBytes()
  const relays = Array.from({ length: 200 }, () => new FrameRelay())
  const sink: RelaySink = {
    room: 1,
    head: () => {},
    frame: () => true,
    frames: () => true,
    body: () => true,
  }
  for (const relaying of relays) relaying.read(concat(head, bytesOf(100)), 0, sink)
  expect(heldBytes() - before).toBeLessThan(8 * MIB)
  expect(relays).toHaveLength(200)
})
