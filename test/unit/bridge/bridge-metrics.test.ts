/** What `zeromq-lz4 bridge` tells over HTTP, and its advice. */
import { readFileSync } from "node:fs"
import { describe, expect, test, vi } from "vitest"

import { payload } from "../../../bench/payloads.mjs"
import { adviceOn } from "../../../src/cli/bridge-advice.js"
import { type BridgeState, metricsText } from "../../../src/cli/bridge-metrics.js"
import { bridgeLog, Report } from "../../../src/cli/bridge-report.js"
import { checkLz4Options, type Lz4Options } from "../../../src/codec/options.js"
import { main, runCommand } from "../../support/command.js"
import { RawServer, rawClient, rawZmtpClient } from "../../support/raw-ends.js"
import { RunningBridge } from "../../support/running-bridge.js"
import { eventually } from "../../support/sockets.js"
import { concat } from "../../support/wire.js"
import { greeting, handshake, message } from "../../support/zmtp.js"

interface Metric {
  type: string
  help: string
  samples: { labels: Record<string, string>; value: number }[]
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*"
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\[\\\\"n])*"'
const SAMPLE = new RegExp(`^(${NAME})(?:\\{((?:${LABEL})(?:,${LABEL})*)\\})? (\\d+|\\d*\\.\\d+)$`)

/** Parses Prometheus' text format by its rules, and the checks of `promtool check metrics`. */
function parse(text: string): Map<string, Metric> {
  expect(text.endsWith("\n")).toBe(true)
  const metrics = new Map<string, Metric>()
  let current: [string, Metric] | undefined
  for (const line of text.slice(0, -1).split("\n")) {
    const [, about, of, rest = ""] = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`).exec(line) ?? []
    if (about === "HELP") {
      expect(metrics.has(of as string), "one HELP for each name, and its lines together").toBe(
        false,
      )
      expect(rest).not.toMatch(/\\(?![\\n])/)
      current = [of as string, { type: "", help: rest, samples: [] }]
      metrics.set(...current)
      continue
    }
    const [name, metric] = current as [string, Metric]
    if (about === "TYPE") {
      expect([of, metric.type, metric.samples.length]).toEqual([name, "", 0])
      expect(["counter", "gauge"]).toContain(rest)
      expect(name.endsWith("_total")).toBe(rest === "counter")
      expect(name).not.toMatch(/(?<!_bytes|_seconds)_(milli|kilo)|[A-Z]|__/)
      metric.type = rest
      continue
    }
    const match = SAMPLE.exec(line)
    expect(match, line).not.toBeNull()
    const [, sample, labelText = "", value] = match as RegExpExecArray
    expect(sample).toBe(name)
    expect(metric.type).not.toBe("")
    const labels: Record<string, string> = {}
    for (const [, label, quoted] of labelText.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      expect(labels).not.toHaveProperty(label as string)
      labels[label as string] = (quoted as string).replace(/\\(.)/g, (_, c) =>
        c === "n" ? "\n" : c,
      )
    }
    expect(metric.samples.map((other) => other.labels)).not.toContainEqual(labels)
    metric.samples.push({ labels, value: Number(value) })
  }
  return metrics
}

const none = { messages: 0, plainBytes: 0, wireBytes: 0 }
const state: BridgeState = {
  ...{ open: 1, joined: 2, unreachable: 3, full: 4, isReachable: true, isEnding: false },
  sent: { messages: 5, plainBytes: 6, wireBytes: 7 },
  received: none,
  errors: new Map([
    ["ERR_ZMTP_GREETING", 8],
    ['"\\\n', 9],
  ]),
}

describe("metrics", () => {
  test("are in Prometheus' format, whatever an endpoint and a code contain", () => {
    const labels = { from: 'ipc:///a"b\\c\nd{},ż', to: "lz4+tcp://x:1" }
    const metrics = parse(metricsText(labels, state))
    const sample = (name: string, own: object = {}) =>
      metrics
        .get(`zeromq_lz4_bridge_${name}`)
        ?.samples.find(
          (each) => JSON.stringify(each.labels) === JSON.stringify({ ...labels, ...own }),
        )?.value
    expect([sample("connections"), sample("connections_total")]).toEqual([1, 2])
    expect([sample("unreachable_total"), sample("refused_total")]).toEqual([3, 4])
    const sent = { direction: "sent" }
    expect(sample("messages_total", sent)).toBe(5)
    expect(sample("plain_bytes_total", sent)).toBe(6)
    expect(sample("wire_bytes_total", sent)).toBe(7)
    expect(sample("wire_bytes_total", { direction: "received" })).toBe(0)
    expect(sample("errors_total", { code: "ERR_ZMTP_GREETING" })).toBe(8)
    expect(sample("errors_total", { code: '"\\\n' })).toBe(9)
    expect(metrics.get("zeromq_lz4_bridge_connections")?.type).toBe("gauge")
  })

  test("without errors, there is no metric without samples", () => {
    const metrics = parse(metricsText({ from: "x" }, { ...state, errors: new Map() }))
    for (const [name, { samples }] of metrics) expect(samples.length, name).toBeGreaterThan(0)
  })
})

describe("--metrics", () => {
  test("serves what has gone through, and the health", async () => {
    const listening = await RawServer.start()
    const to = `lz4+tcp://127.0.0.1:${listening.port}`
    const bridge = await RunningBridge.start("tcp://127.0.0.1:0", to, "--metrics", "127.0.0.1:0")
    const line = bridge.lines.find((each) => each.startsWith("metrics at ")) as string
    const [, metricsUrl, healthUrl] = /^metrics at (\S+), health at (\S+)$/.exec(line) as string[]
    const base = new URL("/", metricsUrl).href
    const health = async () => {
      const response = await fetch(healthUrl as string)
      return { status: response.status, ...(await response.json()) }
    }
    expect(await health()).toEqual({ status: "ok", to: "unknown", connections: 0 })

    const client = await rawZmtpClient(bridge.endpoint)
    const server = await listening.accept()
    client.socket.write(concat(handshake("PUSH"), message(payload("json", 5000))))
    server.socket.write(handshake("PULL"))
    await bridge.until(/^#1 connected/)
    const read = async () => {
      const response = await fetch(metricsUrl as string)
      expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
      return parse(await response.text())
    }
    const samples = (metrics: Map<string, Metric>, name: string) =>
      metrics.get(`zeromq_lz4_bridge_${name}`)?.samples ?? []
    await eventually(async () => samples(await read(), "messages_total")[0]?.value === 1)
    const metrics = await read()
    const labels = { from: "tcp://127.0.0.1:0", to }
    expect(samples(metrics, "connections")).toEqual([{ labels, value: 1 }])
    expect(samples(metrics, "plain_bytes_total")[0]?.value).toBe(5000)
    expect(samples(metrics, "wire_bytes_total")[0]?.value).toBeLessThan(4000)
    expect(await health()).toEqual({ status: "ok", to: "reachable", connections: 1 })
    client.socket.end()
    server.socket.end()
    await bridge.until(/^#1 closed/)

    // A peer that breaks a rule.
    const other = await rawZmtpClient(bridge.endpoint)
    other.socket.write(greeting({ mechanism: "NONE" }))
    await bridge.until(/^#2 protocol error/)
    expect(samples(await read(), "errors_total")).toEqual([
      { labels: { ...labels, code: "ERR_ZMTP_GREETING" }, value: 1 },
    ])

    expect((await fetch(metricsUrl as string, { method: "HEAD" })).status).toBe(200)
    expect((await fetch(metricsUrl as string, { method: "POST" })).status).toBe(405)
    expect((await fetch(base)).status).toBe(404)
    expect((await fetch(`${metricsUrl}?x=1`)).status).toBe(200)
    bridge.signal("SIGTERM")
    expect(await bridge.ended()).toEqual({ code: 0, signal: null })
  })

  test("serves while others leave parts of requests", async () => {
    const ends = ["tcp://127.0.0.1:0", "lz4+tcp://127.0.0.1:1"] as const
    const bridge = await RunningBridge.start(...ends, "--metrics", "127.0.0.1:0")
    const [, url] = /^metrics at (\S+),/m.exec(bridge.lines.join("\n")) as RegExpExecArray
    const { host } = new URL(url as string)
    for (let i = 0; i < 200; i++) (await rawClient(`tcp://${host}`)).socket.write("G")
    expect((await fetch(url as string)).status).toBe(200)
  })

  test("says that --to is unreachable, and as JSON where it serves", async () => {
    const bridge = await RunningBridge.start(
      ...(["tcp://127.0.0.1:0", "lz4+tcp://127.0.0.1:1"] as [string, string]),
      ...["--metrics", "[::1]:*", "--json"],
    )
    const { health } = JSON.parse(bridge.lines.find((line) => line.includes('"metrics"')) as string)
    expect(health).toMatch(/^http:\/\/\[::1\]:\d+\/health$/)
    await rawZmtpClient(bridge.endpoint)
    await bridge.until(/"unreachable"/)
    expect(await (await fetch(health)).json()).toMatchObject({ status: "ok", to: "unreachable" })
  })

  const TAKES = "--metrics takes HOST:PORT, such as 127.0.0.1:9464, with a PORT of up to 65535 or *"
  test.each([
    [`${TAKES}; got "9464"`, 2, "9464"],
    [`${TAKES}; got "127.0.0.1:99999"`, 2, "127.0.0.1:99999"],
    ["cannot listen on --metrics 192.0.2.1:0: ", 1, "192.0.2.1:0"],
  ])("%s%d", async (says, code, address) => {
    const ends = ["--from", "tcp://127.0.0.1:0", "--to", "lz4+tcp://127.0.0.1:1"]
    const { status, stderr } = await runCommand("/", ["bridge", ...ends, "--metrics", address])
    expect(status).toBe(code)
    expect(stderr).toContain(`zeromq-lz4: ${says}`)
  })

  test("loads HTTP only when it is asked for", () => {
    expect(readFileSync(main, "utf8")).not.toMatch(/^import .*"node:http"/m)
  })
})

test("a bridge whose connections make room for others says once that it is full, and counts no error", () => {
  const lines: string[] = []
  const log = vi.spyOn(console, "log").mockImplementation((line) => lines.push(line))
  try {
    const report = new Report({ to: "to", maxConnections: 1 }, bridgeLog(false))
    const counts = () => ({
      sent: { ...none, dictionary: false },
      received: { ...none, dictionary: false },
    })
    const isFull = () => lines.filter((line) => line.includes("--max-connections")).length
    const end = (number: number, isForRoom: boolean) => {
      const joined = { number, from: `${number}`, to: "to", counts }
      report.joined(joined)
      if (isForRoom) report.full(joined.from)
      report.ended(joined, Object.assign(new Error("late"), { code: "ETIMEDOUT" }), isForRoom)
    }
    end(1, true)
    end(2, true)
    expect([isFull(), report.state.full, report.state.errors.size]).toEqual([1, 2, 0])
    end(3, false)
    end(4, true)
    expect([isFull(), report.state.full, report.state.errors.size]).toEqual([2, 3, 1])
  } finally {
    log.mockRestore()
  }
})

describe("advice about traffic that does not get smaller", () => {
  const MB = 1e6
  const settings = (options: Lz4Options) => checkLz4Options(options, -1)
  const traffic = (bytesEach: number, plainBytes = 2 * MB, wireBytes = plainBytes) => ({
    messages: Math.round(plainBytes / bytesEach),
    plainBytes,
    wireBytes,
  })

  test.each<
    [options: string[] | undefined, sent: ReturnType<typeof traffic>, Lz4Options, boolean?]
  >([
    [["--dictionary", "--auto-dictionary"], traffic(100), {}],
    [["--dictionary", "--auto-dictionary"], traffic(100), { level: 9 }, true],
    [["--arenas", "--min-compress-size"], traffic(100), { dictionary: Buffer.from("x") }],
    [["--level 9", "--level none"], traffic(100), { dictionary: Buffer.from("x"), arenas: true }],
    [["--level 9", "--level none"], traffic(10_000), {}],
    [["--level 0"], traffic(10_000), { level: "adaptive" }, true],
    [["--level 0"], traffic(100), { level: "none" }],
    [undefined, traffic(100), { level: "none" }, true],
    [undefined, traffic(100, 2 * MB, 1.8 * MB), {}],
    [undefined, traffic(100, 0.9 * MB), {}],
    [undefined, traffic(100, 0), {}],
  ])("%j: %j, with %j", (options, sent, given, isChosen = false) => {
    expect(adviceOn(sent, settings(given), isChosen)?.options).toEqual(options)
  })

  test("is printed once, while a connection is open or when it ends", () => {
    vi.useFakeTimers()
    const lines: string[] = []
    const log = vi.spyOn(console, "log").mockImplementation((line) => lines.push(line))
    try {
      const report = new Report({ to: "to", maxConnections: 1 }, bridgeLog(false))
      const counts = {
        sent: { ...traffic(100), dictionary: false },
        received: { ...none, dictionary: false },
      }
      const sent = { ...counts.sent }
      Object.assign(counts.sent, none)
      const timer = report.repeatAdvice(settings({}), false)
      const joined = { number: 1, from: "a", to: "b", counts: () => counts }
      report.joined(joined)
      vi.advanceTimersByTime(60_000)
      expect(lines).toHaveLength(1)
      Object.assign(counts.sent, sent)
      vi.advanceTimersByTime(60_000)
      report.ended(joined, undefined, false)
      expect(lines.filter((line) => line.includes("messages do not get smaller"))).toHaveLength(1)
      expect(lines[1]).toContain("messages have 100 bytes on average")
      clearInterval(timer)
    } finally {
      log.mockRestore()
      vi.useRealTimers()
    }
  })

  test("is in what a bridge prints", async () => {
    const listening = await RawServer.start()
    const to = `lz4+tcp://127.0.0.1:${listening.port}`
    const bridge = await RunningBridge.start("tcp://127.0.0.1:0", to, "--json")
    const client = await rawZmtpClient(bridge.endpoint)
    const server = await listening.accept()
    client.socket.end(concat(handshake("PUSH"), message(payload("random", 2 << 20))))
    await eventually(() => server.receivedBytes > 2 << 20)
    server.socket.end()
    const { input } = await bridge.until(/"advice"/)
    expect(JSON.parse(input)).toMatchObject({ options: ["--level 9", "--level none"] })
  })
})
