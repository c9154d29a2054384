/** The command line. */
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { basename } from "node:path"
import { gzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { Codec } from "zeromq-lz4/codec"

import { logEvents } from "../../../bench/payloads.mjs"
import { createRandom } from "../../../bench/random.mjs"
import { conversation, framesOf, pcapFile, pcapngFile } from "../../support/capture-files.js"
import { type CommandResult, main, runCommand } from "../../support/command.js"
import { directoryOfTests } from "../../support/directory-of-tests.js"
import { concat } from "../../support/wire.js"
import { handshake, message } from "../../support/zmtp.js"

const { directory, at, file } = directoryOfTests()

const run = (args: string[], input?: string | Uint8Array): Promise<CommandResult> =>
  runCommand(directory, args, input)

const events = (count: number, seed = 1): string => {
  const source = logEvents(seed)
  return Array.from({ length: count }, () => `${source.next().value}\n`).join("")
}

describe.each([
  { command: "train", option: "-o", input: file("input.txt", events(50)) },
  {
    command: "page",
    option: "-o",
    input: file("input.pcap", pcapFile(framesOf(conversation([["client", handshake("PUSH")]])))),
  },
])("$command $option", ({ command, option, input }) => {
  const args = command === "train" ? ["--lines"] : []
  const write = (output: string, ...inputs: string[]) =>
    run([command, option, output, ...args, ...inputs])
  const modeOf = (name: string) => (statSync(name).mode & 0o777).toString(8)

  test("does not write over its input, whatever that is called", async () => {
    const content = readFileSync(input)
    const hard = at(`hard-${command}`)
    const symbolic = at(`symbolic-${command}`)
    linkSync(input, hard)
    symlinkSync(input, symbolic)
    const names = [
      input,
      hard,
      symbolic,
      `${directory}/../${basename(directory)}/${basename(input)}`,
    ]
    for (const output of names) {
      const { status, stderr } = await write(output, input)
      expect({ status, stderr }).toEqual({
        status: 2,
        stderr: expect.stringContaining(`${option} would write over ${input}`),
      })
    }
    const descriptor = openSync(input, "r")
    const { status } = spawnSync(process.execPath, [main, command, option, hard, ...args, "-"], {
      stdio: [descriptor, "ignore", "ignore"],
    })
    closeSync(descriptor)
    expect(status).toBe(2)
    expect(readFileSync(input)).toEqual(content)
  })

  test.each([
    { input: 0o600, before: undefined, after: "600" },
    { input: 0o640, before: undefined, after: "640" },
    { input: 0o600, before: 0o644, after: "600" },
    { input: 0o400, before: 0o644, after: "600" },
    { input: 0o644, before: 0o600, after: "600" },
  ])("writes what is as private as its input: %o", async ({ input: mode, before, after }) => {
    const source = file(`mode-${command}`, readFileSync(input))
    const output = at(`mode-output-${command}`)
    rmSync(output, { force: true })
    if (before !== undefined) {
      writeFileSync(output, "before")
      chmodSync(output, before)
    }
    chmodSync(source, mode)
    expect((await write(output, source)).status).toBe(0)
    expect(modeOf(output)).toBe(after)
    rmSync(source, { force: true })
  })
})

test("what is made of several files is as private as each of them", async () => {
  const open = file("open.txt", events(50))
  const own = file("own.txt", events(50, 2))
  chmodSync(own, 0o600)
  expect((await run(["train", "-o", at("both.dict"), "--lines", open, own])).status).toBe(0)
  expect(statSync(at("both.dict")).mode & 0o777).toBe(0o600)
})

describe("help", () => {
  test.each([
    [["--help"]],
    [["-h"]],
    [["train", "--help"]],
    [["train", "-h"]],
    [["bridge", "--help"]],
    [["help"]],
    [["help", "train"]],
    [["help", "bridge"]],
    [["help", "help"]],
    [["help", "--help"]],
  ])("%j", async (args) => {
    const { status, stdout, stderr } = await run(args)
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    expect(stdout).toMatch(/^usage: zeromq-lz4/)
  })

  test.each([
    ...["inspect", "statistics", "exchanges", "advise", "plain", "page", "live"],
    ...["decode", "bridge", "keygen", "train"],
  ])("help %s prints the same as --help, in lines of at most 106 columns", async (name) => {
    const { stdout } = await run(["help", name])
    expect(stdout).toMatch(new RegExp(`^usage: zeromq-lz4 ${name} `))
    expect(stdout).toBe((await run([name, "--help"])).stdout)
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(106)
    expect((await run(["help"])).stdout).toContain(`\n  ${name} `)
  })
})

test("--version prints the version of the package", async () => {
  const { version } = JSON.parse(
    readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
  )
  expect(await run(["--version"])).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" })
})

test.each([
  [["help", "train"], 0],
  [["train", "--lines", "-o", "process.dict", "-"], 0],
  [["train", "-o", "out", "missing"], 1],
  [["inspect", "-"], 1],
  [["trian"], 2],
  [["bridge"], 2],
] as const)("%j prints the same as a process, which exits with %d", async (args, code) => {
  const input = events(50)
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    input,
    encoding: "utf8",
    cwd: directory,
  })
  expect(status).toBe(code)
  expect(await run([...args], input)).toEqual({ status, stdout, stderr })
})

