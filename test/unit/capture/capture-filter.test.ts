/** The filter language for captures, in the command line and the page. */
import { describe, expect, test } from "vitest"
import type { CaptureEvent, CapturePart } from "../../../src/capture/events.js"
import { parseFilter } from "../../../src/capture/filter/filter.js"
import { type FilterRow, filterRow } from "../../../src/capture/filter/row.js"
import { captureConnection } from "../../support/connections.js"

/** A moment that is at another time of the day in every zone but UTC. */
const START = BigInt(Date.parse("2026-11-21T12:35:06Z")) * 1_000_000n

const row = (changes: Partial<FilterRow> = {}): FilterRow => ({
  connection: 2,
  client: "10.0.0.7:40312",
  server: "[2001:db8::7]:5555",
  from: "client",
  kinds: ["message", "LZ4B", "plain"],
  time: START + 1_500_000_000n,
  start: START,
  parts: 2,
  size: 1000,
  wire: 200,
  text: 'Hello World {"id":7, "user":"bob"} a=b C:\\x É',
  ...changes,
})

describe("matches", () => {
  test.each([
    "",
    "   ",
    "connection=2",
    "connection=10.0.0.7",
    "connection=10.0.0.7:40312",
    "connection=:5555",
    "connection=2001:db8::7",
    "connection=[2001:DB8::7]",
    "connection=[2001:db8::7]:5555",
    "kind=LZ4B",
    "kind=lz4b",
    'KIND="plain"',
    "kind=message",
    "from=client",
    "hello",
    "WORLD hello",
    '"hello world"',
    "'hello world'",
    '"id":7',
    '{"id":7, "user":"bob"}',
    '\'"user":"bob"\'',
    '"a=b"',
    "C:\\x",
    "é",
    "connection=2 kind=LZ4B from=client hello",
    "connection=2 and kind=LZ4B AND hello && world",
    "kind!=LZ4A",
    "!goodbye",
    "not goodbye",
    "! goodbye",
    "!!hello",
    "goodbye or hello",
    "goodbye || hello",
    "goodbye hello or world",
    "(goodbye or hello) world",
    "(goodbye or hello)world",
    "not (goodbye or farewell)",
    "not(goodbye)",
    "((hello))",
    '("hello world")',
    '("a=b" or hello)',
    "size=1000",
    "size>999",
    "size>=1000",
    "size<1001",
    "size<=1000",
    "size!=999",
    "size=900..1100",
    "size=1000..",
    "size=..1000",
    "size=1,1000",
    "size<=1kB size<1KiB size<1k SIZE<0.5GiB",
    "wire=200B parts=2",
    "connection>1",
    "connection=1..3",
    "connection=1,2",
    "connection=10.0.0.9,10.0.0.7",
    "connection!=1",
    "connection!=:80",
    "kind=LZ4A,lz4b",
    "time>1s",
    "time=1.5",
    "time=1500ms",
    "time=1..2",
    "time<1m time<1min time<1h",
    "time=12:35Z",
    "time=12:35:07Z",
    "time=12:35:07.5Z",
    "time>12:35:06Z",
    "time<12:35:08Z",
    "time<=12:35Z",
    "time=2026-11-21T12:35:07Z",
    "time=2026-11-21T13:35:07+01:00",
    "time>=2026-11-20",
    "time=2026-11-20..2026-11-22",
    "text~h.l+o",
    'text~"hello w[a-z]*"',
    "text~^Hello",
    "text!~^world",
    "text~\\bw(or|al)ld\\b",
    "(text~w(or|al)ld)",
  ])("%j", (expression) => {
    expect(parseFilter(expression)(row())).toBe(true)
  })
})

