/** The filter language for captures, in the command line and the page. */
import { describe, expect, test } from "vitest"
import type { CaptureConnection, CaptureEvent, CapturePart } from "../../src/capture/events.js"
import { type FilterRow, filterRow, parseFilter } from "../../src/capture/filter.js"

const row = (changes: Partial<FilterRow> = {}): FilterRow => ({
  connection: 2,
  client: "10.0.0.7:40312",
  server: "[2001:db8::7]:5555",
  from: "client",
  kinds: ["message", "LZ4B", "plain"],
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
    '"hello world', // An unclosed quote is an ordinary character.
  ])("%j", (expression) => {
    expect(parseFilter(expression)(row())).toBe(false)
  })
})

describe("is refused with an explanation", () => {
  test.each([
    ["id=7", "no field \"id\", only connection, kind and from; for text write 'id=7' in quotes"],
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

test("text is not read if another condition excludes the row", () => {
  const filter = parseFilter("hello from=server")
  const unread = {
    ...row(),
    get text(): string {
      throw new Error("read")
    },
  }
  expect(filter(unread)).toBe(false)
})

describe("an event's row", () => {
  const traffic = { messages: 0, plainBytes: 0, wireBytes: 0 }
  const connection: CaptureConnection = {
    id: 3,
    client: "127.0.0.1:40000",
    server: "127.0.0.1:5555",
    begun: true,
    transport: "lz4+tcp",
    handshakes: { client: undefined, server: undefined },
    dictionaries: { client: undefined, server: undefined },
    traffic: { client: traffic, server: traffic },
  }
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

  test("of a message matches the kinds and the text of all its parts", () => {
    const event = message(
      { plain: Buffer.from("first") },
      { kind: "LZ4B", plain: Buffer.from("Zweiter: ü") },
    )
    expect(found(event, "connection=3 from=server kind=message kind=LZ4B FIRST ü")).toBe(true)
    expect(found(event, "kind=error")).toBe(false)
  })

  test("of a part that does not decode also matches errors", () => {
    const event = message({ kind: "LZ4B", error })
    expect(found(event, "kind=error kind=message ERR_LZ4_CORRUPT")).toBe(true)
  })

  test("of a dictionary does not match messages", () => {
    const event = message({ kind: "LZ4D" })
    expect([found(event, "kind=LZ4D"), found(event, "kind=message")]).toEqual([true, false])
  })

  test("of an error of the file has no connection", () => {
    const event: CaptureEvent = { type: "error", connection: undefined, error }
    expect(found(event, "kind=error")).toBe(true)
    expect(found(event, "connection=3")).toBe(false)
  })
})
