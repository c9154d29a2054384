/** Statistics of captures. */
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { type CaptureEvent, captureFilter, Statistics } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"

import { conversation, framesOf, pcapFile, type Said } from "../../support/capture-files.js"
import { eventsOf } from "../../support/captures.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame, handshake, message } from "../../support/zmtp.js"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const SUBSCRIBE = (topic: string) => frame(bytes(`\x09SUBSCRIBE${topic}`), COMMAND)

const CANCEL = (topic: string) => frame(bytes(`\x06CANCEL${topic}`), COMMAND)

const capture = (said: Said) => eventsOf(pcapFile(framesOf(conversation(said))))

function statisticsOf(events: Iterable<CaptureEvent>, filter = "") {
  const statistics = new Statistics()
  const matches = captureFilter(filter)
  for (const event of events) statistics.add(event, matches(event))
  return statistics.summary()
}

type MessageEvent = Extract<CaptureEvent, { type: "message" }>
const messageIn = (said: Said): MessageEvent =>
  capture(said).find(({ type }) => type === "message") as MessageEvent

/** A message of a PUB, to be changed. */
const published = () =>
  messageIn([
    ["client", handshake("PUB")],
    ["server", handshake("SUB")],
    ["client", message(bytes("topic"), bytes("content"))],
  ])

describe("topics", () => {
  test("are the first part of several, up to 64 bytes", () => {
    const { topics } = statisticsOf(
      capture([
        ["client", handshake("PUB")],
        ["server", handshake("SUB")],
        ["client", message(bytes("a"), bytes("1"))],
        ["client", message(bytes("x".repeat(70)), bytes("2"))],
        ["client", message(bytes("x".repeat(80)), bytes("3"))],
        ["client", message(Uint8Array.of(0xff, 0), bytes("4"))],
      ]),
    )
    expect(topics.map(({ name, messages }) => [name, messages])).toEqual([
      ["x".repeat(64), 2],
      ["hex ff 00", 1],
      ["a", 1],
    ])
  })

  test("topics of messages of one part are the longest subscription of the receiver, as a command or a message", () => {
    const { topics, types } = statisticsOf(
      capture([
        ["client", handshake("XPUB")],
        ["server", handshake("SUB")],
        ["server", SUBSCRIBE("ord")],
        ["server", message(bytes("\x01orders."))],
        ["client", message(bytes("orders.new"))],
        ["client", message(bytes("ordinary"))],
        ["client", message(bytes("news"))],
      ]),
    )
    expect(topics.map(({ name, messages }) => [name, messages])).toEqual([
      ["orders.", 1],
      ["ord", 1],
      ["", 1],
    ])
    expect(types.map(({ name, messages }) => [name, messages])).toEqual([
      ["XPUB", 3],
      ["SUB", 1],
    ])
  })

  test("topics end with CANCEL, or a message in its place, however often they were subscribed to", () => {
    const { topics } = statisticsOf(
      capture([
        ["client", handshake("XPUB")],
        ["server", handshake("SUB")],
        [
          "server",
          concat(SUBSCRIBE("ord"), SUBSCRIBE("ord"), SUBSCRIBE("or"), SUBSCRIBE("orders")),
        ],
        ["client", message(bytes("orders 1"))],
        ["server", CANCEL("orders")],
        ["server", CANCEL("never")],
        ["client", message(bytes("orders 2"))],
        ["server", message(bytes("\0ord"))],
        ["client", message(bytes("orders 3"))],
      ]),
    )
    expect(topics.map(({ name }) => name)).toEqual(["orders", "ord", "or"])
  })

  test("topics that are text in hexadecimal are not those that are bytes", () => {
    const { topics } = statisticsOf(
      capture([
        ["client", handshake("PUB")],
        ["server", handshake("SUB")],
        ["client", message(bytes("hex ff 01"), bytes("long enough to be first"))],
        ["client", message(Uint8Array.of(0xff, 1), bytes("1"))],
      ]),
    )
    expect(topics).toMatchObject([{ name: "hex ff 01" }, { name: "hex ff 01", hex: true }])
    expect(topics[0]).not.toHaveProperty("hex")
  })

  test("topics of other types are not counted, and of unknown ones only the first of several parts", () => {
    const encoded = (text: string) => concat(new Uint8Array(4), bytes(text))
    const pushed: Said = [
      ["client", handshake("PUSH")],
      ["server", handshake("PULL")],
      ["client", message(bytes("a"), bytes("1"))],
    ]
    expect(statisticsOf(capture(pushed)).topics).toEqual([])
    const said: Said = ["one", "two", "three"].map((text) => [
      "client",
      message(encoded("topic"), encoded(`message ${text}`)),
    ])
    const events = eventsOf(pcapFile(framesOf(conversation(said, { begun: false }))))
    const { topics, types } = statisticsOf(events)
    expect(topics).toMatchObject([{ name: "topic", messages: 3 }])
    expect(types).toMatchObject([{ name: "?", messages: 3 }])
  })

  test("are kept up to a number, those with the most bytes", () => {
    const statistics = new Statistics()
    const event = published()
    const [, second] = event.message.parts
    const add = (name: string, wireBytes: number) => {
      const [first] = event.message.parts
      const parts = [{ ...first!, plain: bytes(name) }, second!]
      statistics.add({ ...event, message: { ...event.message, parts, wireBytes } })
    }
    for (let i = 0; i < 100_000; i++) {
      add(`rare ${i}`, 10)
      if (i % 10 === 0) add("frequent", 1000)
    }
    const { topics, otherTopics, total } = statistics.summary()
    expect(topics[0]).toEqual({
      name: "frequent",
      messages: 10_000,
      plainBytes: 10_000 * event.message.plainBytes,
      wireBytes: 10_000_000,
    })
    expect(topics.length).toBeLessThan(20_000)
    const all = [...topics, otherTopics!].reduce((sum, { messages }) => sum + messages, 0)
    expect(all).toBe(110_000)
    expect(total.messages).toBe(110_000)
  })
})

