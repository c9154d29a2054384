/** Questions and answers in captures, joined. */
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import {
  type CaptureEvent,
  captureFilter,
  type Exchange,
  type ExchangeSummary,
  Exchanges,
} from "zeromq-lz4/capture"

import { createRandom } from "../../../bench/random.mjs"
import type { Side } from "../../../src/capture/events.js"
import { envelopeOf } from "../../../src/capture/exchanges/envelope.js"
import {
  type ConversationOptions,
  conversation,
  framesOf,
  pcapFile,
  type Said,
  type TcpPacket,
} from "../../support/capture-files.js"
import { eventsOf } from "../../support/captures.js"
import { concat } from "../../support/wire.js"
import { handshake, message } from "../../support/zmtp.js"

/** A message as texts; the time of its packet in nanoseconds, which otherwise is a microsecond later. */
type Line = readonly [from: Side, parts: readonly string[], time?: number]

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const START = 1_700_000_000_000_000_000n

const capture = (...args: Parameters<typeof packetsOf>) =>
  pcapFile(framesOf(packetsOf(...args)), { nanoseconds: true })

function packetsOf(
  types: readonly [string, string],
  lines: readonly Line[],
  options: ConversationOptions = {},
): TcpPacket[] {
  const said: Said = [
    ["client", handshake(types[0])],
    ["server", handshake(types[1])],
    ...lines.map(([from, parts]) => [from, message(...parts.map(bytes))] as const),
  ]
  const packets = conversation(said, { time: START, segmentBytes: 1 << 15, ...options })
  const data = packets.filter(({ data }) => data.length > 0).slice(-lines.length || packets.length)
  lines.forEach(([, , time], i) => {
    if (time === undefined) return
    // The acknowledgement comes right behind it.
    for (const packet of packets.slice(packets.indexOf(data[i]!)).slice(0, 2))
      packet.time = START + BigInt(time)
  })
  return packets
}

function exchangesIn(events: readonly CaptureEvent[], filter = "") {
  const exchanges = new Exchanges()
  const matches = captureFilter(filter)
  const joined: Exchange[] = []
  for (const event of events) joined.push(...exchanges.add(event, matches(event)))
  return { joined, summary: exchanges.summary() }
}

const read = (...args: Parameters<typeof capture>) => exchangesIn(eventsOf(capture(...args)))
const only = ({ groups }: ExchangeSummary) => {
  expect(groups).toHaveLength(1)
  return groups[0]!
}
const times = (joined: readonly Exchange[]) => joined.map(({ nanoseconds }) => nanoseconds)
const NEITHER = "messages neither alternate nor have an id in their first part"
const MISSING = "messages are missing from the recording"
const CUT = "packets were cut when they were recorded"
const MS = 1_000_000

/** Reads a conversation whose packets of these messages were not recorded. */
function readWithout(
  types: readonly [string, string],
  lost: readonly number[],
  lines: readonly Line[],
  arrange: (packets: readonly TcpPacket[]) => readonly TcpPacket[] = (packets) => packets,
) {
  const packets = packetsOf(types, lines)
  const data = packets.filter(({ data }) => data.length > 0).slice(-lines.length)
  const recorded = packets.filter((packet) => !lost.some((i) => data[i] === packet))
  return exchangesIn(eventsOf(pcapFile(framesOf(arrange(recorded)), { nanoseconds: true })))
}

/** Reads a conversation in which a gap is reported before one of the messages. */
function readWithGap(types: readonly [string, string], lines: readonly Line[], at: number) {
  const events = eventsOf(capture(types, lines))
  const messages = events.filter(({ type }) => type === "message")
  const { connection } = messages[at]!
  const gap = {
    code: "ERR_CAPTURE_GAP",
    message: "",
    time: START,
    from: "client",
    offset: 0,
  } as const
  events.splice(events.indexOf(messages[at]!), 0, { type: "error", connection, error: gap })
  return exchangesIn(events)
}

/** Questions and answers in turn, each with its time; the text says which it is. */
const inTurn = (count: number, id: (i: number) => readonly string[] = () => [""]): Line[] =>
  Array.from({ length: count }, (_, i): Line[] => [
    ["client", [...id(i), `?${i}`], 100 * MS * (i + 1)],
    ["server", [...id(i), `!${i}`], 100 * MS * (i + 1) + 40 * MS],
  ]).flat()

