/** The rules of reassembling a connection's segments. */
import { describe, expect, test } from "vitest"

import {
  CLIENT,
  conversation,
  framesOf,
  LINK_TYPES,
  pcapFile,
  SERVER,
  type TcpPacket,
  wrapped,
} from "../../support/capture-files.js"
import { type RecordOptions, record, textBy } from "../../support/recorded-streams.js"

const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1")
const linkType = LINK_TYPES.RAW
const recordPackets = (packets: readonly TcpPacket[], options?: RecordOptions, snapLength = 1e9) =>
  record(pcapFile(framesOf(packets, { linkType, snapLength }), { linkType }), options)

/** The client's bytes, of the only connection. */
function clientSaid(packets: readonly TcpPacket[]) {
  const { connections, errors } = recordPackets(packets)
  expect(errors).toEqual([])
  expect(connections.length).toBe(1)
  return textBy(connections[0]!, "client")
}

// SYN, SYN+ACK, ACK, then data at 3, 5, 7, 9, each followed by its acknowledgement; FIN at 11.
const letters = (options = {}) =>
  conversation([["client", ascii("aabbccdd")]], { segmentBytes: 2, closed: "FIN", ...options })
const whole = ['"aabbccdd"', "end"]
/** Packets without data, such as acknowledgements of a keep-alive. */
const idle = (packets: readonly TcpPacket[], count: number): TcpPacket[] =>
  Array<TcpPacket>(count).fill({ ...packets.at(-1)!, flags: "A", data: new Uint8Array(0) })
const moved = (packets: readonly TcpPacket[], from: number, to: number): TcpPacket[] => {
  const rest = packets.filter((_, i) => i !== from)
  return [...rest.slice(0, to), packets[from]!, ...rest.slice(to)]
}

describe("segments", () => {
  test("segments that arrive twice count once", () => {
    expect(clientSaid(letters().flatMap((packet) => [packet, packet]))).toEqual(whole)
  })

  test.each([
    { from: 3, to: 11 },
    { from: 5, to: 7 },
    { from: 9, to: 3 },
    { from: 11, to: 3 },
    { from: 12, to: 4 },
  ])("segments in another order are sorted: $from at $to", ({ from, to }) => {
    expect(clientSaid(moved(letters(), from, to))).toEqual(whole)
  })

  test("segments in reverse order are sorted", () => {
    const packets = letters()
    const data = packets.splice(3, 8).reverse()
    packets.splice(3, 0, ...data)
    expect(clientSaid(packets)).toEqual(whole)
  })

  test.each([
    { first: 1, text: "XX", waits: false, expected: '"aabbccdd"' },
    { first: 0, text: "XXXX", waits: true, expected: '"XXXXccdd"' },
    { first: 1, text: "XXXX", waits: true, expected: '"aXXXXcdd"' },
    { first: 3, text: "XXXXX", waits: true, expected: '"aabXXXXX"' },
  ])(
    "segments that overlap: the first bytes count; $text at $first",
    ({ first, text, waits, expected }) => {
      const packets = letters()
      const overlapping: TcpPacket = {
        ...packets[3]!,
        sequence: packets[3]!.sequence + first,
        data: ascii(text),
      }
      packets.splice(waits ? 3 : 11, 0, overlapping)
      expect(clientSaid(packets)).toEqual([expected, "end"])
    },
  )

  test("segments that fill gaps between others do not change those", () => {
    const packets = letters()
    const all: TcpPacket = { ...packets[3]!, data: ascii("XXXXXXXX") }
    const tail: TcpPacket = { ...packets[5]!, data: ascii("YYYYYY") }
    const [b, d] = [packets[5]!, packets[9]!]
    const rest = packets.slice(11)
    expect(clientSaid([...packets.slice(0, 3), b, d, all, ...rest])).toEqual(['"XXbbXXdd"', "end"])
    expect(clientSaid([...packets.slice(0, 3), b, d, tail, all, ...rest])).toEqual([
      '"XXbbYYdd"',
      "end",
    ])
  })

  test("segments whose sequence numbers wrap", () => {
    for (let i = 0; i < 12; i++) {
      const initial = { client: wrapped(-i), server: wrapped(-1) }
      expect(clientSaid(letters({ initial }))).toEqual(whole)
      expect(clientSaid(moved(letters({ initial }), 5, 9))).toEqual(whole)
    }
  })

  test("segments that probe an idle connection or a window of 0 are not data", () => {
    const packets = letters()
    const { sequence } = packets[5]!
    const probe = (sequence: number, text: string): TcpPacket => ({
      ...packets[5]!,
      sequence,
      data: ascii(text),
    })
    packets.splice(5, 0, probe(sequence - 1, ""), probe(sequence - 1, "?"), probe(sequence, "b"))
    expect(clientSaid(packets)).toEqual(whole)
  })

  test("segments with data in the SYN", () => {
    const packets = letters()
    packets[0] = { ...packets[0]!, data: ascii("aa") }
    packets.splice(3, 1)
    expect(clientSaid(packets)).toEqual(whole)
  })

  test("segments that wait keep their position and time", () => {
    const packets = moved(letters(), 3, 6)
    const inOrder = recordPackets(letters()).connections[0]!
    const sorted = recordPackets(packets).connections[0]!
    const timesOf = ({ calls }: typeof sorted) =>
      calls.flatMap(({ call, time }) => (call === "data" ? [time] : []))
    expect(timesOf(sorted)).toEqual(timesOf(inOrder))
  })
})