describe("text is searched for as text, however long it is", () => {
  const characters = Array.from({ length: 40_000 }, (_, i) => `x(${i}é🐢`).join("")

  test("it matches where all of it is", () => {
    const filter = parseFilter(characters.toUpperCase())
    expect(filter(row({ text: `before ${characters} after` }))).toBe(true)
    expect(filter(row({ text: `before ${characters.slice(0, -1)}` }))).toBe(false)
    expect(filter(row({ text: `before ${characters.slice(0, -2)}X after` }))).toBe(false)
  })

  test("it matches behind a place where only its beginning is", () => {
    const turtles = "🐢".repeat(1500)
    const filter = parseFilter(`${turtles}!`)
    expect(filter(row({ text: `${turtles}🐢🐢!` }))).toBe(true)
    expect(filter(row({ text: `${turtles.slice(2)}!` }))).toBe(false)
  })
})

describe("does not match", () => {
  test.each([
    "connection=1",
    "connection=10.0.0.70",
    "connection=0.0.0.7",
    "connection=10.0.0.7:4031",
    "connection=:555",
    "connection=:40",
    "kind=LZ4A",
    "kind=error",
    "from=server",
    "helo",
    '"world hello"',
    "hel.o",
    "h.*",
    "hello kind=LZ4M",
    "size>1000",
    "size<1000",
    "size=1001..",
    "size=..999",
    "wire>=201",
    "not hello",
    "!hello",
    "!(hello or goodbye)",
    "goodbye or farewell",
    "hello (goodbye or farewell)",
    "hello and goodbye",
    "kind!=plain",
    "connection=3..",
    "time>1.5s",
    "time<12:35Z",
    "time>12:35Z",
    "time=12:36Z",
    "text~^world",
    "text!~hello",
    '"hello world', // An unclosed quote is an ordinary character.
  ])("%j", (expression) => {
    expect(parseFilter(expression)(row())).toBe(false)
  })
})

describe("is refused with an explanation", () => {
  test.each([
    [
      "id=7",
      "character 1: no field \"id\", only connection, kind, from, size, wire, parts, time, text; for text write 'id=7' in quotes",
    ],
    ["hello (é id>7)", 'character 10: no field "id"'],
    ["size>many", 'character 1: size> takes bytes, such as 1000, 64KiB or 1MB; got "many"'],
    ["size> 1000", 'size> takes bytes, such as 1000, 64KiB or 1MB; got ""'],
    ["size=1..x", "size= takes bytes"],
    ["size=..", "size= takes bytes"],
    ["size=1,", "size= takes bytes"],
    ["size=1ZB", "size= takes bytes"],
    ["size!>5", "write not size>… instead of size!>"],
    ["kind>plain", "kind is compared with =; got >"],
    ["size~5", "size is compared with =, >, >=, <, <=; got ~"],
    ["text=5", "text is compared with ~; got ="],
    ["text~(a", 'character 1: "(a" is not a regular expression: Unterminated group'],
    ["text~(?=a)", "(?= is not allowed: only groups are"],
    ["text~(a)\\1", "\\1 is not allowed: what a group matched cannot be referred to"],
    ["text~a{201}", "a repetition may be of up to 200 times; got {201}"],
    ["text~(a{90}){90}", "with repetitions written out, as aaa for a{3}, it may have 200"],
    ["connection>:80", "connection> takes a number"],
    ["time=25:00", "time= takes 12:35, 12:35:07.5, 2026-11-21, 2026-11-21T12:35:07Z or 1.5s"],
    ["time=2026-13-01", "time= takes"],
    ["time=2026-11-21T24:01", "time= takes"],
    ["time=noon", "time= takes"],
    ["(hello", "character 1: this parenthesis is not closed"],
    ["()", "character 2: a condition is missing here"],
    ["hello or", "character 9: a condition is missing at the end"],
    ["or hello", "character 1: a condition is missing here"],
    ["hello and or", "character 11: a condition is missing here"],
    ["not", "character 4: a condition is missing at the end"],
    ["!", "a condition is missing at the end"],
    ["(".repeat(101), "character 101: more than 100 levels"],
    ["kind=LZ5", "kind= is one of message, command, error,"],
    ["kind=", 'got ""'],
    ["hello from=both", 'from= is client or server; got "both"'],
    ...[
      ...["local host", "abc", "cafe", ":", ":70000", "::5555:", "10.0.0", "10.0.0.256"],
      ...["10.0.0.7:x", "10.0.0.7:70000", "[::1", "[10.0.0.7]", "1:2:3", "2x", '""'],
    ].map((value) => [
      `connection=${value}`,
      "connection= takes a number, an IP address, :PORT or ADDRESS:PORT; got ",
    ]),
  ])("%j", (expression, says) => {
    expect(() => parseFilter(expression)).toThrow(SyntaxError)
    expect(() => parseFilter(expression)).toThrow(says)
  })
})

