/** What `zeromq-lz4 inspect` says about a whole capture. */
import { writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { Codec } from "zeromq-lz4/codec"

import { conversation, framesOf, pcapFile, type Said } from "../support/capture-files.js"
import { type CommandResult, runCommand } from "../support/command.js"
import { directoryOfTests } from "../support/directory-of-tests.js"
import { handshake, message } from "../support/zmtp.js"

const { directory, at } = directoryOfTests()

const run = (...args: string[]): Promise<CommandResult> =>
  runCommand(directory, ["inspect", ...args])

// biome-ignore lint/suspicious/noExplicitAny: the content of a line is tested.
const json = (stdout: string): any[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

function write(name: string, said: Said): string {
  writeFileSync(at(name), pcapFile(framesOf(conversation(said))))
  return name
}

describe("inspect --exchanges", () => {
  const file = () =>
    write("questions.pcap", [
      ["client", handshake("REQ")],
      ["server", handshake("REP")],
      ["client", message(bytes(""), bytes("who?"))],
      ["server", message(bytes(""), bytes("me"))],
      ["client", message(bytes(""), bytes("why?"))],
    ])

  test("prints tables of servers and of the slowest answers, and no rows", async () => {
    const { status, stdout, stderr } = await run("--exchanges", "--utc", file())
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    expect(stdout.split("\n")).toEqual([
      "Questions and answers",
      "  SERVER          CLIENT TYPE → SERVER TYPE  CONNECTIONS  ANSWERED  UNANSWERED  MEDIAN   P99  LONGEST",
      "  127.0.0.1:5555  REQ → REP                            1         1           1    2 µs  2 µs     2 µs",
      "",
      "The slowest answers",
      "  TOOK  CONN  ASKED BY  ASKED AT (UTC)   QUESTION  ANSWER  BYTES ASKED  BYTES ANSWERED",
      "  2 µs     1  client    22:13:20.123463         8      10            4               2",
      "",
      "1 connection, 0.000 s from 2023-11-14 22:13:20.123456 UTC on",
      "total: 3 messages, 10 bytes plain, 10 bytes on the wire, 1.00×",
      "",
    ])
  })

  test("prints each exchange as JSON, then each server", async () => {
    const { stdout } = await run("--exchanges", "--json", file())
    const lines = json(stdout)
    expect(lines.map(({ type }) => type)).toEqual(["exchange", "exchanges", "summary"])
    expect(lines[0]).toEqual({
      ...{ type: "exchange", connection: 1, from: "client", nanoseconds: 2000 },
      question: { time: "2023-11-14T22:13:20.123463000Z", packet: 8, plainBytes: 4, wireBytes: 4 },
      answer: { time: "2023-11-14T22:13:20.123465000Z", packet: 10, plainBytes: 2, wireBytes: 2 },
    })
    expect(lines[1]).toEqual({
      ...{ type: "exchanges", client: "REQ", server: "REP", address: "127.0.0.1:5555" },
      ...{ connections: 1, answered: 1, unanswered: 1, unknown: 0, unexpected: 0, notJoined: [] },
      times: { count: 1, min: 2000, median: 2000, p99: 2000, max: 2000, mean: 2000 },
    })
  })

  test("says which answers a filter leaves", async () => {
    const { stdout } = await run("--exchanges", "--json", "--filter", "why", file())
    expect(json(stdout)).toMatchObject([{ answered: 0, unanswered: 1 }, { type: "summary" }])
  })

  test("says that there are none", async () => {
    const name = write("push.pcap", [
      ["client", handshake("PUSH")],
      ["server", handshake("PULL")],
      ["client", message(bytes("1"))],
    ])
    const { stdout } = await run("--exchanges", name)
    expect(stdout).toMatch(/^Questions and answers\n {2}none: there is no connection between REQ/)
  })

  test("does not go with options for rows", async () => {
    for (const option of ["-n=1", "--last=1", "--full"]) {
      const { status, stderr } = await run("--exchanges", option, file())
      expect(status).toBe(2)
      expect(stderr).toContain("print no rows, so -n, --last and --full have no effect")
    }
    expect((await run("--exchanges", "--plain", "x.pcap", file())).status).toBe(2)
  })
})

describe("inspect --statistics", () => {
  const topic = (i: number) => ["prices", "orders", "news"][i % 3] as string

  /** A publisher's messages, encoded, and what they are in numbers. */
  function published() {
    using codec = Codec.createSync()
    const messages = Array.from({ length: 30 }, (_, i) => [
      bytes(topic(i)),
      bytes(JSON.stringify({ id: i, text: "again and ".repeat(10 * i) })),
    ])
    const wire = messages.map((message) => codec.encode(message)[0]!)
    const file = write("published.pcap", [
      ["client", handshake("PUB")],
      ["server", handshake("SUB")],
      ...wire.map((parts) => ["client", message(...parts)] as const),
    ])
    const sizes = (parts: readonly Uint8Array[]) =>
      parts.reduce((sum, { length }) => sum + length, 0)
    const rows = messages.map((message, i) => ({
      topic: topic(i),
      plainBytes: sizes(message),
      wireBytes: sizes(wire[i]!),
    }))
    const sum = (some: typeof rows) => ({
      messages: some.length,
      plainBytes: some.reduce((sum, row) => sum + row.plainBytes, 0),
      wireBytes: some.reduce((sum, row) => sum + row.wireBytes, 0),
    })
    return { file, rows, sum }
  }

  test("adds up by type, topic, size and second as JSON", async () => {
    const { file, rows, sum } = published()
    const lines = json((await run("--statistics", "--json", file)).stdout)
    const by = (what: string) =>
      lines.filter((line) => line.by === what).map(({ type: _, by: __, ...fields }) => fields)
    expect(by("type")).toEqual([{ name: "PUB", ...sum(rows) }])
    const topics = ["prices", "orders", "news"].map((name) => ({
      name,
      ...sum(rows.filter(({ topic }) => topic === name)),
    }))
    expect(by("topic")).toEqual(topics.sort((a, b) => b.wireBytes - a.wireBytes))
    for (const { min, end, ...traffic } of by("size"))
      expect(traffic).toEqual(
        sum(rows.filter(({ plainBytes }) => plainBytes >= min && plainBytes < (end ?? Infinity))),
      )
    expect(by("time")).toEqual([
      { start: "2023-11-14T22:13:20.000000000Z", seconds: 1, ...sum(rows) },
    ])
    expect(by("all")).toMatchObject([{ ...sum(rows), dictionaries: { count: 0 } }])
  })

  test("prints the same as tables", async () => {
    const { file, rows, sum } = published()
    const { stdout } = await run("--statistics", "--utc", file)
    const { messages, plainBytes, wireBytes } = sum(rows)
    const saved = plainBytes - wireBytes
    const numbers = `${messages} +${plainBytes} +${wireBytes} +${saved} +${((100 * saved) / plainBytes).toFixed(1)}`
    for (const name of ["PUB", "all", "2023-11-14 22:13:20"])
      expect(stdout).toMatch(new RegExp(`^  ${name} +${numbers}$`, "m"))
    expect(stdout).toMatch(/^ {2}prices +10 /m)
  })

  test("counts what matches a filter", async () => {
    const { file, rows, sum } = published()
    const { stdout } = await run("--statistics", "--json", "--filter", "text~^news", file)
    expect(json(stdout)[0]).toMatchObject({
      by: "type",
      name: "PUB",
      ...sum(rows.filter(({ topic }) => topic === "news")),
    })
  })

  test("goes with --exchanges", async () => {
    const { stdout } = await run("--statistics", "--exchanges", published().file)
    expect(stdout).toContain("Messages by topic")
    expect(stdout).toContain("Questions and answers")
  })
})
