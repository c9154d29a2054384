/** Output is safe for terminals, whatever peers and files contain. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterAll, describe, expect, test, vi } from "vitest"
import { type CaptureEvent, CaptureFormatError, CaptureReader } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"
import { jsonRow as jsonOf } from "../../../src/capture/json-rows.js"
import { printableJson } from "../../../src/capture/printable.js"
import { bridgeLog, Report } from "../../../src/cli/bridge-report.js"
import { jsonSummary, summaryText } from "../../../src/cli/inspect-summary.js"
import { tableRow } from "../../../src/cli/inspect-table.js"
import { Tally } from "../../../src/cli/inspect-tally.js"
import { ProtocolError } from "../../../src/codec/errors.js"
import { CaptureIndex } from "../../../src/inspector/capture-index.js"
import { mutations } from "../../support/arbitraries.js"
import { conversation, framesOf, pcapFile, type Said } from "../../support/capture-files.js"
import { captureConnection } from "../../support/connections.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame, greeting, message } from "../../support/zmtp.js"

const jsonRow = (event: CaptureEvent) =>
  jsonOf(event, (bytes) => Buffer.from(bytes).toString("base64"))

const main = new URL("../../../dist/cli/main.js", import.meta.url).pathname
const directory = mkdtempSync(join(tmpdir(), "zeromq-lz4-terminal-"))
afterAll(() => rmSync(directory, { recursive: true }))

/** A window title, a CSI of one byte, a line break, a change of direction, a tag. */
const HOSTILE = "\x1b]0;owned\x07\x9b2J\r\n\u202egpj\u2028\u{e0041}\x7f"
const ACTS = /[\p{C}\p{Zl}\p{Zp}]/u

/** Expects no character that a terminal interprets, except line feeds at the ends of lines. */
function expectHarmless(printed: string): void {
  expect(printed.replaceAll("\n", "")).not.toMatch(ACTS)
}

const text = (words: string, encoding: BufferEncoding = "utf8"): Uint8Array =>
  new Uint8Array(Buffer.from(words, encoding))

function property(name: string, value: string, encoding: BufferEncoding): Uint8Array {
  const [nameBytes, valueBytes] = [text(name, encoding), text(value, encoding)]
  const length = Uint8Array.of(0, 0, valueBytes.length >> 8, valueBytes.length & 255)
  return concat(Uint8Array.of(nameBytes.length), nameBytes, length, valueBytes)
}
const command = (name: string, ...data: Uint8Array[]) =>
  frame(concat(Uint8Array.of(name.length), text(name), ...data), COMMAND)
const short = (bytes: Uint8Array) => concat(Uint8Array.of(bytes.length), bytes)

/** Returns one side with hostile text in all places. */
function hostileSide(encoding: BufferEncoding, mechanism: string): Uint8Array {
  const hostile = text(HOSTILE, encoding)
  const metadata = [
    property("Socket-Type", HOSTILE, encoding),
    property("Identity", HOSTILE, encoding),
    property(HOSTILE, HOSTILE, encoding),
  ]
  using codec = Codec.createSync({ dictionary: concat(hostile, text("x".repeat(50))) })
  const sent = codec.encodeBatch([[hostile], [text(HOSTILE.repeat(100))], [hostile, hostile]])
  return concat(
    greeting({ mechanism }),
    command("HELLO", short(hostile), short(hostile)),
    command("READY", ...metadata),
    command("INITIATE", ...metadata),
    command("READY", hostile),
    command("ERROR", short(hostile)),
    command("ERROR", hostile),
    ...["SUBSCRIBE", "CANCEL", "JOIN", "LEAVE", "PONG", "WELCOME", "ANYTHING"].map((name) =>
      command(name, hostile),
    ),
    command("PING", Uint8Array.of(0, 1), hostile),
    command(HOSTILE, hostile),
    ...sent.map((parts) => message(...parts)),
    message(hostile),
    message(text("LZ4B"), hostile),
    message(concat(text("LZ4B"), hostile, hostile)),
  )
}