test.each([
  [["--version"]],
  [["--help"]],
  [["help", "train"]],
  [["inspect", "--help"]],
  [["train", "-o", file("full.dict", ""), "--lines", file("full", events(50))]],
])("%j exits with 1 if standard output is full", (args) => {
  const full = openSync("/dev/full", "w")
  const { status, stderr } = spawnSync(process.execPath, [main, ...args], {
    stdio: ["ignore", full, "pipe"],
    encoding: "utf8",
  })
  closeSync(full)
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: "zeromq-lz4: standard output: no space left\n",
  })
})

describe("wrong usage exits with 2 and explains the right one", () => {
  const samples = file("samples", events(10))
  test.each<[says: string, args: string[]]>([
    ["no command given", []],
    ['no command "trian"; there are inspect, statistics, exchanges, advise, ', ["trian"]],
    ['no command "trian"', ["help", "trian"]],
    ["help takes the name of one command", ["help", "train", "bridge"]],
    ["-o FILE", ["train", samples]],
    ["no SAMPLES", ["train", "-o", "out"]],
    ["no option -x; there are --output, ", ["train", "-o", "out", "-x", samples]],
    ['lz4 or zstd; got "gzip"', ["train", "-o", "out", "--format", "gzip", samples]],
    ['1 to 8192 bytes; got "0"', ["train", "-o", "out", "--capacity", "0", samples]],
    ['1 to 8192 bytes; got "8193"', ["train", "-o", "out", "--capacity", "8193", samples]],
    ['1 to 8192 bytes; got "2k"', ["train", "-o", "out", "--capacity", "2k", samples]],
    ["only once", ["train", "-o", "out", "-", "-"]],
    [
      "--filter: character 1: kind= is one of",
      ["train", "-o", "out", "--filter", "kind=x", samples],
    ],
    ["--filter is for captures, and", ["train", "-o", "out", "--filter", "x", samples]],
  ])("%s", async (says, args) => {
    const { status, stdout, stderr } = await run(args)
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" })
    const [reason, usage, see, ...more] = stderr.split("\n")
    expect(reason).toMatch(/^zeromq-lz4: /)
    expect(reason).toContain(says)
    const command = args[0] === "train" ? "train -o FILE [options] SAMPLES…" : "COMMAND …"
    expect(usage).toBe(`usage: zeromq-lz4 ${command}`)
    expect(see).toBe(`see zeromq-lz4 ${args[0] === "train" ? "train --help" : "help"}`)
    expect(more).toEqual([""])
  })
})

describe("bad input exits with 1 and prints one line", () => {
  const noise = createRandom("cli").bytes(5000)
  const samples = file("good", events(10))
  test.each<[says: string, args: string[]]>([
    ["no such file", ["train", "-o", "out", "missing"]],
    ["is a directory", ["train", "-o", "out", directory]],
    ["all files are empty", ["train", "-o", "out", file("empty", "")]],
    ["there is no line", ["train", "-o", "out", "--lines", file("lines", "\n\n")]],
    ["nothing to gain", ["train", "-o", "out", file("noise", noise), file("one", "x")]],
    ["is a directory", ["train", "-o", directory, "--lines", samples]],
    ["missing/out: no such directory", ["train", "-o", "missing/out", "--lines", samples]],
  ])("%s: %j", async (says, args) => {
    const { status, stdout, stderr } = await run(args)
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" })
    expect(stderr).toContain(says)
    expect(stderr.trimEnd().split("\n")).toHaveLength(1)
  })
})

