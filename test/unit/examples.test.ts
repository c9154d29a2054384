/**
 * Every code block of README.md and docs/, run as it is printed there: JavaScript as an ES module, as
 * CommonJS and in strict TypeScript, command lines in a shell, and the output that they show.
 */
import { AsyncResource } from "node:async_hooks"
import { execFile, spawn } from "node:child_process"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { curveKeyPair, Pull, Push } from "zeromq-lz4"
import { Codec, trainDictionary } from "zeromq-lz4/codec"

import { CONNECTION, LEVEL, RECONNECT } from "../../src/sockets/diagnostics.js"
import { Lz4 } from "../../src/sockets/lz4.js"
import { type Example, elsewhere, examples, ownTests, rust } from "../support/around-blocks.js"
import { conversation } from "../support/capture-files.js"
import { captureOf } from "../support/captures.js"
import { documentedBlocks, shape, shownOutput, toCommonJs } from "../support/documents.js"
import { root, temporaryDirectory } from "../support/packed.js"
import { Group } from "../support/process-group.js"
import { Running, withoutWarning } from "../support/running-script.js"
import { freePort, use } from "../support/sockets.js"
import { greeting, message, ready } from "../support/zmtp.js"

const blocks = documentedBlocks()
const directory = temporaryDirectory()
const at = (...path: string[]) => join(directory.path, ...path)

/** The width of the terminal in docs/inspect.md. */
const COLUMNS = 96
/** Processes that run at a time. */
const AT_A_TIME = 2

interface Run {
  title: string
  example: Example
  code: string
  file: string
}

interface Result {
  code: number | string | null
  lines: string[]
  errors: string
}

/** The programs with a block of JavaScript. */
const programs: Run[] = blocks
  .filter(({ language }) => language === "js")
  .flatMap(({ name, code }, i) =>
    [examples[name] ?? []].flat().map((example, j, all) => ({
      title: all.length > 1 ? `${name} [${j}]` : name,
      example,
      code,
      file: `example-${i}-${j}`,
    })),
  )

const results = new Map<string, Promise<Result>>()
let types: Promise<Result>

beforeAll(async () => {
  mkdirSync(at("node_modules"))
  symlinkSync(root, at("node_modules/zeromq-lz4"))
  for (const name of ["zeromq", "prom-client", "@types", "@opentelemetry"])
    symlinkSync(join(root, "node_modules", name), at("node_modules", name))
  writeFileSync(at("events.dict"), "order placed")
  copyFileSync(join(root, "test/fuzz-corpus/capture/topics.pcap"), at("capture.pcap"))
  const names: string[] = []
  for (const { example, code, file } of programs) {
    const { before = "", after = "", replace = [], typed = [] } = example
    const whole = (code: string) => `${before}\n${code}\n${after}\n`
    const runnable = whole(replaced(code, replace))
    writeFileSync(at(`${file}.mjs`), await withFreePorts(runnable))
    writeFileSync(at(`${file}.cjs`), await withFreePorts(toCommonJs(runnable)))
    writeFileSync(at(`${file}.mts`), whole(replaced(code, typed)))
    names.push(`${file}.mjs`, `${file}.cjs`)
  }
  const compilerOptions = {
    ...{ target: "es2022", lib: ["es2022", "esnext.disposable", "dom"], types: ["node"] },
    ...{ module: "nodenext", strict: true, noEmit: true, skipLibCheck: false },
  }
  writeFileSync(at("wasm.d.mts"), 'declare module "zeromq-lz4/codec.wasm"')
  const files = ["wasm.d.mts", ...programs.map(({ file }) => `${file}.mts`)]
  writeFileSync(at("tsconfig.json"), JSON.stringify({ compilerOptions, files }))
  const queue = inTurns(AT_A_TIME)
  types = queue(() => run(join(root, "node_modules/.bin/tsc"), ["-p", "."]))
  for (const name of names) {
    const result = queue(() => run(process.execPath, [name]))
    results.set(name, result)
  }
})

afterAll(() => directory[Symbol.dispose]())

test("every block is run, or something else tests it", () => {
  const known = [...Object.keys({ ...examples, ...elsewhere }), ...Object.values(ownTests).flat()]
  expect(blocks.map(({ name }) => name).sort()).toEqual(known.sort())
  for (const file of Object.values(elsewhere)) expect(existsSync(join(root, file)), file).toBe(true)
})

test("the Rust program that is built for the tests is that of docs/peers.md", () => {
  expect(readFileSync(join(root, rust), "utf8")).toBe(codeOf("docs/peers.md: Rust: omq-tokio"))
})

