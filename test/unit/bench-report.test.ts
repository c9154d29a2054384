import { describe, expect, test } from "vitest"

import { compareRuns } from "../../bench/lib/comparison.mjs"
import { overview, readme, security } from "../../bench/lib/readme.mjs"
import { type Bench, type Line, parseResults } from "../../bench/lib/results.mjs"
import { summary } from "../../bench/lib/statistics.mjs"
import { barChart, lineChart, shortNumber } from "../../bench/lib/svg.mjs"
import { reports } from "../../bench/reports/reports.mjs"
import { targetLines } from "../../bench/targets.mjs"

const DETAILS = {
  date: "2026-01-02T03:04:05.000Z",
  commit: "0123456789abcdef",
  dirty: false,
  machine: { cpu: "Some CPU", cores: 2, os: "Linux 6.0 x64" },
  versions: { node: "20.0.0" },
}

function line(bench: Bench, given: Partial<Line> & { values: number[] }): Line {
  const usual = { name: "cell", parameters: {}, implementation: "zeromq-lz4", unit: "msg/s" }
  return { bench, ...DETAILS, ...usual, ...summary(given.values), ...given }
}

/** Returns a line for each quantity of a cell. */
const quantities = (bench: Bench, cell: string, parameters: Line["parameters"], names: string[]) =>
  ["zeromq.js tcp://", "zeromq-lz4"].flatMap((implementation) =>
    names.map((name) =>
      line(bench, { name: `${cell}: ${name}`, parameters, implementation, values: [1, 2, 3] }),
    ),
  )

const PUSH_PULL = [
  ...["messages", "wire", "CPU of the sender", "CPU of the receiver"],
  ...["memory of the sender", "memory of the receiver"],
]

/** A few results of each benchmark. */
const MEASURED: Record<Bench, Line[]> = {
  links: quantities(
    "links",
    "100 Mbit/s, lorem 128 KiB",
    { link: "100 Mbit/s", payload: "lorem", size: 131_072 },
    PUSH_PULL,
  ),
  schemes: quantities(
    "schemes",
    "100 Mbit/s, json 128 KiB",
    { link: "100 Mbit/s", payload: "json", size: 131_072 },
    PUSH_PULL,
  ),
  brokers: quantities("brokers", "PUSH to PULL, 16 KiB", { size: 16_384 }, [
    "messages",
    "CPU of the broker",
    "memory of the broker",
  ]),
  changes: [
    ...quantities("changes", "payloads in turn, 1 Gbit/s", { phaseSeconds: 3 }, ["lorem", "json"]),
    ...quantities("changes", "links in turn, json", { phaseSeconds: 6 }, ["to 100 Mbit/s"]),
  ],
  throughput: [64, 16_384].flatMap((size) =>
    quantities("throughput", `lorem ${size}`, { payload: "lorem", size }, PUSH_PULL),
  ),
  corpora: quantities("corpora", "tiny", { corpus: "tiny" }, ["link", "wire", "encode"]).map(
    (one) => ({ ...one, implementation: "no dictionary" }),
  ),
  latency: quantities("latency", "64 B", { size: 64 }, [
    "median",
    "99th percentile",
    "99.9th percentile",
  ]),
  bursts: [
    ...quantities("bursts", "one a turn, PUB to 64", {}, ["messages", "CPU of the sender"]),
    ...quantities("bursts", "round trip of REQ and REP", {}, ["median"]),
  ],
  fan: [8, 512].flatMap((spokes) =>
    quantities("fan", `PUB → SUB 64 B, ${spokes}`, { shape: "PUB → SUB", size: 64, spokes }, [
      "messages",
      "CPU of the hub",
      "CPU of the spokes",
    ]),
  ),
  scale: [64, 512, 4096].flatMap((peers) =>
    quantities("scale", `PUB → SUB, ${peers}`, { shape: "PUB → SUB", peers, size: 64 }, [
      ...["CPU of the hub per delivery", "memory of the hub per connection"],
      "heap of the hub per connection",
    ]),
  ),
  services: [
    ...quantities("services", "8 × 1 KiB", { floods: 8, size: 1024 }, [
      ...["ROUTER, median", "REP, median", "node:http, median", "flood"],
    ]),
    ...quantities("services", "64 clients, 4 KiB", { askers: 64, size: 4096 }, [
      ...["answers", "99th percentile", "CPU of the service"],
    ]),
  ],
  curve: [
    ...quantities("curve", "json 64 B", { size: 64 }, PUSH_PULL),
    ...quantities("curve", "PUB → SUB 64 B, 64", { size: 64, spokes: 64 }, [
      ...["messages", "CPU of the hub", "CPU of the spokes"],
    ]),
    ...quantities("curve", "round trip of REQ and REP", { size: 64 }, ["median"]),
  ],
  threads: [
    ...quantities("threads", "level 9, JSON 1 MiB", { size: 2 ** 20 }, [
      "longest delay",
      "99th percentile",
    ]),
    ...quantities("threads", "level 9 to two peers", { size: 16_384 }, ["messages"]),
  ],
  memory: [100, 1000].flatMap((connections) =>
    quantities("memory", `idle, ${connections}`, { connections }, [
      "bound side",
      "connecting side",
    ]),
  ),
  costs: quantities("costs", "PING", { bytes: 9 }, ["CPU for a byte", "memory for a byte"]),
  start: quantities("start", "sockets", {}, ["import", "first bind"]),
  codec: ["zeromq-lz4", "native liblz4"].map((implementation) =>
    line("codec", {
      name: "encode json 1 KiB dict=off",
      parameters: {
        operation: "encode",
        payload: "json",
        size: 1024,
        dictionary: 0,
        milliseconds: 60,
      },
      implementation,
      values: [1, 2],
    }),
  ),
}

