/** Topics and their subscribers (libzmq's trie.cpp and generic_mtrie_impl.hpp), compared with a simple list. */
import fc from "fast-check"
import { expect, test, vi } from "vitest"

import { createRandom } from "../../../bench/random.mjs"
import { MultiTopics, Topics } from "../../../src/patterns/subscriptions.js"

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1")
// Few letters, so that topics are prefixes of others; including bytes above 127.
const letters = fc.array(fc.constantFrom(0, 97, 98, 200, 255), { maxLength: 4 })
const kinds = {
  few: letters.map((bytes) => Buffer.from(bytes)),
  many: fc.tuple(fc.nat(15), letters).map(([n, bytes]) => Buffer.from([n * 17, ...bytes])),
}
const firstBytes = ["few", "many"] as const

function finish(work: Iterator<number>): void {
  while (!work.next().done);
}

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
  const what = fc.constantFrom("add", "remove", "match", "leave", "go on", "go on", "go on")
  const action = fc.tuple(what, kinds[kind], fc.nat(3))
  fc.assert(
    fc.property(fc.array(action, { maxLength: 150, size: "max" }), (actions) => {
      const topics = new MultiTopics<number>()
      let model: [topic: string, who: number][] = []
      // Who leaves comes back as somebody else.
      const names = [0, 1, 2, 3]
      const leavers = new Set<number>()
      const works: Iterator<number>[] = []
      const removed: string[] = []
      const expected: string[] = []
      const wants = (text: string, who: number) => model.some(([t, w]) => t === text && w === who)
      const anybody = (text: string) => model.some(([t]) => t === text)
      for (const [what, bytes, place] of actions) {
        const text = latin1(bytes)
        const who = names[place] as number
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
          topics.match(bytes, (one) => leavers.has(one) || matched.add(one))
          const expected = model.filter(([t]) => text.startsWith(t)).map(([, w]) => w)
          expect([...matched].sort()).toEqual([...new Set(expected)].sort())
        } else if (what === "go on") {
          if (works[0]?.next().done) works.shift()
        } else {
          const tell = (one: Buffer, wasLast: boolean) => removed.push(`${wasLast} ${latin1(one)}`)
          works.push(topics.removeAll(who, tell))
          const left = model.filter(([, w]) => w === who).map(([t]) => t)
          model = model.filter(([, w]) => w !== who)
          expected.push(...left.map((t) => `${!anybody(t)} ${t}`))
          leavers.add(who)
          names[place] = who + names.length
        }
        if (what !== "leave" && what !== "go on")
          expect(topics.of(who).count).toBe(model.filter(([, w]) => w === who).length)
      }
      for (const work of works) while (!work.next().done);
      expect(removed.sort()).toEqual(expected.sort())
      for (const who of leavers) expect(topics.of(who).count).toBe(0)
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
  finish(topics.removeAll("all", ({ length }, wasLast) => removed.push([length, wasLast])))
  expect(removed).toEqual(
    Array.from({ length: 5000 }, (_, i) => [i + 1, (i + 1) % 1000 !== 0] as const),
  )
  expect(matches(longest)).toEqual(Array(5).fill("some"))
  finish(topics.removeAll("some"))
  expect(matches(longest)).toEqual([])
})

test("topics removed in steps are removed in order, and a step does little", () => {
  const random = createRandom("topics removed in steps")
  const topics = new MultiTopics<string>()
  const names = Array.from({ length: 5000 }, (_, i) => random.hex(12) + i)
  for (const name of names) topics.add(Buffer.from(name), "one")
  const removed: string[] = []
  const work = topics.removeAll("one", (topic) => removed.push(String(topic)))
  let steps = 0
  for (let { done, value } = work.next(); !done; { done, value } = work.next()) {
    steps += value as number
    expect(removed.length).toBeLessThanOrEqual(steps)
  }
  expect(steps).toBe(2 * names.length)
  expect(removed).toEqual(names.sort())
})

test("a topic that others subscribe to or cancel is removed before that from who is leaving", () => {
  const topics = new MultiTopics<string>()
  for (const text of ["a", "b", "c", "d"]) topics.add(Buffer.from(text), "leaving")
  topics.add(Buffer.from("c"), "other")
  const removed: [string, boolean][] = []
  const work = topics.removeAll("leaving", (topic, wasLast) => removed.push([`${topic}`, wasLast]))
  expect(topics.add(Buffer.from("b"), "other")).toBe(true)
  expect(topics.remove(Buffer.from("c"), "other")).toBe("last")
  expect(removed).toEqual([
    ["b", true],
    ["c", false],
  ])
  finish(work)
  expect(removed.slice(2)).toEqual([
    ["a", true],
    ["d", true],
  ])
})

test("a short topic that comes and goes beside a long one copies none of it", () => {
  const from = vi.spyOn(Buffer, "from")
  const topics = new Topics()
  const long = Buffer.alloc(1 << 20, "a")
  topics.add(long)
  from.mockClear()
  for (let length = 1; length <= 100; length++) {
    topics.add(long.subarray(0, length))
    topics.remove(long.subarray(0, length))
  }
  const copied = from.mock.calls.map(([text]) => (text as unknown as string).length)
  from.mockRestore()
  expect(Math.max(...copied)).toBeLessThan(2000)
  expect([...topics].map(({ length }) => length)).toEqual([long.length])
  // The order is that of a tree in which the rest is joined again.
  for (const text of ["b", "ab"]) topics.add(Buffer.from(text))
  expect([...topics].map((topic) => topic.toString("latin1", 0, 2))).toEqual(["ab", "aa", "b"])
  topics.remove(long)
  expect([...topics].map(String)).toEqual(["ab", "b"])
})