describe("periods", () => {
  const S = 1_000_000_000n

  function periodsAt(times: readonly (bigint | undefined)[]) {
    const statistics = new Statistics()
    const event = published()
    for (const time of times) statistics.add({ ...event, message: { ...event.message, time } })
    const { periods, periodSeconds, total } = statistics.summary()
    expect(total.messages).toBe(times.length)
    return { periodSeconds, periods: periods.map(({ start, messages }) => [start, messages]) }
  }

  test("are seconds, whatever the order of times, and of times before 1970", () => {
    expect(periodsAt([5n * S, 3n * S + 1n, 5n * S - 1n, -1n, undefined])).toEqual({
      periodSeconds: 1,
      periods: [
        [-1, 1],
        [3, 1],
        [4, 1],
        [5, 1],
      ],
    })
  })

  test("become longer, so that there are at most 3600", () => {
    const times = Array.from({ length: 10_000 }, (_, i) => BigInt(i) * S)
    const { periodSeconds, periods } = periodsAt(times)
    expect(periodSeconds).toBe(4)
    expect(periods).toEqual(Array.from({ length: 2500 }, (_, i) => [4 * i, 4]))
  })

  test("are bounded for times far apart", () => {
    const times = Array.from({ length: 10_000 }, (_, i) => BigInt(i) * 900_000n * S)
    expect(periodsAt(times).periods.length).toBeLessThanOrEqual(3600)
  })
})

test("dictionaries and messages that do not decode are counted apart", () => {
  using codec = Codec.createSync({ dictionary: bytes("it was a dark and stormy night") })
  const wire = codec.encode([bytes("it was a dark and stormy night. ".repeat(10))])
  const said: Said = [
    ["client", handshake("PUSH")],
    ["server", handshake("PULL")],
    ...wire.map((parts) => ["client", message(...parts)] as const),
    ["client", message(Uint8Array.of(...bytes("LZ4B"), 1, 2, 3))],
  ]
  const { total, dictionaries, undecoded } = statisticsOf(capture(said))
  expect(total).toEqual({ messages: 1, plainBytes: 320, wireBytes: wire[1]![0]!.length })
  expect(dictionaries).toEqual({ count: 1, wireBytes: wire[0]![0]!.length })
  expect(undecoded).toEqual({ messages: 1, wireBytes: 7 })
})

test("of CURVE, only the number of commands and their bytes are known", () => {
  const file = gunzipSync(
    readFileSync(new URL("../../recorded/curve-lz4.pcap.gz", import.meta.url)),
  )
  const events = eventsOf(new Uint8Array(file))
  const { total, encrypted } = statisticsOf(events)
  const [connection] = events.flatMap((event) => (event.type === "close" ? [event.connection] : []))
  const { client, server } = connection!.encrypted!
  expect(total.messages).toBe(0)
  expect(encrypted).toEqual({
    messages: client.messages + server.messages,
    bytes: client.bytes + server.bytes,
  })
})

test("a filter chooses what counts, and not which subscriptions are known", () => {
  const events = capture([
    ["client", handshake("PUB")],
    ["server", handshake("SUB")],
    ["server", SUBSCRIBE("a")],
    ["client", message(bytes("apple"))],
    ["client", message(bytes("avocado"))],
  ])
  const { topics, total } = statisticsOf(events, "apple")
  expect(total.messages).toBe(1)
  expect(topics).toMatchObject([{ name: "a", messages: 1, plainBytes: 5 }])
})
