/** Topics, and who wants them (libzmq's trie.cpp and generic_mtrie_impl.hpp), beside a list of them. */
import fc from "fast-check"
import { expect, test } from "vitest"

import { MultiTopics, Topics } from "../../../src/patterns/subscriptions.js"

const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1")
// Few letters, so that topics begin with one another; bytes above 127 among them.
const topic = fc
  .array(fc.constantFrom(0, 97, 98, 200, 255), { maxLength: 4 })
  .map((bytes) => Buffer.from(bytes))

test("a SUB's topics count, and match by their beginning", () => {
  const action = fc.tuple(fc.constantFrom("add", "remove", "match", "list"), topic)
  fc.assert(
    fc.property(fc.array(action, { maxLength: 100 }), (actions) => {
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
})

test("a PUB knows who wants what", () => {
  const action = fc.tuple(fc.constantFrom("add", "remove", "match", "leave"), topic, fc.nat(3))
  fc.assert(
    fc.property(fc.array(action, { maxLength: 100 }), (actions) => {
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
          expect(removed.map(([t]) => t).sort()).toEqual(left.sort())
          for (const [t, wasLast] of removed) expect(wasLast).toBe(!anybody(t))
        }
        expect(topics.of(who).count).toBe(model.filter(([, w]) => w === who).length)
      }
    }),
  )
})
