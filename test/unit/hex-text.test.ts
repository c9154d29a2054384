/** Bytes in hexadecimal, as they are pasted. */
import { describe, expect, test } from "vitest"
import { parseHex } from "../../src/capture/hex-text.js"

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

test.each([
  [
    "68 6g",
    'line 1: "g" is not a hexadecimal digit; bytes are written as 01 ff, 01ff or 0x01,0xff',
  ],
  ["68\n656", "line 2 has 3 digits: half a byte is missing"],
  ["hello", 'line 1: "h" is not'],
])("%j is refused", (written, says) => {
  expect(() => parseHex(written)).toThrow(SyntaxError)
  expect(() => parseHex(written)).toThrow(says)
})
