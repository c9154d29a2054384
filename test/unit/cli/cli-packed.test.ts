/** Commands about messages of more parts than bytes. */
import { readFileSync, writeFileSync } from "node:fs"
import { expect, test } from "vitest"
import { captured, only } from "../../support/captures.js"
import { jsonLines, runCommand } from "../../support/command.js"
import { directoryOfTests } from "../../support/directory-of-tests.js"
import { PACKED_PARTS, packedArena } from "../../support/packed-arenas.js"
import { concat } from "../../support/wire.js"
import { handshake, message } from "../../support/zmtp.js"

const { directory, at } = directoryOfTests()
const run = (...args: string[]) => runCommand(directory, args)

const arena = packedArena()
const printed = 100 + arena.length
const more = { parts: PACKED_PARTS - printed, plainBytes: 0 }

function write(): string {
  const file = captured([
    ["client", concat(handshake("PUSH"), message(arena))],
    ["server", handshake("PULL")],
  ])
  writeFileSync(at("packed.pcap"), file)
  return at("packed.pcap")
}

test("inspect --json prints some of the parts, and how many there are besides", async () => {
  const { stdout } = await run("inspect", "--json", write())
  const row = jsonLines(stdout).find(({ type }) => type === "message")
  expect(row.parts).toHaveLength(printed)
  expect(row).toMatchObject({ wireBytes: arena.length, more })
  const shares = row.parts.map(({ wireBytes }: { wireBytes: number }) => wireBytes)
  expect(Math.min(...shares)).toBeGreaterThanOrEqual(0)
  expect(shares.reduce((sum: number, share: number) => sum + share, 0)).toBeLessThan(arena.length)
})

test("inspect prints the number of all, and with --full what is left out", async () => {
  const { stdout } = await run("inspect", "--full", write())
  expect(stdout).toMatch(new RegExp(`LZ4A 1/1 +${PACKED_PARTS} `))
  expect(stdout).toContain(`and ${more.parts} more parts, 0 bytes`)
})

test("plain writes them all", async () => {
  const { status } = await run("plain", "-o", at("plain.pcap"), write())
  expect(status).toBe(0)
  const [plain] = only(readFileSync(at("plain.pcap"))).messages
  const [packed] = only(readFileSync(at("packed.pcap"))).messages
  expect(plain?.parts.map(({ plain }) => plain)).toEqual(packed?.parts.map(({ plain }) => plain))
})

test("decode prints as many parts as it shows", async () => {
  const hex = Buffer.from(message(arena)).toString("hex")
  const { stdout } = await run("decode", hex)
  const lines = stdout.trimEnd().split("\n")
  expect(lines[1]).toBe(`byte 0: message 1 of 1 in an arena, ${PACKED_PARTS} parts`)
  // The first part has content.
  expect(lines).toHaveLength(2 + printed + 1 + 1)
  expect(lines.at(-1)).toBe(`  and ${more.parts} more parts, 0 bytes`)
  const [, fields] = jsonLines((await run("decode", "--json", hex)).stdout)
  expect(fields.messages[0].parts).toHaveLength(printed)
  expect(fields.messages[0].more).toEqual(more)
})
