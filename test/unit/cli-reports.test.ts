/** What `zeromq-lz4 inspect` says about a whole capture. */
import { writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"

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
      expect(stderr).toContain("prints no rows, so -n, --last and --full have no effect")
    }
    expect((await run("--exchanges", "--plain", "x.pcap", file())).status).toBe(2)
  })
})
