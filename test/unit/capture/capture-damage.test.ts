/** Captures with missing bytes, and invalid streams: errors are reported, and the rest is decoded. */
import { describe, expect, test } from "vitest"
import { CaptureReader } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"
import { createRandom } from "../../../bench/random.mjs"
import { conversation, type TcpPacket } from "../../support/capture-files.js"
import { captured, captureOf, eventsOf, linesOf, only, saidIn } from "../../support/captures.js"
import { heldBytes } from "../../support/held-bytes.js"
import { concat, plainPart } from "../../support/wire.js"
import { COMMAND, frame, frameHead, handshake, MORE, message } from "../../support/zmtp.js"

const text = (words: string): Uint8Array => Buffer.from(words, "latin1")
const client = handshake("PUSH")
const long = "so it goes and so it goes, ".repeat(40)
const plain = (words: string) => message(plainPart(text(words)))
const lz4 = (words: string): Uint8Array => {
  using codec = Codec.createSync()
  return message(codec.encodePart(text(words)))
}
const noise = (bytes: number, seed: string): Uint8Array => {
  const random = createRandom(seed)
  return Uint8Array.from({ length: bytes }, () => random.below(256))
}

/** A capture of frames of the client, one segment for each, without some of the segments. */
function without(lost: readonly number[], frames: readonly Uint8Array[]): Uint8Array {
  const packets = conversation([client, ...frames].map((bytes) => ["client", bytes] as const))
  const carriers = packets.filter(({ data }) => data.length > 0)
  const gone = new Set<TcpPacket | undefined>(lost.map((i) => carriers[i + 1]))
  // There are no acknowledgements, so the reader has to do without.
  return captureOf(packets.filter((packet) => !gone.has(packet)))
}

describe("bytes missing where a dictionary was", () => {
  const dictionary = text("so it goes and so it goes, ")
  const said = "so it goes and so it goes, and on it goes. ".repeat(4)
  const sent = (count: number): Uint8Array[] => {
    using codec = Codec.createSync({ dictionary })
    const messages = codec.encodeBatch(Array(count).fill([text(said)]))
    return messages.map((parts) => message(...parts))
  }
  const marked = (file: Uint8Array) =>
    only(file).messages.map(({ parts }) => parts.map(({ dictionary }) => dictionary))

  test("are named once for the connection, and the messages that need it are marked", () => {
    const [shipped, ...rest] = sent(47)
    const file = without([0], [shipped!, plain("a"), ...rest])
    const { warning, messages } = only(file)
    expect(warning).toBe(
      "messages of the client do not decode: a dictionary may have been among the bytes that are missing from the capture",
    )
    expect(marked(file)).toEqual([[undefined], ...Array(47).fill(["missing"])])
    for (const { parts } of messages)
      expect(parts[0]!.error?.message ?? "").not.toContain("dictionary")
  })

  test("are not named if nothing needs it, or if it was recorded", () => {
    expect(only(without([0], [plain("a"), lz4(long)])).warning).toBeUndefined()
    const [shipped, first, second] = sent(2)
    const file = without([2], [shipped!, first!, plain("a"), second!])
    expect(marked(file)).toEqual([[undefined], [undefined]])
    const broken = message(second!.subarray(2, 30))
    const late = without([2], [shipped!, first!, plain("a"), broken])
    expect(only(late).messages[1]!.parts[0]).toMatchObject({
      error: { code: "ERR_LZ4_CORRUPT_BLOCK" },
      dictionary: undefined,
    })
    expect(only(late).warning).toBeUndefined()
  })

  test("and a side that speaks tcp:// are both named", () => {
    const [shipped, first] = sent(1)
    const packets = conversation([
      ["client", handshake("PAIR", 2)],
      ["server", handshake("PAIR")],
      ["client", shipped!],
      ["client", first!],
    ])
    const lost = packets.filter(({ data }) => data.length > 0)[2]
    const file = captureOf(packets.filter((packet) => packet !== lost))
    expect(only(file).warning).toMatch(
      /^the client speaks lz4.*; messages of the client do not decode: a dictionary may/,
    )
  })
})