const captures: [what: string, said: Said][] = (["utf8", "latin1"] as const).flatMap((encoding) =>
  ["NULL", "CURVE", HOSTILE].map((mechanism): [string, Said] => [
    `${encoding}, mechanism ${JSON.stringify(mechanism)}`,
    [
      ["client", hostileSide(encoding, mechanism)],
      ["server", hostileSide(encoding, "NULL")],
    ],
  ]),
)
const others: [what: string, said: Said][] = [
  ["plain", [["client", concat(greeting(), message(text(HOSTILE)), text(HOSTILE))]]],
  [
    "no greeting",
    [
      ["server", greeting()],
      ["client", text(`GET /${HOSTILE} HTTP/1.1\r\n${HOSTILE}`, "latin1")],
    ],
  ],
]
const file = (said: Said) => pcapFile(framesOf(conversation(said)))

describe("inspect, of hostile peers", () => {
  test.each([...captures, ...others])("prints no control characters: %s", (_, said) => {
    using reader = new CaptureReader()
    const tally = new Tally(1000)
    const events = [...reader.push(file(said)), ...reader.end()]
    expect(events.length).toBeGreaterThan(3)
    for (const event of events) {
      tally.add(event, true)
      for (const columns of [20, 80, 10_000])
        expectHarmless(tableRow(event, { columns, colour: false }) ?? "")
      expectHarmless(jsonRow(event))
    }
    for (const line of summaryText(tally.summary(1))) expectHarmless(line)
    for (const line of jsonSummary(tally.summary(1))) expectHarmless(line)
  })

  test.each([[[]], [["--json"]]])("prints no control characters, as a process: %j", (args) => {
    const path = join(directory, "hostile.pcap")
    writeFileSync(path, file(captures[0]![1]))
    const { stdout, stderr } = spawnSync(process.execPath, [main, "inspect", ...args, path], {
      encoding: "utf8",
    })
    expect(stdout.length).toBeGreaterThan(1000)
    expectHarmless(stdout)
    expectHarmless(stderr)
  })

  test("limits the length of a socket type in a summary", () => {
    const long = property("Socket-Type", "T".repeat(60_000), "utf8")
    const said: Said = [["client", concat(greeting(), command("READY", long))]]
    using reader = new CaptureReader()
    const tally = new Tally(1000)
    for (const event of [...reader.push(file(said)), ...reader.end()]) tally.add(event, true)
    expect(summaryText(tally.summary(1)).join("\n").length).toBeLessThan(400)
  })
})

/** Hostile text in every field that holds text, even where the decoder would not pass it on. */
describe("each field of each event", () => {
  const bytes = text(HOSTILE)
  const error = {
    ...({ code: "ERR_ZMTP_FRAME", message: HOSTILE } as const),
    ...{ time: 0n, from: "client" as const, offset: 0 },
  }
  const handshake = {
    ...{ version: HOSTILE, mechanism: HOSTILE, asServer: true, socketType: HOSTILE },
    ...{ identity: bytes, properties: new Map([[HOSTILE, bytes]]) },
  }
  const traffic = { messages: 1, plainBytes: 1, wireBytes: 1 }
  const connection = captureConnection({
    ...{ client: HOSTILE, server: HOSTILE },
    handshakes: { client: handshake, server: handshake },
    dictionaries: { client: bytes, server: bytes },
    traffic: { client: traffic, server: traffic },
  })
  const at = { connection, time: 0n, from: "client" as const }
  const part = {
    ...{ kind: "plain" as const, wire: bytes, plain: bytes },
    ...{ error: undefined, dictionary: undefined },
  }
  const sizes = { ...traffic, arena: undefined, ranges: [] }
  const events: CaptureEvent[] = [
    { type: "connection", ...at },
    { type: "handshake", ...at, handshake },
    { type: "handshake", ...at, handshake: { ...handshake, identity: undefined } },
    {
      type: "command",
      connection,
      command: { ...at, name: HOSTILE, body: bytes, detail: HOSTILE },
    },
    { type: "message", connection, message: { ...at, ...sizes, parts: [part, part] } },
    { type: "message", connection, message: { ...at, ...sizes, parts: [{ ...part, error }] } },
    { type: "error", connection, error },
    { type: "error", connection: undefined, error },
    { type: "close", ...at },
  ]

  test.each(events.map((event) => [event.type, event] as const))("%s", (_, event) => {
    expectHarmless(tableRow(event, { columns: 200, colour: false }) ?? "")
    expectHarmless(jsonRow(event))
    const colours = tableRow(event, { columns: 200, colour: true }) ?? ""
    const [start, end] = ["\x1b[31m", "\x1b[39m"]
    if (colours.startsWith(start.slice(0, 3)))
      expectHarmless(colours.slice(start.length, -end.length))
    else expectHarmless(colours)
  })

  test("the summary has no control characters", () => {
    const tally = new Tally(1000)
    for (const event of events) tally.add(event, true)
    for (const line of summaryText(tally.summary(1))) expectHarmless(line)
    for (const line of jsonSummary(tally.summary(1))) expectHarmless(line)
  })
})

