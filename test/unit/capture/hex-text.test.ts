/** Bytes in hexadecimal, as they are pasted. */
import { describe, expect, test } from "vitest"
import { parseHex } from "../../../src/capture/hex-text.js"

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

describe("bytes", () => {
  test.each([
    ["68 65 6c 6c 6f"],
    ["68656c6c6f"],
    ["  68656C\r\n6C6F\n"],
    ["0x68, 0x65, 0x6c, 0x6c, 0x6f"],
    ["0x68656c6c6f"],
    ["68:65:6c:6c:6f"],
    ["68-65-6c-6c-6f"],
    ["\\x68\\x65\\x6c\\x6c\\x6f"],
    ["6865 6c6c 6f"],
    ["00000000: 6865 6c6c 6f                             hello"],
    ["00000000  68 65 6c 6c 6f                                    |hello|\n00000005"],
    ["0000   68 65 6c 6c 6f                                     hello"],
    [
      "12:35:07.5 IP 10.0.0.1.40000 > 10.0.0.2.5555: tcp 5\n\t0x0000:  6865 6c6c 6f            hello",
    ],
  ])("%j", (written) => {
    expect(text(parseHex(written))).toBe("hello")
  })

  test("of several lines of a dump, whose text looks like bytes too", () => {
    const dump = [
      "00000000: 6162 6364 3031 3233 6162 6364 3031 3233  abcd0123abcd0123",
      "00000010: 6162                                     ab",
    ]
    expect(text(parseHex(dump.join("\n")))).toBe("abcd0123abcd0123ab")
    const canonical =
      "00000000  61 62 63 64 30 31 32 33  61 62 63 64 30 31 32 33  |abcd0123abcd0123|"
    expect(text(parseHex(canonical))).toBe("abcd0123abcd0123")
  })

  test("may be single digits after 0x, and none at all", () => {
    expect([...parseHex("0x1,0xa,0x10")]).toEqual([1, 10, 16])
    expect(parseHex(" \n")).toHaveLength(0)
  })
})

describe("bytes that programs print", () => {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")
  const bytes = Uint8Array.from({ length: 40 }, (_, i) => i * 7)
  const rows = [bytes.subarray(0, 16), bytes.subarray(16, 32), bytes.subarray(32)]
  const ascii = (row: Uint8Array) =>
    Buffer.from(row)
      .toString("latin1")
      .replace(/[^ -~]/g, ".")
  const offset = (i: number) => (16 * i).toString(16).padStart(8, "0")
  const pairs = (row: Uint8Array) => hex(row).replace(/..(?=.)/g, "$& ")
  const dumped = (row: Uint8Array, i: number) => {
    const halves = `${pairs(row.subarray(0, 8))}  ${pairs(row.subarray(8))}`
    return `${offset(i)}  ${halves.padEnd(50)}|${ascii(row)}|\n`
  }
  test.each([
    ["digits", hex(bytes)],
    ["capitals", hex(bytes).toUpperCase()],
    ["spaces and lines", rows.map(pairs).join("\n")],
    ["colons", hex(bytes).replace(/..(?=.)/g, "$&:")],
    ["0x and commas", hex(bytes).replace(/../g, "0x$&, ")],
    ["\\x", hex(bytes).replace(/../g, "\\x$&")],
    ["hexdump -C", `${rows.map(dumped).join("")}00000028\n`],
    [
      "xxd",
      rows
        .map(
          (row, i) =>
            `${offset(i)}: ${hex(row)
              .replace(/....(?=.)/g, "$& ")
              .padEnd(39)}  ${ascii(row)}\n`,
        )
        .join(""),
    ],
  ])("%s", (_, written) => {
    expect(hex(parseHex(written))).toBe(hex(bytes))
  })

  test.each([16, 32, 40])("xxd -c 32, of %i bytes", (length) => {
    const rows = [bytes.subarray(0, Math.min(length, 32)), bytes.subarray(32, length)]
    const lines = rows.map((row, i) => {
      const words = hex(row).replace(/....(?=.)/g, "$& ")
      return row.length && `${offset(2 * i)}: ${words.padEnd(79)}  ${ascii(row)}\n`
    })
    expect(hex(parseHex(lines.filter(Boolean).join("")))).toBe(hex(bytes.subarray(0, length)))
  })

  test("two groups of bytes are no offset and its bytes", () => {
    expect(hex(parseHex("00020102  00020304"))).toBe("0002010200020304")
    expect(hex(parseHex("00020102  00020304\n00030102  00020304"))).toBe(
      "00020102000203040003010200020304",
    )
    expect(hex(parseHex("0000   68 65"))).toBe("6865")
    expect(hex(parseHex("0000   68 65\n0002   6c"))).toBe("68656c")
  })

  test("a sentinel in front is no offset", () => {
    expect(hex(parseHex("00000000 68 69"))).toBe("000000006869")
  })
})

test.each([
  [
    "68 6g",
    'line 1: "g" is not a hexadecimal digit; bytes are written as 01 ff, 01ff or 0x01,0xff',
  ],
  ["68\n656", "line 2 has 3 digits: half a byte is missing"],
  ["hello", 'line 1: "h" is not'],
  ["00000000: 6865 6c6c  hell\n6f00\n", "line 2 has no offset, and others have one"],
  [
    "00000000: 6865  he\n00000004: 6c6c  ll",
    "line 1 does not have the 4 bytes that are between its offset and the next one",
  ],
  ["00000000  00 00  |..|\n*\n00000100", "line 2: * stands for lines that were left out"],
])("%j is refused", (written, says) => {
  expect(() => parseHex(written)).toThrow(SyntaxError)
  expect(() => parseHex(written)).toThrow(says)
})