describe("the client", () => {
  const whoIs = (packets: readonly TcpPacket[]) =>
    recordPackets(packets).connections.map(({ client, server, begun }) => [client, server, begun])

  test("is the side that sends the SYN, whatever the ports are", () => {
    const ends = { client: "10.0.0.1:80", server: "10.0.0.2:50000" }
    expect(whoIs(letters(ends))).toEqual([[ends.client, ends.server, true]])
    // The SYN+ACK is enough too.
    expect(whoIs(letters(ends).slice(1))).toEqual([[ends.client, ends.server, true]])
  })

  test("is the side with the higher port, if the beginning is missing", () => {
    expect(whoIs(letters().slice(2))).toEqual([[CLIENT, SERVER, false]])
    const reversed = { client: SERVER, server: CLIENT }
    expect(whoIs(letters(reversed).slice(3))).toEqual([[CLIENT, SERVER, false]])
  })
})

describe("connections", () => {
  test("without data have no sink", () => {
    const attempt = conversation([], { closed: "FIN" })
    expect(recordPackets(attempt).connections).toEqual([])
    expect(recordPackets(attempt.slice(0, 1)).connections).toEqual([])
  })

  test("between the same ports are distinguished by their SYN", () => {
    const again = letters({ initial: { client: 77_000, server: 5 } })
    for (const firstPackets of [13, 14, 11, 10]) {
      const { connections } = recordPackets([...letters().slice(0, firstPackets), ...again])
      expect(connections.length).toBe(2)
      expect(textBy(connections[0]!, "client")[0]).toBe('"aabbccdd"')
      expect(textBy(connections[1]!, "client")).toEqual(whole)
    }
  })

  test("between the same ports are distinguished by the SYN+ACK, if the SYN is missing", () => {
    const again = letters({ initial: { client: 77_000, server: 5 } })
    const { connections } = recordPackets([...letters(), ...again.slice(1)])
    expect(connections.map((connection) => textBy(connection, "client"))).toEqual([whole, whole])
  })

  test("begin at their own SYN, whatever an old packet says", () => {
    const packets = conversation([["server", ascii("news")]])
    const old: TcpPacket = { ...packets[1]!, flags: "A", sequence: 4_000_000, acknowledged: 7 }
    const { connections } = recordPackets([packets[0]!, old, ...packets.slice(1)])
    expect(connections.map((connection) => textBy(connection, "server"))).toEqual([
      ['"news"', "cut"],
    ])
  })

  test("opened by both sides at once are one connection", () => {
    const packets = letters()
    packets[1] = { ...packets[1]!, flags: "S", acknowledged: 0 }
    expect(clientSaid(packets)).toEqual(whole)
  })

  test("connections that are closed accept no more data", () => {
    const packets = letters()
    const { connections } = recordPackets([...packets, ...packets.slice(3, 14), packets[0]!])
    expect(connections.map((connection) => textBy(connection, "client"))).toEqual([whole])
  })

  test("closed by one side continue", () => {
    const half = conversation([["client", ascii("question")]])
    const { sequence, acknowledged } = half.at(-2)!
    const fin: TcpPacket = { ...half.at(-2)!, flags: "FA", data: ascii(""), sequence: sequence + 8 }
    const answer: TcpPacket = {
      ...half.at(-1)!,
      sequence: acknowledged,
      acknowledged: fin.sequence + 1,
      data: ascii("answer"),
    }
    const [connection] = recordPackets([...half, fin, answer]).connections
    expect(textBy(connection!, "client")).toEqual(['"question"', "end"])
    expect(textBy(connection!, "server")).toEqual(['"answer"', "cut"])
  })

  test("connections that are reset end on both sides", () => {
    const [connection] = recordPackets(letters({ closed: "RST" })).connections
    expect(textBy(connection!, "client")).toEqual(whole)
    expect(textBy(connection!, "server")).toEqual(["end"])
  })

  test("connections of no interest give no more events", () => {
    const { connections } = recordPackets(letters(), { wanted: () => false })
    expect(connections.map(({ calls }) => calls.length)).toEqual([1])
    // Nor waiting data.
    const reordered = recordPackets(moved(letters(), 3, 10), { wanted: () => false })
    expect(reordered.connections.map(({ calls }) => calls.length)).toEqual([1])
  })

  test("connections that began before the capture start with the first new byte", () => {
    const packets = letters().slice(5)
    expect(clientSaid([...packets, letters()[3]!])).toEqual(['"bbccdd"', "end"])
    // An acknowledgement also tells its position.
    expect(clientSaid([letters()[4]!, ...packets])).toEqual(['"bbccdd"', "end"])
    expect(clientSaid([letters()[4]!, ...packets.slice(2)])).toEqual([2, '"ccdd"', "end"])
  })

  test("are dropped if there are too many without data, or of no interest", () => {
    const silent = Array.from({ length: 20_000 }, (_, i): TcpPacket => {
      const client = `10.${i >> 8}.${i & 255}.1:40000`
      return conversation([], { client })[0]!
    })
    const packets = [...letters().slice(0, 6), ...silent, ...letters().slice(6)]
    const clientsSaid = (known: boolean) =>
      recordPackets(packets, { known }).connections.map((each) => textBy(each, "client"))
    expect(clientsSaid(true)).toEqual([whole])
    expect(clientsSaid(false)).toEqual([
      ['"aabb"', "cut"],
      ['"ccdd"', "end"],
    ])
  })
})

