/** What the entries export, beside what zeromq does. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { expect, test } from "vitest"
import zmq, * as all from "zeromq-lz4"
import * as draft from "zeromq-lz4/draft"

const require = createRequire(import.meta.url)

test("zeromq-lz4 exports all that zeromq does, and ProtocolError", () => {
  const names = Object.keys(require("zeromq"))
  expect(Object.keys(all).sort()).toEqual([...names, "ProtocolError", "default"].sort())
})

test("zeromq-lz4/draft exports all that zeromq/draft does", () => {
  expect(Object.keys(draft).sort()).toEqual(Object.keys(require("zeromq/draft.js")).sort())
})

test.each(["codec", "capture"])(
  "zeromq-lz4/%s imports nothing of Node's, for browsers",
  (entry) => {
    const todo = [new URL(`../../dist/${entry}/index.js`, import.meta.url)]
    const seen = new Set<string>()
    for (const file of todo) {
      if (seen.has(file.href)) continue
      seen.add(file.href)
      for (const [, from = ""] of readFileSync(file, "utf8").matchAll(/\bfrom "([^"]+)"/g)) {
        expect(from).toMatch(/^\./)
        todo.push(new URL(from, file))
      }
    }
    expect(seen.size).toBeGreaterThan(1)
  },
)

test("the default export has them all", () => {
  const { default: _, ...named } = all
  expect({ ...zmq }).toEqual(named)
  const push: zmq.Push = new zmq.Push()
  expect(push).toBeInstanceOf(all.Push)
  push.close()
})
