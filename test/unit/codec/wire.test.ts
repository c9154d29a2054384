/** The constants of the wire format in TypeScript, compared with those in C. */
import { readdirSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { DESCRIBED_BYTES } from "../../../src/codec/describe-greeting.js"
import * as frames from "../../../src/codec/frames.js"
import { loadInstanceSync } from "../../../src/codec/module.js"
import * as wire from "../../../src/codec/wire.js"
import { GREETING_BYTES } from "../../../src/zmtp/greeting.js"
import { SENTINELS } from "../../support/wire.js"

const directory = new URL("../../../wasm/", import.meta.url)
const sources = readdirSync(directory)
  .filter((file) => /\.[ch]$/.test(file))
  .map((file) => readFileSync(new URL(file, directory), "utf8"))
  .join("\n")

/** Returns the value of a name in C, from a #define or an enum. */
function ofC(name: string): number {
  const [, value] = new RegExp(`\\b${name}(?: =)? (0x[0-9A-Fa-f]+|\\d+)u?\\b`).exec(sources) ?? []
  return value === undefined ? expect.fail(`the C has no ${name}`) : Number(value)
}

const NAMES: Record<string, string> = {
  SENTINEL_BYTES: "ZL_SENTINEL_BYTES",
  HEAD_BYTES: "ZL_HEAD_BYTES",
  BLOCK_LENGTH_BYTES: "ZL_BLOCK_LENGTH_BYTES",
  BLOCK_MAX_BYTES: "ZL_BLOCK_MAX",
  EXPANSION_MAX: "EXPANSION_MAX",
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

test("every constant of wire.ts equals that in C", () => {
  const { ALONE, ARENA_PART_MAX_BYTES, ...numbers } = Object.fromEntries(
    Object.entries(wire).filter(([, value]) => typeof value === "number"),
  )
  expect(Object.keys(numbers).sort()).toEqual(Object.keys(NAMES).sort())
  for (const [name, value] of Object.entries(numbers))
    expect(value, name).toBe(ofC(NAMES[name] as string))
  expect(ALONE).toBe(ofC("ZL_FIRST") | ofC("ZL_LAST"))
  expect(ARENA_PART_MAX_BYTES).toBe(ofC("ZL_ARENA_HEAD_BYTES") + ofC("ZL_ARENA_MAX"))
})

test.each([
  ["MORE", frames.MORE, "ZMTP_MORE"],
  ["LONG", frames.LONG, "ZMTP_LONG"],
  ["COMMAND", frames.COMMAND, "ZMTP_COMMAND"],
  ["SHORT_HEAD_BYTES", frames.SHORT_HEAD_BYTES, "ZMTP_SHORT_HEAD"],
  ["LONG_HEAD_BYTES", frames.LONG_HEAD_BYTES, "ZMTP_LONG_HEAD"],
  ["GREETING_BYTES", GREETING_BYTES, "ZMTP_GREETING_BYTES"],
  ["DESCRIBED_BYTES", DESCRIBED_BYTES, "ZMTP_GREETING_CHECKED"],
])("%s of frames and greetings equals that in C", (_, number, name) => {
  expect(number).toBe(ofC(name))
})

test("every sentinel equals that in C and in RFC.md", () => {
  for (const [form, word] of Object.entries(wire.SENTINEL)) {
    expect(word, form).toBe(ofC(`ZL_SENTINEL_${form}`))
    const part = new Uint8Array(6).fill(0xff)
    wire.writeSentinel(part, word)
    const expected = SENTINELS[form === "PLAIN" ? "plain" : (form as keyof typeof SENTINELS)]
    expect([...part]).toEqual([...expected, 0xff, 0xff])
  }
})

test("the module's block size equals that in C", () => {
  expect(loadInstanceSync().blockMax).toBe(ofC("ZL_BLOCK_MAX"))
})
