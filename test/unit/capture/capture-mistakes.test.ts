/** Recordings that were made wrongly, or are of something else. */
import { describe, expect, test } from "vitest"

import { decodeCapture } from "../../../src/capture/index.js"
import { conversation, framesOf, pcapFile, type Said } from "../../support/capture-files.js"
import { captured } from "../../support/captures.js"
import { concat, plainPart } from "../../support/wire.js"
import { handshake, message } from "../../support/zmtp.js"

const part = (bytes: number) => message(plainPart(new Uint8Array(bytes).fill(0x61)))

describe("packets that were cut to a snap length", () => {
  const talk = (port: number) =>
    conversation(
      [
        ["client", handshake("PUSH")],
        ...Array.from({ length: 50 }, (_, i) => ["client", part(i % 3 ? 20 : 500)] as const),
      ],
      { client: `127.0.0.1:${port}` },
    )

  test("are told once, with what to do, and the messages that are whole are read", () => {
    const file = pcapFile(framesOf([...talk(1000), ...talk(1001)], { snapLength: 200 }))
    const { connections, errors } = decodeCapture(file)
    expect(errors).toEqual([])
    expect(connections).toHaveLength(2)
    const [told, ...others] = connections.flatMap(({ errors }) => errors)
    expect(others).toEqual([])
    expect(told).toMatchObject({ code: "ERR_CAPTURE_CUT", from: "client" })
    expect(told!.message).toMatch(/^packets were cut .* by 379 bytes, .* tcpdump -s 0/)
    for (const { messages } of connections) expect(messages).toHaveLength(33)
  })

  test("do not hide that other bytes are missing", () => {
    const packets = talk(1000)
    packets.splice(11, 2)
    const { connections } = decodeCapture(pcapFile(framesOf(packets, { snapLength: 200 })))
    const messages = connections[0]!.errors.map(({ message }) => message)
    expect(messages).toHaveLength(2)
    expect(messages.filter((message) => message.startsWith("packets were cut"))).toHaveLength(1)
  })
})

describe("other protocols", () => {
  const u16 = (value: number) => Uint8Array.of(value >> 8, value & 255)

  /** A connection of OpenFlow from its middle: heads of 8 bytes, then data with many zeros. */
  function openFlow(version: number, random: () => number): Uint8Array {
    const said: Said = Array.from({ length: 200 }, (_, i) => {
      const body = Uint8Array.from({ length: Math.floor(random() * 100) }, () =>
        random() < 0.6 ? 0 : Math.floor(random() * 256),
      )
      const head = concat(
        Uint8Array.of(version, 10),
        u16(8 + body.length),
        Uint8Array.of(0, 0),
        u16(i),
      )
      return [i % 2 ? "client" : "server", concat(head, body)] as const
    })
    return captured(said, { begun: false, server: "127.0.0.1:6633" })
  }

  test.each([1, 2, 3, 4, 5, 6])("OpenFlow is not taken for ZeroMQ: version byte %i", (version) => {
    let state = version
    const random = () => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31
      return state / 2 ** 31
    }
    for (let run = 0; run < 5; run++)
      expect(decodeCapture(openFlow(version, random)).connections).toEqual([])
  })

  test("a large message from the middle of a connection is found nevertheless", () => {
    const large = message(plainPart(new Uint8Array(400_000).fill(0x61)))
    const { connections } = decodeCapture(
      captured([["client", concat(new Uint8Array(99).fill(0x61), large, large)]], { begun: false }),
    )
    expect(connections).toHaveLength(1)
    expect(connections[0]!.messages).toHaveLength(2)
    expect(connections[0]!.errors.map(({ message }) => message)).toEqual([
      "99 bytes skipped up to the first frame that could be found",
    ])
  })
})
