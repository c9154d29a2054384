/** Recorded traffic of Ruby's omq-lz4 0.3.4, decoded as a capture and by the codec (test/recorded/README.md). */
import { describe, expect, test } from "vitest"
import { decodeCapture } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"

import type { Side } from "../../../src/capture/events.js"
import { capture, streams, texts } from "../../support/omq-lz4.js"
import { messagesOf, parseStream } from "../../support/zmtp.js"

const { connections, errors } = decodeCapture(capture)

const CONNECTIONS = [
  { peers: ["REP", "REQ"], messages: [100, 100], dictionaries: [236, 1136] },
  { peers: ["XSUB", "XPUB"], messages: [0, 65], dictionaries: [undefined, 236] },
  { peers: ["PUSH", "PULL"], messages: [1000, 0], dictionaries: [2048, undefined] },
  { peers: ["PUSH", "PULL"], messages: [50, 0], dictionaries: [236, undefined] },
].map((expected, index) => ({ ...expected, index, what: expected.peers.join(" to ") }))

const SIDES: readonly Side[] = ["client", "server"]

test("the capture has four connections, and no errors", () => {
  expect(errors).toEqual([])
  expect(connections).toHaveLength(CONNECTIONS.length)
})

describe.each(CONNECTIONS)("$what", ({ index, peers, messages, dictionaries }) => {
  const connection = connections[index]!
  const from = (side: Side) => connection.messages.filter((message) => message.from === side)

  test("is read as a capture", () => {
    expect(connection.errors).toEqual([])
    expect(connection.transport).toBe("lz4+tcp")
    for (const [i, side] of SIDES.entries()) {
      expect(connection.handshakes[side]?.socketType).toBe(peers[i])
      const delivered = from(side)
      expect(delivered).toHaveLength(messages[i] as number)
      for (const { parts } of delivered)
        expect(parts.filter(({ error }) => error !== undefined)).toEqual([])
    }
  })

  test.each(SIDES)("is decoded by the codec to the same messages, from the %s", (side) => {
    const i = SIDES.indexOf(side)
    using codec = Codec.createSync()
    const wire = messagesOf(parseStream(streams()[index]![side]).frames)
    const decoded = wire.flatMap((message) => codec.decode(message))
    expect(decoded).toHaveLength(messages[i] as number)
    expect(texts(decoded)).toEqual(
      texts(from(side).map(({ parts }) => parts.map(({ plain }) => plain as Uint8Array))),
    )
    const shipped = wire.find(([part]) => Buffer.from(part!.subarray(0, 4)).equals(LZ4D))
    expect(shipped && shipped[0]!.length - LZ4D.length).toBe(dictionaries[i])
  })
})

const LZ4D = Buffer.from("LZ4D")
