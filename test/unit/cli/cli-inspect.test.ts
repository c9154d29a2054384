/** `zeromq-lz4 inspect`, with captures made here. */
import { spawn, spawnSync } from "node:child_process"
import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { basename } from "node:path"
import { constants, crc32, deflateRawSync, gzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { Codec } from "zeromq-lz4/codec"

import { logEvents } from "../../../bench/payloads.mjs"
import { createRandom } from "../../../bench/random.mjs"
import { CaptureReader } from "../../../src/capture/index.js"
import { tableRow } from "../../../src/cli/inspect-table.js"
import {
  type ConversationOptions,
  conversation,
  framesOf,
  fromClients,
  pcapFile,
  pcapngFile,
  type Said,
} from "../../support/capture-files.js"
import { type CommandResult, jsonLines, main, runCommand } from "../../support/command.js"
import { directoryOfTests } from "../../support/directory-of-tests.js"
import { PATIENCE } from "../../support/patience.js"
import { Running } from "../../support/running-script.js"
import { ethernet } from "../../support/tunnels.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame, greeting, handshake, message, storedArena } from "../../support/zmtp.js"

const { directory, at, file } = directoryOfTests()

const run = (args: string[], input?: string | Uint8Array): Promise<CommandResult> =>
  runCommand(directory, ["inspect", ...args], input)

/** Runs it as a process, with more in its environment. */
function runAlone(args: string[], env: Record<string, string>, command = "inspect") {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, command, ...args], {
    encoding: "utf8",
    cwd: directory,
    env: { ...process.env, ...env },
  })
  return { status, stdout, stderr }
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const command = (name: string, body: string) =>
  frame(bytes(`${String.fromCharCode(name.length)}${name}${body}`), COMMAND)

/** Returns a capture of one connection. */
const capture = (said: Said, options?: ConversationOptions) =>
  pcapFile(framesOf(conversation(said, options)))

/** Encodes messages to one stream. */
function encoded(codec: Codec, messages: readonly (readonly Uint8Array[])[]): Uint8Array {
  return Buffer.concat(codec.encodeBatch(messages).map((parts) => message(...parts)))
}

const opening: Said = [
  ["client", handshake("PUSH")],
  ["server", handshake("PULL")],
]

const events = (count: number, seed = 1): Uint8Array[] => {
  const source = logEvents(seed)
  return Array.from({ length: count }, () => bytes(source.next().value as string))
}

const dictionary = Buffer.concat(events(6, 3)).subarray(0, 2000)
const messages: Uint8Array[][] = [
  [bytes("hello")],
  [bytes("topic"), bytes(""), events(1)[0] as Uint8Array],
  [bytes("\ufeffżółw 🐢 \x1b[31m\x07")],
  [createRandom("noise").bytes(3000)],
  [bytes("x".repeat(5000))],
]

/** Returns a connection with all kinds of traffic. */
function everything(): Said {
  using codec = Codec.createSync({ dictionary })
  return [
    ...opening,
    ["server", command("SUBSCRIBE", "weather\x9b2J")],
    ["client", encoded(codec, messages)],
    ["server", storedArena([bytes("one")], [bytes("two"), bytes("three")])],
  ]
}
const goodDictionary = file("good.dictionary", dictionary)
const good = file("good.pcap", capture(everything(), { closed: "FIN" }))

const broken = file(
  "broken.pcap",
  capture([
    ...opening,
    ["client", message(bytes("\0\0\0\0good"))],
    ["client", message(bytes("not a sentinel"))],
    ["server", message(bytes("\0\0\0\0fine"))],
  ]),
)

/** Expects that a command refuses arguments, and says so. */
const wrongUsage = (command: string) => async (says: string, args: string[]) => {
  const { status, stdout, stderr } = await runCommand(directory, [command, ...args])
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" })
  expect(stderr).toContain(says)
  expect(stderr.split("\n").slice(1)).toEqual([
    expect.stringMatching(new RegExp(`^usage: zeromq-lz4 ${command} `)),
    `see zeromq-lz4 ${command} --help`,
    "",
  ])
}

describe("wrong usage exits with 2 and explains the right one", () => {
  test.each<[says: string, args: string[]]>([
    ["no FILE", []],
    ["at most 4096 FILEs are read as one; got 4097", Array(4097).fill(good)],
    ["no option --bogus; there are --count, --last, ", ["--bogus=3", good]],
    ["-n is 1 or more; got -5", ["-n", "-5", good]],
    ['--filter: character 1: no field "sise"', ["--filter", "sise=3", good]],
    ["To specify an option argument starting with a dash use", ["--filter", "-x", good]],
    ["-n is 1 or more; got 0", ["-n", "0", good]],
    ["--last must be a whole number", ["--last", "x", good]],
    ["--last is too large; got 99999999999999999", ["--last", "99999999999999999", good]],
    ["--last is too small; got -99999999999999999", ["--last=-99999999999999999", good]],
    ["-n and --last exclude each other", ["-n", "1", "--last", "1", good]],
    ["--json prints full content without --full", ["--json", "--full", good]],
    ["--filter: character 1: kind= is one of message, command", ["--filter", "kind=LZ5", good]],
    [
      '--filter: character 1: connection= takes a number, an IP address, :PORT or ADDRESS:PORT; got "abc"',
      ["--filter", "connection=abc", good],
    ],
    [
      "--dictionary-for is SCOPE=FILE, with the SCOPE 3, 3:client, 3:server, client or server",
      ["--dictionary-for", "x", good],
    ],
    ['got "0=x"', ["--dictionary-for", "0=x", good]],
    ['got "3:both=x"', ["--dictionary-for", "3:both=x", good]],
    ['got "3="', ["--dictionary-for", "3=", good]],
    [
      "--dictionary-for names a file for 3 twice",
      ["--dictionary-for", `3=${goodDictionary}`, "--dictionary-for", "3=x", good],
    ],
    ["--max-message-size must be a whole number", ["--max-message-size", "1k", good]],
    ["--max-message-size is -1 for no limit", ["--max-message-size=-2", good]],
    // What used to be options, with the arguments that the user gave.
    ["--statistics has moved: use `zeromq-lz4 statistics FILE`\n", ["--statistics"]],
    [
      'use `zeromq-lz4 exchanges --json --filter "a b" -`\n',
      ["--json", "--exchanges", "--filter", "a b", "-"],
    ],
    [
      "use `zeromq-lz4 statistics a.pcap`, and `zeromq-lz4 advise a.pcap`\n",
      ["a.pcap", "--advise", "--statistics"],
    ],
    ["--plain has moved: use `zeromq-lz4 plain -o x.pcap a`\n", ["--plain", "x.pcap", "a"]],
    ['--html has moved: use `zeromq-lz4 page -o "x=1.html" a`\n', ["--html=x=1.html", "a"]],
    ["use `zeromq-lz4 page -o FILE`\n", ["--html"]],
    [
      "--open has moved: use `zeromq-lz4 page --dictionary d a`\n",
      ["--open", "--dictionary", "d", "a"],
    ],
    ["use `zeromq-lz4 live --open --port 1 -`\n", ["--live", "--open", "--port", "1", "-"]],
    ["use `zeromq-lz4 live a`\n", ["--live", "--html", "x.html", "--statistics", "a"]],
  ])("%s: %j", wrongUsage("inspect"))

  test.each<[says: string, args: string[]]>([
    ['"-" can be read only for -o PAGE', ["-"]],
    ["no option --json; there are --output, --dictionary", ["--json", good]],
    ["-o would write over", ["-o", good, good]],
    ["no FILE", ["-o", good]],
  ])("page: %s: %j", wrongUsage("page"))
})