describe("gaps", () => {
  /** Leaves out the segments with these letters. */
  const without = (text: string, packets = letters()) =>
    packets.filter(({ data }) => data.length === 0 || !Buffer.from(data).toString().match(text))

  test.each([
    { lost: "a", expected: [2, '"bbccdd"', "end"] },
    { lost: "b", expected: ['"aa"', 2, '"ccdd"', "end"] },
    { lost: "[bc]", expected: ['"aa"', 4, '"dd"', "end"] },
    { lost: "[ac]", expected: [2, '"bb"', 2, '"dd"', "end"] },
    { lost: "[cd]", expected: ['"aabb"', 4, "end"] },
  ])("gaps at the end of a connection: $lost", ({ lost, expected }) => {
    expect(clientSaid(without(lost))).toEqual(expected)
  })

  test("when a connection is reset, or the capture ends", () => {
    expect(clientSaid(without("b", letters({ closed: "RST" })))).toEqual([
      '"aa"',
      2,
      '"ccdd"',
      "end",
    ])
    expect(clientSaid(without("b", letters({ closed: undefined })))).toEqual([
      '"aa"',
      2,
      '"ccdd"',
      "cut",
    ])
  })

  test("gaps at the end extend to the last acknowledgement, minus one byte that may be a FIN", () => {
    const cut = letters({ closed: undefined })
    expect(clientSaid(without("[cd]", cut))).toEqual(['"aabb"', 4, "cut"])
    expect(clientSaid(without("[cd]", letters({ closed: "RST" })))).toEqual(['"aabb"', 4, "end"])
    const finLost = letters().filter((_, i) => i !== 11)
    expect(clientSaid(finLost)).toEqual(['"aabbccdd"', "cut"])
  })

  test("are declared after more packets than captures usually reorder", () => {
    const packets = without("b").slice(0, 10)
    const late = letters()[5]!
    expect(clientSaid([...packets, ...idle(packets, 25), late])).toEqual(['"aabbccdd"', "cut"])
    expect(clientSaid([...packets, ...idle(packets, 70), late])).toEqual([
      '"aa"',
      2,
      '"ccdd"',
      "cut",
    ])
  })

  test("are not declared before the other side has acknowledged the missing bytes", () => {
    const packets = without("b")
      .slice(0, 10)
      .filter(({ from }, i) => i < 3 || from === "client")
    const unacknowledged = [...packets, ...idle(packets, 200)]
    expect(clientSaid([...unacknowledged, letters()[5]!])).toEqual(['"aabbccdd"', "cut"])
  })

  test("gaps of a connection that was closed are declared after many packets of others", () => {
    const others = Array.from({ length: 600 }, (_, i) =>
      conversation([["client", ascii("x")]], { client: `10.0.0.1:${1024 + i}` }),
    )
    const late = letters()[5]!
    const declared = recordPackets([...without("b"), ...others.flat(), late]).connections[0]!
    expect(textBy(declared, "client")).toEqual(['"aa"', 2, '"ccdd"', "end"])
    const patient = recordPackets([...without("b"), ...others[0]!, late]).connections[0]!
    expect(textBy(patient, "client")).toEqual(whole)
  })

  test.each([
    { what: "segments", segmentBytes: 1, most: 16384 },
    { what: "bytes", segmentBytes: 65_000, most: Math.floor((64 * 1024 * 1024) / 65_000) },
  ])("are declared if too many $what wait", ({ segmentBytes, most }) => {
    const gapsBehind = (segments: number) => {
      const said = new Uint8Array((segments + 1) * segmentBytes)
      const all = conversation([["client", said]], { segmentBytes })
      const [first, ...others] = all.filter(({ data }) => data.length > 0)
      const { calls } = recordPackets([...all.slice(0, 3), ...others, first!]).connections[0]!
      return calls.flatMap((entry) => (entry.call === "gap" ? [entry.bytes] : []))
    }
    expect(gapsBehind(most)).toEqual([])
    expect(gapsBehind(most + 1)).toEqual([segmentBytes])
  })

  test("are declared for bytes cut by a snap length", () => {
    const packets = conversation([["client", ascii("abcdefghij")]], {
      segmentBytes: 5,
      closed: "FIN",
    })
    const { connections } = recordPackets(packets, {}, 20 + 32 + 3)
    expect(textBy(connections[0]!, "client")).toEqual(['"abc"', 2, '"fgh"', 2, "end"])
    // Also out of order, repeated and overlapping.
    const again = { ...packets[3]!, data: ascii("abcdefg") }
    const shuffled = [...moved(packets, 3, 6), again, ...packets.slice(3, 6)]
    expect(textBy(recordPackets(shuffled, {}, 20 + 32 + 3).connections[0]!, "client")).toEqual([
      '"abc"',
      2,
      '"fgh"',
      2,
      "end",
    ])
  })

  test("have the position and time of the data after them", () => {
    const packets = without("b")
    const file = pcapFile(framesOf(packets, { linkType }), { linkType })
    const { calls } = record(file).connections[0]!
    const gap = calls.findIndex(({ call }) => call === "gap")
    expect(calls[gap]).toMatchObject({ bytes: 2, time: packets[6]!.time })
    const { offset } = calls[gap + 1] as { offset: number }
    expect(calls[gap]).toMatchObject({ offset })
  })
})

