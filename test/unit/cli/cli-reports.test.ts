/** The commands that say something about a whole capture. */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { Codec, trainDictionary } from "zeromq-lz4/codec"

import { logEvents } from "../../../bench/payloads.mjs"
import { createRandom } from "../../../bench/random.mjs"

import { adviceOf } from "../../../src/cli/advise.js"
import { conversation, framesOf, pcapFile, type Said } from "../../support/capture-files.js"
import { eventsOf } from "../../support/captures.js"
import { type CommandResult, jsonLines, runCommand } from "../../support/command.js"
import { directoryOfTests } from "../../support/directory-of-tests.js"
import { concat } from "../../support/wire.js"
import { handshake, message } from "../../support/zmtp.js"

const { directory, at } = directoryOfTests()

const run = (...args: string[]): Promise<CommandResult> => runCommand(directory, args)

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

function write(name: string, said: Said): string {
  writeFileSync(at(name), pcapFile(framesOf(conversation(said))))
  return name
}

describe("exchanges", () => {
  const file = () =>
    write("questions.pcap", [
      ["client", handshake("REQ")],
      ["server", handshake("REP")],
      ["client", message(bytes(""), bytes("who?"))],
      ["server", message(bytes(""), bytes("me"))],
      ["client", message(bytes(""), bytes("why?"))],
    ])

  test("prints tables of servers and of the slowest answers, and no rows", async () => {
    const { status, stdout, stderr } = await run("exchanges", "--utc", file())
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
    const { stdout } = await run("exchanges", "--json", file())
    const lines = jsonLines(stdout)
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
    const { stdout } = await run("exchanges", "--json", "--filter", "why", file())
    expect(jsonLines(stdout)).toMatchObject([{ answered: 0, unanswered: 1 }, { type: "summary" }])
  })

  test("says that there are none", async () => {
    const name = write("push.pcap", [
      ["client", handshake("PUSH")],
      ["server", handshake("PULL")],
      ["client", message(bytes("1"))],
    ])
    const { stdout } = await run("exchanges", name)
    expect(stdout).toMatch(
      /^Questions and answers\n {2}none: no messages between REQ, REP, DEALER or ROUTER\n/,
    )
    const filtered = await run("exchanges", "--filter", "nosuch", file())
    expect(filtered.stdout).toMatch(/^Questions and answers\n {2}none that match the filter\n/)
  })

  test("does not go with options for rows", async () => {
    for (const option of ["-n=1", "--last=1", "--full"]) {
      const { status, stderr } = await run("exchanges", option, file())
      expect(status).toBe(2)
      expect(stderr).toMatch(/no option (-n|--last|--full); there are /)
    }
  })
})

describe("statistics", () => {
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
    const lines = jsonLines((await run("statistics", "--json", file)).stdout)
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
    const { stdout } = await run("statistics", "--utc", file)
    const { messages, plainBytes, wireBytes } = sum(rows)
    const saved = plainBytes - wireBytes
    const numbers = `${messages} +${plainBytes} +${wireBytes} +${saved} +${((100 * saved) / plainBytes).toFixed(1)}`
    for (const name of ["PUB", "all", "2023-11-14 22:13:20"])
      expect(stdout).toMatch(new RegExp(`^  ${name} +${numbers}$`, "m"))
    expect(stdout).toMatch(/^ {2}prices +10 /m)
  })

  test("counts what matches a filter", async () => {
    const { file, rows, sum } = published()
    const { stdout } = await run("statistics", "--json", "--filter", "text~^news", file)
    expect(jsonLines(stdout)[0]).toMatchObject({
      by: "type",
      name: "PUB",
      ...sum(rows.filter(({ topic }) => topic === "news")),
    })
  })

  test("has no table of sizes without a message", async () => {
    const { stdout } = await run("statistics", "--filter", "nosuch", published().file)
    expect(stdout).toMatch(/^ {2}all +0 +0 +0 +0$/m)
    expect(stdout).not.toContain("Messages by the size")
  })

  test("lists connections in the summary with --all", async () => {
    const { file } = published()
    expect((await run("statistics", file)).stdout).not.toContain("connection 1: ")
    expect((await run("statistics", "--all", file)).stdout).toContain("connection 1: ")
  })
})