describe("train", () => {
  const lines = file("lines.jsonl", events(500))

  test("lines of a file, and of standard input, make the same dictionary", async () => {
    expect((await run(["train", "--lines", "-o", "a.dict", lines])).status).toBe(0)
    expect((await run(["train", "--lines", "-o", "b.dict", "-"], readFileSync(lines))).status).toBe(
      0,
    )
    expect(readFileSync(at("b.dict"))).toEqual(readFileSync(at("a.dict")))
  })

  test("train takes each file as a sample", async () => {
    const files = events(20)
      .split("\n")
      .slice(0, -1)
      .map((event, i) => file(`event-${i}`, event))
    const { status, stdout } = await run(["train", "-o", "files.dict", ...files])
    expect(status).toBe(0)
    expect(stdout).toContain("made of 16 samples")
    expect(stdout).toContain("on 4 samples held out")
  })

  test("samples below the default threshold are reported, and measured as if compressed", async () => {
    const short = Array.from({ length: 100 }, (_, i) => `{"sensor":${i},"state":"nominal"}\n`)
    const { stdout } = await run([
      "train",
      "--lines",
      "-o",
      "short.dict",
      file("short", short.join("")),
    ])
    expect(stdout).toContain(
      "20 of them have less than 128 bytes: to compress those, send with minCompressSize 0",
    )
    const [, , with_] = stdout.match(/without it.* ([\d.]+) %\n.*with it.* ([\d.]+) %/) ?? []
    expect(Number(with_)).toBeLessThan(95)
  })

  test("for a file of over 64 MiB, it prints the number of lines used", async () => {
    const line = `${"x".repeat(99_999)}\n`
    const large = file("large.gz", gzipSync(line.repeat(700), { level: 1 }))
    const { stderr } = await run(["train", "--lines", "-o", "large.dict", large, lines])
    expect(stderr).toContain("zeromq-lz4: only the first 672 samples are used")
  })

  test.each([
    ["\n", "there is no line"],
    ["a\n", "only the first 262144 samples are used"],
  ])("64 MiB of lines like %j take little memory", async (line, said) => {
    const short = file("short.gz", gzipSync(Buffer.alloc(64 << 20, line), { level: 1 }))
    expect((await run(["train", "-o", "short.dict", short])).stderr).toContain(
      "the first 1 sample are",
    )
    expect((await run(["train", "--lines", "-o", "short.dict", short])).stderr).toContain(said)
  })

  test("with few samples, none are held out, which is printed", async () => {
    const few = file("few", events(4))
    expect((await run(["train", "--lines", "-o", "few.dict", few])).stdout).toContain(
      "it was made of",
    )
  })

  test.each([64, 500, 8192])("a capacity of %d bytes is not exceeded", async (capacity) => {
    const args = ["train", "--lines", "-o", "small.dict", "--capacity", `${capacity}`, lines]
    expect((await run(args)).status).toBe(0)
    expect(statSync(at("small.dict")).size).toBeLessThanOrEqual(capacity)
  })

  test("-o - writes to standard output, and the report to standard error", async () => {
    const args = ["train", "--lines", "-o"]
    const { stdout: report } = await run([...args, "named.dict", lines])
    const written = spawnSync(process.execPath, [main, ...args, "-", lines], { cwd: directory })
    expect(written.status).toBe(0)
    expect(written.stdout).toEqual(readFileSync(at("named.dict")))
    expect(String(written.stderr)).toBe(report.replace("named.dict:", "standard output:"))
    expect(existsSync(at("-"))).toBe(false)
    const both = spawnSync(process.execPath, [main, ...args, "-", "-"], {
      input: readFileSync(lines),
    })
    expect(both.stdout).toEqual(written.stdout)
  })

  test("-o - writes nothing to a terminal", () => {
    const code = `process.stdout.isTTY = true
      process.argv.splice(1, 0, ${JSON.stringify(main)})
      await import(${JSON.stringify(main)})`
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["--input-type=module", "-e", code, "train", "--lines", "-o", "-", lines],
      { encoding: "utf8" },
    )
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" })
    expect(stderr).toContain("-o - does not write a dictionary, which is binary, to a terminal")
  })

  test("the report says after how many messages the dictionary pays", async () => {
    const { stdout } = await run(["train", "--lines", "-o", "pays.dict", lines])
    const [, bytes, messages] = (
      /sends the dictionary, (\d+) bytes: it pays after (\d+) messages/.exec(stdout) ?? []
    ).map(Number) as [number, number, number]
    const dictionary = readFileSync(at("pays.dict"))
    expect(bytes).toBe(9 + 4 + dictionary.length)
    const sent = (count: number) => {
      using trained = Codec.createSync({ dictionary, minCompressSize: 0 })
      using plain = Codec.createSync({ minCompressSize: 0 })
      for (const line of events(count, 3).trimEnd().split("\n"))
        for (const codec of [trained, plain]) codec.encodePart(Buffer.from(line))
      return plain.stats.sent.wireBytes - trained.stats.sent.wireBytes - bytes
    }
    expect(sent(Math.floor(messages * 0.7))).toBeLessThan(0)
    expect(sent(Math.ceil(messages * 1.4))).toBeGreaterThan(0)
  })

  test("the report is valid for later messages", async () => {
    const { stdout } = await run(["train", "--lines", "-o", "next.dict", lines])
    const [without, with_] = [...stdout.matchAll(/([\d.]+) %/g)].map(([, n]) => Number(n)) as [
      number,
      number,
    ]
    using codec = Codec.createSync({ dictionary: readFileSync(at("next.dict")) })
    for (const event of events(200, 2).split("\n")) codec.encodePart(Buffer.from(event))
    const { plainBytes, wireBytes } = codec.stats.sent
    expect(with_).toBeLessThan(without / 1.5)
    expect((100 * wireBytes) / plainBytes).toBeLessThan(with_ * 1.2)
  })
})