describe("bytes missing inside a frame's body", () => {
  const big = frame(plainPart(text("x".repeat(300))))
  const cut = [big.subarray(0, 100), big.subarray(100, 200), big.subarray(200)]

  test("lose that message, and no other", () => {
    expect(saidIn(without([2], [plain("a"), ...cut, plain("b"), lz4(long)]))).toEqual([
      "client: plain a",
      "client: ERR_CAPTURE_GAP: 100 bytes missing from the capture, from a frame of 304 bytes: its message is lost",
      "client: plain b",
      `client: LZ4B ${long}`,
    ])
  })

  test("up to its end, too", () => {
    expect(saidIn(without([3], [plain("a"), ...cut, plain("b")]))).toEqual([
      "client: plain a",
      "client: ERR_CAPTURE_GAP: 113 bytes missing from the capture, from a frame of 304 bytes: its message is lost",
      "client: plain b",
    ])
  })

  test("bytes missing inside a body of one part lose the whole message", () => {
    const parts = [frame(plainPart(text("first")), MORE), ...cut]
    const more = frame(plainPart(text("x".repeat(300))), MORE)
    const last = frame(plainPart(text("last")))
    for (const frames of [
      [...parts, plain("b")],
      [more.subarray(0, 100), more.subarray(100, 200), more.subarray(200), last, plain("b")],
    ])
      expect(saidIn(without([frames.length === 5 && frames[3] === last ? 1 : 2], frames))).toEqual([
        expect.stringMatching(/100 bytes missing .* its message is lost$/),
        "client: plain b",
      ])
  })

  test("bytes missing inside a body of a command lose only the command", () => {
    const topic = frame(concat(text("\x09SUBSCRIBE"), new Uint8Array(280)), COMMAND)
    const frames = [
      frame(plainPart(text("first")), MORE),
      ...[topic.subarray(0, 100), topic.subarray(100, 200), topic.subarray(200)],
      plain("second"),
    ]
    expect(saidIn(without([2], frames))).toEqual([
      "client: ERR_CAPTURE_GAP: 100 bytes missing from the capture, from a frame of 290 bytes: its command is lost",
      "client: plain first | plain second",
    ])
  })
})

describe("a missing frame header", () => {
  const lost = (bytes: number) =>
    `client: ERR_CAPTURE_GAP: ${bytes} bytes missing from the capture: their content is lost; the start of the next frame is a guess`
  const skipped = (bytes: number) =>
    `client: ERR_CAPTURE_UNREADABLE: ${bytes} bytes skipped up to the first frame that could be found`

  test("lz4+tcp continues at the next frame", () => {
    const frames = [plain("a"), plain("lost"), lz4(long), plain("b"), plain("c"), lz4(long)]
    expect(saidIn(without([1], frames))).toEqual([
      "client: plain a",
      lost(plain("lost").length),
      `client: LZ4B ${long}`,
      "client: plain b",
      "client: plain c",
      `client: LZ4B ${long}`,
    ])
  })

  test("in the middle of a frame, the rest of it is skipped", () => {
    const big = frame(plainPart(noise(1000, "inside a part")))
    const frames = [plain("a"), big.subarray(0, 5), big.subarray(5), lz4(long), lz4(long)]
    expect(saidIn(without([0, 1], frames))).toEqual([
      lost(plain("a").length + 5),
      skipped(big.length - 5),
      `client: LZ4B ${long}`,
      `client: LZ4B ${long}`,
    ])
  })

  test("commands are recognized as frames", () => {
    const ping = frame(text("\x04PING\0\0"), COMMAND)
    const frames = [lz4(long), plain("lost"), ping, ping, plain("b")]
    expect(saidIn(without([1], frames))).toEqual([
      `client: LZ4B ${long}`,
      lost(10),
      "client: plain b",
    ])
  })

  test("in tcp, many frames are recognized, but not a few", () => {
    const bare = (words: string) => message(text(words))
    const twenty = Array.from({ length: 20 }, (_, i) => `message ${i}`)
    expect(saidIn(without([1], ["a", "lost", ...twenty].map(bare)))).toEqual([
      "client: a",
      lost(6),
      ...twenty.map((words) => `client: ${words}`),
    ])
    // Two frames and then invalid bytes: all of it may be the body of a large frame.
    const few = [bare("a"), bare("lost"), bare("b"), bare("c"), text("neither")]
    expect(saidIn(without([1], few))).toEqual([
      "client: a",
      lost(6),
      "client: ERR_CAPTURE_UNREADABLE: 13 bytes skipped: no frame was found in them",
    ])
  })

  test("zeros and random bytes are not frames", () => {
    for (const bytes of [new Uint8Array(100_000), noise(100_000, "no frames")]) {
      const lines = saidIn(without([1], [plain("a"), plain("lost"), bytes]))
      expect(lines.slice(2)).toEqual([
        "client: ERR_CAPTURE_UNREADABLE: 100000 bytes skipped: no frame was found in them",
      ])
    }
    // A table of numbers looks like plain parts, except for their content.
    const table = new Uint8Array(new BigUint64Array(10_000).fill(0x600n).buffer)
    expect(saidIn(without([1], [plain("a"), plain("lost"), table])).slice(2)).toEqual([
      "client: ERR_CAPTURE_UNREADABLE: 80000 bytes skipped: no frame was found in them",
    ])
  })

  test("two gaps, the second in the bytes that are searched", () => {
    const big = frame(plainPart(noise(3000, "two gaps")))
    const pieces = [0, 1000, 2000].map((at) => big.subarray(at, at + 1000))
    const frames = [...pieces, big.subarray(3000), lz4(long), lz4(long)]
    expect(saidIn(without([0, 2], frames))).toEqual([
      lost(1000),
      "client: ERR_CAPTURE_UNREADABLE: 1000 bytes skipped: no frame was found in them",
      lost(1000),
      skipped(big.length - 3000),
      `client: LZ4B ${long}`,
      `client: LZ4B ${long}`,
    ])
  })
})