describe("JavaScript", () => {
  test("compiles as strict TypeScript", async () => {
    expect((await types).lines.join("\n")).toBe("")
  })

  describe.each(programs)("$title", ({ example, code, file }) => {
    test.each([
      ["ES module", `${file}.mjs`],
      ["CommonJS", `${file}.cjs`],
    ])("%s", async (_, name) => {
      const { prints = shownOutput(code) } = example
      const { lines, errors, code: ending } = (await results.get(name))!
      expect(withoutWarning(errors)).toBe("")
      expect(lines).toEqual(prints.map(expected))
      expect(ending).toBe(0)
    })
  })
})

/** Returns the code of a block. */
const codeOf = (name: string): string => blocks.find((block) => block.name === name)!.code
const linesOf = (name: string): string[] => codeOf(name).trimEnd().split("\n")

describe("command lines", () => {
  /** Starts a command line in a directory of its own, with these files in it. */
  function start(line: string, files: Record<string, string | Uint8Array> = {}): Group {
    const cwd = mkdtempSync(at("shell-"))
    for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content)
    return new Group(spawn("sh", ["-c", line], { cwd, detached: true }), cwd)
  }

  beforeAll(() => {
    mkdirSync(at("node_modules/.bin"))
    symlinkSync("../zeromq-lz4/dist/cli/main.js", at("node_modules/.bin/zeromq-lz4"))
  })

  test(`${ownTests.train}: makes a dictionary`, async () => {
    const lines = Array.from({ length: 200 }, (_, id) =>
      JSON.stringify({ id, event: "order placed", items: ["tea", "sugar"], currency: "EUR" }),
    )
    const train = start(codeOf(ownTests.train), { "events.jsonl": lines.join("\n") })
    expect(await train.ended(), train.errors).toEqual({ code: 0, signal: null })
    expect(statSync(join(train.cwd, "events.dict")).size).toBeGreaterThan(0)
  })

  test.each(linesOf(ownTests.bridge).filter((line) => /^[^#]/.test(line)))(
    "%s: listens",
    async (line) => {
      const bridge = start((await withFreePorts(line)).replace("/run/", "./"))
      expect(await bridge.line()).toMatch(
        /^\S+Z listening on (lz4\+)?tcp:\/\/[\d.]+:\d+, connecting to /,
      )
      bridge.signal("SIGTERM")
      await bridge.ended()
    },
  )

  test(`${ownTests.bridgeCurve}: makes keys, and listens`, async () => {
    const commands = await withFreePorts(codeOf(ownTests.bridgeCurve))
    const bridge = start(commands, { "collector.public": curveKeyPair().publicKey })
    const lines = [await bridge.line()]
    while (!lines.at(-1)?.includes(" listening on tcp://")) lines.push(await bridge.line())
    expect(lines.slice(2, 4)).toEqual([
      expect.stringContaining(" CURVE at --from: the bridge is the server, with the public key "),
      expect.stringContaining(" CURVE at --to: the bridge is the client, with the public key "),
    ])
    bridge.signal("SIGTERM")
    await bridge.ended()
  })

  test.each(ownTests.services)("%s: starts a bridge that ends on SIGTERM", async (name) => {
    const [, line] = /^(?:ExecStart=|CMD )(.*)$/m.exec(codeOf(name))!
    const words: string[] = line!.startsWith("[") ? JSON.parse(line!) : line!.split(" ")
    const [program, main, ...args] = words.map((word) => word.replace("/opt/bridge", at()))
    expect(program).toMatch(/^(\/[a-z]+)+\/node$/)
    const bridge = new Running(
      spawn(process.execPath, [main!, ...(await withFreePorts(args.join(" "))).split(" ")]),
    )
    while (!(await bridge.line()).includes(" listening on tcp://")) {}
    bridge.process.kill("SIGTERM")
    expect(await bridge.ended(), bridge.errors).toEqual({ code: 0, signal: null })
  })

  test(`${ownTests.bridgeOutput}: is what the bridge prints`, async () => {
    const [listening, connected, closed] = linesOf(ownTests.bridgeOutput).map(shape)
    const [, command] = linesOf("docs/bridge.md: The bridge")
    const line = await withFreePorts(command!)
    const [, from, to] = /--from (\S+) --to (\S+)/.exec(line)!
    const pull = use(new Pull())
    await pull.bind(to!)
    const bridge = start(line)
    expect(shape(await bridge.line())).toBe(listening)
    const push = use(new Push())
    push.connect(from!)
    for (let i = 0; i < 2; i++) {
      await push.send("tea and sugar ".repeat(100))
      await pull.receive()
    }
    push.close()
    expect(shape(await bridge.line())).toBe(connected)
    expect(shape(await bridge.line())).toBe(closed)
  })

  test(`${ownTests.inspect}: prints the table that follows it`, async () => {
    const [record, show] = linesOf(ownTests.inspect)
    expect(record).toContain("-w traffic.pcap ")
    const inspect = start(show!, { "traffic.pcap": await orders() })
    expect(await inspect.ended(), inspect.errors).toEqual({ code: 0, signal: null })
    const printed = inspect.rest().map((line) => {
      return line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line
    })
    expect(printed).toEqual(linesOf(ownTests.inspectOutput))
  })
})

test(`${ownTests.debugOutput}: is what NODE_DEBUG prints`, () => {
  const [socketType, endpoint] = ["PUSH", "lz4+tcp://collector:5555"]
  const about = {
    socketType,
    endpoint,
    lz4: new Lz4(new AsyncResource("test"), () => Promise.resolve()),
  }
  const peer = { ...about, remoteAddress: "10.0.0.7", remotePort: 5555 }
  const [sent, received] = [
    { messages: 812, plainBytes: 98_304, wireBytes: 21_877 },
    { messages: 0, plainBytes: 0, wireBytes: 0 },
  ]
  const error = new Error("read ECONNRESET")
  const lines = [
    CONNECTION.line({ ...peer, state: "connected" }),
    LEVEL.line({ ...peer, level: 3, previous: 0 }),
    CONNECTION.line({ ...peer, state: "closed", error, sent, received }),
    RECONNECT.line({ ...about, intervalMs: 137, error }),
    RECONNECT.line({
      ...about,
      intervalMs: 184,
      error: new Error("connect ECONNREFUSED 10.0.0.7:5555"),
    }),
  ]
  expect(linesOf(ownTests.debugOutput)).toEqual(lines.map((line) => `ZEROMQ-LZ4 4711: ${line}`))
})

/** The orders of docs/inspect.md, as tcpdump records them. */
async function orders(): Promise<Uint8Array> {
  const messages = [0, 1, 2].map((id) => {
    const customer = { id: 4711, name: "Ada", street: "12 St James's Square", city: "London" }
    const order = {
      id,
      items: ["tea", "sugar"],
      customer,
      total: 12.5,
      currency: "GBP",
      paid: true,
      delivery: "standard",
      notes: "",
    }
    return ["order", JSON.stringify(order)].map((part) => Buffer.from(part))
  })
  const plain = Codec.createSync()
  const trained = Codec.createSync({ dictionary: await trainDictionary(messages.flat()) })
  const wires = messages.flatMap((message, i) => (i === 0 ? plain : trained).encode(message))
  const packets = conversation(
    [
      ["client", greeting()],
      ["server", greeting()],
      ["client", ready("PUSH", 2)],
      ["server", ready("PULL", 2)],
      ...wires.map((parts) => ["client", message(...parts)] as const),
    ],
    { client: "10.0.0.7:53988", server: "10.0.0.9:5555", closed: "FIN" },
  )
  const start = Date.UTC(2026, 10, 21, 12, 35, 7, 504)
  for (const [i, packet] of packets.entries()) packet.time = BigInt(start + 37 * i) * 1_000_000n
  return captureOf(packets)
}

const expected = (line: string | RegExp) =>
  typeof line === "string" ? line : expect.stringMatching(line)

function replaced(code: string, by: readonly (readonly [from: string, to: string])[]): string {
  return by.reduce((code, [from, to]) => {
    if (!code.includes(from)) throw new Error(`the example has no ${from}`)
    return code.replaceAll(from, to)
  }, code)
}

/** Replaces each port by one that nobody uses, and hosts that exist nowhere. */
async function withFreePorts(code: string): Promise<string> {
  const ports = [...new Set(code.match(/\b55\d\d\b/g))]
  for (const port of ports) code = code.replaceAll(port, String(await freePort()))
  return code.replaceAll("//collector:", "//127.0.0.1:")
}

function run(program: string, args: string[]): Promise<Result> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: directory.path }, (error, output, errors) => {
      const lines = output === "" ? [] : output.replace(/\n$/, "").split("\n")
      resolve({ code: error ? (error.code ?? error.signal ?? null) : 0, lines, errors })
    })
  })
}

/** Returns a function that runs jobs, at most `limit` at a time. */
function inTurns(limit: number): <T>(job: () => Promise<T>) => Promise<T> {
  const slots = Array.from({ length: limit }, () => Promise.resolve())
  let next = 0
  return (job) => {
    const slot = next++ % limit
    const done = slots[slot]!.then(job)
    slots[slot] = done.then(() => {})
    return done
  }
}