describe("limits of a line and a summary", () => {
  const shouting = (id: number) => {
    const megabyte = "\x01".repeat(1 << 20)
    const properties = Array.from(
      { length: 256 },
      (_, i) => [`${i}`.padStart(255, "x"), text(megabyte.slice(0, 4000))] as const,
    )
    const handshake = {
      ...{ version: "3.1", mechanism: "NULL", asServer: false, socketType: megabyte },
      ...{ identity: text(megabyte), properties: new Map(properties) },
    }
    return captureConnection({
      ...{ id, client: "client", server: "server", transport: undefined },
      handshakes: { client: handshake, server: handshake },
    })
  }
  const connections = Array.from({ length: 100 }, (_, i) => shouting(i + 1))

  test("a summary with a hundred socket types of 1 MiB", () => {
    const tally = new Tally(1000)
    for (const connection of connections)
      tally.add({ type: "connection", connection, time: undefined }, true)
    const json = jsonSummary(tally.summary(100))
    expect(json).toHaveLength(101)
    // A control character takes six characters in JSON.
    for (const line of json) expect(line.length).toBeLessThan(2000)
    for (const line of summaryText(tally.summary(100))) expect(line.length).toBeLessThan(200)
  })

  test("the list of the inspector's page", () => {
    const index = new CaptureIndex()
    for (const connection of connections)
      index.add({ type: "connection", connection, time: undefined })
    const [first] = index.connections.summaries()
    expect(first!.sides.client.socketType).toBe("\x01".repeat(100))
    expect(first!.sides.client.handshake).toMatch(/^ZMTP 3\.1, NULL, identity 01 01 .*, …$/)
    expect(JSON.stringify(index.connections.summaries()).length).toBeLessThan(100 * 30_000)
  })

  test.each([
    { parts: 1000, said: text("said"), shown: true },
    { parts: 300_000, said: text("said"), shown: true },
    { parts: 300_000, said: text(`said${" ".repeat(1000)}`), shown: false },
  ])(
    "a line with a message of $parts parts: content is shown: $shown",
    ({ parts, said, shown }) => {
      const part = { kind: "plain" as const, wire: said, plain: said, error: undefined }
      const message = {
        ...{ time: 0n, from: "client" as const, parts: Array(parts).fill(part) },
        ...{ wireBytes: 0, plainBytes: 0, arena: undefined, ranges: [] },
      }
      const row = jsonRow({ type: "message", connection: connections[0]!, message })
      expect(row.includes('"text":"said')).toBe(shown)
      expect(row.length).toBeLessThan(256 * parts)
      const plainBytes = -65_536 * said.length
      if (parts > 65_536)
        expect(JSON.parse(row).more).toEqual({ parts: parts - 65_536, plainBytes })
    },
  )
})

test("every event of a damaged capture can be shown, as a line and on the page", () => {
  const corpus = new URL("../../fuzz-corpus/capture/", import.meta.url)
  const good = readdirSync(corpus).map(
    (name) => new Uint8Array(readFileSync(new URL(name, corpus))),
  )
  // A failure prints its seed and path; `{ seed, path }` here repeats it.
  fc.assert(
    fc.property(fc.constantFrom(...good), mutations, (file, mutate) => {
      using reader = new CaptureReader()
      const tally = new Tally(1000)
      const index = new CaptureIndex()
      for (const event of eventsOf(reader, mutate(file))) {
        tally.add(event, true)
        index.add(event)
        expectHarmless(tableRow(event, { columns: 80, colour: false }) ?? "")
        expectHarmless(jsonRow(event))
      }
      const summary = tally.summary(reader.tcpConnections)
      for (const line of [...summaryText(summary), ...jsonSummary(summary)]) expectHarmless(line)
      for (let row = 0; row < index.rows; row++) index.row(row)
      expect(index.connections.summaries().length).toBe(summary.connections.length)
    }),
    { numRuns: 300 },
  )
})

