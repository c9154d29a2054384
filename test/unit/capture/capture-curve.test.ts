/** Connections with CURVE, and peers of which one speaks `lz4+tcp://` and the other `tcp://`. */
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"

import { decodeCapture } from "../../../src/capture/index.js"
import { connectionSummary, transportText } from "../../../src/capture/summary.js"
import { captured } from "../../support/captures.js"
import { concat, plainPart } from "../../support/wire.js"
import { frame, greeting, handshake, message } from "../../support/zmtp.js"

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))

describe("CURVE", () => {
  test.each([
    ["zeromq.js over tcp://", "curve-tcp"],
    ["this package over lz4+tcp://", "curve-lz4"],
  ])("%s: the handshake is shown, who is server, and how much is encrypted", (_, name) => {
    const file = new Uint8Array(gunzipSync(readFileSync(`test/recorded/${name}.pcap.gz`)))
    const { connections, errors } = decodeCapture(file)
    expect(errors).toEqual([])
    expect(connections).toHaveLength(1)
    const connection = connections[0]!
    expect(connection.errors).toEqual([])
    expect(connection.messages).toEqual([])
    expect(connection.transport).toBeUndefined()
    const said = connection.commands.map(({ from, name, detail }) => `${from}: ${name} ${detail}`)
    expect(said.slice(0, 4)).toEqual([
      "client: HELLO CURVE, version 1.0",
      "server: WELCOME the server's keys, encrypted",
      "client: INITIATE metadata, encrypted",
      "server: READY metadata, encrypted",
    ])
    const messages = connection.commands.filter(({ name }) => name === "MESSAGE")
    expect(messages.length).toBe(said.length - 4)
    expect(connection.encrypted).toEqual({
      client: {
        messages: messages.length,
        bytes: messages.reduce((sum, { body }) => sum + 8 + body.length, 0),
      },
      server: { messages: 0, bytes: 0 },
    })
    // 10 messages of two parts, each in a frame.
    expect(messages.length).toBe(20)
    expect(messages[0]!.detail).toBe(`encrypted, ${messages[0]!.body.length} bytes`)
    expect(transportText(connectionSummary(connection, 0))).toBe(
      "encrypted with CURVE, the server is also the CURVE server",
    )
  })

  test("an ERROR says why, and messages in the clear are reported once for each side", () => {
    const hello = greeting({ mechanism: "CURVE" })
    const error = frame(bytes("\x05ERROR\x0e400 wrong keys"), 4)
    const { connections } = decodeCapture(
      captured([
        ["client", hello],
        ["server", concat(hello, error)],
        ["client", message(bytes("in the clear"))],
        ["client", message(bytes("in the clear"))],
      ]),
    )
    const [{ commands, errors, messages }] = connections as [(typeof connections)[0]]
    expect(commands).toMatchObject([{ name: "ERROR", detail: '"400 wrong keys"' }])
    expect(errors).toMatchObject([{ code: "ERR_ZMTP_CURVE", from: "client" }])
    expect(messages).toEqual([])
  })
})

describe("lz4+tcp:// against tcp://", () => {
  const lz4 = (text: string) => message(plainPart(bytes(text)))
  const plain = (text: string) => message(bytes(text))
  const warningOf = (...said: Parameters<typeof captured>[0]) =>
    decodeCapture(captured(said)).connections[0]!.warning

  test.each([
    ["client", "server"],
    ["server", "client"],
  ] as const)("the %s announces a revision, the other does not", (one, other) => {
    const ready = [
      [one, handshake("PAIR", 2)],
      [other, handshake("PAIR")],
    ] as const
    expect(warningOf(...ready)).toBeUndefined()
    expect(warningOf(...ready, [one, lz4("hello")])).toMatch(
      new RegExp(`^the ${one} speaks lz4\\+tcp://, and the ${other} does not announce`),
    )
    expect(warningOf(...ready, [other, plain("hello")])).toMatch(
      new RegExp(`^the ${other} speaks tcp:// and the ${one} lz4\\+tcp://, which refuses`),
    )
    expect(warningOf(...ready, [one, lz4("hello")], [other, plain("hello")])).toMatch(
      new RegExp(`^the ${one} speaks lz4\\+tcp:// and the ${other} tcp://, so they misread`),
    )
    // The endpoint accepts plain peers, or the other is an implementation that announces nothing.
    expect(warningOf(...ready, [other, plain("a")], [one, plain("b")])).toBeUndefined()
    expect(warningOf(...ready, [one, lz4("a")], [other, lz4("b")])).toBeUndefined()
  })

  test("nothing is said of peers that agree, or of which a READY is missing", () => {
    for (const revision of [undefined, 2])
      expect(
        warningOf(
          ["client", handshake("PAIR", revision)],
          ["server", handshake("PAIR", revision)],
          ["client", lz4("hello")],
        ),
      ).toBeUndefined()
    expect(warningOf(["client", handshake("PAIR", 2)], ["client", lz4("hello")])).toBeUndefined()
  })
})