describe("advise", () => {
  const events = (count: number): Uint8Array[] => {
    const source = logEvents(1)
    return Array.from({ length: count }, () => bytes(source.next().value as string))
  }

  /** A PUSH that sends events, each in a packet of its own, over plain tcp://. */
  const pushed = (messages: readonly Uint8Array[]) =>
    write("pushed.pcap", [
      ["client", handshake("PUSH")],
      ["server", handshake("PULL")],
      ...messages.map((body) => ["client", message(body)] as const),
    ])

  test("measures the second half of the messages with a dictionary trained on the first", async () => {
    const messages = events(400)
    const [advice] = jsonLines((await run("advise", "--json", pushed(messages))).stdout)
    const [first, second] = [messages.slice(0, 200), messages.slice(200)]
    const dictionary = await trainDictionary(first, { capacity: 2048 })
    const wire = (options: object) => {
      using codec = Codec.createSync(options)
      return second
        .flatMap((body) => codec.encode([body]))
        .reduce((sum, parts) => sum + message(...parts).length, 0)
    }
    const shipped = message(concat(new Uint8Array(4), dictionary)).length
    const plain = wire({ level: 0 })
    const smaller = wire({ level: 0, dictionary }) - shipped
    const recorded = messages.reduce((sum, body) => sum + message(body).length, 0)
    const measured = second.reduce((sum, body) => sum + message(body).length, 0)
    expect(advice).toMatchObject({
      ...{ type: "advice", from: "client", socketType: "PUSH", address: "127.0.0.1:5555" },
      ...{ connections: 1, messages: 400, recordedBytes: recorded },
      measured: { messages: 200, recordedBytes: measured },
    })
    const withDictionary = advice.results.find(
      // biome-ignore lint/suspicious/noExplicitAny: the content of a line is tested.
      (result: any) => result.dictionaryBytes === dictionary.length && result.level === 0,
    )
    expect(advice.results[0]).toMatchObject({
      level: 0,
      arenas: false,
      dictionaryBytes: null,
      bytes: plain,
    })
    expect(withDictionary).toMatchObject({
      bytes: smaller,
      breakEvenMessages: Math.ceil(shipped / ((plain - smaller) / 200)),
      savedBytes: Math.round((1 - smaller / measured) * recorded - shipped),
    })
    expect(advice.results[advice.best].dictionaryBytes).toBeGreaterThan(0)
  })

  test("prints what to write, and how to make the dictionary", async () => {
    const file = pushed(events(400))
    const { status, stdout, stderr } = await run("advise", file)
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    expect(stdout).toMatch(
      /^PUSH \(client\) → 127\.0\.0\.1:5555, 1 connection: 200 messages of 400 encoded again/,
    )
    expect(stdout).toMatch(/^ {2}as recorded +\d+ +10\d\.\d$/m)
    const saved =
      /saves about (\d+) % of the \d+ bytes that were recorded: connect\(.*readFileSync/.exec(
        stdout,
      )
    expect(Number(saved?.[1])).toBeGreaterThan(30)
    expect(stdout).toMatch(/^ +OPTIONS +WIRE +% OF PLAIN +TIME PER MESSAGE +PAYS AFTER$/m)
    expect(stdout).toContain(` --filter="from=client connection=127.0.0.1:5555" ${file}\n`)
    expect(stdout).not.toContain("TZ=")
  })

  /** The arguments that a shell gives to the command that is printed. */
  const trainArguments = (stdout: string): string[] => {
    const words = /zeromq-lz4 (train .*)/.exec(stdout)![1]!
    return execFileSync("sh", ["-c", `printf '%s\\n' ${words}`], { encoding: "utf8" })
      .trimEnd()
      .split("\n")
  }

  test.skipIf(process.platform === "win32")(
    "prints a command that makes the same dictionary, with the same filters, in any shell",
    async () => {
      const messages = events(400)
      const file = write(`it's "one" $HOME.pcap`, [
        ["client", handshake("PUSH")],
        ["server", handshake("PULL")],
        ...messages.map((body) => ["client", message(body)] as const),
      ])
      const filters = [`size>10`, `!"no \`such' $text"`]
      const given = filters.flatMap((filter) => ["--filter", filter])
      const { stdout } = await run("advise", "--utc", ...given, file)
      expect(stdout).toContain("made by: TZ=UTC zeromq-lz4 train")
      const args = trainArguments(stdout)
      expect(args.slice(5)).toEqual([
        "--filter=from=client connection=127.0.0.1:5555",
        ...filters.map((filter) => `--filter=${filter}`),
        file,
      ])
      const made = await runCommand(
        directory,
        args.map((arg) => arg.replace("FILE.dict", at("made.dict"))),
      )
      expect(made).toMatchObject({ status: 0, stderr: "" })
    },
  )

  test("has no command for a recording with a dictionary that train cannot be given", async () => {
    const file = pushed(events(400))
    writeFileSync(at("given.dict"), "something")
    const { stdout } = await run("advise", "--dictionary", "given.dict", file)
    expect(stdout).not.toContain("zeromq-lz4 train -o")
    expect(stdout).toContain("because it takes no --dictionary")
  })

  test("tries small parts, which are sent plain otherwise", async () => {
    const small = Array.from({ length: 400 }, (_, i) =>
      bytes(JSON.stringify({ symbol: "EURUSD", exchange: "frankfurt", price: 1000 + 7 * i })),
    )
    const file = pushed(small)
    const [advice] = jsonLines((await run("advise", "--json", file)).stdout)
    const best = advice.results[advice.best]
    expect(best).toMatchObject({ level: 0, minCompressSize: 0 })
    expect(best.savedBytes).toBeGreaterThan(0.3 * advice.recordedBytes)
    expect(advice.results[0].minCompressSize).toBe(null)
    const { stdout } = await run("advise", file)
    expect(stdout).toMatch(/^ {2}level: 0, dictionary of \d+ bytes, minCompressSize: 0 /m)
    expect(stdout).toContain('dictionary: readFileSync("FILE.dict"), minCompressSize: 0 })')
    const large = pushed(Array.from({ length: 50 }, () => concat(...events(20))))
    const [other] = jsonLines((await run("advise", "--json", large)).stdout)
    for (const { minCompressSize } of other.results) expect(minCompressSize).toBe(null)
  })

  test("names the side that sent, and counts what was not measured as JSON too", async () => {
    const file = write("server.pcap", [
      ["client", handshake("SUB")],
      ["server", handshake("PUB")],
      ["server", message(bytes("news"))],
    ])
    expect((await run("advise", file)).stdout).toMatch(
      /^127\.0\.0\.1:5555 \(PUB\) → clients, 1 connection: /,
    )
    expect(jsonLines((await run("advise", "--json", file)).stdout).slice(1)).toMatchObject([
      { type: "advice", othersMessages: 0, tooLargeMessages: 0, encryptedMessages: 0 },
      { type: "summary" },
    ])
    const recorded = new URL("../../recorded/curve-lz4.pcap.gz", import.meta.url)
    const [last] = jsonLines((await run("advise", "--json", fileURLToPath(recorded))).stdout)
    expect(last).toEqual({
      ...{ type: "advice", othersMessages: 0, tooLargeMessages: 0 },
      encryptedMessages: expect.any(Number),
    })
    expect(last.encryptedMessages).toBeGreaterThan(0)
  })

  test("ends when the user does not want to wait, with what was measured until then", async () => {
    const said = (port: number, count: number) =>
      conversation(
        [
          ["client", handshake("PUSH")],
          ["server", handshake("PULL")],
          ...events(count).map((body) => ["client", message(body)] as const),
        ],
        { server: `127.0.0.1:${port}` },
      )
    const packets = [...said(5555, 400), ...said(5556, 100)]
    const lines = async (json: boolean) => {
      const report = adviceOf({ json, files: [] })
      for (const event of eventsOf(pcapFile(framesOf(packets)))) report.add(event, true, true)
      const stop = new AbortController()
      const ended = report.end(stop.signal)
      // The first server is being measured.
      stop.abort()
      return (await ended) as string[]
    }
    const [first, last, ...others] = (await lines(true)).map((line) => JSON.parse(line))
    expect(first).toMatchObject({ messages: 400, measured: { messages: 32 } })
    expect(last).toMatchObject({ type: "advice", othersMessages: 100, encryptedMessages: 0 })
    expect(others).toEqual([])
    expect(await lines(false)).toContain(
      "stopped: 100 messages of the next servers not encoded again",
    )
  })

  test("counts the dictionaries that were recorded", async () => {
    const messages = events(400)
    const dictionary = await trainDictionary(messages.slice(0, 100))
    using codec = Codec.createSync({ dictionary })
    const file = write("dictionary.pcap", [
      ["client", handshake("PUSH")],
      ["server", handshake("PULL")],
      ...messages.flatMap((body) =>
        codec.encode([body]).map((parts) => ["client", message(...parts)] as const),
      ),
    ])
    const [advice] = jsonLines((await run("advise", "--json", file)).stdout)
    expect(advice).toMatchObject({
      messages: 400,
      dictionaryBytes: message(concat(new Uint8Array(4), dictionary)).length,
    })
    expect(advice.measured.messages).toBe(200)
  })

  test("finds arenas for messages that were sent together", async () => {
    const together = concat(...events(64).map((body) => message(body.subarray(0, 40))))
    const file = write("together.pcap", [
      ["client", handshake("PUSH")],
      ["server", handshake("PULL")],
      ...Array.from({ length: 20 }, () => ["client", together] as const),
    ])
    const [advice] = jsonLines((await run("advise", "--json", file)).stdout)
    const [level0, arenas] = advice.results
    expect(arenas).toMatchObject({ arenas: true, level: 0, dictionaryBytes: null })
    expect(arenas.bytes).toBeLessThan(level0.bytes / 2)
  })

  test("measures the servers with the most bytes, wherever they are in the recording", async () => {
    const packets = Array.from({ length: 20 }, (_, i) =>
      conversation(
        [
          ["client", handshake("PUSH")],
          ["server", handshake("PULL")],
          ...Array.from({ length: 2 + 4 * i }, () => ["client", message(bytes("event"))] as const),
        ],
        { server: `127.0.0.1:${6000 + i}` },
      ),
    )
    writeFileSync(at("servers.pcap"), pcapFile(framesOf(packets.flat())))
    const { stdout } = await run("advise", "--json", "servers.pcap")
    const advice = jsonLines(stdout).filter(({ address }) => address !== undefined)
    expect(advice.map(({ address }) => address)).toEqual(
      Array.from({ length: 16 }, (_, i) => `127.0.0.1:${6019 - i}`),
    )
    expect((await run("advise", "servers.pcap")).stdout).toContain(
      "32 messages of further servers not encoded again",
    )
  })

  test("keeps few messages of many parts, and none of more than 4096", async () => {
    const parts = (count: number) => message(...Array.from({ length: count }, () => bytes("")))
    const file = write("parts.pcap", [
      ["client", handshake("PUSH")],
      ["server", handshake("PULL")],
      ...Array.from({ length: 40 }, () => ["client", parts(1000)] as const),
      ...Array.from({ length: 5 }, () => ["client", parts(4097)] as const),
    ])
    const [advice, last] = jsonLines((await run("advise", "--json", file)).stdout)
    expect(last).toMatchObject({ type: "advice", tooLargeMessages: 5 })
    expect((await run("advise", file)).stdout).toContain(
      "5 messages of more than 1 MiB or 4096 parts not encoded again",
    )
    expect(advice.messages).toBe(45)
    expect(advice.measured.messages).toBeGreaterThan(2)
    expect(advice.measured.messages).toBeLessThanOrEqual(8)
    expect(advice.measured.recordedBytes).toBe(2000 * advice.measured.messages)
  })

  test("says that nothing helps for random bytes, and that CURVE cannot be seen", async () => {
    const random = createRandom("advice")
    const file = pushed(Array.from({ length: 100 }, () => random.bytes(300)))
    expect((await run("advise", file)).stdout).toContain(
      "none of these saves 5 % of what was recorded",
    )
    const recorded = new URL("../../recorded/curve-lz4.pcap.gz", import.meta.url)
    const { stdout } = await run("advise", fileURLToPath(recorded))
    expect(stdout).toMatch(/^\d+ messages encrypted with CURVE: /)
  })

  test("says that there is nothing to encode", async () => {
    const file = write("empty.pcap", [
      ["client", handshake("PUSH")],
      ["server", handshake("PULL")],
    ])
    expect((await run("advise", file)).stdout).toMatch(/^there are no messages to encode again/)
  })
})