describe("train, with a capture", () => {
  const source = logEvents(7)
  const event = () => Buffer.from(source.next().value as string)
  // With the same topic each, so that it matters which parts are held out.
  const messages = Array.from({ length: 300 }, () => [
    ...[Buffer.from("events"), Buffer.from(""), event(), event()],
  ])
  const plain = concat(...messages.map((parts) => message(...parts)))
  using codec = Codec.createSync()
  const encoded = concat(...codec.encodeBatch(messages).map((parts) => message(...parts)))
  const captured = (stream: Uint8Array) =>
    framesOf(
      conversation([
        ["client", handshake("PUSH")],
        ["server", handshake("PULL")],
        ["client", stream],
      ]),
    )
  const capture = file("lz4.pcap", pcapFile(captured(encoded)))
  const train = (...args: string[]) => run(["train", "-o", "captured.dict", ...args])

  test("the plaintext of each part is a sample, and whole messages are held out", async () => {
    const { status, stdout, stderr } = await train(capture)
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    expect(stdout).toContain("made of 720 samples\non 180 samples held out, ")
    using trained = Codec.createSync({ dictionary: readFileSync(at("captured.dict")) })
    for (const line of events(200, 2).split("\n")) trained.encodePart(Buffer.from(line))
    const { plainBytes, wireBytes } = trained.stats.sent
    expect(plainBytes / wireBytes).toBeGreaterThan(2)
  })

  test.each([
    ["of plain tcp://", file("tcp.pcap", pcapFile(captured(plain)))],
    ["in a .pcapng", file("lz4.pcapng", pcapngFile(captured(encoded)))],
    ["of what one side sent", file("stream", concat(handshake("PUSH"), encoded))],
    ["that gzip packed", file("lz4.pcap.gz", gzipSync(readFileSync(capture)))],
  ])("one %s gives the same dictionary", async (_, other) => {
    expect((await train(capture)).status).toBe(0)
    const dictionary = readFileSync(at("captured.dict"))
    expect((await train(other)).status).toBe(0)
    expect(readFileSync(at("captured.dict"))).toEqual(dictionary)
  })

  test("--filter counts times from the beginning of each capture", async () => {
    const later = file(
      "later.pcap",
      pcapFile(
        captured(encoded).map(({ time, ...frame }) => ({
          ...frame,
          time: time! + 3_600_000_000_000n,
        })),
      ),
    )
    const filtered = await train("--filter", "time<10s", capture, later)
    expect(filtered.stdout).toContain("made of 1440 samples")
  })

  test("train takes the messages that --filter selects", async () => {
    const all = (await run(["inspect", "--json", "--filter", "kind=message level", capture])).stdout
    const count = all.match(/"type":"message"/g)?.length as number
    const { stdout } = await train("--filter", "level", "--filter", "from=client", capture)
    expect(stdout).toContain(`made of ${(count - Math.ceil(count / 5)) * 3} samples`)
    const none = await train("--filter", "from=server", capture)
    expect({ ...none }).toEqual({
      ...{ status: 1, stdout: "" },
      stderr: "zeromq-lz4: no samples: no message matches\n",
    })
  })

  test("undecodable messages are left out, and truncation is reported", async () => {
    const broken = concat(encoded, message(Buffer.from("LZ4B, but not really")), encoded)
    const whole = pcapFile(captured(broken))
    const { status, stdout, stderr } = await train(file("cut.pcap", whole.subarray(0, -10)))
    expect(status).toBe(0)
    expect(stdout).toContain("held out")
    expect(stderr).toMatch(/cut\.pcap: the file ends .*\n.*cut\.pcap: 1 part did not decode\n$/)
  })

  test("a capture without messages exits with 1", async () => {
    const { status, stderr } = await train(file("none.pcap", pcapFile([])))
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: "zeromq-lz4: no samples: there is no message that decodes\n",
    })
  })
})