test.each([
  ["flags", Uint8Array.of(0x80, 1, 2), "begins with 80; its flags are not allowed", 3],
  ["a length", frameHead(1n << 63n), /begins with 02 80( 00){7}; its length is not allowed/, 9],
])("%s that is not allowed is skipped, up to the next frame", (...row) => {
  const [, bad, error, bytes] = row
  const file = concat(client, plain("a"), bad, lz4(long), plain("b"), lz4(long))
  const { errors } = only(file)
  expect(errors[0]).toMatchObject({
    code: "ERR_ZMTP_FRAME",
    message: expect.stringMatching(error),
    offset: client.length + plain("a").length,
  })
  expect(saidIn(file).filter((line) => !line.includes("ERR_ZMTP"))).toEqual([
    "client: plain a",
    `client: ERR_CAPTURE_UNREADABLE: ${bytes} bytes skipped up to the first frame that could be found`,
    `client: LZ4B ${long}`,
    "client: plain b",
    `client: LZ4B ${long}`,
  ])
})

describe("a connection that began before the capture", () => {
  const late = (...frames: Uint8Array[]) =>
    captured([["client", concat(...frames)]], { begun: false })

  test("is reported once frames of lz4+tcp are found", () => {
    const tail = lz4(long).subarray(9)
    const file = late(tail, plain("a"), lz4(long), lz4(long))
    expect(linesOf(eventsOf(file))).toEqual([
      "connection 1",
      `client: ERR_CAPTURE_UNREADABLE: ${tail.length} bytes skipped up to the first frame that could be found`,
      "client: plain a",
      `client: LZ4B ${long}`,
      `client: LZ4B ${long}`,
      "close 1",
    ])
    expect(only(file)).toMatchObject({ begun: false, transport: "lz4+tcp" })
  })

  test("connections that began before the capture are named, and not reported for others", () => {
    const bare = Array.from({ length: 30 }, (_, i) => message(text(`message ${i}`)))
    const web = text("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n".repeat(100))
    const pings = Array(30).fill(frame(text("\x04PING\0\0"), COMMAND))
    for (const frames of [bare, [web], pings, [noise(50_000, "TLS")], [new Uint8Array(50_000)]])
      expect(eventsOf(late(...frames))).toEqual([])
  })

  test("may still have its greeting", () => {
    expect(linesOf(eventsOf(late(client, message(text("a")))))).toEqual([
      "connection 1",
      // First the greeting, then READY; the connection now has both.
      "client: ZMTP 3.1 NULL PUSH",
      "client: ZMTP 3.1 NULL PUSH",
      'client: READY Socket-Type "PUSH"',
      "client: a",
      "close 1",
    ])
  })

  test("parts from the middle of a message are shown as they are", () => {
    const parts = concat(...["b", "c"].map((p, i) => frame(plainPart(text(p)), i < 1 ? MORE : 0)))
    expect(saidIn(late(parts, lz4(long), lz4(long)))[0]).toBe("client: plain b | plain c")
  })
})