/** Returns the events of a file; none if it is no longer a capture. */
function eventsOf(reader: CaptureReader, file: Uint8Array): CaptureEvent[] {
  try {
    return [...reader.push(file), ...reader.end()]
  } catch (error) {
    if (error instanceof CaptureFormatError) return []
    throw error
  }
}

describe("JSON for a terminal", () => {
  test.each(["\u{e0041}", "\u2764\ufe0f", "\ufe0f\ufe0f", "\x7f"])(
    "JSON of a long text is that of its pieces: %j",
    (characters) => {
      for (let i = 65_530; i < 65_540; i++) {
        const [before, after] = ["a".repeat(i), "b".repeat(70_000)]
        const printed = printableJson(characters).slice(1, -1)
        expect(printableJson(before + characters + after)).toBe(`"${before}${printed}${after}"`)
      }
    },
  )

  test("parses back to the same value", () => {
    const value = { [HOSTILE]: [HOSTILE, "żółw 🐢", "\ud800", null] }
    const json = printableJson(value)
    expectHarmless(json)
    expect(JSON.parse(json)).toEqual(value)
  })
})

describe("names of files and arguments", () => {
  test.each<[args: string[]]>([
    [["inspect", HOSTILE]],
    [["inspect", "--filter", `${HOSTILE}=1`, "x"]],
    [["inspect", "--filter", `kind=${HOSTILE}`, "x"]],
    [["inspect", "--dictionary", HOSTILE, "x"]],
    [["page", HOSTILE]],
    [["inspect", `--${HOSTILE}`]],
    [["train", "-o", "x", HOSTILE]],
    [["train", "-o", "x", "--capacity", HOSTILE, "x"]],
    [["bridge", "--from", HOSTILE, "--to", HOSTILE]],
    [["bridge", "--from", `ipc:///nowhere/${HOSTILE}`, "--to", "lz4+tcp://127.0.0.1:1"]],
    [["bridge", "--from", `lz4+tcp://${HOSTILE}:1`, "--to", "tcp://127.0.0.1:1"]],
    [[HOSTILE]],
  ])("%j", (args) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
      encoding: "utf8",
      cwd: directory,
    })
    expect([1, 2]).toContain(status)
    expectHarmless(stdout)
    expectHarmless(stderr)
  })
})

describe("the bridge", () => {
  test.each([
    { how: "in words", json: false },
    { how: "as JSON", json: true },
  ])(
    "prints no control characters, whatever a peer, an address or the system contain: $how",
    ({ json }) => {
      const lines: string[] = []
      const log = vi.spyOn(console, "log").mockImplementation((line) => lines.push(line))
      const way = { messages: 0, plainBytes: 0, wireBytes: 0, dictionary: false }
      const counts = () => ({ sent: way, received: way })
      const joined = { number: 1, from: HOSTILE, to: HOSTILE, counts }
      const errors = [
        new ProtocolError("ERR_ZMTP_GREETING", HOSTILE),
        new Error(HOSTILE),
        Object.assign(new Error(HOSTILE), { code: HOSTILE, syscall: HOSTILE }),
        Object.assign(new Error(HOSTILE), { code: "ECONNRESET", syscall: "read" }),
      ]
      try {
        const report = new Report({ to: HOSTILE, maxConnections: 1 }, bridgeLog(json))
        for (const error of errors) {
          report.joined(joined)
          report.failed(joined, HOSTILE, error)
          report.ended(joined, error, false)
          report.unreachable(HOSTILE, error)
          report.full(HOSTILE)
        }
      } finally {
        log.mockRestore()
      }
      expect(lines).toHaveLength(20)
      for (const line of lines) expect(line).not.toMatch(ACTS)
    },
  )
})