test("times without a zone are local, or UTC if that is asked for", () => {
  const [local, utc] = [new Date(Number(START / 1_000_000n)), "12:35:06"].map(String)
  const time = local!.slice("Sat Nov 21 2026 ".length, "Sat Nov 21 2026 12:35:06".length)
  const at = row({ time: START })
  for (const expression of [`time=${time}`, `time=2026-11-21T${time}`])
    expect(parseFilter(expression)(at)).toBe(true)
  for (const expression of [`time=${utc}`, `time=2026-11-21T${utc}`, "time=2026-11-21"])
    expect(parseFilter(expression, { utc: true })(at)).toBe(true)
})

test("rows without a size or a time match no comparison with one", () => {
  const at = row({ size: undefined, time: undefined, start: undefined })
  for (const expression of [
    "size>0",
    "size<1",
    "time>0",
    "time<1",
    "time<12:00",
    "time>=2020-01-01",
  ])
    expect([expression, parseFilter(expression)(at)]).toEqual([expression, false])
  expect(parseFilter("size!=5")(at)).toBe(true)
})

test("text is not read if another condition excludes the row", () => {
  const filter = parseFilter("(hello or text~x) from=server")
  const unread = {
    ...row(),
    get text(): string {
      throw new Error("read")
    },
  }
  expect(filter(unread)).toBe(false)
})

describe("an event's row", () => {
  const connection = captureConnection({ id: 3 })
  const error = {
    code: "ERR_LZ4_CORRUPT_BLOCK",
    message: "part 1 does not decode",
    time: undefined,
    from: "server",
    offset: 0,
  } as const
  const message = (...parts: Partial<CapturePart>[]): CaptureEvent => ({
    type: "message",
    connection,
    message: {
      time: undefined,
      from: "server",
      parts: parts.map((part) => ({
        kind: "plain",
        wire: new Uint8Array(4),
        plain: undefined,
        error: undefined,
        dictionary: undefined,
        ...part,
      })),
      wireBytes: 0,
      plainBytes: 0,
      arena: undefined,
      ranges: [],
    },
  })
  const found = (event: CaptureEvent, expression: string) =>
    parseFilter(expression)(filterRow(event))

  test("the row of a message matches the kinds and the text of all its parts", () => {
    const event = message(
      { plain: Buffer.from("first") },
      { kind: "LZ4B", plain: Buffer.from("Zweiter: ü") },
    )
    expect(found(event, "connection=3 from=server kind=message kind=LZ4B FIRST ü")).toBe(true)
    expect(found(event, "kind=error")).toBe(false)
  })

  test("the row of a part that does not decode also matches errors", () => {
    const event = message({ kind: "LZ4B", error })
    expect(found(event, "kind=error kind=message ERR_LZ4_CORRUPT")).toBe(true)
  })

  test("the row of a dictionary does not match messages", () => {
    const event = message({ kind: "LZ4D" })
    expect([found(event, "kind=LZ4D"), found(event, "kind=message")]).toEqual([true, false])
  })

  test("the row of an end matches what it says, and both addresses", () => {
    const ended = { by: "server", how: "RST", inMessage: false } as const
    const event: CaptureEvent = {
      type: "close",
      connection: { ...connection, ended },
      time: undefined,
    }
    for (const text of ['"reset by the server"', "close", '"127.0.0.1:40000 → 127.0.0.1:5555"'])
      expect([text, found(event, text)]).toEqual([text, true])
    expect(found(event, '"closed by"')).toBe(false)
  })

  test("the row of an error of the file has no connection", () => {
    const event: CaptureEvent = { type: "error", connection: undefined, error }
    expect(found(event, "kind=error")).toBe(true)
    expect(found(event, "connection=3")).toBe(false)
  })
})
