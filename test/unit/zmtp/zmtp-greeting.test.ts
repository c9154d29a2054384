/** Reading and writing greetings (RFC.md section 3.1). */
import { describe, expect, test } from "vitest"
import {
  GREETING_BYTES,
  isOld,
  mayGreet,
  notLibzmq,
  readGreeting,
  SIGNATURE_BYTES,
  writeGreeting,
} from "../../../src/zmtp/greeting.js"

/** Returns the greeting of RFC.md section 3.1, with some bytes changed. */
function greeting(changes: Record<number, number | string> = {}): Uint8Array {
  const bytes = new Uint8Array(64)
  bytes[0] = 0xff
  bytes[9] = 0x7f
  bytes[10] = 3
  bytes[11] = 1
  bytes.set(Buffer.from("NULL"), 12)
  for (const [at, value] of Object.entries(changes))
    bytes.set(typeof value === "string" ? Buffer.from(value, "latin1") : [value], Number(at))
  return bytes
}

describe("a greeting that is written", () => {
  test.each(["NULL", "PLAIN"] as const)("has every field in its place: %s", (mechanism) => {
    const written = writeGreeting(mechanism)
    expect(written).toHaveLength(64)
    expect([written[0], written[9]]).toEqual([0xff, 0x7f])
    expect([...written.subarray(10, 12)]).toEqual([3, 1])
    expect([...written.subarray(12, 32)]).toEqual([
      ...Buffer.from(mechanism),
      ...new Uint8Array(20 - mechanism.length),
    ])
    expect(written[32]).toBe(0)
    expect([...written.subarray(33)]).toEqual([...new Uint8Array(31)])
  })

  test("can be read again", () => {
    expect(readGreeting(writeGreeting("PLAIN"))).toEqual({
      ...{ major: 3, minor: 1, mechanism: "PLAIN", asServer: false, isLibzmq: true },
    })
  })
})

describe("a greeting that is read", () => {
  const plain = { major: 3, minor: 1, mechanism: "NULL", asServer: false, isLibzmq: false }
  const old = { minor: 0, mechanism: "", asServer: false, isLibzmq: false }
  test.each<[what: string, changes: Record<number, number | string>, read: object]>([
    ["as it should be", {}, plain],
    ["padding that is not zero", { 1: "padding." }, { ...plain, isLibzmq: true }],
    ["libzmq's, with no routing id", { 8: 1 }, { ...plain, isLibzmq: true }],
    ["ZMTP 3.0", { 11: 0 }, { ...plain, minor: 0 }],
    ["a version to come", { 10: 4, 11: 2 }, { ...plain, major: 4, minor: 2 }],
    ["another mechanism", { 12: "CURVE" }, { ...plain, mechanism: "CURVE" }],
    ["a mechanism of 20 bytes", { 12: "M".repeat(20) }, { ...plain, mechanism: "M".repeat(20) }],
    [
      "a mechanism that is no ASCII",
      { 12: "\x1b\x9b\xff\0" },
      { ...plain, mechanism: "\x1b\x9b\xff" },
    ],
    ["bytes behind a zero byte", { 17: "junk" }, { ...plain, mechanism: "NULL\0junk" }],
    ["no mechanism", { 12: "\0\0\0\0" }, { ...plain, mechanism: "" }],
    ["a server", { 32: 1 }, { ...plain, asServer: true }],
    ["as-server of neither 0 nor 1", { 32: 2 }, plain],
    ["a filler that is not zero", { 33: "filler" }, plain],
    ["ZMTP 1", { 10: 0, 12: "CURVE", 32: 1 }, { ...old, major: 1 }],
    ["ZMTP 2", { 10: 1, 12: "CURVE", 32: 1 }, { ...old, major: 2 }],
  ])("has the values of its fields: %s", (_, changes, read) => {
    expect(readGreeting(greeting(changes))).toEqual(read)
  })

  test("a greeting that a bridge passes on is not libzmq's, however it is cut", () => {
    const whole = greeting({ 1: "padding.", 33: "filler" })
    for (let cut = 0; cut <= 64; cut++) {
      const pieces = [notLibzmq(whole.subarray(0, cut), 0), notLibzmq(whole.subarray(cut), cut)]
      expect(Buffer.concat(pieces)).toEqual(Buffer.from(greeting({ 33: "filler" })))
    }
  })

  test.each([
    [0, true],
    [1, true],
    [2, true],
    [3, false],
    [4, false],
    [255, false],
  ])("is old below version 3: %d", (major, old) => {
    expect(isOld(greeting({ 10: major }))).toBe(old)
  })
})

describe("a signature", () => {
  test("is possible after any of its bytes", () => {
    expect([SIGNATURE_BYTES, GREETING_BYTES]).toEqual([10, 64])
    for (let length = 0; length <= 64; length++)
      expect(mayGreet(greeting().subarray(0, length))).toBe(true)
  })

  test.each(Array.from({ length: 64 }, (_, at) => at))(
    "is recognized by its first and last byte only: byte %d changed",
    (at) => {
      const changed = greeting({ [at]: 0x55 })
      for (let length = 0; length <= 64; length++) {
        const wrong = (at === 0 || at === 9) && at < length
        expect(mayGreet(changed.subarray(0, length))).toBe(!wrong)
      }
    },
  )
})
