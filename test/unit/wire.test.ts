/** The numbers of src/codec/wire.ts against those of the C. */
import { readdirSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"

import { loadInstanceSync } from "../../src/codec/module.js"
import * as wire from "../../src/codec/wire.js"
import { SENTINELS } from "../support/wire.js"

const directory = new URL("../../wasm/", import.meta.url)
const headers = readdirSync(directory)
  .filter((file) => file.endsWith(".h"))
  .map((file) => readFileSync(new URL(file, directory), "utf8"))
  .join("\n")

/** What a name stands for, by #define or in an enum. */
function ofC(name: string): number {
  const [, value] = new RegExp(`\\b${name}(?: =)? (0x[0-9A-Fa-f]+|\\d+)u?\\b`).exec(headers) ?? []
  return value === undefined ? expect.fail(`the headers have no ${name}`) : Number(value)
}

const NAMES: Record<string, string> = {
  SENTINEL_BYTES: "ZL_SENTINEL_BYTES",
  HEAD_BYTES: "ZL_HEAD_BYTES",
  BLOCK_LENGTH_BYTES: "ZL_BLOCK_LENGTH_BYTES",
  DICTIONARY_MAX_BYTES: "ZL_DICTIONARY_MAX",
  ARENA_HEAD_BYTES: "ZL_ARENA_HEAD_BYTES",
  ARENA_MAX_BYTES: "ZL_ARENA_MAX",
  PLAIN: "ZL_PLAIN",
  LZ4B: "ZL_LZ4B",
  LZ4M: "ZL_LZ4M",
  LZ4D: "ZL_LZ4D",
  LZ4A: "ZL_LZ4A",
  FIRST: "ZL_FIRST",
  LAST: "ZL_LAST",
}

test("every number of wire.ts is that of the headers", () => {
  const { ALONE, ...numbers } = Object.fromEntries(
    Object.entries(wire).filter(([, value]) => typeof value === "number"),
  )
  expect(Object.keys(numbers).sort()).toEqual(Object.keys(NAMES).sort())
  for (const [name, value] of Object.entries(numbers))
    expect(value, name).toBe(ofC(NAMES[name] as string))
  expect(ALONE).toBe(ofC("ZL_FIRST") | ofC("ZL_LAST"))
})

test("every sentinel is that of the headers, and of RFC.md", () => {
  for (const [form, word] of Object.entries(wire.SENTINEL)) {
    expect(word, form).toBe(ofC(`ZL_SENTINEL_${form}`))
    const part = new Uint8Array(6).fill(0xff)
    wire.writeSentinel(part, word)
    const expected = SENTINELS[form === "PLAIN" ? "plain" : (form as keyof typeof SENTINELS)]
    expect([...part]).toEqual([...expected, 0xff, 0xff])
  }
})

test("the module has the block that the headers say", () => {
  expect(loadInstanceSync().blockMax).toBe(ofC("ZL_BLOCK_MAX"))
})
