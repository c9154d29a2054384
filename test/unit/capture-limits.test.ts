/** Captures of peers that send too much: what is said of them, and kept, has limits. */
import { describe, expect, test } from "vitest"
import { decodeCapture } from "zeromq-lz4/capture"
import { conversation, framesOf, pcapFile, type Said } from "../support/capture-files.js"
import { only } from "../support/captures.js"
import { concat } from "../support/wire.js"
import { COMMAND, frame, greeting, handshake, message } from "../support/zmtp.js"

const text = (words: string): Uint8Array => Buffer.from(words, "latin1")
const capture = (said: Said): Uint8Array => pcapFile(framesOf(conversation(said)))
const server: Said[number] = ["server", handshake("PULL")]

function property(name: string, value: Uint8Array): Uint8Array {
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, value.length)
  return concat(Uint8Array.of(name.length), text(name), length, value)
}
const ready = (...properties: Uint8Array[]): Uint8Array =>
  frame(concat(Uint8Array.of(5), text("READY"), ...properties), COMMAND)

describe("a READY", () => {
  test("may have a socket type of 200 KB, and what follows is read", () => {
    const type = "T".repeat(200_000)
    const bytes = concat(greeting(), ready(property("Socket-Type", text(type))))
    const { handshakes, commands, messages, errors } = only(
      capture([["client", concat(bytes, message(text("hello")))], server]),
    )
    expect(handshakes.client?.socketType).toBe(type)
    expect(commands[0]?.detail).toBe(`Socket-Type "${"T".repeat(100)}" …`)
    expect(messages).toHaveLength(1)
    expect(errors).toEqual([])
  })

  test("of 80,000 properties is described by a few, of which 256 are kept", () => {
    const properties = Array.from({ length: 80_000 }, (_, i) => property(`X${i}`, text("v")))
    const file = capture([["client", concat(greeting(), ready(Buffer.concat(properties)))], server])
    const { handshakes, commands } = only(file)
    expect(handshakes.client?.properties.size).toBe(256)
    expect(commands[0]?.detail).toMatch(/^X0 "v", X1 "v", .{100,200} …$/)
  })
})

describe("an error quotes printable characters, and few of them", () => {
  test.each<[what: string, bytes: Uint8Array, says: RegExp]>([
    ["HTTP", text(`GET /${"a".repeat(128_000)} HTTP/1.1\r\n`), /^the greeting looks like HTTP/],
    ["noise", new Uint8Array(128_000).fill(0x9b), /^the greeting begins with 9b 9b/],
    ["a mechanism", greeting({ mechanism: "\x1b]0;\x07\x9b2J" }), /"\\x1b\]0;\\x07\\x9b2J"/],
  ])("%s", (_, bytes, says) => {
    const { connections } = decodeCapture(capture([server, ["client", bytes]]))
    const [error] = connections[0]?.errors ?? []
    expect(error?.message).toMatch(says)
    expect(error?.message.length).toBeLessThan(200)
    expect(error?.message).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
  })

  test("a command that is not well-formed", () => {
    const malformed = frame(
      concat(Uint8Array.of(5), text("ERROR"), new Uint8Array(500_000).fill(0xff)),
      COMMAND,
    )
    const { commands } = only(capture([["client", concat(greeting(), malformed)], server]))
    expect(commands[0]?.detail.length).toBeLessThan(1000)
  })
})