/** Expects that a command prints nothing but an error. */
const badInput = (command: string) => async (says: string, args: string[]) => {
  const { status, stdout, stderr } = await runCommand(directory, [command, ...args])
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" })
  expect(stderr).toContain(says)
  expect(stderr.trimEnd().split("\n")).toHaveLength(1)
}

describe("bad input exits with 1 and prints one line", () => {
  test.each<[says: string, args: string[]]>([
    ["missing: no such file", ["missing"]],
    ["is a directory, not a file", [directory]],
    ["part of the path is not a directory", [`${good}/x`]],
    ["is empty", [file("empty.pcap", "")]],
    ["standard input: is empty", ["-"]],
    ["neither .pcap, nor .pcapng", [file("letter", "Dear Sir or Madam")]],
    ["is compressed with gzip", [file("twice.gz", gzipSync(gzipSync(readFileSync(good))))]],
    [
      "the file ends in the middle of the gzip data",
      [file("head.gz", gzipSync("").subarray(0, 10))],
    ],
    ["neither .pcap, nor .pcapng", [file("letter.gz", gzipSync("Dear Sir or Madam"))]],
    ["missing: no such file", ["--dictionary", "missing", good]],
    ["missing: no such file", ["--dictionary-for", "3=missing", good]],
    ["1 to 8192 bytes", ["--dictionary", file("large", new Uint8Array(8193)), good]],
    ["1 to 8192 bytes", ["--dictionary", "/dev/zero", good]],
  ])("%s: %j", badInput("inspect"))

  test.each<[says: string, args: string[]]>([
    ["is empty", [at("empty.pcap")]],
    ["missing: no such file", ["missing"]],
    ["missing: no such file", ["-o", "x.html", "missing"]],
    ["is empty", ["-o", "x.html", at("empty.pcap")]],
    ["missing/x.html: no such directory", ["-o", "missing/x.html", good]],
  ])("page: %s: %j", badInput("page"))

  test("a file without read permission", () => {
    const secret = file("secret.pcap", readFileSync(good))
    chmodSync(secret, 0)
    const command = [process.execPath, main, "inspect", secret]
    // Root can read everything, unless it lacks the capability.
    const without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    const [program, ...args] = process.getuid?.() === 0 ? [...without, ...command] : command
    const { status, stdout, stderr } = spawnSync(program as string, args, { encoding: "utf8" })
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" })
    expect(stderr).toBe(`zeromq-lz4: ${secret}: permission denied\n`)
  })

  test("after the complete records of a truncated file", async () => {
    const cut = file("cut.pcap", readFileSync(good).subarray(0, -10))
    const { status, stdout, stderr } = await run([cut])
    expect(status).toBe(1)
    expect(stderr).toMatch(/^zeromq-lz4: .*cut\.pcap: the file ends .*\n$/)
    expect(stdout).toContain("hello")
    expect(stdout).toContain("connection 1: 127.0.0.1:40000 → 127.0.0.1:5555")
  })

  test("after the valid records of a damaged file", async () => {
    const whole = readFileSync(good)
    const damaged = file("damaged.pcap", Buffer.concat([whole, new Uint8Array(50).fill(0xff)]))
    const { status, stdout, stderr } = await run(["--json", damaged])
    expect(status).toBe(1)
    expect(stderr).toMatch(/^zeromq-lz4: .*damaged\.pcap: .*\n$/)
    expect(jsonLines(stdout).at(-1)).toMatchObject({ type: "summary", connection: null, errors: 1 })
  })
})

describe("--json", async () => {
  const { status, stdout, stderr } = await run(["--json", good])
  const lines = jsonLines(stdout)
  const typed = (type: string) => lines.filter((line) => line.type === type)

  test("prints only lines of JSON", () => {
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    expect(new Set(lines.map(({ type }) => type))).toEqual(
      new Set(["connection", "handshake", "command", "dictionary", "message", "close", "summary"]),
    )
  })

  test("has the exact messages", () => {
    // biome-ignore lint/suspicious/noExplicitAny: see above.
    const content = ({ text, base64 }: any) =>
      text === undefined ? Buffer.from(base64, "base64") : Buffer.from(text)
    const sent = (side: string) =>
      typed("message")
        .filter(({ from }) => from === side)
        .map(({ parts }) => parts.map(content))
    expect(sent("client")).toEqual(messages.map((parts) => parts.map((part) => Buffer.from(part))))
    expect(sent("server")).toEqual([
      [Buffer.from("one")],
      [Buffer.from("two"), Buffer.from("three")],
    ])
  })

  test("has the wire form of each part", () => {
    expect(typed("message")[1]).toMatchObject({
      connection: 1,
      from: "client",
      arena: null,
      parts: [
        { kind: "plain", wireBytes: 9, plainBytes: 5, text: "topic" },
        { kind: "plain", wireBytes: 4, plainBytes: 0, text: "" },
        { kind: "LZ4B", plainBytes: messages[1]?.[2]?.length },
      ],
    })
    expect(typed("message").at(-1)).toMatchObject({
      from: "server",
      arena: { index: 1, messages: 2 },
      parts: [{ kind: "LZ4A" }, { kind: "LZ4A" }],
    })
    // Parts from an arena have shares of it.
    const sum = (parts: { wireBytes: number }[]) =>
      parts.reduce((sum, { wireBytes }) => sum + wireBytes, 0)
    for (const { wireBytes, parts } of typed("message")) expect(sum(parts)).toBe(wireBytes)
    expect(typed("dictionary")).toMatchObject([
      { from: "client", wireBytes: 2004, dictionaryBytes: 2000, text: dictionary.toString() },
    ])
  })

  test("has times to the nanosecond", () => {
    const rows = lines.filter(({ type }) => type !== "summary")
    for (const { time } of rows) expect(time).toMatch(/^2023-11-14T22:13:20\.123\d{6}Z$/)
    const times = rows.map(({ time }) => time)
    expect(times).toEqual([...times].sort())
    expect(rows.at(0).time < rows.at(-1).time).toBe(true)
  })

  test("has handshakes and commands", () => {
    expect(typed("handshake").at(-1)).toEqual({
      type: "handshake",
      time: expect.stringMatching(/^2023-11-14T22:13:20\.123\d{6}Z$/),
      connection: 1,
      packet: expect.any(Number),
      from: "server",
      version: "3.1",
      mechanism: "NULL",
      asServer: false,
      socketType: "PULL",
      identity: null,
      properties: {},
    })
    expect(typed("command").at(-1)).toMatchObject({
      from: "server",
      name: "SUBSCRIBE",
      detail: 'topic "weather\x9b2J"',
      body: { text: "weather\x9b2J" },
    })
  })

  test("ends with a summary of each connection, and of all", () => {
    expect(lines.slice(-2)).toEqual([
      {
        type: "summary",
        connection: 1,
        client: "127.0.0.1:40000",
        server: "127.0.0.1:5555",
        begun: true,
        closed: true,
        ended: { by: "client", how: "FIN", inMessage: false },
        curveServer: null,
        warning: null,
        transport: "lz4+tcp",
        errors: 0,
        sent: {
          client: {
            socketType: "PUSH",
            messages: messages.length,
            plainBytes: messages.flat().reduce((sum, { length }) => sum + length, 0),
            wireBytes: typed("message")
              .filter(({ from }) => from === "client")
              .reduce((sum, { wireBytes }) => sum + wireBytes, 2004),
            repeatedSegments: 0,
            encrypted: null,
            dictionaryBytes: 2000,
          },
          server: {
            socketType: "PULL",
            messages: 2,
            plainBytes: 11,
            wireBytes: expect.any(Number),
            repeatedSegments: 0,
            encrypted: null,
            dictionaryBytes: null,
          },
        },
      },
      {
        type: "summary",
        connection: null,
        connections: 1,
        tcpConnections: 1,
        unread: {},
        refused: {},
        start: expect.stringMatching(/Z$/),
        end: expect.stringMatching(/Z$/),
        rows: lines.length - 2,
        matching: lines.length - 2,
        errors: 0,
        messages: messages.length + 2,
        plainBytes: messages.flat().reduce((sum, { length }) => sum + length, 11),
        wireBytes: [...typed("message"), ...typed("dictionary")].reduce(
          (sum, { wireBytes }) => sum + wireBytes,
          0,
        ),
      },
    ])
  })

  test("prints the same for .pcapng, and from standard input", async () => {
    const frames = framesOf(conversation(everything(), { closed: "FIN" }))
    expect((await run(["--json", file("good.pcapng", pcapngFile(frames))])).stdout).toBe(stdout)
    expect((await run(["--json", "-"], readFileSync(good))).stdout).toBe(stdout)
  })

  test("omits content that would make lines too long", async () => {
    using codec = Codec.createSync()
    const sent = encoded(codec, [[new Uint8Array((64 << 20) + 1)]])
    const { status, stdout } = await run(["--json", "-"], capture([...opening, ["client", sent]]))
    expect(status).toBe(0)
    expect(jsonLines(stdout).find(({ type }) => type === "message").parts).toEqual([
      { kind: "LZ4B", wireBytes: expect.any(Number), plainBytes: (64 << 20) + 1 },
    ])
  })

  test("errors are objects of JSON", async () => {
    const { status, stdout } = await run(["--json", broken])
    expect(status).toBe(0)
    expect(jsonLines(stdout).at(-2)).toMatchObject({ type: "summary", connection: 1, errors: 1 })
    expect(stdout).toContain('"ERR_LZ4_UNKNOWN_SENTINEL"')
  })
})

