/** The exports of each entry, beside zeromq's, and package.json's description of the entries. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { describe, expect, test } from "vitest"
import zmq, * as all from "zeromq-lz4"
import * as draft from "zeromq-lz4/draft"
import { entries } from "../../scripts/lib/entries.mjs"

const require = createRequire(import.meta.url)

test("zeromq-lz4 exports all that zeromq does, and what is its own", () => {
  const own = [
    "CompressedPart",
    "ProtocolError",
    "allowClients",
    "channels",
    "z85Decode",
    "z85Encode",
  ]
  const names = [...Object.keys(require("zeromq")), ...own, "default"]
  expect(Object.keys(all).sort()).toEqual(names.sort())
})

test("zeromq-lz4/draft exports all that zeromq/draft does", () => {
  expect(Object.keys(draft).sort()).toEqual(Object.keys(require("zeromq/draft.js")).sort())
})

/** Functions that go by another name in zeromq.js too: Node prints the names of classes with their objects. */
const OTHERWISE_NAMED = new Map([
  ["curveKeyPair", ""],
  ["socket", "createSocket"],
])

test.each(entries)(
  "all functions and classes of $name have the name they are exported by",
  ({ name }) => {
    const functions = Object.entries<unknown>(require(name)).filter(
      (entry): entry is [string, () => unknown] => typeof entry[1] === "function",
    )
    expect(functions.length).toBeGreaterThan(0)
    for (const [key, value] of functions) expect(value.name).toBe(OTHERWISE_NAMED.get(key) ?? key)
  },
)

test.each(entries.filter(({ isForBrowsers }) => isForBrowsers))(
  "$name is for browsers, and imports no module of Node",
  ({ module }) => {
    const todo = [new URL(`../../dist/${module}.js`, import.meta.url)]
    const seen = new Set<string>()
    for (const file of todo) {
      if (seen.has(file.href)) continue
      seen.add(file.href)
      const text = readFileSync(file, "utf8")
      const imports = [...text.matchAll(/(?:\bfrom|^import) "([^"]+)"/gm)]
      expect(imports.length).toBeGreaterThanOrEqual(text.match(/^import /gm)?.length ?? 0)
      for (const [, from = ""] of imports) {
        expect(from).toMatch(/^\./)
        todo.push(new URL(from, file))
      }
    }
  },
)

const { exports, main, types, typesVersions } = require("zeromq-lz4/package.json")

describe("package.json", () => {
  test.each(entries)("all conditions of $name lead to the same module", ({ name, module }) => {
    const targets = (conditions: object): string[] =>
      Object.values(conditions).flatMap((target) =>
        typeof target === "string" ? target : targets(target),
      )
    const withoutExtension = targets(exports[name.replace("zeromq-lz4", ".")]).map((target) =>
      target.replace(/(\.d)?\.[cm]?[jt]s$/, ""),
    )
    expect(new Set(withoutExtension)).toEqual(new Set([`./dist/${module}`]))
  })

  test("tools that do not know `exports` find the same entries", () => {
    expect({ main, types }).toEqual({
      main: exports["."].default,
      types: exports["."].types.require,
    })
    const others = entries.filter(({ name }) => name !== "zeromq-lz4")
    const { "draft.js": draft, "v5-compat.js": v5, ...named } = typesVersions["*"]
    expect([draft, v5]).toEqual([named.draft, named["v5-compat"]])
    expect(named).toEqual(
      Object.fromEntries(
        others.map(({ name, module }) => [
          name.replace("zeromq-lz4/", ""),
          [`./dist/${module}.d.cts`],
        ]),
      ),
    )
  })
})

test.each(["draft", "v5-compat"])(
  "%s can be imported as from zeromq.js, with an extension",
  async (name) => {
    const [short, long] = await Promise.all([
      import(`zeromq-lz4/${name}`),
      import(`zeromq-lz4/${name}.js`),
    ])
    expect(long).toBe(short)
    expect(require(`zeromq-lz4/${name}.js`)).toBe(require(`zeromq-lz4/${name}`))
    expect(exports[`./${name}.js`]).toEqual(exports[`./${name}`])
  },
)

test("the default export has all names", () => {
  const { default: _, ...named } = all
  expect({ ...zmq }).toEqual(named)
  const push: zmq.Push = new zmq.Push()
  expect(push).toBeInstanceOf(all.Push)
  push.close()
})
