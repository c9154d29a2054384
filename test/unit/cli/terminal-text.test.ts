/** Untrusted text on a terminal. */
import { describe, expect, test } from "vitest"
import { duration } from "../../../src/capture/duration-text.js"
import { clockTime, isoTime } from "../../../src/capture/times.js"
import { visible, visibleLines } from "../../../src/capture/visible.js"
import { cutTo, startOf } from "../../../src/cli/terminal-text.js"

const bytes = (text: string) => new TextEncoder().encode(text)

describe("visible text", () => {
  test.each([
    ["order 66: {}", "order 66: {}"],
    ["żółw 水 🐢", "żółw 水 🐢"],
    ["a\nb\r\tc", "a\\nb\\r\\tc"],
    ["\x1b[31mred\x07", "\\x1b[31mred\\x07"],
    ["\x9b2J", "\\x9b2J"],
    ["\u202egnp.exe", "\\u{202e}gnp.exe"],
    ["\u2028\ufeff\u{e0001}", "\\u{2028}\\u{feff}\\u{e0001}"],
    ["a\u200bb\u200cc\u200d\u2060", "a\\u{200b}b\\u{200c}c\\u{200d}\\u{2060}"],
    ["a\u00adb\u180ec", "a\\xadb\\u{180e}c"],
    [
      "\u3164\uffa0\u115f\u1160\u034f\u2800",
      "\\u{3164}\\u{ffa0}\\u{115f}\\u{1160}\\u{34f}\\u{2800}",
    ],
    // Bytes may hide in selectors of variants. One of them is part of common emoji.
    ["a\ufe0f\ufe01\u{e0100}", "a\\u{fe0f}\\u{fe01}\\u{e0100}"],
    ["❤\ufe0f\ufe0f", "❤\ufe0f\\u{fe0f}"],
  ])("visible text of %j is %j", (text, shown) => {
    expect(visible(text)).toBe(shown)
  })

  test("has no control characters, whatever its source", () => {
    const all = Array.from({ length: 0x3000 }, (_, code) => String.fromCodePoint(code)).join("")
    expect(visible(all)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}\p{DI}]/u)
    expect(visibleLines(all).replace(/[\t\n]/g, "")).toBe(visible(all.replace(/[\t\n]/g, "")))
  })
})

describe("text is truncated to a number of columns", () => {
  test.each([
    ["abcde", 5, "abcde"],
    ["abcdef", 5, "abcd…"],
    ["水水水", 6, "水水水"],
    ["水水水", 5, "水水…"],
    ["a🐢🐢", 4, "a🐢…"],
    ["e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"],
    ["e\u0301e\u0301e\u0301", 2, "e\u0301…"],
  ])("%j to %d", (text, columns, cut) => {
    expect(cutTo(text, columns)).toBe(cut)
  })
})

describe("the start of parts", () => {
  test.each<[what: string, parts: Uint8Array[], shown: string]>([
    ["is text where they are UTF-8", [bytes("topic"), bytes('{"a":1}')], 'topic | {"a":1}'],
    ["names empty ones", [bytes(""), bytes("x")], "(empty) | x"],
    ["is hexadecimal where not", [Uint8Array.of(0xff, 1, 0x20)], "ff 01 20"],
    ["is hexadecimal where there are zeros", [Uint8Array.of(0, 0, 0, 7)], "00 00 00 07"],
    ["is cut", [bytes("x".repeat(100))], `${"x".repeat(19)}…`],
    ["is cut in hexadecimal", [new Uint8Array(100)], "00 00 00 00 00 00 0…"],
    ["is cut within characters of many bytes", [bytes("🐢".repeat(100))], `${"🐢".repeat(9)}…`],
    ["is not text that ends within a character", [bytes("🐢").subarray(0, 3)], "f0 9f 90"],
    ["is cut between parts", Array(1000).fill(bytes("abcdef")), "abcdef | abcdef | a…"],
  ])("%s", (_, parts, shown) => {
    expect(startOf(parts, 20)).toBe(shown)
  })
})

describe("a time", () => {
  test.each([
    [0n, "1970-01-01T00:00:00.000000000Z", "00:00:00.000000"],
    [1_763_725_910_123_456_789n, "2025-11-21T11:51:50.123456789Z", "11:51:50.123456"],
    [-1n, "1969-12-31T23:59:59.999999999Z", "23:59:59.999999"],
    [2n ** 60n * 1000n, "+038504-08-17T21:30:06.846976000Z", "21:30:06.846976"],
    [2n ** 100n, undefined, undefined],
    [undefined, undefined, undefined],
  ])("a time of %s ns is %s", (ns, iso, clock) => {
    expect([isoTime(ns), clockTime(ns, true)]).toEqual([iso, clock])
  })
})

describe("durations", () => {
  test.each([
    [0, "0 s"],
    [1, "1 ns"],
    [999, "999 ns"],
    [1000, "1 µs"],
    [1234, "1.23 µs"],
    [999_994, "999.99 µs"],
    [999_996, "1 ms"],
    [-999_996, "-1 ms"],
    [999_999_999, "1 s"],
    [1_500_000_000, "1.5 s"],
    [119_990_000_000, "119.99 s"],
    [119_999_000_000, "2:00"],
    [160_000_000_000, "2:40"],
    [-160_000_000_000, "−2:40"],
    [7_200_000_000_000, "2:00:00"],
  ])("durations of %d ns are %s", (nanoseconds, text) => {
    expect(duration(nanoseconds)).toBe(text)
  })

  test("durations that are a step apart differ", () => {
    for (const step of [1, 1000, 20_000, 1e6, 5e8, 1e9])
      for (const around of [1000, 1e6, 1e9, 60e9]) {
        const first = Math.max(0, around - 5 * step)
        const texts = Array.from({ length: 10 }, (_, i) => duration(first + i * step, step))
        expect(new Set(texts).size, texts.join()).toBe(10)
      }
  })
})