describe("a dictionary that was sent before the recording began", () => {
  const known = bytes("what will be will be, ")
  const said = (seed: number) => bytes(`${seed}: ${"what will be will be, ".repeat(10)}`)
  function late(seed: number, dictionary: Uint8Array): Uint8Array {
    using codec = Codec.createSync({ dictionary })
    const [, ...rest] = codec.encodeBatch(Array(3).fill([said(seed)]))
    return Buffer.concat(rest.map((parts) => message(...parts)))
  }
  const two = file(
    "late.pcap",
    pcapFile(
      framesOf([
        ...conversation(
          [
            ["client", late(1, known)],
            ["server", late(2, dictionary)],
          ],
          { begun: false },
        ),
        ...conversation([["client", late(3, dictionary)]], {
          begun: false,
          client: "127.0.0.1:40003",
        }),
      ]),
    ),
  )
  file("known=1", known)
  file("dictionary", dictionary)
  const given = ["--dictionary", "dictionary", "--dictionary-for", "1:client=known=1"]

  test("counts for a connection or a side", async () => {
    const rows = jsonLines((await run(["--json", ...given, two])).stdout)
    const parts = rows.filter(({ type }) => type === "message").flatMap(({ parts }) => parts)
    expect(parts).toEqual(
      [1, 1, 1, 2, 2, 2, 3, 3, 3].map((seed) => ({
        kind: "LZ4B",
        wireBytes: expect.any(Number),
        plainBytes: said(seed).length,
        text: Buffer.from(said(seed)).toString(),
        dictionary: "given",
      })),
    )
    for (const scopes of [
      ["1=known=1", "1:server=dictionary", "client=dictionary"],
      ["client=dictionary", "1:client=known=1", "server=dictionary"],
    ]) {
      const options = scopes.flatMap((scope) => ["--dictionary-for", scope])
      const same = await run(["--json", ...options, two])
      expect(jsonLines(same.stdout)).toEqual(rows)
    }
  })

  test("is asked for once if it is not given, and the rows are marked", async () => {
    const { stdout } = await run([two])
    expect(stdout.match(/\(missing dictionary\) ERR_LZ4_CORRUPT_BLOCK: /g)).toHaveLength(3)
    expect(stdout.match(/a dictionary may/g)).toHaveLength(1)
    expect(stdout).toMatch(/^ {4}warning: messages of the client do not decode: a dictionary may/m)
    const rows = jsonLines((await run(["--json", two])).stdout)
    const parts = rows.filter(({ type }) => type === "message").flatMap(({ parts }) => parts)
    expect(parts.map(({ dictionary }) => dictionary)).toEqual([
      ...Array(3).fill("missing"),
      ...Array(6).fill(undefined),
    ])
    expect(JSON.stringify(parts)).not.toContain("a dictionary may")
    const { warning } = rows.find(({ type }) => type === "summary")
    expect(warning).toContain("a dictionary may have been shipped before the capture began")
  })

  test("is named where it was used", async () => {
    const { stdout } = await run([...given, two])
    const marked = stdout.match(/\(given dictionary\) \d: what will be/g)
    expect(new Set(marked)).toEqual(
      new Set([1, 2, 3].map((seed) => `(given dictionary) ${seed}: what will be`)),
    )
    expect((await run([good])).stdout).not.toContain("given dictionary")
  })
})

test("an announced revision is shown in the handshake, as JSON and in the table", async () => {
  const announcing = capture([
    ["client", handshake("PUSH", 2)],
    ["server", handshake("PULL")],
  ])
  const shown = jsonLines((await run(["--json", "-"], announcing)).stdout)
  const ofClient = shown.filter(({ type, from }) => type === "handshake" && from === "client")
  expect(ofClient.map(({ properties }) => properties)).toEqual([
    {},
    { "X-Lz4-Revision": { text: "2" } },
  ])
  expect((await run(["-"], announcing)).stdout).toMatch(
    / → READY +Socket-Type "PUSH", X-Lz4-Revision "2"$/m,
  )
})