describe("resets and ends", () => {
  const reset = (packets: readonly TcpPacket[], at: number, change: Partial<TcpPacket> = {}) => {
    const { sequence } = packets[at]!
    const packet = { ...packets[at]!, flags: "RA", data: new Uint8Array(0), sequence, ...change }
    return [...packets.slice(0, at), packet, ...packets.slice(at)]
  }
  const later = (packets: readonly TcpPacket[], by: bigint): TcpPacket[] =>
    packets.map((packet) => ({ ...packet, time: packet.time + by }))

  test.each([
    ["before", -1000],
    ["far behind", 2 ** 31],
    ["behind", 1_073_741_825 + 65_535 * 2 ** 14],
  ])("a reset %s the window is not taken, and counted", (_, distance) => {
    const packets = letters()
    const sequence = wrapped(packets[7]!.sequence + distance)
    const { connections, unread } = recordPackets(reset(packets, 7, { sequence }))
    expect(textBy(connections[0]!, "client")).toEqual(whole)
    expect([...unread]).toEqual([["TCP resets outside of the window", 1]])
    expect(connections[0]!.ending).toBe("FIN of the client")
  })

  test("a reset in the window is the end, unless data follows", () => {
    const packets = letters()
    const ended = recordPackets(
      reset(packets.slice(0, 7), 6, { from: "client", sequence: packets[7]!.sequence }),
    )
    expect(textBy(ended.connections[0]!, "client")).toEqual(['"aabb"', "end"])
    expect(ended.connections[0]!.ending).toBe("RST of the client")
    const gone = recordPackets(reset(packets, 7))
    expect(textBy(gone.connections[0]!, "client")).toEqual(whole)
    expect([...gone.unread]).toEqual([["TCP resets after which data followed", 1]])
    expect(gone.connections[0]!.ending).toBe("FIN of the client")
  })

  test("data that follows more than a second later is left out, and counted", () => {
    const packets = reset(letters(), 7)
    const late = [...packets.slice(0, 8), ...later(packets.slice(8), 1_000_001_000n)]
    const { connections, unread } = recordPackets(late)
    expect(textBy(connections[0]!, "client")).toEqual(['"aabb"', "end"])
    expect([...unread]).toEqual([["TCP after the end of its connection", 2]])
  })

  test("a window is as large as the SYN says", () => {
    // The generator's windows have 65,535 bytes and no scale.
    const packets = letters()
    const { sequence } = packets[7]!
    for (const [distance, taken] of [
      [65_535, true],
      [65_536, false],
    ] as const) {
      const { unread } = recordPackets(
        reset(packets, 7, { sequence: wrapped(sequence + distance) }),
      )
      expect([...unread.keys()]).toEqual(
        taken ? ["TCP resets after which data followed"] : ["TCP resets outside of the window"],
      )
    }
  })

  test("connections that were refused are counted by server", () => {
    const attempt = (client: string) => {
      const [syn] = conversation([], { client })
      return [
        syn!,
        {
          ...syn!,
          from: "server" as const,
          flags: "RA",
          sequence: 0,
          acknowledged: wrapped(syn!.sequence + 1),
        },
      ]
    }
    const { connections, refused } = recordPackets([
      ...attempt("127.0.0.1:1001"),
      ...attempt("127.0.0.1:1002"),
      ...conversation([["client", ascii("hello")]], { closed: "RST" }),
    ])
    expect([...refused]).toEqual([[SERVER, 2]])
    expect(connections).toHaveLength(1)
  })

  test("segments whose data was there before are counted", () => {
    const packets = letters()
    const again = [...packets.slice(0, 8), packets[3]!, packets[5]!, ...packets.slice(8)]
    const { connections } = recordPackets(again)
    expect(connections[0]!.repeated).toEqual({ client: 2, server: 0 })
    expect(textBy(connections[0]!, "client")).toEqual(whole)
  })
})
