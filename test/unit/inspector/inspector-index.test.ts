/** The inspector's index of a capture, and its views. */
import { readdirSync, readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import type {
  CaptureConnection,
  CaptureEvent,
  CaptureMessage,
  CapturePart,
  Handshake,
} from "../../../src/capture/events.js"
import { CaptureReader } from "../../../src/capture/reader.js"
import { CaptureIndex, PREVIEW_BYTES } from "../../../src/inspector/capture-index.js"
import { Column, Records } from "../../../src/inspector/columns.js"
import { isLarger, partSizes, roundUp } from "../../../src/inspector/format.js"
import { indentJson } from "../../../src/inspector/json.js"
import { inOneLine, readable } from "../../../src/inspector/readable.js"
import { chartsOf } from "../../../src/inspector/series.js"
import { sorted } from "../../../src/inspector/sorting.js"
import { advance, type Stepped } from "../../../src/inspector/steps.js"
import { View } from "../../../src/inspector/view.js"
import { captureConnection } from "../../support/connections.js"

/** Returns the result of work that is not interrupted. */
const whole = <Result>(work: Stepped<Result>) => advance(work, Number.POSITIVE_INFINITY)![0]

const ascii = (text: string) => new TextEncoder().encode(text)
const START = 1_700_000_000_000_000_000n

const connection = (id: number): CaptureConnection =>
  captureConnection({ id, client: `10.0.0.${id}:40000`, server: "10.0.0.9:5555" })

const part = (text: string, kind: CapturePart["kind"] = "plain"): CapturePart => ({
  kind,
  wire: ascii(`0000${text}`),
  plain: ascii(text),
  error: undefined,
  dictionary: undefined,
})

function message(
  of: CaptureConnection,
  parts: CapturePart[],
  more: Partial<CaptureMessage> = {},
): CaptureEvent {
  const sum = (lengths: (number | undefined)[]) =>
    lengths.reduce<number>((all, length) => all + (length ?? 0), 0)
  return {
    type: "message",
    connection: of,
    message: {
      time: START,
      from: "client",
      parts,
      wireBytes: sum(parts.map(({ wire }) => wire.length)),
      plainBytes: sum(parts.map(({ plain }) => plain?.length)),
      arena: undefined,
      ranges: [100, 20],
      ...more,
    },
  }
}

/** Returns an index of the events, after an event for each of their connections. */
function indexOf(...events: CaptureEvent[]): CaptureIndex {
  const index = new CaptureIndex()
  for (const connection of new Set(events.map(({ connection }) => connection)))
    if (connection) index.add({ type: "connection", connection, time: undefined })
  for (const event of events) index.add(event)
  return index
}

function viewOf(index: CaptureIndex, filter: string): number[] {
  const view = new View(index, 1, filter)
  while (!view.complete) view.step()
  return Array.from({ length: view.length }, (_, place) => view.at(place))
}

test("a column keeps pushed values, over many blocks", () => {
  const column = new Column(Uint32Array)
  for (let i = 0; i < 200_000; i++) column.push(i * 3)
  expect(column.length).toBe(200_000)
  for (const i of [0, 1, 65_535, 65_536, 131_071, 131_072, 199_999])
    expect(column.get(i)).toBe(i * 3)
})

test("records keep the pieces up to the limit, over many pages", () => {
  const records = new Records()
  const pieces = [ascii("topic"), new Uint8Array(), ascii("x".repeat(100)), ascii("never")]
  const addresses = Array.from({ length: 20_000 }, () => records.add(pieces, 96))
  for (const address of [addresses[0]!, addresses[9_999]!, addresses.at(-1)!])
    expect(records.get(address)).toEqual([ascii("topic"), new Uint8Array(), ascii("x".repeat(91))])
})

describe("rows", () => {
  const first = connection(1)

  test("rows of messages", () => {
    const index = indexOf(
      message(first, [part("topic"), part("{}", "LZ4B")]),
      message(first, [part("second")], {
        time: START + 1500n,
        from: "server",
        arena: { index: 255, messages: 256 },
        ranges: [200, 10, 300, 5],
      }),
    )
    expect(index.row(1)).toEqual({
      number: 2,
      kind: "message",
      from: "client",
      connection: 1,
      time: 0,
      forms: ["plain", "LZ4B"],
      parts: 2,
      plainBytes: 7,
      wireBytes: 15,
      failed: false,
      dictionary: undefined,
      isEncrypted: false,
      preview: ["topic", "{}"],
      cut: false,
    })
    expect(index.row(2)).toMatchObject({ number: 3, from: "server", time: 1500 })
    expect(index.arena(1)).toBeUndefined()
    expect(index.arena(2)).toEqual({ index: 255, messages: 256 })
    expect(index.ranges(1)).toEqual([100, 20])
    expect(index.ranges(2)).toEqual([200, 10, 300, 5])
  })

  test("rows of commands and errors, with their texts", () => {
    const index = indexOf(
      {
        type: "command",
        connection: first,
        command: {
          time: START,
          from: "server",
          name: "SUBSCRIBE",
          body: ascii("weather"),
          detail: "to “weather”",
        },
      },
      {
        type: "error",
        connection: undefined,
        error: {
          code: "ERR_CAPTURE_TRUNCATED",
          message: "the file ends early",
          time: undefined,
          from: undefined,
          offset: 77,
        },
      },
    )
    expect(index.row(1)).toMatchObject({
      kind: "command",
      forms: ["SUBSCRIBE"],
      preview: ["to “weather”"],
    })
    expect(index.record(1)[2]).toEqual(ascii("weather"))
    expect(index.row(2)).toMatchObject({
      kind: "error",
      failed: true,
      connection: 0,
      time: undefined,
      forms: ["ERR_CAPTURE_TRUNCATED"],
      preview: ["the file ends early"],
    })
    expect(index.ranges(2)[0]).toBe(77)
    expect(index.errors).toBe(1)
  })

  test("rows of connections, greetings and ends, with what filters search", () => {
    const handshake: Handshake = {
      version: "3.1",
      mechanism: "NULL",
      asServer: false,
      socketType: undefined,
      identity: undefined,
      properties: new Map(),
    }
    const greeted = { type: "handshake", connection: first, time: START, from: "server" } as const
    const index = indexOf(
      { ...greeted, handshake },
      // The command READY has its row.
      { ...greeted, handshake: { ...handshake, socketType: "PUSH", identity: ascii("") } },
      { type: "close", connection: first, time: undefined },
    )
    const rows = Array.from({ length: index.rows }, (_, i) => index.row(i))
    expect(rows.map(({ kind, from, forms, preview }) => [kind, from, forms, preview])).toEqual([
      ["connection", undefined, ["open"], ["10.0.0.1:40000 → 10.0.0.9:5555"]],
      ["handshake", "server", ["greeting"], ["ZMTP 3.1, NULL"]],
      ["close", undefined, ["close"], ["the recording ends"]],
    ])
    expect(viewOf(index, "10.0.0.1")).toEqual([0, 2])
    expect(viewOf(index, "kind=handshake or kind=close")).toEqual([1, 2])
    expect(viewOf(index, '"recording ends"')).toEqual([2])
  })

  test("show if the preview is incomplete", () => {
    const index = indexOf(message(first, [part("x".repeat(PREVIEW_BYTES + 1))]))
    expect(index.row(1)).toMatchObject({ cut: true, preview: ["x".repeat(PREVIEW_BYTES)] })
  })

  test("rows of a part that does not decode have the error instead", () => {
    const error = {
      code: "ERR_LZ4_CORRUPT_BLOCK",
      message: "part 1 does not decode",
      time: START,
      from: "client",
      offset: 100,
    } as const
    const index = indexOf(message(first, [{ ...part("", "LZ4B"), plain: undefined, error }]))
    expect(index.row(1)).toMatchObject({
      failed: true,
      preview: ["ERR_LZ4_CORRUPT_BLOCK: part 1 does not decode"],
    })
    expect(index.messages).toBe(1)
  })
})

test("a message has the dictionary in use when it was sent", () => {
  const dictionary = ascii("dictionary")
  const dictionaries: CaptureConnection["dictionaries"] = { client: undefined, server: undefined }
  const of = { ...connection(1), dictionaries }
  const index = indexOf(message(of, [part("before")]))
  dictionaries.client = dictionary
  index.add(message(of, [part("dictionary", "LZ4D")]))
  index.add(message(of, [part("after")]))
  expect(index.dictionary(1)).toBeUndefined()
  expect(index.dictionary(3)).toBe(dictionary)
  expect(index.row(2).kind).toBe("dictionary")
  expect(index.messages).toBe(2)
})

test("a row says whether a dictionary was needed that is not in the capture", () => {
  const of = connection(1)
  const given: CapturePart = { ...part("given", "LZ4B"), dictionary: "given" }
  const missing: CapturePart = {
    ...{ kind: "LZ4B", wire: new Uint8Array(4), plain: undefined, dictionary: "missing" },
    error: { code: "ERR_LZ4_CORRUPT_BLOCK", message: "no", time: 0n, from: "client", offset: 0 },
  }
  const index = indexOf(
    message(of, [part("topic"), given]),
    message(of, [part("topic"), part("recorded", "LZ4B")]),
    message(of, [part("topic"), missing]),
  )
  expect([1, 2, 3].map((row) => index.row(row).dictionary)).toEqual(["given", undefined, "missing"])
  expect(index.row(1)).toMatchObject({ kind: "message", failed: false, cut: false })
  expect(index.row(3)).toMatchObject({ failed: true, forms: ["plain", "LZ4B"] })
})

test("a view has the matching rows, in order", () => {
  const connections = [connection(1), connection(2)]
  const index = indexOf(
    ...Array.from({ length: 50_000 }, (_, i) =>
      message(connections[i % 2]!, [part(`message ${i}`, i % 3 ? "plain" : "LZ4B")], {
        from: i % 5 ? "client" : "server",
      }),
    ),
  )
  // Before the messages are the two connections.
  expect(viewOf(index, "")).toHaveLength(50_002)
  expect(viewOf(index, "message 49999")).toEqual([50_001])
  expect(viewOf(index, "connection=2 kind=message")[0]).toBe(3)
  expect(viewOf(index, "connection=10.0.0.1")).toHaveLength(25_001)
  expect(viewOf(index, "kind=LZ4B from=server").slice(0, 3)).toEqual([2, 17, 32])
  expect(viewOf(index, "size>=13 size!=13")).toHaveLength(0)
  expect(viewOf(index, "size<10")).toHaveLength(10)
  expect(viewOf(index, "kind=command")).toEqual([])
  expect(() => new View(index, 2, "kind=LZ4X")).toThrow(/kind= is one of/)
})

describe("sorting", () => {
  const of = connection(1)
  const random = (() => {
    let state = 7
    return (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31
      return Math.floor((state / 2 ** 31) * below)
    }
  })()
  const texts = ["", "a", "ab", "abcdefg", "abcdefh", "abcdef", "abcdef\0", "ä", "\xff", "z"]
  const contents = Array.from({ length: 9000 }, () =>
    Array.from({ length: 1 + random(3) }, () => texts[random(texts.length)] as string),
  )
  const index = indexOf(
    ...contents.map((parts, i) =>
      message(
        of,
        parts.map((text) => part(text)),
        { time: START + BigInt(random(50)), wireBytes: i % 7 },
      ),
    ),
  )
  /** Rows before the first message. */
  const before = index.rows - contents.length
  const view = new View(index, 1, "size>0")
  while (!view.complete) view.step()

  /** Compares parts byte by byte, one after the other. */
  function compare(one: readonly string[], other: readonly string[]): number {
    for (let i = 0; i < Math.min(one.length, other.length); i++) {
      const order = Buffer.compare(ascii(one[i]!), ascii(other[i]!))
      if (order !== 0) return order
    }
    return one.length - other.length
  }
  const ratio = (row: number) => index.plainBytes(row) / index.wireBytes(row) || 0
  const orders: Record<"time" | "wire" | "ratio" | "content", (a: number, b: number) => number> = {
    time: (a, b) => index.time(a) - index.time(b),
    wire: (a, b) => index.wireBytes(a) - index.wireBytes(b),
    // Those of messages with no bytes on the wire are infinite.
    ratio: (a, b) => (ratio(a) === ratio(b) ? 0 : ratio(a) - ratio(b)),
    content: (a, b) => compare(contents[a - before]!, contents[b - before]!),
  }

  test.each(["time", "wire", "ratio", "content"] as const)(
    "keeps the order of rows that are equal: %s",
    (column) => {
      const rows = Array.from({ length: view.length }, (_, place) => view.at(place))
      for (const descending of [false, true]) {
        const order = orders[column]
        const expected = [...rows].sort(descending ? (a, b) => order(b, a) : order)
        const found = whole(sorted(index, view, { column, descending }))
        expect(Array.from(found), `${descending}`).toEqual(expected)
      }
    },
  )

  test("can be interrupted often", () => {
    const work = sorted(index, view, { column: "content", descending: false })
    let steps = 0
    while (!work.next().done) steps++
    // Keys, runs, and four rounds of merging.
    expect(steps).toBeGreaterThan(3 + 8 + 4 * 2)
  })
})

describe("charts", () => {
  const of = connection(1)

  test("include every byte of the messages, in bins of a round length", () => {
    const index = indexOf(
      ...Array.from({ length: 1000 }, (_, i) =>
        message(of, [part("x".repeat(i % 40))], { time: START + BigInt(i) * 1_234_567n }),
      ),
    )
    const view = new View(index, 1, "")
    view.step()
    const charts = whole(chartsOf(index, view))
    const sum = (numbers: number[]) => numbers.reduce((all, number) => all + number, 0)
    expect(charts.binNanoseconds).toBe(10_000_000)
    expect(charts.plain.length).toBe(124)
    expect(sum(charts.plain)).toBe(25 * 780)
    expect(sum(charts.wire)).toBe(25 * 780 + 4000)
    expect(sum(charts.plainSizes)).toBe(1000)
    // 0, 1, 2 to 3, 4 to 7, 8 to 15, 16 to 31, 32 to 39 bytes
    expect(charts.plainSizes).toEqual([25, 25, 50, 100, 200, 400, 200])
  })

  test("are empty without messages", () => {
    const index = indexOf()
    const view = new View(index, 1, "")
    view.step()
    expect(whole(chartsOf(index, view))).toMatchObject({ plain: [], wire: [], plainSizes: [] })
  })

  test("show sizes if the file has no times", () => {
    const index = indexOf(message(of, [part("abc")], { time: undefined }))
    const view = new View(index, 1, "")
    view.step()
    expect(whole(chartsOf(index, view))).toMatchObject({ plain: [], plainSizes: [0, 0, 1] })
  })
})

test.each([
  [0.011, 0.02],
  [1, 1],
  [1.1, 2],
  [21, 50],
  [99, 100],
  [1000, 1000],
])("%d is rounded up to %d", (number, rounded) => {
  expect(roundUp(number)).toBeCloseTo(rounded, 12)
})

test.each([
  [99, 100, true],
  [100, 100, false],
  // Shown as 1.00×.
  [1_000_000, 1_000_004, false],
  [0, 4, false],
])("%d bytes as %d on the wire are shown as larger: %s", (plain, wire, larger) => {
  expect(isLarger(plain, wire)).toBe(larger)
})

test("the sizes of a part say which are the arena's", () => {
  const arenaBytes = undefined
  expect(partSizes({ plainBytes: 1, wireBytes: 5, arenaBytes })).toBe(
    "1 byte plain, 5 bytes on the wire",
  )
  expect(partSizes({ plainBytes: undefined, wireBytes: 20, arenaBytes })).toBe(
    "20 bytes on the wire",
  )
  expect(partSizes({ plainBytes: 206, wireBytes: 63, arenaBytes: 1569 })).toBe(
    "206 bytes plain, 63 of the arena's 1,569 bytes on the wire",
  )
})

describe("JSON", () => {
  test.each([
    ["{}", "{}"],
    ["[ ]", "[]"],
    [
      '{"a":[],"a":{"b":[1,2]}}',
      '{\n  "a": [],\n  "a": {\n    "b": [\n      1,\n      2\n    ]\n  }\n}',
    ],
    ["12345678901234567890.10", "12345678901234567890.10"],
    ['" { \\" , : "', '" { \\" , : "'],
  ])("%s", (text, indented) => {
    expect(indentJson(text, 1000)).toEqual({ text: indented, more: false })
  })

  test("is indented up to a number of characters, at any depth", () => {
    const deep = "[".repeat(5000) + "]".repeat(5000)
    const { text, more } = indentJson(deep, 10_000)
    expect(text).toHaveLength(10_000)
    expect(more).toBe(true)
  })

  test("is indented, however long a string with escapes is", () => {
    const text = JSON.stringify({ a: '\\"\n'.repeat(3 << 20) })
    expect(indentJson(text, 1000)).toEqual({ text: `{\n  "a": ${text.slice(5, 996)}`, more: true })
  })

  test("is refused if it is invalid", () => {
    expect(() => indentJson('{"a":', 1000)).toThrow(SyntaxError)
  })
})

test.each([
  [ascii("text, \t\n and more"), "text, \t\n and more"],
  [Uint8Array.of(0, 255, 16), "00 ff 10"],
  [ascii("nul\0"), "6e 75 6c 00"],
  // Truncated within a character.
  [ascii("tea 明").subarray(0, -1), "tea "],
])("bytes are readable: %s", (bytes, text) => {
  expect(readable(bytes)).toBe(text)
})

test("a line shows line ends, and keeps its direction", () => {
  expect(inOneLine("a\r\nb\tc\u202ed")).toBe("a⏎b⇥c\\u{202e}d")
})

test("all text of the page is written where invisible characters are replaced", () => {
  const sources = new URL("../../../src/inspector/", import.meta.url)
  const writes =
    /\.textContent =(?! "")|createTextNode|innerHTML|innerText|document\.title|setAttribute\("(?:title|aria-label)"/
  const direct = readdirSync(sources)
    .filter((file) => file.endsWith(".ts") && file !== "dom.ts")
    .filter((file) => writes.test(readFileSync(new URL(file, sources), "utf8")))
  expect(direct).toEqual([])
})

test("a connection shows the revision that each side announced", () => {
  const of = connection(1)
  const said = { version: "3.1", mechanism: "NULL", asServer: false, socketType: "PUSH" }
  const properties = new Map([["X-Lz4-Revision", ascii("2")]])
  of.handshakes.client = { ...said, identity: ascii(""), properties }
  const { sides } = indexOf(message(of, [part("x")])).connections.summary(1) ?? {}
  expect(sides?.client.handshake).toBe("ZMTP 3.1, NULL, X-Lz4-Revision: 2")
  expect(sides?.server.handshake).toBeUndefined()
})

test("of more than 100,000 connections the first are kept, and an error reports it", () => {
  const index = new CaptureIndex()
  for (let id = 1; id <= 100_010; id++) {
    const each = connection(id)
    index.add({ type: "connection", connection: each, time: START })
    if (id > 99_999) index.add(message(each, [part("hello")]))
    index.add({ type: "close", connection: each, time: START })
  }
  expect(index.connections.count).toBe(100_000)
  expect([index.rows, index.messages, index.errors]).toEqual([200_002, 1, 1])
  expect(index.row(200_001).preview[0]).toMatch(/^there are more than 100000 connections/)
})

test("of more rows than there is room for the first are kept, and totals have all", () => {
  const index = new CaptureIndex(3)
  const of = connection(1)
  index.add({ type: "connection", connection: of, time: START })
  for (let i = 0; i < 10; i++) index.add(message(of, [part(`message ${i}`)]))
  expect(index.rows).toBe(4)
  expect(index.row(3).preview[0]).toMatch(/^there are more than 3 rows: the rest are only counted/)
  expect(index.messages).toBe(10)
})

test("of messages that are encrypted, the bytes on the wire are shown, sorted, filtered and in charts", () => {
  const index = new CaptureIndex()
  const file = new Uint8Array(gunzipSync(readFileSync("test/recorded/curve-lz4.pcap.gz")))
  const reader = new CaptureReader()
  for (const event of [...reader.push(file), ...reader.end()]) index.add(event)
  const view = new View(index, 1, "wire>0")
  view.step()
  expect(view.length).toBe(20)
  const row = index.row(view.at(0))
  expect(row).toMatchObject({ kind: "command", isEncrypted: true, forms: ["MESSAGE"] })
  const { encrypted } = index.connections.get(1)!
  const charts = whole(chartsOf(index, view))
  const sum = (numbers: number[]) => numbers.reduce((all, number) => all + number, 0)
  expect(sum(charts.wire)).toBe(encrypted!.client.bytes)
  expect(sum(charts.plain)).toBe(0)
  expect(sum(charts.wireSizes)).toBe(20)
  expect(charts.plainSizes).toEqual([])
})

test("the sample has each form that sockets send, and what READY says", () => {
  const sample = new URL("../../../src/inspector/sample.pcap", import.meta.url)
  const reader = new CaptureReader()
  const events = [...reader.push(readFileSync(sample)), ...reader.end()]
  const kinds = events.flatMap((event) =>
    event.type === "message" ? event.message.parts.map(({ kind }) => kind) : [],
  )
  expect(new Set(kinds)).toEqual(new Set(["plain", "LZ4D", "LZ4B", "LZ4A", "ZSTD", "ZSTA"]))
  const said = events.flatMap((event) => (event.type === "command" ? [event.command.detail] : []))
  expect(said.join("\n")).toMatch(/X-Lz4-Revision "2"/)
  expect(said.join("\n")).toMatch(/X-Zstd-Revision "2"/)
})