describe("the table", async () => {
  const { stdout } = await run(["--utc", good])
  const rows = stdout.split("\n")

  test("has a row for every event, with a description", () => {
    for (const words of [
      /^TIME \(UTC\) +PACKET +CONN +FORM +PARTS +PLAIN +WIRE +RATIO +CONTENT$/,
      /^22:13:20\.\d{6} +\d+ +1 {3}open +127\.0\.0\.1:40000 → 127\.0\.0\.1:5555$/,
      /^22:13:20\.\d{6} +\d+ +1 → greeting +ZMTP 3\.1, NULL$/,
      /^22:13:20\.\d{6} +\d+ +1 → READY +Socket-Type "PUSH"$/,
      /^22:13:20\.\d{6} +\d+ +1 ← SUBSCRIBE +topic "weather/,
      /^22:13:20\.\d{6} +\d+ +1 → LZ4D +1 +2004 +dictionary of 2000 bytes: \S/,
      /^22:13:20\.\d{6} +\d+ +1 → plain +1 +5 +9 +0\.56× +hello$/,
      /^22:13:20\.\d{6} +\d+ +1 → plain\+LZ4B +3 +\d+ +\d+ +\d\.\d\d× +topic \| \(empty\) \| \{/,
      / 1 → plain +1 +3000 +3004 +1\.00× +\S\S \S\S \S\S /,
      / 1 ← LZ4A 2\/2 +2 +8 +\d+ +\d\.\d\d× +two \| three$/,
    ])
      expect(stdout.split("\n")).toContainEqual(expect.stringMatching(words))
  })

  test("prints no control characters, whatever peers send", () => {
    expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{C}/u)
    expect(stdout).toContain("\\u{feff}żółw 🐢 \\x1b[31m\\x07")
    expect(stdout).toContain("weather\\x9b2J")
  })

  test("truncates content, even without a terminal", () => {
    expect(Math.max(...rows.map(({ length }) => length))).toBeLessThanOrEqual(200)
  })

  test("ends with a summary, whose last line is the total", () => {
    const summary = rows.slice(rows.indexOf("") + 1)
    expect(summary.slice(0, 2)).toEqual([
      expect.stringMatching(/^1 connection, 0\.\d{3} s from 2023-11-14 22:13:20\.123\d{3} UTC on$/),
      "connection 1: 127.0.0.1:40000 → 127.0.0.1:5555, lz4+tcp, PUSH → PULL, closed by the client",
    ])
    const sums = /(\d+) messages, (\d+) bytes plain, (\d+) bytes on the wire, \d\.\d\d×/
    expect(summary[2]).toMatch(new RegExp(`^ {4}→ ${sums.source}, dictionary 2000 bytes$`))
    expect(summary[3]).toMatch(new RegExp(`^ {4}← ${sums.source}$`))
    expect(summary[4]).toMatch(new RegExp(`^total: ${sums.source}$`))
    expect(summary.slice(5)).toEqual([""])
    const [client, server, total] = summary
      .slice(2, 5)
      .map((line) => (sums.exec(line) as string[]).slice(1).map(Number))
    expect(client?.map((sum, i) => sum + (server?.[i] as number))).toEqual(total)
  })

  test("reports if there is no ZMTP connection", async () => {
    const http = capture([["client", bytes("GET / HTTP/1.1\r\n\r\n")]])
    expect(await run([file("http.pcap", http)])).toEqual({
      status: 0,
      stdout: "no ZeroMQ connection in this capture, among 1 TCP connection\n",
      stderr: "",
    })
    expect(await run([file("none.pcap", pcapFile([]))])).toEqual({
      status: 0,
      stdout: "no ZeroMQ connection in this capture: no TCP connection carries anything\n",
      stderr: "",
    })
  })

  test("reads several files as one, compressed or not, and names that a shell did not expand", async () => {
    const packets = conversation([
      ["client", handshake("PUSH")],
      ["client", message(bytes("hello"))],
    ])
    const frames = framesOf(packets)
    file("ring.pcap0", gzipSync(pcapFile(frames.slice(4))))
    file("ring.pcap1", pcapFile(frames.slice(0, 4)))
    file("ring.other", "not a capture")
    const { status, stdout } = await run(["--json", at("ring.pcap*")])
    expect(status).toBe(0)
    expect(jsonLines(stdout).filter(({ type }) => type === "message")).toMatchObject([
      { parts: [{ text: "hello" }] },
    ])
    expect(await run([at("ring.pcap?"), at("ring.other")])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/ring\.other: begins with/),
    })
    expect((await run([at("nothing*")])).stderr).toMatch(/nothing\*: no such file/)
    const cut = file("cut.pcap", pcapFile(frames).subarray(0, 200))
    const result = await run(["--json", at("ring.pcap1"), cut])
    expect(result.stderr).toMatch(/cut\.pcap: the file ends/)
    expect(jsonLines(result.stdout).find(({ type }) => type === "error")).toMatchObject({ file: 1 })
    const { stdout: rows } = await run([at("ring.pcap1"), cut])
    expect(rows).toMatch(/ error .*cut\.pcap: ERR_CAPTURE_TRUNCATED: /)
    const empty = file("empty-too.pcap", "")
    expect(await run([empty, empty])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/empty-too\.pcap: is empty/),
    })
  })

  test("reads many files without a warning", () => {
    const [, ...frames] = framesOf(conversation([["client", handshake("PUSH")]]))
    const files = Array.from({ length: 20 }, (_, i) => file(`many${i}.pcap`, pcapFile(frames)))
    expect(runAlone(files, {})).toMatchObject({ status: 0, stderr: "" })
  })

  test("says who ended a connection and how, and which were refused", async () => {
    const half = message(bytes("never complete")).subarray(0, 8)
    const said: Said = [
      ["client", handshake("PUSH")],
      ["client", half],
    ]
    const [syn] = conversation([], { client: "127.0.0.1:1001" })
    const refusal = {
      ...syn!,
      from: "server" as const,
      flags: "RA",
      sequence: 0,
      acknowledged: 1001,
    }
    const packets = [syn!, refusal, ...conversation(said, { closed: "RST" })]
    const { stdout } = await run([file("ended.pcap", pcapFile(framesOf(packets)))])
    expect(stdout).toMatch(/ close {6}reset by the client, in the middle of a message\n/)
    expect(stdout).toMatch(/, reset by the client, in the middle of a message, 1 error\n/)
    expect(stdout).toContain("\nconnections that were refused: 1 by 127.0.0.1:5555\n")
    // The recording ends before the other side does.
    const unfinished: Said = [...opening, ["server", half]]
    const halfClosed = conversation(unfinished, { closed: "FIN" }).slice(0, -2)
    const other = await run([file("half-closed.pcap", pcapFile(framesOf(halfClosed)))])
    expect(other.stdout).toMatch(/ close {6}closed by the client\n/)
  })

  test("counts and names the packets that are not read", async () => {
    const frames = [0x0806, 0x88cc, 0x0806].map((etherType) => ({
      time: 0n,
      bytes: ethernet(etherType, new Uint8Array(0)),
    }))
    const path = file("unread.pcap", pcapFile(frames))
    expect((await run([path])).stdout.split("\n")[1]).toBe(
      "packets that are not read: 2 ARP (EtherType 0x0806), 1 LLDP (EtherType 0x88cc)",
    )
    expect(jsonLines((await run([path, "--json"])).stdout).at(-1)).toMatchObject({
      unread: { "ARP (EtherType 0x0806)": 2, "LLDP (EtherType 0x88cc)": 1 },
    })
  })

  test("reports errors, and continues", async () => {
    const { status, stdout } = await run([broken])
    expect(status).toBe(0)
    expect(stdout).toContain("ERR_LZ4_UNKNOWN_SENTINEL: part 0 begins with 6e 6f 74 20")
    expect(stdout).toContain("fine")
    expect(stdout).toMatch(/PUSH → PULL, 1 error\n[\s\S]*\ntotal: 3 messages, .*, 1 error\n$/)
  })
})

