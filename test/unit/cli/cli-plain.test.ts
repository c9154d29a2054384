/** `zeromq-lz4 plain`: a recording with plain ZMTP in place of `lz4+tcp://`. */
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, readFileSync, statSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"
import { gunzipSync, gzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { type CaptureEvent, decodeCapture } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"

import { createRandom } from "../../../bench/random.mjs"
import { conversation, framesOf, pcapFile, type Said, START } from "../../support/capture-files.js"
import { captured, captureOf, eventsOf, linesOf } from "../../support/captures.js"
import { type CommandResult, main, runCommand } from "../../support/command.js"
import { directoryOfTests } from "../../support/directory-of-tests.js"
import { record, saidBy } from "../../support/recorded-streams.js"
import { concat, SENTINELS } from "../../support/wire.js"
import {
  COMMAND,
  frame,
  greeting,
  handshake,
  message,
  ready,
  storedArena,
} from "../../support/zmtp.js"

const { directory, at, file } = directoryOfTests()
const run = (args: string[], input?: Uint8Array): Promise<CommandResult> =>
  runCommand(directory, ["plain", ...args], input)

const text = (text: string): Uint8Array => Buffer.from(text)
const command = (name: string, body: Uint8Array) =>
  frame(concat(Uint8Array.of(name.length), text(name), body), COMMAND)
const packed = (part: string) => concat(SENTINELS.plain, text(part))

let converted = 0
/** Converts a capture, and returns the file and the line on standard error. */
async function plainOf(
  captures: readonly Uint8Array[],
  { args = [], name = "plain.pcapng" }: { args?: string[]; name?: string } = {},
): Promise<{ output: Uint8Array; line: string }> {
  const number = converted++
  const inputs = captures.map((content, i) => file(`${number}-${i}.pcap`, content))
  const output = at(`${number}-${name}`)
  const { status, stdout, stderr } = await run(["-o", output, ...args, ...inputs])
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" })
  return {
    output: new Uint8Array(readFileSync(output)),
    line: stderr.replace(`zeromq-lz4: ${output}: `, ""),
  }
}

/** Returns bytes as text, which is compared much faster. */
const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

/** Returns what one side has sent, without gaps. */
function sentBy(capture: Uint8Array, side: "client" | "server"): string {
  const [connection] = record(capture).connections
  const said = saidBy(connection!, side).slice(0, -1)
  for (const item of said) if (typeof item === "number") throw new Error(`${item} bytes missing`)
  return latin1(concat(...(said as Uint8Array[])))
}

/** Returns messages with their times and senders, grouped by connection. */
const messagesIn = (capture: Uint8Array) =>
  decodeCapture(capture).connections.map(({ client, server, messages }) => ({
    ends: [client, server],
    messages: messages
      .filter(({ parts }) => parts[0]?.kind !== "LZ4D")
      .map(({ from, time, parts }) => ({
        from,
        time,
        parts: parts.map(({ plain }) => latin1(plain as Uint8Array)),
      })),
  }))

const noise = createRandom("noise")
const dictionary = noise.bytes(1000)
const messages: Uint8Array[][] = [
  [text("hello")],
  [text("topic"), text(""), dictionary.subarray(100, 900)],
  [text("x".repeat(5000))],
  [noise.bytes(65_158)],
  [text("large"), noise.bytes(300_000)],
]

/** A connection with each form of parts. */
function everything(): Said {
  using codec = Codec.createSync({ dictionary })
  const sent = codec.encodeBatch(messages).map((parts) => message(...parts))
  return [
    ["client", handshake("PUB", 2)],
    ["server", handshake("SUB", 2)],
    ["server", command("SUBSCRIBE", text("weather"))],
    ...sent.map((bytes) => ["client", bytes] as const),
    ["client", storedArena([text("one")], [text("two"), text("three")])],
  ]
}

describe("a connection of lz4+tcp://", () => {
  test("is the same bytes as over tcp://", async () => {
    const { output, line } = await plainOf([captured(everything(), { closed: "FIN" })])
    expect(line).toBe(
      "wrote 1 connection, 7 messages, 3 commands in 30 packets; left out: 1 dictionary\n",
    )
    expect(sentBy(output, "client")).toBe(
      latin1(
        concat(
          handshake("PUB"),
          ...messages.map((parts) => message(...parts)),
          message(text("one")),
          message(text("two"), text("three")),
        ),
      ),
    )
    expect(sentBy(output, "server")).toBe(
      latin1(concat(handshake("SUB"), command("SUBSCRIBE", text("weather")))),
    )
  })

  test.each([
    ["plain.pcap", {}],
    ["plain.PCAPNG", {}],
    ["plain.pcap", { client: "[2001:db8::1:0:0:2]:40000", server: "[::1]:5555" }],
  ])("has its messages, times and ends in %s: %j", async (name, ends) => {
    const capture = captured(everything(), { ...ends, closed: "FIN" })
    const { output } = await plainOf([capture], { name })
    expect(messagesIn(output)).toEqual(messagesIn(capture))
    const [connection] = decodeCapture(output).connections
    expect(connection).toMatchObject({ begun: true, transport: "tcp", errors: [] })
    expect(connection?.ended).toEqual({ by: "client", how: "FIN", inMessage: false })
    expect(output[0]).toBe(name.endsWith(".pcap") ? 0x4d : 0x0a)
  })

  test("begins with its first packet", async () => {
    const { output } = await plainOf([captured(everything())])
    const [opened] = eventsOf(output)
    expect(opened).toMatchObject({ type: "connection", time: START })
  })

  test.each(["FIN", "RST", undefined] as const)(
    "a connection that ended with %s",
    async (closed) => {
      const { output } = await plainOf([captured(everything(), { closed })])
      expect(decodeCapture(output).connections[0]?.ended?.how).toBe(closed)
    },
  )
})

test("a connection of tcp:// goes through unchanged", async () => {
  const said: Said = [
    ["client", concat(greeting({ minor: 0 }), ready("REQ"))],
    ["server", handshake("REP")],
    ["client", command("PING", Uint8Array.of(0, 10, 1, 2))],
    ["client", message(text(""), noise.bytes(1000))],
    ["server", message(text(""), text("answer"))],
  ]
  const capture = captured(said)
  const { output, line } = await plainOf([capture])
  expect(line).toMatch(/^wrote 1 connection, 2 messages, 3 commands in \d+ packets\n$/)
  for (const side of ["client", "server"] as const)
    expect(sentBy(output, side)).toBe(sentBy(capture, side))
})

test("recorded connections of another implementation have the same messages", async () => {
  const recorded = new URL("../../recorded/omq-lz4-0.3.4.pcap.gz", import.meta.url)
  const capture = new Uint8Array(gunzipSync(readFileSync(fileURLToPath(recorded))))
  const { output } = await plainOf([capture])
  expect(messagesIn(output)).toEqual(messagesIn(capture))
})

describe("what is left out", () => {
  const opening: Said = [
    ["client", handshake("PUSH", 2)],
    ["server", handshake("PULL", 2)],
  ]
  const linesIn = (capture: Uint8Array) =>
    linesOf(eventsOf(capture).filter(({ type }: CaptureEvent) => type !== "handshake"))

  test("a message with a part that does not decode", async () => {
    const broken = concat(SENTINELS.LZ4B, Uint8Array.of(9, 9, 9, 9, 9, 9, 9, 9, 9))
    const { output, line } = await plainOf([
      captured([
        ...opening,
        ["client", message(packed("before"))],
        ["client", message(packed("good"), broken)],
        ["client", message(packed("after"))],
      ]),
    ])
    expect(line).toContain("2 messages")
    expect(line).toContain("; left out: 1 message that cannot be decoded\n")
    expect(linesIn(output)).toEqual([
      "connection 1",
      'client: READY Socket-Type "PUSH"',
      'server: READY Socket-Type "PULL"',
      "client: before",
      "client: after",
      "close 1",
    ])
  })

  test("the password of PLAIN is left out", async () => {
    const user = text("\x04user\x06secret")
    const { output } = await plainOf([
      captured([
        ["client", greeting({ mechanism: "PLAIN" })],
        ["server", greeting({ mechanism: "PLAIN" })],
        ["client", command("HELLO", user)],
        ["server", command("WELCOME", text(""))],
      ]),
    ])
    expect(Buffer.from(output).includes("secret")).toBe(false)
    expect(linesIn(output)).toContain('client: HELLO user "user", password not shown')
  })

  test("connections that are encrypted or of ZMTP 2", async () => {
    const curve: Said = [
      ["client", greeting({ mechanism: "CURVE" })],
      ["server", greeting({ mechanism: "CURVE" })],
      ["client", command("HELLO", noise.bytes(194))],
    ]
    const old: Said = [["client", greeting({ major: 1 })]]
    const { output, line } = await plainOf([
      captureOf([
        ...conversation(curve),
        ...conversation(old, { client: "127.0.0.1:40001", time: START + 1_000_000n }),
        ...conversation(opening, { client: "127.0.0.1:40002", time: START + 2_000_000n }),
      ]),
    ])
    expect(line).toMatch(/^wrote 1 connection, 0 messages, 2 commands in 7 packets; left out: /)
    expect(line).toContain("1 encrypted connection, 1 connection of ZMTP 1 or 2")
    expect(decodeCapture(output).connections.map(({ client }) => client)).toEqual([
      "127.0.0.1:40002",
    ])
  })

  const numbered = Array.from({ length: 20 }, (_, i) => `message ${i}`)
  const sent = numbered.map((part) => ["client", message(packed(part))] as const)
  const plainFrames = latin1(concat(...numbered.map((part) => message(text(part)))))

  test("a message of which the recording lacks a packet", async () => {
    const packets = conversation([...opening, ...sent])
    const lost = packets.findIndex(({ data }) => Buffer.from(data).includes("message 3"))
    const { output, line } = await plainOf([captureOf(packets.filter((_, i) => i !== lost))])
    expect(line).toContain("wrote 1 connection, 19 messages")
    expect(line).toContain("packets; 1 error in the recording: see inspect\n")
    expect(linesIn(output).slice(3, -1)).toEqual(
      numbered.filter((_, i) => i !== 3).map((part) => `client: ${part}`),
    )
  })

  test("a greeting that the recording does not have", async () => {
    const packets = conversation([...opening, ...sent])
    const greeted = packets.findIndex(({ data }) => data.length > 0)
    const { output } = await plainOf([captureOf(packets.filter((_, i) => i !== greeted))])
    const [missing, rest] = saidBy(record(output).connections[0]!, "client")
    expect(missing).toBe(greeting().length)
    expect(latin1(rest as Uint8Array)).toBe(plainFrames)
  })

  test("the beginning of a connection that the recording does not have", async () => {
    const { output, line } = await plainOf([captured(sent, { begun: false, closed: "FIN" })])
    expect(line).toContain("wrote 1 connection, 20 messages, 0 commands in 23 packets")
    expect(record(output).connections).toMatchObject([{ begun: false }])
    expect(sentBy(output, "client")).toBe(plainFrames)
  })
})

test("--dictionary decodes what was sent before the recording began", async () => {
  using codec = Codec.createSync({ dictionary })
  const [, , shipped] = codec.encodeBatch([messages[1]!, messages[1]!, messages[1]!])
  const said = Array.from({ length: 20 }, () => ["client", message(...shipped!)] as const)
  const capture = captured(said, { begun: false })
  const lost = await plainOf([capture])
  expect(lost.line).toContain("wrote 0 connections, 0 messages")
  expect(lost.line).toContain("20 messages that cannot be decoded")
  const given = await plainOf([capture], { args: ["--dictionary", file("dict", dictionary)] })
  expect(given.line).toContain("20 messages, 0 commands")
})

test("several files are read as one", async () => {
  const packets = conversation(everything(), { closed: "FIN" })
  const half = packets.length >> 1
  const [first, second] = [packets.slice(0, half), packets.slice(half)].map((part) =>
    captureOf(part),
  )
  const { output } = await plainOf([second!, gzipSync(first!)])
  expect(messagesIn(output)).toEqual(messagesIn(captureOf(packets)))
})

test("a port that is used again has another connection", async () => {
  const again = { time: START + 10_000_000_000n, initial: { client: 9000, server: 70_000 } }
  const { output, line } = await plainOf([
    captureOf([
      ...conversation(everything(), { closed: "FIN" }),
      ...conversation(everything(), { ...again, closed: "RST" }),
    ]),
  ])
  expect(line).toContain("2 connections, 14 messages")
  expect(decodeCapture(output).connections.map(({ ended }) => ended?.how)).toEqual(["FIN", "RST"])
})

test("an output of - prints .pcapng", async () => {
  const capture = captured([...everything().slice(0, 2), ["client", message(packed("hello"))]])
  const { status, stdout, stderr } = await run(["-o", "-", "-"], capture)
  expect(status).toBe(0)
  expect(stderr).toMatch(/^zeromq-lz4: wrote 1 connection, 1 message, 2 commands in \d+ packets\n$/)
  expect(stdout.slice(0, 4)).toBe("\n\r\r\n")
  expect(stdout).toContain("hello")
})

test("- is refused on a terminal", () => {
  const code = `process.stdout.isTTY = true
process.argv = [process.execPath, "zeromq-lz4", "plain", "-o", "-", "x.pcap"]
await import(${JSON.stringify(pathToFileURL(main).href)})`
  const args = ["--input-type=module", "-e", code]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" })
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" })
  expect(stderr).toContain("-o - prints binary data: redirect it, or name a file")
})

test("the output is as private as the input", async () => {
  const input = file("private.pcap", captured(everything()))
  chmodSync(input, 0o600)
  await run(["-o", at("out.pcap"), input])
  expect(statSync(at("out.pcap")).mode & 0o777).toBe(0o600)
})

describe("errors", () => {
  const good = file("good.pcap", captured(everything()))

  test.each<[says: string, status: number, args: string[]]>([
    ["-o takes a file .pcap or .pcapng", 2, ["-o", "out.txt", good]],
    ["no option --json; there are ", 2, ["-o", "out.pcap", "--json", good]],
    ["no option --filter; there are ", 2, ["-o", "out.pcap", "--filter", "x", good]],
    ["no -o OUT", 2, [good]],
    ["-o would write over", 2, ["-o", good, good]],
    ["no FILE", 2, ["-o", good]],
    ["missing: no such file", 1, ["-o", "out.pcap", "missing"]],
    ["missing/out.pcap: no such directory", 1, ["-o", "missing/out.pcap", good]],
    ["neither .pcap, nor", 1, ["-o", "out.pcap", file("letter", "Dear Sir or Madam")]],
    ["plain needs packets", 1, ["-o", "out.pcap", file("raw", handshake("PUSH"))]],
  ])("%s", async (says, status, args) => {
    const result = await run(args)
    expect(result).toMatchObject({ status, stdout: "" })
    expect(result.stderr).toContain(says)
    expect(existsSync(at("missing"))).toBe(false)
  })

  test.each([
    ["truncated", (whole: Uint8Array) => whole.subarray(0, -10)],
    ["compressed and truncated", (whole: Uint8Array) => gzipSync(whole).subarray(0, -20)],
  ])("what can be read of a file that is %s is written", async (name, damage) => {
    const said: Said = [...everything(), ["client", message(packed("last"))]]
    const whole = pcapFile(framesOf(conversation(said)))
    const damaged = file(`${name}.pcap`, damage(whole))
    const { status, stderr } = await run(["-o", at("rest.pcap"), damaged])
    expect(status).toBe(1)
    const [wrote, error] = stderr.trimEnd().split("\n")
    expect(wrote).toContain("wrote 1 connection, ")
    expect(error).toContain(`${damaged}: the file ends`)
    expect(messagesIn(readFileSync(at("rest.pcap")))[0]?.messages[0]?.parts).toEqual(["hello"])
  })
})