describe("the greeting", () => {
  const greet = client.subarray(0, 64)
  const ready = client.subarray(64)
  const parts = [greet.subarray(0, 20), greet.subarray(20, 64), ready, plain("a"), plain("b")]
  const cutAt = (lost: number) => {
    const packets = conversation(parts.map((bytes) => ["client", bytes] as const))
    const carriers = packets.filter(({ data }) => data.length > 0)
    return captureOf(packets.filter((packet) => packet !== carriers[lost]))
  }

  test("may have a gap: frames begin after it", () => {
    expect(linesOf(eventsOf(cutAt(1)))).toEqual([
      "connection 1",
      "client: ERR_CAPTURE_GAP: 44 bytes missing from the capture: of the greeting",
      'client: READY Socket-Type "PUSH"',
      "client: plain a",
      "client: plain b",
      "close 1",
    ])
  })
})

describe("an end in the middle", () => {
  const file = concat(client, frame(plainPart(text("first")), MORE), frame(plainPart(text("last"))))
  test.each([
    [5, /^the capture ends in the middle of the greeting$/],
    [file.length - 10, /^the capture ends between two parts of a message$/],
    [file.length - 9, /^the capture ends in the middle of a frame's head$/],
    [file.length - 3, /^the capture ends after 5 of the 8 bytes of a frame$/],
  ])("after %i bytes", (bytes, message) => {
    const events = eventsOf(
      captured([
        ["client", client],
        ["server", file.subarray(0, bytes)],
      ]),
    )
    const errors = events.filter((event) => event.type === "error")
    expect(errors.map(({ error }) => error)).toMatchObject([
      { code: "ERR_CAPTURE_TRUNCATED", from: "server", message: expect.stringMatching(message) },
    ])
    expect(events.at(-1)!.type).toBe("close")
  })

  test("of the connection itself is reported", () => {
    const cut = captured([["client", file.subarray(0, -3)]], { closed: "FIN" })
    expect(saidIn(cut)).toEqual([
      "client: ERR_CAPTURE_TRUNCATED: the connection ends after 5 of the 8 bytes of a frame",
    ])
  })

  test("a length without a body uses no memory", () => {
    const before = heldBytes()
    const readers = Array.from({ length: 50 }, () => {
      const reader = new CaptureReader()
      reader.push(concat(client, frameHead(1n << 40n), new Uint8Array(100)))
      return reader
    })
    expect(heldBytes() - before).toBeLessThan(10 << 20)
    for (const reader of readers)
      expect(linesOf(reader.end())[0]).toContain("ends after 100 of the 1099511627776 bytes")
  })
})

describe("data that would use far more memory than bytes is reported, and not kept", () => {
  const most = 1 << 20
  const after = message(plainPart(text("after")))

  test("a command of more than 1 MiB", () => {
    const ping = new Uint8Array(most + 1)
    ping.set([4, ...text("PING")])
    expect(saidIn(concat(client, frame(ping, COMMAND), after))).toEqual([
      `client: ERR_CAPTURE_UNREADABLE: a command of ${most + 1} bytes, more than ${most}: skipped`,
      "client: plain after",
    ])
  })

  test("a message of more than 1,048,576 parts", () => {
    const empty = (parts: number) =>
      Buffer.concat([Buffer.alloc(2 * (parts - 1), Buffer.of(MORE, 0)), frame(new Uint8Array(0))])
    const error = `client: ERR_CAPTURE_UNREADABLE: a message of more than ${most} parts: skipped`
    expect(saidIn(concat(client, after, empty(most + 1), empty(2 * most), after))).toEqual([
      "client: plain after",
      error,
      error,
      "client: plain after",
    ])
    const [whole] = eventsOf(concat(client, empty(most))).filter(({ type }) => type === "message")
    expect(whole).toMatchObject({ message: { parts: { length: most } } })
  })
})