describe("at a terminal", () => {
  const rows = (columns: number, colour: boolean) => {
    const reader = new CaptureReader({ maxMessageSize: 4000 })
    const all = [...reader.push(readFileSync(good)), ...reader.end()]
    reader.close()
    return all.flatMap((event) => tableRow(event, { columns, colour }) ?? [])
  }

  test("rows have its width, except for errors", () => {
    for (const columns of [80, 120, 300])
      for (const row of rows(columns, false))
        if (!row.includes("ERR_")) expect(row.length).toBeLessThanOrEqual(columns)
  })

  test("colour, if enabled, is for whole rows", () => {
    const plain = rows(120, false)
    expect(plain.join("\n")).not.toContain("\x1b")
    const coloured = rows(120, true)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control sequences.
    expect(coloured.map((row) => row.replace(/^\x1b\[3\dm(.*)\x1b\[39m$/, "$1"))).toEqual(plain)
    expect(coloured.filter((row) => row.startsWith("\x1b[31m"))).toEqual([
      expect.stringContaining("ERR_LZ4_BUDGET_EXCEEDED"),
    ])
  })
})

describe("which rows are printed", () => {
  const lines = async (...args: string[]) =>
    (await run(["--utc", ...args, good])).stdout
      .split("\n")
      .filter((line) => /^(TIME|\d\d:)/.test(line))
  const messages = ["--filter", "kind=message"]

  test("-n ends after this number of them", async () => {
    const all = await lines(...messages)
    expect(await lines(...messages, "-n", "2")).toEqual(all.slice(0, 3))
  })

  test("-n has a summary of what was read, and does not read the rest of the file", async () => {
    const { stdout } = await run(["--json", "-n", "1", good])
    const [row, connection, total] = jsonLines(stdout)
    expect(row).toMatchObject({ type: "connection", packet: 4 })
    const { client, server } = connection.sent
    expect(total.messages).toBe(7)
    expect(client.messages + server.messages).toBe(total.messages)
    const long = file(
      "many-messages.pcap",
      capture([
        ...opening,
        ...Array.from({ length: 200 }, () => ["client", message(bytes("x".repeat(1000)))] as const),
      ]),
    )
    const read = jsonLines((await run(["--json", "-n", "1", long])).stdout).at(-1)
    expect(read.messages).toBeGreaterThan(0)
    expect(read.messages).toBeLessThan(100)
  })

  test("--last prints the last of them", async () => {
    const all = await lines(...messages)
    expect(await lines(...messages, "--last", "2")).toEqual([all[0], ...all.slice(-2)])
    expect(await lines(...messages, "--last", "1000")).toEqual(all)
  })

  test("--full prints the whole content", async () => {
    const { stdout } = await run(["--full", ...messages, good])
    expect(stdout).not.toContain("…")
    expect(Math.max(...stdout.split("\n").map(({ length }) => length))).toBeGreaterThan(3000)
  })

  test("times are local without --utc", () => {
    const inspect = [main, "inspect", "-n", "1", good]
    const said = (env: NodeJS.ProcessEnv, ...more: string[]) =>
      spawnSync(process.execPath, [...inspect, ...more], {
        env: { ...process.env, ...env },
        encoding: "utf8",
      }).stdout
    expect(said({ TZ: "Asia/Kolkata" })).toMatch(
      /^TIME +PACKET.*\n03:43:20\.\d{6} .* from 2023-11-15 03:43:20\.\d{6} on/s,
    )
    expect(said({ TZ: "Asia/Kolkata" }, "--utc")).toMatch(/^TIME \(UTC\).*\n22:13:20\./s)
  })

  test.each([
    [{ FORCE_COLOR: "1" }, true],
    [{ FORCE_COLOR: "0" }, false],
    [{ FORCE_COLOR: "1", NO_COLOR: "1" }, true],
    [{ NO_COLOR: "1" }, false],
    [{}, false],
  ])("have colours as the environment says: %j", (env, coloured) => {
    const { FORCE_COLOR: _, NO_COLOR: __, ...others } = process.env
    const inspect = [main, "inspect", "-n", "1", good]
    const { stdout } = spawnSync(process.execPath, inspect, {
      env: { ...others, ...env, NODE_NO_WARNINGS: "1" },
      encoding: "utf8",
    })
    expect(stdout.includes("\x1b[36m")).toBe(coloured)
  })
})

describe("the summary of many connections", () => {
  const many = (connections: number) => {
    const packets = conversation([...opening, ["client", message(bytes("\0\0\0\0hello"))]])
    return Buffer.concat([pcapFile([]), ...fromClients(connections, packets)])
  }
  const crowd = file("crowd.pcap", many(1234))
  const summaryOf = async (...args: string[]) => {
    const { stdout } = await run([...args, crowd])
    return stdout
      .slice(stdout.indexOf("\n\n") + 2)
      .trimEnd()
      .split("\n")
  }

  test("lists connections with rows that match a filter, or all with --all", async () => {
    const listed = async (...args: string[]) =>
      (await summaryOf(...args)).filter((line) => line.startsWith("connection "))
    const filter = ["--filter", "connection=1000..1002 kind=close"]
    expect((await listed(...filter)).map((line) => line.split(":")[0])).toEqual(
      [1000, 1001, 1002].map((id) => `connection ${id}`),
    )
    expect(await listed(...filter, "--all")).toHaveLength(1234)
    const lines = await summaryOf("--filter", "connection=101..301 kind=close")
    expect(lines[1]).toMatch(/^201 of \d+ rows match, in 201 of 1234 connections; /)
    expect(lines[2]).toMatch(/^connection 101: /)
    expect(lines.at(-2)).toBe("and 101 more connections: --all lists them")
  })

  test("lists the first 100, the number of others, and the total of all", async () => {
    const lines = await summaryOf()
    expect(lines[0]).toMatch(/^1234 connections, /)
    expect(lines.filter((line) => line.startsWith("connection "))).toHaveLength(100)
    expect(lines.slice(-2)).toEqual([
      "and 1134 more connections: --all lists them",
      "total: 1234 messages, 6170 bytes plain, 11106 bytes on the wire, 0.56×",
    ])
  })

  test("lists all with --all", async () => {
    const lines = await summaryOf("--all")
    expect(lines.filter((line) => line.startsWith("connection "))).toHaveLength(1234)
    expect(lines.at(-2)).toMatch(/^ {4}→ 1 message, /)
    expect(lines.at(-1)).toMatch(/^total: 1234 messages, /)
  })

  test("the summary as JSON lists the first 10,000, or all with --all", async () => {
    const crowd = file("crowd.pcap", many(10_002))
    const summaries = async (...args: string[]) =>
      jsonLines((await run(["--json", ...args, "--filter", "connection=0", crowd])).stdout)
    const first = await summaries()
    expect(first).toHaveLength(10_001)
    expect(first.at(-1)).toMatchObject({ connection: null, connections: 10_002 })
    expect(await summaries("--all")).toHaveLength(10_003)
  })
})

describe("a gzip file", () => {
  const packed = gzipSync(readFileSync(good))

  test("is shown while it is decompressed, also from standard input", async () => {
    const unpacked = await run([good])
    expect(await run([file("good.pcap.gz", packed)])).toEqual(unpacked)
    expect(await run(["-"], packed)).toEqual(unpacked)
  })

  test("may have several members, and any name", async () => {
    const whole = readFileSync(good)
    const members = [whole.subarray(0, 3000), whole.subarray(3000)].map((part) => gzipSync(part))
    expect(await run([file("members", Buffer.concat(members))])).toEqual(await run([good]))
  })

  test("a gzip file that is truncated is shown up to that point", async () => {
    const cut = file("cut.gz", packed.subarray(0, -1000))
    const { status, stdout, stderr } = await run([cut])
    expect(status).toBe(1)
    expect(stderr).toBe(`zeromq-lz4: ${cut}: the file ends in the middle of the gzip data\n`)
    expect(stdout).toContain("hello")
    expect(stdout).toMatch(/\ntotal: /)
  })

  test("a gzip file that is damaged is shown up to that point", async () => {
    const large = capture([...opening, ["client", encoded(Codec.createSync(), noise(2000))]])
    const packed = gzipSync(large.subarray(0, 2_000_000))
    // A second member, of a method that does not exist.
    const damaged = Buffer.concat([packed, Uint8Array.of(0x1f, 0x8b, 0xff), new Uint8Array(10)])
    const { status, stdout, stderr } = await run([file("damaged.gz", damaged)])
    expect(status).toBe(1)
    expect(stderr).toMatch(/damaged\.gz: the gzip data is damaged: .*\n$/)
    expect(stdout).toMatch(/\ntotal: 1\d\d\d messages/)
  })

  /** Returns one member of gzip. Each array is packed by itself, and those that are the same only once. */
  const packedInPieces = (arrays: readonly Uint8Array[]): Uint8Array => {
    const packed = new Map<Uint8Array, Uint8Array>()
    let sum = 0
    for (const array of arrays) {
      sum = crc32(array, sum)
      if (!packed.has(array))
        packed.set(array, deflateRawSync(array, { finishFlush: constants.Z_FULL_FLUSH }))
    }
    const end = Buffer.alloc(8)
    end.writeUInt32LE(sum)
    end.writeUInt32LE(
      arrays.reduce((sum, { length }) => sum + length, 0),
      4,
    )
    const head = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3)
    return concat(head, ...arrays.map((array) => packed.get(array)!), deflateRawSync(""), end)
  }

  const noise = (count: number): Uint8Array[][] =>
    Array.from({ length: count }, (_, i) => [createRandom(`noise ${i}`).bytes(1000)])

  test.each([
    ["many messages", Array<Uint8Array>(300).fill(message(new Uint8Array(1 << 20)))],
    // A frame of 2^40 bytes, of which 300 MiB are present.
    [
      "an endless message",
      [
        Uint8Array.of(2, 0, 0, 1, 0, 0, 0, 0, 0),
        ...Array<Uint8Array>(300).fill(new Uint8Array(1 << 20)),
      ],
    ],
  ])("a thousand times is read in little memory: %s", (_, frames) => {
    const bomb = packedInPieces([handshake("PUSH"), ...frames])
    expect(bomb.length).toBeLessThan(1 << 20)
    // Its peak memory in KiB; the system's value for children may include this process.
    const told = `import { readFileSync } from "node:fs"
      process.on("exit", () => {
        console.error(/VmHWM:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1])
      })`
    const watched = `--import=data:text/javascript,${encodeURIComponent(told)}`
    const inspect = [watched, main, "inspect", "--filter", "kind=error", "-"]
    const { status, stderr } = spawnSync(process.execPath, inspect, {
      input: bomb,
      encoding: "utf8",
    })
    expect(status).toBe(0)
    expect(Number(stderr)).toBeLessThan(200 * 1024)
  })
})

describe("--filter", () => {
  const rows = async (...filters: string[]) => {
    const options = filters.flatMap((filter) => ["--filter", filter])
    const { stdout } = await run(["--json", ...options, good])
    return jsonLines(stdout).filter(({ type }) => type !== "summary")
  }

  test.each<[filters: string[], count: number]>([
    [["kind=message"], 7],
    [["kind=lz4a"], 2],
    [["kind=LZ4D"], 1],
    [["kind=close"], 1],
    [["kind=error"], 0],
    [["kind=message from=server"], 2],
    [["kind=message", "from=server"], 2],
    [["connection=:5555 HELLO"], 1],
    [["connection=2"], 0],
    [["connection=10.0.0.1"], 0],
    [["'two\nthree'"], 1],
    [["kind=message !hello"], 6],
    [["kind=message from!=client"], 2],
    [["kind=message text~^h.l+o"], 1],
    [["kind=close or kind=LZ4D"], 2],
    [["time>=1s"], 0],
  ])("%j leaves %d rows", async (filters, count) => {
    expect(await rows(...filters)).toHaveLength(count)
  })

  test("searches text in as much of a message as fits into a string", async () => {
    using codec = Codec.createSync()
    const part = new Uint8Array(32 << 20).fill(0x61)
    const sent = encoded(codec, [[...Array<Uint8Array>(20).fill(part), bytes("b")]])
    const file = capture([...opening, ["client", sent]])
    for (const [text, type] of Object.entries({ aaa: "message", b: "summary" })) {
      const filter = `kind=message ${text}`
      const options = ["--json", "--max-message-size=-1", "--filter", filter, "-"]
      expect(jsonLines((await run(options, file)).stdout)[0].type).toBe(type)
    }
  })

  test("does not change the summary, which has the number of matching rows", async () => {
    const { stdout } = await run(["--filter", "hello", good])
    expect(stdout).toMatch(/\n1 of \d+ rows match, in 1 of 1 connection; the sums cover all rows\n/)
    expect(stdout).toMatch(/→ 5 messages/)
  })
})

test("--dictionary decodes what was captured after the dictionary was sent", async () => {
  using codec = Codec.createSync({ dictionary })
  const sent = events(3, 9).map((event) => [event])
  const [, ...later] = codec.encodeBatch(sent)
  const stream = Buffer.concat(later.map((parts) => message(...parts)))
  const late = file("late.pcap", capture([["client", stream]], { begun: false }))
  const texts = ({ stdout }: { stdout: string }) =>
    jsonLines(stdout).flatMap(({ parts = [] }) => parts.map(({ text }: { text: string }) => text))
  const given = await run(["--json", "--dictionary", file("given.dict", dictionary), late])
  expect(texts(given)).toEqual(sent.flat().map((event) => Buffer.from(event).toString()))
  expect(texts(await run(["--json", late]))).not.toContain(
    Buffer.from(sent[0]?.[0] as Uint8Array).toString(),
  )
})

test("--max-message-size makes errors of larger messages", async () => {
  const { status, stdout } = await run(["--max-message-size", "4999", good])
  expect(status).toBe(0)
  expect(stdout).toContain("ERR_LZ4_BUDGET_EXCEEDED")
})

describe("standard input", () => {
  const live = (...args: string[]) =>
    new Running(spawn(process.execPath, [main, "inspect", ...args, "-"], { cwd: directory }))

  test("shows rows as they arrive, and prints the summary on SIGINT", async () => {
    const inspect = live("--filter", "kind=message")
    const whole = readFileSync(good)
    inspect.process.stdin?.write(whole.subarray(0, -1000))
    expect(await inspect.line()).toMatch(/^TIME/)
    expect(await inspect.line()).toMatch(/hello$/)
    inspect.process.kill("SIGINT")
    const rest: string[] = []
    while (!rest.at(-1)?.startsWith("total:")) rest.push(await inspect.line())
    expect(rest).toContain("connection 1: 127.0.0.1:40000 → 127.0.0.1:5555, lz4+tcp, PUSH → PULL")
    expect(await inspect.ended()).toEqual({ code: 0, signal: null })
  })
})

test("a named pipe is read until it ends, or SIGINT, also while its writer is silent", async () => {
  const pipe = at("pipe")
  spawnSync("mkfifo", [pipe])
  const start = () =>
    new Running(spawn(process.execPath, [main, "inspect", "--filter", "kind=message", pipe]))
  const total = async (inspect: Running): Promise<string> => {
    for (;;) {
      const line = await inspect.line()
      if (line.startsWith("total:")) return line
    }
  }
  const whole = readFileSync(good)
  const silent = start()
  const writer = openSync(pipe, "w")
  writeSync(writer, whole.subarray(0, -1000))
  while (!(await silent.line()).endsWith("hello"));
  silent.process.kill("SIGINT")
  expect(await total(silent)).toMatch(/^total: /)
  expect(await silent.ended()).toEqual({ code: 0, signal: null })
  closeSync(writer)

  const ending = start()
  writeFileSync(pipe, whole)
  const { stdout } = await run(["--filter", "kind=message", good])
  expect(await total(ending)).toBe(stdout.trimEnd().split("\n").at(-1))
  expect(await ending.ended()).toEqual({ code: 0, signal: null })
})

test("ends quietly when its output is closed", () => {
  const many = file("many.pcap", capture([...opening, ["client", numbered(20_000)]]))
  const script = `{ "$0" "$@"; echo "exit $?" >&2; } | head -n 2`
  const { stdout, stderr } = spawnSync(
    "sh",
    ["-c", script, process.execPath, main, "inspect", many],
    { encoding: "utf8" },
  )
  expect(stdout.split("\n")).toHaveLength(3)
  expect(stderr).toBe("exit 0\n")
})

/** Returns messages of plain parts in one stream. */
function numbered(count: number): Uint8Array {
  const frames = Array.from({ length: count }, (_, i) => message(bytes(`\0\0\0\0message ${i}`)))
  return Buffer.concat(frames)
}

test("memory does not depend on the size of the file", () => {
  const count = 100_000
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    // Keeping the shown content would need more than this.
    ["--max-old-space-size=24", main, "inspect", "--json", "-"],
    {
      input: capture([...opening, ["client", numbered(count)]]),
      encoding: "utf8",
      maxBuffer: 1 << 30,
    },
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
  expect(stdout.match(/"type":"message"/g)).toHaveLength(count)
})

describe("page", () => {
  // A browser that keeps a copy of the page.
  const seen = at("seen")
  const browser = file("browser.sh", `#!/bin/sh\nprintf %s "$1" > ${seen}\n`)
  const open = (capture: string, BROWSER = `sh ${browser}`, ...more: string[]) => {
    rmSync(seen, { force: true })
    // It takes a program for a browser that has started if it has not failed after a while.
    const NODE_OPTIONS = PATIENCE
    const env = { BROWSER, NODE_OPTIONS, TMPDIR: directory }
    return runAlone([capture, ...more], env, "page")
  }

  test("starts the browser with a page that contains the capture, which other users cannot read", () => {
    const capture = file('a "good" <b>.pcap', readFileSync(good))
    const { status, stdout, stderr } = open(capture)
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    const page = new URL(readFileSync(seen, "utf8"))
    expect(stdout).toContain(page.pathname)
    expect(statSync(page).mode & 0o777).toBe(0o600)
    const html = readFileSync(page, "utf8")
    expect(html).toContain(
      `<script type="text/plain" id="capture" data-name="a &#34;good&#34; &#60;b&#62;.pcap">${readFileSync(good, "base64")}</script>`,
    )
  })

  test("passes on a dictionary", () => {
    const bytes = "what messages have in common"
    const dictionary = file("events.dict", bytes)
    expect(open(good, `sh ${browser}`, "--dictionary", dictionary).status).toBe(0)
    const html = readFileSync(new URL(readFileSync(seen, "utf8")), "utf8")
    expect(html).toContain(
      `id="capture-dictionary" data-name="events.dict">${Buffer.from(bytes).toString("base64")}</script>`,
    )
    expect(html).toContain(`id="capture" data-name="${basename(good)}">`)
  })

  test("omits a capture that is too large, and says what to do", () => {
    const large = at("large.pcap")
    writeFileSync(large, readFileSync(good))
    truncateSync(large, (64 << 20) + 1)
    const { status, stdout } = open(large)
    expect(status).toBe(0)
    expect(stdout).toContain("drop the file on it")
    const html = readFileSync(new URL(readFileSync(seen, "utf8")), "utf8")
    expect(html).toContain('<script type="text/plain" id="capture"></script>')
  })

  test("tries browsers in turn, and prints the path of the page if none starts", () => {
    expect(open(good, `/nonexistent:false: :sh ${browser}`).status).toBe(0)
    const { status, stderr } = open(good, "/nonexistent:false")
    expect(status).toBe(1)
    expect(stderr).toMatch(/no browser could be started: open .*inspector\.html in one/)
  })
})

describe("page -o", () => {
  const run = (args: string[], input?: Uint8Array): Promise<CommandResult> =>
    runCommand(directory, ["page", ...args], input)

  const page = at("page.html")
  const capture = readFileSync(good)
  const embedded = (name: string, bytes: Buffer) =>
    `<script type="text/plain" id="capture" data-name="${name}">${bytes.toString("base64")}</script>`

  test("writes a page that contains the capture", async () => {
    expect(await run(["-o", page, good])).toEqual({
      status: 0,
      stdout: `${page}: the inspector page with ${good} in it\n`,
      stderr: "",
    })
    const html = readFileSync(page, "utf8")
    const [before, after] = html.split(embedded("good.pcap", capture))
    const empty = readFileSync(new URL("../../../dist/inspector.html", import.meta.url), "utf8")
    expect(`${before}<script type="text/plain" id="capture"></script>${after}`).toBe(empty)
  })

  test("prints the page, and nothing else, for -", async () => {
    expect((await run(["-o", page, good])).status).toBe(0)
    expect(await run(["-o", "-", good])).toEqual({
      status: 0,
      stdout: readFileSync(page, "utf8"),
      stderr: "",
    })
    expect(existsSync(at("-"))).toBe(false)
  })

  test("passes on a dictionary", async () => {
    const dictionary = file("common.dict", "what messages have in common")
    expect((await run(["-o", page, "--dictionary", dictionary, good])).status).toBe(0)
    expect(readFileSync(page, "utf8")).toContain('id="capture-dictionary" data-name="common.dict">')
  })

  test("reads a capture from standard input, and a gzip file", async () => {
    expect((await run(["-o", page, "-"], gzipSync(capture))).status).toBe(0)
    expect(readFileSync(page, "utf8")).toContain(embedded("standard input", capture))
  })

  test("leaves out the password of PLAIN", async () => {
    const short = (words: string) => Buffer.concat([Buffer.of(words.length), Buffer.from(words)])
    const data = Buffer.concat(["HELLO", "admin", "correct horse"].map(short))
    const hello = frame(Uint8Array.from(data), COMMAND)
    const bytes = pcapFile(
      framesOf(conversation([["client", concat(greeting({ mechanism: "PLAIN" }), hello)]])),
    )
    expect((await run(["-o", page, file("plain.pcap", bytes)])).status).toBe(0)
    const [, base64 = ""] = /data-name="plain.pcap">([^<]*)</.exec(readFileSync(page, "utf8")) ?? []
    const inPage = Buffer.from(base64, "base64").toString("latin1")
    expect(inPage).toHaveLength(bytes.length)
    expect(inPage).toContain(`admin\x0d${"*".repeat(13)}`)
    expect(inPage).not.toContain("horse")
  })

  test("takes several files, which the page reads as one", async () => {
    expect(await run(["-o", page, good, "-"], capture)).toEqual({
      status: 0,
      stdout: `${page}: the inspector page with ${good} and 1 more in it\n`,
      stderr: "",
    })
    const html = readFileSync(page, "utf8")
    expect(html).toContain(
      embedded("good.pcap", capture) +
        embedded("standard input", capture).replace('"capture"', '"capture-2"'),
    )
    const most = file("most.gz", gzipSync(Buffer.concat([capture, Buffer.alloc(63 << 20)])))
    const { status, stderr } = await run(["-o", at("none.html"), good, most, most])
    expect(status).toBe(1)
    expect(stderr).toContain("good.pcap and 2 more: more than 64 MiB, too much for a page")
    expect(existsSync(at("none.html"))).toBe(false)
  })

  test("leaves out a password that begins in one file and ends in another", async () => {
    const short = (words: string) => Buffer.concat([Buffer.of(words.length), Buffer.from(words)])
    const data = Buffer.concat(["HELLO", "admin", "correct horse battery"].map(short))
    const hello = frame(Uint8Array.from(data), COMMAND)
    const said = concat(greeting({ mechanism: "PLAIN" }), hello)
    const frames = framesOf(conversation([["client", said]], { segmentBytes: said.length - 8 }))
    const [last] = frames.splice(-2, 1)
    const first = file("first.pcap", pcapFile(frames))
    const second = file("second.pcap", pcapFile([last!]))
    expect(Buffer.from(pcapFile([last!])).toString("latin1")).toContain("battery")
    expect((await run(["-o", page, first, second])).status).toBe(0)
    const parts = [...readFileSync(page, "utf8").matchAll(/data-name="[^"]*">([^<]*)</g)]
    const inPage = parts.map(([, base64 = ""]) => Buffer.from(base64, "base64").toString("latin1"))
    expect(inPage).toHaveLength(2)
    expect(inPage.join()).toContain("admin")
    expect(inPage.join()).not.toMatch(/horse|batt|attery/)
  })

  test("refuses a capture that is too large for a page, and writes nothing", async () => {
    const none = at("none.html")
    const large = Buffer.concat([capture, Buffer.alloc(64 << 20)])
    const { status, stdout, stderr } = await run(["-o", none, file("large.gz", gzipSync(large))])
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" })
    expect(stderr).toContain("large.gz: more than 64 MiB, too much for a page")
    expect(existsSync(none)).toBe(false)
  })
})

describe("progress", () => {
  // Each reading of the clock is a second later, however fast the file is read.
  const clock = "let now = 0; Performance.prototype.now = () => (now += 1000)"
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(clock)}`
  const long = file("long.pcap", capture([...opening, ["client", numbered(20_000)]]))
  const packed = file("long.pcap.gz", gzipSync(readFileSync(long), { level: 0 }))

  /** Runs it in its own terminal, and returns the terminal's output. */
  function atTerminal(line: string): string {
    const inspect = `${process.execPath} ${main} inspect ${line}`
    const { status, stdout } = spawnSync("script", ["-qec", inspect, "/dev/null"], {
      encoding: "utf8",
      env: { ...process.env, NODE_OPTIONS, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
      maxBuffer: 1 << 28,
    })
    expect(status).toBe(0)
    return stdout
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are tested.
  const SHOWN = /\r\d+\.\d of \d+\.\d MiB read, (\d+) %\x1b\[K/g
  const percents = (printed: string) =>
    [...printed.matchAll(SHOWN)].map(([, percent]) => Number(percent))
  /** Returns the lines visible at the end. */
  const linesOf = (printed: string) =>
    printed.split("\r\n").map((line) => line.split("\r\x1b[K").at(-1))

  test.each([
    { what: "a file", path: long },
    { what: "one that gzip packed", path: packed },
  ])("is shown for $what, with --filter, and removed before each row", ({ path }) => {
    const printed = atTerminal(`--filter '"message 777" kind=message' ${path}`)
    const shown = percents(printed)
    expect(shown.length).toBeGreaterThan(1)
    expect(shown).toEqual([...shown].sort((a, b) => a - b))
    expect(shown.at(-1)).toBe(100)
    const lines = linesOf(printed)
    const rows = lines.filter((line) => line?.endsWith("message 777"))
    expect(rows).toEqual([expect.stringMatching(/^22:13:20\.\d+ +1 → plain /)])
    expect(lines.at(-2)).toMatch(/^total: 20000 messages/)
    expect(lines.join()).not.toContain("MiB read")
  })

  test("is shown if the output is redirected, and not between rows", () => {
    expect(percents(atTerminal(`${long} > ${at("elsewhere")}`)).at(-1)).toBe(100)
    expect(atTerminal(long)).not.toContain("MiB read")
  })

  test("is not shown without a terminal", () => {
    expect(runAlone(["--filter", "kind=close", long], { NODE_OPTIONS }).stderr).toBe("")
  })
})
