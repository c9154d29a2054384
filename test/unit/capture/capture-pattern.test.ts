/** Regular expressions of filters, beside RegExp. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { Pattern } from "../../../src/capture/filter/pattern.js"

const native = (source: string) => new RegExp(source, "imu")

/** Expressions of a few letters, so that texts of these letters often match. */
const expressions = fc.letrec<{ all: string; item: string; one: string }>((tie) => ({
  one: fc.constantFrom(
    ...["a", "b", "B", "é", ".", "\\d", "\\w", "\\s", "[ab]", "[^a]", "\\]", "\\x61", "\\u{1f422}"],
    ...["^", "$", "\\b", "\\B", "", "\\p{L}", "[\\]a-b]", "\\u0062", "🐢", "\\-".slice(1)],
  ),
  item: fc.oneof(
    { withCrossShrink: true, maxDepth: 4 },
    tie("one"),
    fc
      .tuple(tie("all"), fc.constantFrom("(", "(?:", "(?<name>"))
      .map(([all, open]) => `${open}${all})`),
    fc
      .tuple(tie("all"), fc.constantFrom("*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "{0}"))
      .map(([all, times]) => `(?:${all})${times}`),
  ),
  all: fc
    .array(fc.array(tie("item"), { maxLength: 4 }), { minLength: 1, maxLength: 3 })
    .map((choices) => choices.map((items) => items.join("")).join("|")),
})).all

const texts = fc
  .array(fc.constantFrom("a", "b", "A", "é", "É", "1", " ", "\n", "]", "-", "🐢"), {
    maxLength: 12,
  })
  .map((characters) => characters.join(""))

/** Returns the pattern of an expression, unless that is too long. */
function patternOf(source: string): Pattern | undefined {
  try {
    return new Pattern(source)
  } catch (error) {
    if (/may have 200 characters/.test((error as Error).message)) return undefined
    throw error
  }
}

test("matches what RegExp matches", () => {
  fc.assert(
    fc.property(expressions, fc.array(texts, { minLength: 1, maxLength: 5 }), (source, texts) => {
      let expected: RegExp
      try {
        expected = native(source)
      } catch {
        // Two groups of the same name, for example.
        expect(() => new Pattern(source)).toThrow(SyntaxError)
        return
      }
      const pattern = patternOf(source)
      fc.pre(pattern !== undefined)
      for (const text of texts)
        expect([text, pattern.test(text)]).toEqual([text, expected.test(text)])
    }),
    { numRuns: 2000 },
  )
})

test("takes time in proportion to the text, for expressions that take RegExp years", () => {
  const text = `${"a".repeat(1_000_000)}!`
  for (const source of ["(a+)+$", "^(a|a)*$", "(a*)*b", "(.*)(.*)(.*)=", "((a{0,4}){0,4}){0,4}b"])
    expect([source, new Pattern(source).test(text)]).toEqual([source, false])
})

test("may repeat nothing any number of times", () => {
  expect(new Pattern("((((){200}){200}){200}){200}x").test("x")).toBe(true)
})

describe("what is found of a text is kept within limits", () => {
  test("however many characters it has", () => {
    const pattern = new Pattern("[\\u{1000}-\\u{1fff}]x$")
    const all = Array.from({ length: 60_000 }, (_, i) => String.fromCodePoint(0x10000 + i)).join("")
    expect(pattern.test(`${all}\u1234y`)).toBe(false)
    expect(pattern.test(`${all}\u1234x`)).toBe(true)
  })

  test("however many states there are", () => {
    const pattern = new Pattern("(a|b)*a(a|b){12}c")
    const letters = Array.from({ length: 30_000 }, (_, i) => "ab"[((i * i * 7919) >> 5) & 1])
    const text = letters.join("")
    expect(pattern.test(text)).toBe(false)
    expect(pattern.test(`${text}a${"b".repeat(12)}c`)).toBe(true)
  })
})
