/** Topics and their subscribers (libzmq's trie.cpp and generic_mtrie_impl.hpp), compared with a simple list. */
import fc from "fast-check"
import { expect, test } from "vitest"

import { MultiTopics, Topics } from "../../../src/patterns/subscriptions.js"

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1")
// Few letters, so that topics are prefixes of others; including bytes above 127.
const letters = fc.array(fc.constantFrom(0, 97, 98, 200, 255), { maxLength: 4 })
const kinds = {
  few: letters.map((bytes) => Buffer.from(bytes)),
  many: fc.tuple(fc.nat(15), letters).map(([n, bytes]) => Buffer.from([n * 17, ...bytes])),
}
const firstBytes = ["few", "many"] as const

test.each(firstBytes)(
  "a SUB's topics with %s first bytes are counted, and match prefixes",
  (kind) => {
    const action = fc.tuple(fc.constantFrom("add", "remove", "match", "list"), kinds[kind])
    fc.assert(
      fc.property(fc.array(action, { maxLength: 150, size: "max" }), (actions) => {
        const topics = new Topics()
        const model: string[] = []
        for (const [what, bytes] of actions) {
          const text = latin1(bytes)
          if (what === "add") {
            topics.add(bytes)
            model.push(text)
          } else if (what === "remove") {
            const at = model.indexOf(text)
            if (at >= 0) model.splice(at, 1)
            expect(topics.remove(bytes)).toBe(at >= 0 && !model.includes(text))
          } else if (what === "match") {
            expect(topics.matches(bytes)).toBe(model.some((one) => text.startsWith(one)))
          } else {
            expect([...topics].map(latin1).sort()).toEqual([...new Set(model)].sort())
          }
        }
      }),
    )
  },
)

test("a SUB's topics are listed in the order of libzmq's radix tree", () => {
  const topics = new Topics()
  for (const text of ["x", "b", "a", ""]) topics.add(Buffer.from(text))
  expect([...topics].map(String)).toEqual(["", "x", "b", "a"])
  topics.remove(Buffer.from("x"))
  expect([...topics].map(String)).toEqual(["", "a", "b"])
  for (const text of ["bcd", "bce", "bc", "bf"]) topics.add(Buffer.from(text))
  expect([...topics].map(String)).toEqual(["", "a", "b", "bc", "bce", "bcd", "bf"])
})

test.each(firstBytes)("a PUB knows the subscribers of each topic with %s first bytes", (kind) => {
  const what = fc.constantFrom("add", "remove", "match", "leave")
  const action = fc.tuple(what, kinds[kind], fc.nat(3))
  fc.assert(
    fc.property(fc.array(action, { maxLength: 150, size: "max" }), (actions) => {
      const topics = new MultiTopics<number>()
      let model: [topic: string, who: number][] = []
      const wants = (text: string, who: number) => model.some(([t, w]) => t === text && w === who)
      const anybody = (text: string) => model.some(([t]) => t === text)
      for (const [what, bytes, who] of actions) {
        const text = latin1(bytes)
        if (what === "add") {
          expect(topics.add(bytes, who)).toBe(!anybody(text))
          if (!wants(text, who)) model.push([text, who])
        } else if (what === "remove") {
          const wanted = wants(text, who)
          model = model.filter(([t, w]) => t !== text || w !== who)
          const rest = anybody(text) ? "others" : "last"
          expect(topics.remove(bytes, who)).toBe(wanted ? rest : "not found")
        } else if (what === "match") {
          const matched = new Set<number>()
          topics.match(bytes, (one) => matched.add(one))
          const expected = model.filter(([t]) => text.startsWith(t)).map(([, w]) => w)
          expect([...matched].sort()).toEqual([...new Set(expected)].sort())
        } else {
          const removed: [string, boolean][] = []
          topics.removeAll(who, (one, wasLast) => removed.push([latin1(one), wasLast]))
          const left = model.filter(([, w]) => w === who).map(([t]) => t)
          model = model.filter(([, w]) => w !== who)
          expect(removed.map(([t]) => t)).toEqual(left.sort())
          for (const [t, wasLast] of removed) expect(wasLast).toBe(!anybody(t))
        }
        expect(topics.of(who).count).toBe(model.filter(([, w]) => w === who).length)
      }
    }),
  )
})

test("topics of all lengths match prefixes, and are removed in order when their subscriber leaves", () => {
  const topics = new MultiTopics<string>()
  const longest = Buffer.alloc(5000, "a")
  for (let length = 1; length <= longest.length; length++) {
    topics.add(longest.subarray(0, length), "all")
    if (length % 1000 === 0) topics.add(longest.subarray(0, length), "some")
  }
  const matches = (topic: Buffer) => {
    const matched: string[] = []
    topics.match(topic, (one) => matched.push(one))
    return matched
  }
  expect(matches(longest)).toHaveLength(5005)
  expect(matches(Buffer.concat([longest, longest]))).toHaveLength(5005)
  expect(matches(longest.subarray(0, 1999))).toHaveLength(2000)
  const removed: [number, boolean][] = []
  topics.removeAll("all", ({ length }, wasLast) => removed.push([length, wasLast]))
  expect(removed).toEqual(
    Array.from({ length: 5000 }, (_, i) => [i + 1, (i + 1) % 1000 !== 0] as const),
  )
  expect(matches(longest)).toEqual(Array(5).fill("some"))
  topics.removeAll("some")
  expect(matches(longest)).toEqual([])
})