describe("exchanges", () => {
  test("exchanges of REQ and REP have the times of their packets, and medians as of all durations", () => {
    const random = createRandom("durations")
    const durations = Array.from({ length: 1001 }, () =>
      random.between(100, 10 ** random.between(3, 8)),
    )
    let now = 1_000_000
    const lines = durations.flatMap((duration): Line[] => {
      now += 1_000_000_000
      return [
        ["client", ["", "?"], now],
        ["server", ["", "!"], now + duration],
      ]
    })
    const { joined, summary } = read(["REQ", "REP"], lines)
    expect(times(joined)).toEqual(durations)
    expect(joined[0]).toMatchObject({
      connection: 1,
      from: "client",
      question: { time: START + 1_001_000_000n, plainBytes: 1, wireBytes: 1 },
      answer: { time: START + 1_001_000_000n + BigInt(durations[0]!) },
    })
    expect(joined[0]!.answer.packet).toBe(joined[0]!.question.packet! + 2)
    const sorted = [...durations].sort((a, b) => a - b)
    const group = only(summary)
    expect(group).toMatchObject({
      ...{ client: "REQ", server: "REP", address: "127.0.0.1:5555", connections: 1 },
      ...{ answered: 1001, unanswered: 0, unknown: 0, unexpected: 0, notJoined: [] },
      times: { count: 1001, min: sorted[0], max: sorted.at(-1) },
    })
    expect(group.times!.mean).toBeCloseTo(durations.reduce((a, b) => a + b) / 1001, 3)
    expect(Math.abs(group.times!.median / sorted[500]! - 1)).toBeLessThan(0.006)
    expect(Math.abs(group.times!.p99 / sorted[990]! - 1)).toBeLessThan(0.006)
    expect(times(summary.slowest)).toEqual(sorted.slice(-10).reverse())
  })

  test("exchanges of a REQ that listens: it asks, whoever opened the connection", () => {
    const { joined } = read(
      ["REP", "REQ"],
      [
        ["server", ["", "?"]],
        ["client", ["", "!"]],
      ],
    )
    expect(joined.map(({ from }) => from)).toEqual(["server"])
  })

  test("are joined by the ids of ZMQ_REQ_CORRELATE, in any order", () => {
    const { joined, summary } = read(
      ["REQ", "ROUTER"],
      [
        ["client", ["id-1", "", "?"], 1e9],
        ["client", ["id-2", "", "?"], 2e9],
        ["server", ["id-2", "", "!"], 5e9],
        ["server", ["id-0", "", "!"], 6e9],
        ["server", ["id-1", "", "!"], 7e9],
      ],
    )
    expect(times(joined)).toEqual([3e9, 6e9])
    expect(only(summary)).toMatchObject({ answered: 2, unanswered: 0, unexpected: 1 })
  })

  test("exchanges of DEALER and REP are joined in order: REP sends the envelope back, and drops what has none", () => {
    const { joined, summary } = read(
      ["DEALER", "REP"],
      [
        ["client", ["a", "", "1"], 1e9],
        ["client", ["b", "", "2"], 2e9],
        ["client", ["a", "", "3"], 3e9],
        ["client", ["no envelope"], 4e9],
        ["server", ["a", "", "1"], 5e9],
        ["server", ["b", "", "2"], 6e9],
        ["server", ["a", "", "3"], 7e9],
      ],
    )
    expect(times(joined)).toEqual([4e9, 4e9, 4e9])
    expect(only(summary)).toMatchObject({ answered: 3, unanswered: 1 })
  })

  test("exchanges of DEALER and ROUTER are joined if their messages alternate, whatever is in them", () => {
    const lines = Array.from(
      { length: 40 },
      (_, i): Line => [i % 2 ? "server" : "client", ["same"]],
    )
    const { joined, summary } = read(["DEALER", "ROUTER"], lines)
    expect(joined).toHaveLength(20)
    expect(only(summary)).toMatchObject({ answered: 20, unanswered: 0, notJoined: [] })
  })

  test("exchanges of DEALER and ROUTER are joined by an id in the first part, or behind an empty one", () => {
    for (const empty of [[], [""]]) {
      const { joined } = read(
        ["DEALER", "ROUTER"],
        [
          ["client", [...empty, "1", "?"], 1e9],
          ["client", [...empty, "2", "?"], 2e9],
          ["server", [...empty, "2", "!"], 3e9],
          ["client", [...empty, "2", "? again"], 4e9],
          ["server", [...empty, "1", "!"], 5e9],
          ["server", [...empty, "2", "!"], 6e9],
        ],
      )
      expect(times(joined)).toEqual([1e9, 4e9, 2e9])
    }
  })

  test.each([
    [
      "an id that two open questions have",
      [
        ["client", ["MDPC01", "a"]],
        ["client", ["MDPC01", "b"]],
      ],
    ],
    [
      "an answer with another id",
      [
        ["client", ["1", "a"]],
        ["client", ["2", "b"]],
        ["server", ["3", ""]],
      ],
    ],
    [
      "no id",
      [
        ["client", ["1", "a"]],
        ["server", ["1", "b"]],
        ["client", ["one part"]],
        ["client", ["x"]],
      ],
    ],
    [
      "an answer before any question",
      [
        ["client", ["1", "a"]],
        ["server", ["1", "b"]],
        ["server", ["1", "c"]],
      ],
    ],
  ] as [string, Line[]][])("exchanges of DEALER and ROUTER are not joined with %s", (_, lines) => {
    const { joined, summary } = read(["DEALER", "ROUTER"], lines)
    expect(joined).toEqual([])
    expect(only(summary)).toMatchObject({
      ...{ answered: 0, unanswered: 0, times: undefined },
      notJoined: [{ why: NEITHER, connections: 1, messages: lines.length }],
    })
  })

  test("exchanges that were certain stay, if the messages do not go together any more later", () => {
    const lines = Array.from(
      { length: 40 },
      (_, i): Line => [i % 2 ? "server" : "client", ["same"]],
    )
    const { joined, summary } = read(
      ["DEALER", "ROUTER"],
      [...lines, ["server", ["1"]], ["server", ["2"]]],
    )
    expect(joined).toHaveLength(20)
    expect(only(summary)).toMatchObject({
      answered: 20,
      notJoined: [{ why: NEITHER, connections: 1, messages: 2 }],
    })
  })

  test("exchanges that are open when the connection or the recording ends are not answered", () => {
    for (const closed of ["FIN", undefined] as const) {
      const lines: Line[] = [["client", ["", "?"]]]
      const { summary } = read(["REQ", "REP"], lines, { closed })
      expect(only(summary)).toMatchObject({ answered: 0, unanswered: 1, times: undefined })
    }
  })

  test("are summed up in the middle of a capture, too", () => {
    const exchanges = new Exchanges()
    const events = eventsOf(
      capture(
        ["DEALER", "ROUTER"],
        [
          ["client", ["1"]],
          ["server", ["1"]],
          ["client", ["1"]],
        ],
      ),
    )
    for (const event of events) if (event.type !== "close") exchanges.add(event)
    // The first exchange is held back until there are more.
    expect(only(exchanges.summary())).toMatchObject({ answered: 0, unanswered: 1 })
    expect(only(exchanges.summary())).toMatchObject({ answered: 0, unanswered: 1 })
    for (const event of events) if (event.type === "close") exchanges.add(event)
    expect(only(exchanges.summary())).toMatchObject({ answered: 1, unanswered: 1 })
  })

  test("may be hidden by missing bytes", () => {
    const said: Said = [
      ["client", handshake("REQ")],
      ["server", handshake("REP")],
      ["client", message(bytes(""), bytes("?"))],
      ["server", message(bytes(""), bytes("!"))],
      ["client", message(bytes(""), bytes("?"))],
      ["server", message(bytes(""), bytes("!"))],
    ]
    const packets = conversation(said)
    const lost = packets.filter(({ data }) => data.length > 0)[3]!
    const file = pcapFile(framesOf(packets.filter((packet) => packet !== lost)))
    const { summary } = exchangesIn(eventsOf(file))
    // What follows a gap is read again only from the next frames that can be recognised.
    expect(only(summary)).toMatchObject({ answered: 0, unanswered: 0, unknown: 2 })
  })

  describe("where packets are missing", () => {
    test("have their own times, and are unknown until it is certain again which belong together", () => {
      const { joined, summary } = readWithout(["REQ", "REP"], [8], inTurn(1000))
      expect(new Set(times(joined))).toEqual(new Set([40 * MS]))
      const { answered, unanswered, unknown, unexpected } = only(summary)
      expect(answered).toBeGreaterThan(970)
      expect([unanswered, answered + unknown]).toEqual([0, 999])
      expect(answered + unexpected).toBe(1000)
    })

    test.each([
      ["the answer", [9]],
      ["an answer and the next question", [9, 10]],
      ["a question and its answer", [8, 9]],
      ["the first question", [0]],
      ["the first question and its answer", [0, 1]],
      ["two questions", [100, 700]],
      ["questions close together", [100, 104, 109, 111, 130]],
    ] as [string, number[]][])("exchanges of REQ are never joined wrongly: %s", (_, lost) => {
      const { joined, summary } = readWithout(["REQ", "REP"], lost, inTurn(500))
      expect(new Set(times(joined))).toEqual(new Set([40 * MS]))
      const { answered, unanswered } = only(summary)
      expect(answered).toBeGreaterThan(400)
      expect(unanswered).toBe(0)
    })

    test("exchanges of a random recording are those of a whole one", () => {
      const random = createRandom("lost packets")
      for (let run = 0; run < 30; run++) {
        const isReq = run % 2 === 0
        const lines = isReq ? inTurn(200) : inTurn(200, (i) => [`id ${i}`])
        const lost = Array.from({ length: random.between(1, 8) }, () => random.below(400))
        const { joined, summary } = readWithout(
          isReq ? ["REQ", "REP"] : ["DEALER", "ROUTER"],
          lost,
          lines,
        )
        expect([...new Set(times(joined))].filter((time) => time !== 40 * MS)).toEqual([])
        expect(only(summary).unanswered, String(lost)).toBe(0)
      }
    })

    test("exchanges of DEALER and REP are not joined any more", () => {
      const lines = Array.from({ length: 200 }, (_, i): Line[] => {
        const asked: Line = ["client", ["", "?"], 10 * MS * i]
        return i < 3 ? [asked] : [["server", ["", "!"], 10 * MS * i - 5 * MS], asked]
      }).flat()
      const { joined, summary } = readWithout(["DEALER", "REP"], [100], lines)
      expect(new Set(times(joined))).toEqual(new Set([25 * MS]))
      expect(only(summary).notJoined).toMatchObject([{ why: MISSING, connections: 1 }])
    })

    test("exchanges of DEALER and ROUTER are joined by ids only", () => {
      const before = inTurn(5, (i) => [`id ${i}`])
      const lines: Line[] = [
        ...before,
        ["client", ["a", "?"], 5000 * MS],
        ["client", ["b", "?"], 5001 * MS],
        ["server", ["a", "!"], 5002 * MS],
        ["server", ["b", "!"], 5041 * MS],
      ]
      const { joined, summary } = readWithGap(["DEALER", "ROUTER"], lines, before.length + 1)
      expect(times(joined)).toEqual(Array(6).fill(40 * MS))
      expect(only(summary)).toMatchObject({
        ...{ answered: 6, unanswered: 0, unknown: 1, unexpected: 1, notJoined: [] },
      })
    })

    test("before the first message: only what REQ asked is certain", () => {
      const lines = inTurn(5, (i) => [`id ${i}`, ""])
      expect(times(readWithGap(["REQ", "ROUTER"], lines, 0).joined)).toEqual(Array(5).fill(40 * MS))
      for (const types of [
        ["DEALER", "REP"],
        ["DEALER", "ROUTER"],
      ] as const) {
        const { summary } = readWithGap(types, lines, 0)
        expect(only(summary).notJoined).toEqual([{ why: MISSING, connections: 1, messages: 10 }])
      }
    })

    test("exchanges of REQ are not joined any more if clocks differ", () => {
      // The clock of the server is ahead, so that each answer comes after the next question.
      const lines = Array.from({ length: 20 }, (_, i): Line[] => [
        ["client", ["", "?"], MS * (i + 1)],
        ...(i > 0 ? [["server", ["", "!"], MS * (i + 1) + 200_000] as const] : []),
      ]).flat()
      const { joined, summary } = readWithGap(["REQ", "REP"], lines, 20)
      expect(new Set(times(joined))).toEqual(new Set([1_200_000]))
      expect(only(summary).notJoined).toMatchObject([{ why: MISSING }])
    })

    test("exchanges of REQ are not joined with an answer that was recorded before the question", () => {
      const lines: Line[] = [
        ["client", ["", "1"], 10 * MS],
        ["client", ["", "2"], 20 * MS],
        ["server", ["", "1"], 19 * MS],
        ["client", ["", "3"], 18 * MS],
        ["client", ["", "4"], 30 * MS],
        ["server", ["", "4"], 32 * MS],
      ]
      const { joined, summary } = readWithGap(["REQ", "REP"], lines, 1)
      expect(times(joined)).toEqual([2 * MS])
      expect(only(summary)).toMatchObject({ unanswered: 0, unknown: 3, unexpected: 1 })
    })

    test.each([
      ["no ids", (_: number) => [], 100],
      ["ids that repeat", (_: number) => ["MDPC01"], 100],
      ["nothing joined before it", (i: number) => [`id ${i}`], 0],
    ] as const)("exchanges of DEALER and ROUTER with %s are not joined any more", (_, id, lost) => {
      const { joined, summary } = readWithout(["DEALER", "ROUTER"], [lost], inTurn(200, id))
      expect([...new Set(times(joined))].filter((time) => time !== 40 * MS)).toEqual([])
      expect(only(summary).notJoined).toMatchObject([{ why: MISSING, connections: 1 }])
    })
  })

  test("are not joined once a packet was cut: others may be, which is not reported again", () => {
    const long = "x".repeat(500)
    const lines = inTurn(20).map(
      ([from, parts, time], i): Line => [from, i === 8 || i === 23 ? ["", long] : parts, time],
    )
    const file = pcapFile(framesOf(packetsOf(["REQ", "REP"], lines), { snapLength: 300 }))
    const { joined, summary } = exchangesIn(eventsOf(file))
    expect(times(joined)).toEqual(Array(4).fill(40 * MS))
    expect(only(summary).notJoined).toEqual([{ why: CUT, connections: 1, messages: 30 }])
  })

  test("are those of the nth question and answer, if a question was recorded after its answer", () => {
    const swapped = inTurn(1000)
    const at = 2 * 499
    const [question, answer] = [swapped[at]!, swapped[at + 1]!]
    swapped[at] = answer
    swapped[at + 1] = [question[0], question[1], answer[2]! + 1000]
    for (const types of [
      ["REQ", "REP"],
      ["DEALER", "REP"],
    ] as const) {
      const { joined, summary } = read(types, swapped)
      expect(joined).toHaveLength(1000)
      expect(times(joined).filter((time) => time !== 40 * MS)).toEqual([undefined])
      expect(only(summary)).toMatchObject({
        ...{ answered: 1000, unanswered: 0, unexpected: 0, unknown: 0 },
        times: { count: 999, max: 40 * MS },
      })
    }
  })

  test("exchanges of ids may be recorded in any order", () => {
    const { joined, summary } = read(
      ["DEALER", "ROUTER"],
      [
        ["client", ["1", "?"], 1e9],
        ["client", ["3", "?"], 2e9],
        ["server", ["2", "!"], 3e9],
        ["client", ["2", "?"], 4e9],
        ["server", ["1", "!"], 5e9],
        ["server", ["3", "!"], 6e9],
      ],
    )
    expect(times(joined)).toEqual([undefined, 4e9, 4e9])
    expect(only(summary)).toMatchObject({ answered: 3, unanswered: 0, unexpected: 0 })
  })

  test("exchanges in two files have no times if their clocks differ by more than an answer takes", () => {
    // The clock of the server is 0.5 ms behind, and packets come in the order of their times.
    const skewed = inTurn(1000).map(
      ([from, parts], i): Line => [
        from,
        parts,
        MS * ((i >> 1) + 1) + (from === "client" ? 0 : 400_000 - 500_000),
      ],
    )
    const { joined, summary } = readWithout(["REQ", "REP"], [], skewed, (packets) =>
      [...packets].sort((a, b) => Number(a.time - b.time)),
    )
    expect(joined).toHaveLength(1000)
    expect(new Set(times(joined))).toEqual(new Set([undefined]))
    expect(only(summary)).toMatchObject({ answered: 1000, unanswered: 0, times: undefined })
  })

  test("take little memory if a message has many parts before the empty one", () => {
    const [event] = eventsOf(capture(["DEALER", "REP"], [["client", ["x", "", "?"]]])).filter(
      ({ type }) => type === "message",
    ) as Extract<CaptureEvent, { type: "message" }>[]
    const { parts } = event!.message
    const many = [...Array.from({ length: 300_000 }, () => parts[0]!), ...parts.slice(1)]
    expect(envelopeOf(many)!.length).toBeLessThan(1024)
    expect(envelopeOf(many)).not.toBe(envelopeOf(many.slice(1)))
  })

  test("exchanges of a connection that began before the recording are not joined, as types are not known", () => {
    const encoded = (text: string) => concat(new Uint8Array(4), bytes(text))
    const said: Said = [
      ["client", message(encoded(""), encoded("one question"))],
      ["server", message(encoded(""), encoded("one answer"))],
      ["client", message(encoded(""), encoded("another question"))],
      ["server", message(encoded(""), encoded("another answer"))],
    ]
    const file = pcapFile(framesOf(conversation(said, { begun: false })))
    const { joined, summary } = exchangesIn(eventsOf(file))
    expect(joined).toEqual([])
    expect(only(summary)).toMatchObject({
      ...{ client: undefined, server: undefined },
      notJoined: [{ why: "the recording does not have the socket types", connections: 1 }],
    })
  })

  test("are not looked for between other types", () => {
    expect(read(["PUSH", "PULL"], [["client", ["1"]]]).summary.groups).toEqual([])
    expect(
      read(
        ["PUB", "SUB"],
        [
          ["client", ["1"]],
          ["server", ["2"]],
        ],
      ).summary.groups,
    ).toEqual([])
  })

  test("exchanges with CURVE cannot be seen", () => {
    const file = gunzipSync(
      readFileSync(new URL("../../recorded/curve-tcp.pcap.gz", import.meta.url)),
    )
    const events = eventsOf(new Uint8Array(file))
    const sent = events.filter(({ type, ...event }) =>
      type === "command" && "command" in event ? event.command.name === "MESSAGE" : false,
    )
    const senders = new Set(sent.map((event) => event.type === "command" && event.command.from))
    const { joined, summary } = exchangesIn(events)
    expect(joined).toEqual([])
    const all = summary.groups.flatMap(({ notJoined }) => notJoined)
    expect(all.map(({ why }) => why)).toEqual(senders.size === 2 ? ["encrypted"] : [])
  })

  test("have no time if the answer comes first in the recording", () => {
    const lines: Line[] = [
      ["client", ["", "?"], 2e9],
      ["server", ["", "!"], 1e9],
    ]
    const { joined, summary } = read(["REQ", "REP"], lines)
    expect(times(joined)).toEqual([undefined])
    expect(only(summary)).toMatchObject({ answered: 1, times: undefined })
  })

  test("count if the question or the answer matches a filter", () => {
    const events = eventsOf(
      capture(
        ["REQ", "REP"],
        [
          ["client", ["", "apple"]],
          ["server", ["", "red"]],
          ["client", ["", "plum"]],
          ["server", ["", "blue"]],
          ["client", ["", "pear"]],
        ],
      ),
    )
    const counts = (filter: string) => {
      const { summary, joined } = exchangesIn(events, filter)
      const [group] = summary.groups
      return [joined.length, group?.answered, group?.unanswered]
    }
    expect(counts("apple")).toEqual([1, 1, 0])
    expect(counts("blue")).toEqual([1, 1, 0])
    expect(counts("pear")).toEqual([0, 0, 1])
    expect(counts("from=client")).toEqual([2, 2, 1])
    expect(counts("nothing")).toEqual([0, undefined, undefined])
  })

  test("are given up on a connection with more open questions than are kept", () => {
    const exchanges = new Exchanges()
    const connection = eventsOf(capture(["DEALER", "REP"], [["client", ["", "?"]]])).find(
      ({ type }) => type === "message",
    ) as Extract<CaptureEvent, { type: "message" }>
    for (let i = 0; i < 100_000; i++) exchanges.add(connection)
    expect(only(exchanges.summary())).toMatchObject({
      notJoined: [{ why: "too many questions are open", connections: 1, messages: 100_000 }],
    })
  })

  test("exchanges of more than 1000 servers are summed up for the rest", () => {
    const exchanges = new Exchanges()
    for (let i = 0; i < 1100; i++) {
      const server = `10.0.${i >> 8}.${i & 255}:5555`
      const lines: Line[] = [
        ["client", ["", "?"]],
        ["server", ["", "!"]],
      ]
      for (const event of eventsOf(capture(["REQ", "REP"], lines, { server }))) exchanges.add(event)
    }
    const { groups } = exchanges.summary()
    expect(groups).toHaveLength(1001)
    expect(groups[0]).toMatchObject({ address: undefined, answered: 100, connections: 100 })
  })
})