describe("train suggests --lines", () => {
  const hint = /^zeromq-lz4: (\S+) has (\d+) lines and was taken for one sample: use --lines/
  const train = async (...args: string[]) =>
    (await run(["train", "-o", "hint.dict", ...args])).stderr
  const log = (count: number) =>
    Array.from({ length: count }, (_, i) => `10:00:${i} GET /page/${i} 200\n`).join("")
  const pretty = JSON.stringify(JSON.parse(events(1)), null, 2)
  const two = events(2).trimEnd()

  test.each([
    ["lines of JSON", [file("hint.jsonl", events(50))], "50"],
    ["two of them, the last without its end", [file("two.jsonl", two)], "2"],
    ["lines of JSON that gzip packed", [file("hint.jsonl.gz", gzipSync(events(50)))], "50"],
    ["lines of text", [file("access.log", log(20))], "20"],
    ["several files of such lines, once", [at("hint.jsonl"), at("two.jsonl")], "50"],
  ])("train suggests --lines for %s", async (_, files, lines) => {
    const stderr = await train(...files)
    expect(hint.exec(stderr)?.slice(1)).toEqual([files[0], lines])
    expect(stderr.match(/--lines/g)).toHaveLength(1)
  })

  test.each([
    ["with it", ["--lines", at("hint.jsonl")]],
    ["for a document of JSON", [file("pretty.json", pretty)]],
    ["for files of text with a message each", [at("access.log"), file("other.log", log(30))]],
    ["for a few lines", [file("few.log", log(5))]],
    ["for bytes", [file("bytes", Buffer.alloc(5000, "\0\n\x01"))]],
  ])("train does not suggest --lines for %s", async (_, args) => {
    expect(await train(...args)).not.toContain("--lines")
  })
})

test("a dictionary of zstd+tcp is made, and used to decode a part", async () => {
  const samples = file("events.txt", events(200))
  const made = await run(["train", "-o", at("zstd.dict"), "--format", "zstd", "--lines", samples])
  expect(made.stdout).toMatch(/zstd\.dict: a dictionary of \d+ bytes/)
  const dictionary = readFileSync(at("zstd.dict"))
  expect(dictionary.subarray(0, 4).toString("hex")).toBe("37a430ec")
  using codec = Codec.createSync({ format: "zstd", dictionary, minCompressSize: 0 })
  const [event = ""] = events(1).split("\n")
  codec.encode([Buffer.from("first")])
  const part = Buffer.from(codec.encodePart(Buffer.from(event)))
  const decoded = await run(["decode", "--dictionary", at("zstd.dict"), part.toString("hex")])
  expect(decoded.stdout).toContain(event.slice(0, 40))
  const other = file("raw.dict", "raw bytes")
  const refused = await run(["decode", "--dictionary", other, part.toString("hex")])
  expect(refused.status).toBe(1)
  expect(refused.stderr).toContain("--dictionary: dictionary must be in the format of Zstandard")
})
