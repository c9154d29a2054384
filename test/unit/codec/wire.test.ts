/** The constants of the wire format in TypeScript, compared with those in C. */
import { readdirSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { DESCRIBED_BYTES } from "../../../src/codec/describe-greeting.js"
import { loadFormat } from "../../../src/codec/formats.js"
import * as frames from "../../../src/codec/frames.js"
import * as lz4 from "../../../src/codec/lz4/wire.js"
import { loadInstance, loadInstanceSync } from "../../../src/codec/module.js"
import * as wire from "../../../src/codec/wire.js"
import * as zstd from "../../../src/codec/zstd/wire.js"
import { GREETING_BYTES } from "../../../src/zmtp/greeting.js"
import { SENTINELS, ZSTD_SENTINELS } from "../../support/wire.js"

/** Returns the C sources of a directory of wasm/. */
function sourcesIn(name: string): string {
  const directory = new URL(`../../../wasm/${name}`, import.meta.url)
  return readdirSync(directory)
    .filter((file) => /\.[ch]$/.test(file))
    .map((file) => readFileSync(new URL(file, directory), "utf8"))
    .join("\n")
}
const common = sourcesIn("")
const ofLz4 = common + sourcesIn("lz4/")
const ofZstd = common + sourcesIn("zstd/")

/** Returns the value of a name in C, from a #define or an enum. */
function ofC(name: string, sources = common): number {
  const [, value] = new RegExp(`\\b${name}(?: =)? (0x[0-9A-Fa-f]+|\\d+)u?\\b`).exec(sources) ?? []
  return value === undefined ? expect.fail(`the C has no ${name}`) : Number(value)
}

const NAMES: Record<string, string> = {
  SENTINEL_BYTES: "ZL_SENTINEL_BYTES",
  DICTIONARY_MAX_BYTES: "ZL_DICTIONARY_MAX",
  ARENA_HEAD_BYTES: "ZL_ARENA_HEAD_BYTES",
  ARENA_MAX_BYTES: "ZL_ARENA_MAX",
  PLAIN: "ZL_PLAIN",
  DICTIONARY: "ZL_DICTIONARY",
  ARENA: "ZL_ARENA",
  FIRST: "ZL_FIRST",
  LAST: "ZL_LAST",
}

const LZ4_NAMES: Record<string, string> = {
  HEAD_BYTES: "ZL_HEAD_BYTES",
  BLOCK_LENGTH_BYTES: "ZL_BLOCK_LENGTH_BYTES",
  BLOCK_MAX_BYTES: "ZL_BLOCK_MAX",
  EXPANSION_MAX: "EXPANSION_MAX",
  LZ4B: "ZL_LZ4B",
  LZ4M: "ZL_LZ4M",
}

/** Compares all numbers of a module with those in C. */
function compare(module: object, names: Record<string, string>, sources: string): void {
  const numbers = Object.entries(module).filter(([, value]) => typeof value === "number")
  expect(numbers.map(([name]) => name).sort()).toEqual(Object.keys(names).sort())
  for (const [name, value] of numbers) expect(value, name).toBe(ofC(names[name] as string, sources))
}

test("every constant of the wire equals that in C", () => {
  const { ALONE, ARENA_PART_MAX_BYTES, ...others } = wire
  compare(others, NAMES, common)
  compare(lz4, LZ4_NAMES, ofLz4)
  compare(zstd, { HEAD_BYTES: "ZL_HEAD_BYTES" }, ofZstd)
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
  const words = [
    ...Object.entries(lz4.SENTINEL).map((entry) => [...entry, ofLz4] as const),
    ...Object.entries(zstd.SENTINEL).map((entry) => [...entry, ofZstd] as const),
  ]
  const expected = { ...SENTINELS, ...ZSTD_SENTINELS, FRAME: ZSTD_SENTINELS.frame }
  for (const [form, word, sources] of words) {
    expect(word, form).toBe(ofC(`ZL_SENTINEL_${form}`, sources))
    const part = new Uint8Array(6).fill(0xff)
    wire.writeSentinel(part, word)
    expect([...part]).toEqual([...expected[form as keyof typeof expected], 0xff, 0xff])
  }
  expect([...wire.PLAIN_HEAD]).toEqual([...SENTINELS.plain])
})

test("the modules' block sizes equal those in C", async () => {
  expect(loadInstanceSync().blockMax).toBe(ofC("ZL_BLOCK_MAX", ofLz4))
  const { blockMax } = await loadInstance(await loadFormat("zstd"))
  expect(blockMax).toBe(ofC("ZL_BLOCK_MAX", ofZstd))
})
