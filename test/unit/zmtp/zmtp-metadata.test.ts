/** Reading and writing the metadata of READY and INITIATE (RFC.md section 3.1). */
import { describe, expect, test } from "vitest"
import { findProperty, latin1, readMetadata, writeMetadata } from "../../../src/zmtp/metadata.js"
import { concat } from "../../support/wire.js"

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"))

/** Returns a property: its name after a byte, its value after 4 bytes. */
function property(name: string, value: string | Uint8Array, valueBytes = value.length): Uint8Array {
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, valueBytes)
  const body = typeof value === "string" ? bytes(value) : value
  return concat(Uint8Array.of(name.length), bytes(name), length, body)
}

const pairs = (body: Uint8Array): [string, string][] | undefined => {
  const read = readMetadata(body)
  return read && Array.from(read, ([name, value]) => [name, latin1(value)])
}

const long = "v".repeat(70_000)
const good: [what: string, body: Uint8Array, properties: [string, string][]][] = [
  ["nothing", concat(), []],
  ["one property", property("Socket-Type", "PUSH"), [["Socket-Type", "PUSH"]]],
  [
    "several, in order",
    concat(property("Identity", ""), property("Socket-Type", "DEALER"), property("X-a", "b")),
    [
      ["Identity", ""],
      ["Socket-Type", "DEALER"],
      ["X-a", "b"],
    ],
  ],
  ["a name of 255 bytes", property("n".repeat(255), "v"), [["n".repeat(255), "v"]]],
  ["an empty name", property("", "v"), [["", "v"]]],
  ["a value longer than two bytes can say", property("Long", long), [["Long", long]]],
  ["a name and a value of any bytes", property("\xff\0\x1b", "\x9b\0"), [["\xff\0\x1b", "\x9b\0"]]],
]

describe("metadata", () => {
  test.each(good)("is read: %s", (_, body, properties) => {
    expect(pairs(body)).toEqual(properties)
  })

  test.each(good)("is written in the same form: %s", (_, body, properties) => {
    const written = writeMetadata(properties.map(([name, value]) => [name, bytes(value)]))
    expect(Buffer.compare(written, body)).toBe(0)
  })

  test("metadata with a repeated name has the last value", () => {
    expect(pairs(concat(property("A", "1"), property("A", "2")))).toEqual([["A", "2"]])
  })

  test("is malformed if it is truncated, except between two properties", () => {
    const whole = concat(property("Socket-Type", "REQ"), property("Identity", "me"))
    const boundaries = new Set([0, property("Socket-Type", "REQ").length, whole.length])
    for (let length = 0; length <= whole.length; length++)
      expect(readMetadata(whole.subarray(0, length)) !== undefined).toBe(boundaries.has(length))
  })

  test.each([1, 256, 65_536, 2 ** 31, 2 ** 32 - 1])(
    "is malformed if a value is %d bytes longer than the data",
    (more) => {
      const length = Math.min(3 + more, 2 ** 32 - 1)
      expect(readMetadata(property("Name", "abc", length))).toBeUndefined()
    },
  )

  test("is read from the middle of an array, and its values are copies", () => {
    const array = concat(bytes("before"), property("Name", "abc"))
    const value = readMetadata(array.subarray(6))?.get("Name") as Uint8Array
    array.fill(0)
    expect(latin1(value)).toBe("abc")
  })
})

describe("a property", () => {
  const properties = new Map([
    ["Socket-Type", bytes("PUB")],
    ["identity", bytes("me")],
  ])

  test.each([
    ["Socket-Type", "Socket-Type"],
    ["socket-type", "Socket-Type"],
    ["SOCKET-TYPE", "Socket-Type"],
    ["Identity", "identity"],
  ])("is found without regard to case: %s", (wanted, name) => {
    expect(findProperty(properties, wanted)).toEqual([name, properties.get(name)])
  })

  test("a property that is missing is not found", () => {
    expect(findProperty(properties, "Socket")).toBeUndefined()
  })
})

test.each([0, 1, 4095, 4096, 4097, 8192, 1_000_000])(
  "text of %d bytes has that length",
  (length) => {
    const all = Uint8Array.from({ length }, (_, i) => i)
    expect(latin1(all)).toBe(Buffer.from(all).toString("latin1"))
  },
)