/** Fails if tags are not closed in order, or if a text or an attribute is not escaped. */
function expectWellFormed(svg: string) {
  const open: string[] = []
  const rest = svg.replace(
    /<(\/?)([a-z]+)((?:\s+[\w:-]+="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)\s*(\/?)>/gi,
    (_, end, name, _attributes, empty) => {
      if (end) expect(open.pop()).toBe(name)
      else if (!empty) open.push(name)
      return ""
    },
  )
  expect(open).toEqual([])
  expect(rest.replace(/&(?:amp|lt|gt|quot);/g, "")).not.toMatch(/[<&]/)
}

describe("results", () => {
  test("results that are not JSON are refused with their line number", () => {
    expect(() => parseResults('{"bench":"fan"}\n{"bench"')).toThrow("line 2 of the results")
  })
})

describe("a comparison", () => {
  const verdictOf = (unit: string, before: number[], after: number[]) =>
    compareRuns([line("fan", { unit, values: before })], [line("fan", { unit, values: after })])[0]
      ?.verdict

  test("reports lower rates, and higher values of other units, as regressions", () => {
    expect(verdictOf("msg/s", [100, 101], [80, 81])).toBe("regression")
    expect(verdictOf("msg/s", [80, 81], [100, 101])).toBe("improvement")
    expect(verdictOf("µs", [80, 81], [100, 101])).toBe("regression")
    expect(verdictOf("µs", [100, 101], [80, 81])).toBe("improvement")
  })

  test("reports neither changes within the spread nor small ones", () => {
    expect(verdictOf("msg/s", [100, 120], [90, 101])).toBe("same")
    expect(verdictOf("msg/s", [100, 100], [99, 99])).toBe("same")
  })

  test("leaves out measurements that only one run has", () => {
    const before = [line("fan", { name: "gone", values: [1] })]
    expect(compareRuns(before, [line("fan", { name: "new", values: [1] })])).toEqual([])
  })
})

describe("bench/RESULTS.md", () => {
  const marks = (bench: string) => `<!-- bench:${bench} -->\n<!-- /bench:${bench} -->\n`
  const empty = `# Title\n\n${Object.keys(reports).map(marks).join("\ntext\n\n")}`

  test("has tables and plots between its marks, the same after a second run", () => {
    const { text, plots } = readme(empty, MEASURED)
    expect(readme(text, MEASURED).text).toBe(text)
    expect(text.match(/\ntext\n/g)).toHaveLength(Object.keys(reports).length - 1)
    expect(text).not.toMatch(/NaN|undefined|Infinity/)
    for (const { name } of plots) expect(text).toContain(`(plots/${name}.svg)`)
  })

  test("keeps the text of benchmarks without results", () => {
    expect(readme(empty, {}).text).toBe(empty)
  })

  test("without a benchmark's marks is refused", () => {
    expect(() => readme("# Title\n", MEASURED)).toThrow("has no <!-- bench:")
  })

  test("refers to plots that are well-formed and have a dark variant", () => {
    const { plots } = readme(empty, MEASURED)
    expect(plots.length).toBe(8)
    for (const { svg } of plots) {
      expectWellFormed(svg)
      expect(svg).toContain("@media (prefers-color-scheme: dark)")
      expect(svg).not.toMatch(/NaN|undefined|Infinity/)
    }
  })
})

describe("README.md", () => {
  const empty = "# Title\n\n<!-- bench:summary -->\n<!-- /bench:summary -->\n"
  const schemes = ["100 Mbit/s", "1 Gbit/s"].flatMap((network) => {
    const cell = quantities("schemes", `${network}, json 128 KiB`, {}, PUSH_PULL)
    const inZstd = cell.slice(PUSH_PULL.length)
    return [...cell, ...inZstd.map((one) => ({ ...one, implementation: "zeromq-lz4 zstd+tcp://" }))]
  })
  const curve = quantities("curve", "json 1 KiB", {}, PUSH_PULL)

  test("has a row for each result that it shows, the same after a second run", () => {
    const text = overview(empty, { schemes, curve })
    expect(overview(text, { schemes, curve })).toBe(text)
    expect(text).toContain("| 1 Gbit/s, 128 KiB | 2 msg/s | 2 msg/s | 2 msg/s |")
    expect(text).toContain("| CURVE, 1 KiB | 2 msg/s | 2 msg/s |  |")
    expect(text).not.toMatch(/NaN|undefined|Infinity|Processor time/)
  })

  test("says what a message costs at each place", () => {
    const brokers = [
      "zeromq.js tcp://",
      "zeromq-lz4, level 0",
      "zeromq-lz4 zstd+tcp://, level 1",
    ].map((implementation, i) =>
      line("brokers", {
        name: "PUSH to PULL, 128 KiB: CPU of the broker",
        implementation,
        values: [50 * (i + 1)],
      }),
    )
    expect(overview(empty, { schemes, brokers })).toContain(
      "at its sender, a broker and its receiver: 262, 50.0 and 262 µs over `tcp://`, 262, 100 and 262 µs over `lz4+tcp://`, 262, 150 and 262 µs over `zstd+tcp://`.",
    )
  })

  test("keeps its text without results", () => {
    expect(overview(empty, {})).toBe(empty)
  })
})

describe("SECURITY.md", () => {
  const empty = "# Title\n\n<!-- bench:costs -->\n<!-- /bench:costs -->\n"

  test("has a row for each kind of input, the same after a second run", () => {
    const text = security(empty, MEASURED)
    expect(security(text, MEASURED)).toBe(text)
    expect(text).toContain("| PING | 2.00 | — | — | 2.00 | 2.00 | — | — | 2.00 |")
  })

  test("keeps its text without results", () => {
    expect(security(empty, {})).toBe(empty)
  })
})

describe("plots", () => {
  test("escape texts", () => {
    const name = 'a < b & "c"'
    const { svg } = barChart({
      title: name,
      unit: name,
      groups: [{ name, bars: [{ name, colour: 0, value: 1 }] }],
    })
    expectWellFormed(svg)
    const points = [[1, 1]] as const
    const axes = { x: name, y: name, xName: () => name }
    expectWellFormed(lineChart({ title: name, ...axes, series: [{ name, colour: 0, points }] }).svg)
  })

  test("shorten numbers", () => {
    expect([0.25, 7, 999, 1200, 2_500_000].map(shortNumber)).toEqual([
      "0.25",
      "7",
      "999",
      "1.2k",
      "2.5M",
    ])
  })
})

describe("targets", () => {
  const latency = (ours: number[], tcp: number[]) =>
    targetLines({
      latency: [
        line("latency", { name: "64 B: median", implementation: "zeromq-lz4", values: ours }),
        line("latency", { name: "64 B: median", implementation: "zeromq.js tcp://", values: tcp }),
      ],
    })

  test("are judged by the median of the ratios of each run", () => {
    expect(latency([40, 300, 40], [100, 100, 100])).toEqual([
      expect.stringMatching(/^met .*latency: median at 64 B.*≤ 0.5: 0.40 at worst \(64 B\)$/),
    ])
    expect(latency([200, 300, 100], [100, 100, 100])).toEqual([
      expect.stringMatching(/^MISSED .*2.00 at worst \(64 B\); missed in 1 of 1$/),
    ])
  })

  test("without measurements are not mentioned", () => {
    expect(targetLines({})).toEqual([])
  })
})
