/** Reading and writing commands (RFC.md sections 3.1, 3.3, 3.4 and 3.5). */
import { describe, expect, test } from "vitest"
import {
  commandName,
  errorReason,
  isKnownCommand,
  pingTimeToLiveMs,
  writeCommand,
  writePing,
  writePong,
} from "../../../src/zmtp/commands.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame } from "../../support/zmtp.js"

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"))
const body = (name: string, data = ""): Uint8Array =>
  concat(Uint8Array.of(name.length), bytes(name + data))

describe("the name of a command (section 3.1)", () => {
  test.each<[what: string, body: Uint8Array, name: string | undefined]>([
    ["with data", body("READY", "data"), "READY"],
    ["of one character", body("A", "b"), "A"],
    ["of the first and the last character there is", body("!~", "."), "!~"],
    ["of 255 characters", body("N".repeat(255), "."), "N".repeat(255)],
    ["of no character", body("", "data"), undefined],
    ["in no body", concat(), undefined],
    ["with a space", body("RE DY", "."), undefined],
    ["with a control character", body("RE\x1bDY", "."), undefined],
    ["with DEL", body("READ\x7f", "."), undefined],
    ["with a byte above ASCII", body("READ\x9b", "."), undefined],
    ["longer than the body", Uint8Array.of(9, 0x41, 0x42), undefined],
  ])("%s", (_, body, name) => {
    expect(commandName(body)).toBe(name)
  })

  test("is missing in a body that is truncated within it", () => {
    const whole = body("SUBSCRIBE", "topic")
    for (let length = 0; length <= whole.length; length++)
      expect(commandName(whole.subarray(0, length))).toBe(length < 10 ? undefined : "SUBSCRIBE")
  })

  test.each("READY ERROR SUBSCRIBE CANCEL PING PONG JOIN LEAVE HELLO WELCOME INITIATE".split(" "))(
    "is known: %s",
    (name) => {
      expect(isKnownCommand(name)).toBe(true)
    },
  )

  test.each(["ready", "MESSAGE", "", undefined])("is not known: %s", (name) => {
    expect(isKnownCommand(name)).toBe(false)
  })
})

describe("a command that is written (section 3.3)", () => {
  test.each([
    ["READY", 0],
    ["READY", 249],
    ["READY", 250],
    ["SUBSCRIBE", 70_000],
    ["N".repeat(255), 1],
  ])("is a frame with the COMMAND flag, long above 255 bytes: %s, %d bytes", (name, length) => {
    const data = "d".repeat(length)
    expect(writeCommand(name, bytes(data))).toEqual(frame(body(name, data), COMMAND))
  })
})

describe("heartbeats (section 3.5)", () => {
  test.each([
    [0, [0, 0], 0],
    [1, [0, 1], 100],
    [300, [1, 44], 30_000],
    [65_535, [255, 255], 6_553_500],
  ])("a PING has its time to live in tenths of a second: %d", (tenths, written, ms) => {
    const data = Uint8Array.from(written)
    expect(writePing(tenths)).toEqual(frame(concat(body("PING"), data), COMMAND))
    expect(pingTimeToLiveMs(data)).toBe(ms)
    expect(pingTimeToLiveMs(concat(data, bytes("context")))).toBe(ms)
  })

  test.each([
    [[], 0],
    [[1], 25_600],
  ])("a truncated PING has zeros for the missing bytes: %j", (data, ms) => {
    expect(pingTimeToLiveMs(Uint8Array.from(data))).toBe(ms)
  })

  test.each([
    ["", ""],
    ["\0", ""],
    ["\0\x0a", ""],
    ["\0\x0acontext", "context"],
    [`\0\x0a${"c".repeat(16)}`, "c".repeat(16)],
    [`\0\x0a${"c".repeat(17)}`, "c".repeat(16)],
  ])("a PONG has the context of its PING, up to 16 bytes: %j", (data, context) => {
    expect(writePong(bytes(data))).toEqual(frame(body("PONG", context), COMMAND))
  })
})

describe("the reason of an ERROR (section 3.1)", () => {
  test.each<[what: string, data: Uint8Array, reason: string | undefined]>([
    ["a status", body("400"), "400"],
    ["no text", body(""), ""],
    ["any bytes", body("\x1b\x9b"), "\x1b\x9b"],
    ["255 bytes", body("r".repeat(255)), "r".repeat(255)],
    ["bytes behind it", body("400", "more"), "400"],
    ["no data", concat(), undefined],
    ["a length above what is there", Uint8Array.of(3, 0x34, 0x30), undefined],
  ])("%s", (_, data, reason) => {
    const found = errorReason(data)
    expect(found && Buffer.from(found).toString("latin1")).toBe(reason)
  })

  test("is missing in truncated data", () => {
    const whole = body("reason")
    for (let length = 0; length < whole.length; length++)
      expect(errorReason(whole.subarray(0, length))).toBeUndefined()
  })
})
