/** `zeromq-lz4 decode`. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { Codec } from "zeromq-lz4/codec"
import { runCommand } from "../../support/command.js"
import { directoryOfTests } from "../../support/directory-of-tests.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame, greeting, MORE, message, ready } from "../../support/zmtp.js"

const { directory } = directoryOfTests()

const run = (args: string[], input?: string) => runCommand(directory, ["decode", ...args], input)
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")
const decode = async (bytes: Uint8Array, ...options: string[]) => {
  const { status, stdout, stderr } = await run([...options, hex(bytes)])
  return { status, lines: stdout.trimEnd().split("\n"), error: stderr.trimEnd() }
}
const json = async (bytes: Uint8Array, ...options: string[]) => {
  const { lines } = await decode(bytes, "--json", ...options)
  return lines.map((line) => JSON.parse(line))
}

const text = "to be or not to be ".repeat(60)
const encoded = (options: object = {}, content: Uint8Array = Buffer.from(text)) => {
  using codec = Codec.createSync(options)
  return codec.encodePart(content)
}
const block = encoded()
const plain = concat(Buffer.alloc(4), Buffer.from("hi"))

test.each([
  ["00 0g", 'line 1: "g" is not a hexadecimal digit'],
  [" \n", "there are no bytes to decode"],
])("%j: %s", async (written, says) => {
  const { status, stderr } = await run([written])
  expect(status).toBe(1)
  expect(stderr).toContain(says)
})

test("a message of several frames, from standard input", async () => {
  const bytes = message(plain, block)
  const { status, stdout } = await run(["-"], hex(bytes))
  expect(status).toBe(0)
  const second = 2 + plain.length + 2
  expect(stdout.split("\n")).toEqual([
    `${bytes.length} bytes, taken for frames of ZMTP`,
    "byte 0: message, 2 parts",
    "  byte 2: plain; 6 bytes, 2 plain",
    "    hi",
    `  byte ${second}: LZ4B, one block; ${block.length} bytes, ${text.length} plain`,
    `    ${text.trimEnd()} `,
    "",
  ])
})

test("a part without its frame, a frame of tcp://, and one that more follow", async () => {
  expect((await decode(block)).lines.slice(0, 3)).toEqual([
    `${block.length} bytes, taken for a part without the head of its frame`,
    "byte 0: message, 1 part",
    `  byte 0: LZ4B, one block; ${block.length} bytes, ${text.length} plain`,
  ])
  expect((await decode(frame(Buffer.from("hello")))).lines.slice(1)).toEqual([
    "byte 0: message, 1 part, without sentinels as over tcp://",
    "  byte 2: no sentinel; 5 bytes, 5 plain",
    "    hello",
  ])
  expect((await decode(frame(plain, MORE))).lines[1]).toBe(
    "byte 0: message, 1 part; more parts follow it",
  )
})

test("the parts of an arena have shares of its bytes, which add up to it", async () => {
  using codec = Codec.createSync({ arenas: true, minCompressSize: 0 })
  const small = [["a topic", text.slice(0, 99)], [text.slice(0, 80)], [""]]
  const [[arena]] = codec.encodeBatch(small.map((parts) => parts.map((part) => Buffer.from(part))))
  const bytes = message(arena as Uint8Array)
  const [, row] = await json(bytes)
  const shares = row.messages.map(({ parts }: { parts: { wireBytes: number }[] }) =>
    parts.map(({ wireBytes }) => wireBytes),
  )
  expect(shares.map((parts: number[]) => parts.length)).toEqual([2, 1, 1])
  expect(shares.flat().reduce((sum: number, share: number) => sum + share, 0)).toBe(arena?.length)
  const { lines } = await decode(bytes)
  expect(lines.slice(1, 4)).toEqual([
    "byte 0: message 1 of 3 in an arena, 2 parts",
    `  byte 2: LZ4A, from an arena; ${shares[0][0]} of the arena's ${arena?.length} bytes, 7 plain`,
    "    a topic",
  ])
})

test("a connection's beginning, with its commands", async () => {
  const bytes = concat(greeting(), ready("PUSH"), message(plain))
  const [, first, command] = (await decode(bytes)).lines
  expect(first).toBe("byte 0: greeting of ZMTP 3.1, mechanism NULL")
  expect(command).toMatch(/^byte 64: command READY, \d+ bytes: .*Socket-Type.*PUSH/)
  const password = "\x05HELLO\x05admin\x06secret"
  const { lines } = await decode(frame(Buffer.from(password), COMMAND))
  expect(lines[1]).toContain("command HELLO")
  expect(lines.join()).not.toContain("secret")
  const sealed = frame(concat(Buffer.from("\x07MESSAGE"), Buffer.alloc(40)))
  expect((await decode(sealed)).lines[1]).toBe("byte 0: MESSAGE of CURVE, 50 bytes, encrypted")
})

test("a dictionary counts for what follows it, or is given", async () => {
  const dictionary = Buffer.from(text)
  const content = Buffer.from(text.slice(0, 400))
  using codec = Codec.createSync({ dictionary, minCompressSize: 0 })
  const shipped = frame(concat(Buffer.from("LZ4D"), dictionary))
  const part = codec.encodePart(content)
  expect((await json(concat(shipped, frame(part)))).at(-1).messages[0].parts[0].text).toBe(
    String(content),
  )
  writeFileSync(join(directory, "dictionary"), dictionary)
  const [, row] = await json(part, "--dictionary", "dictionary")
  expect(row.messages[0].parts[0]).toEqual({
    ...{ kind: "LZ4B", offset: 0, wireBytes: part.length, plainBytes: 400, text: String(content) },
  })
  expect((await decode(part)).error).toContain("byte 0: ERR_LZ4_CORRUPT_BLOCK")
})

test("--json has bytes that are no text in base64, and errors", async () => {
  const noise = Uint8Array.of(0xff, 0xfe, 0)
  const [input, row] = await json(frame(concat(Buffer.alloc(4), noise)))
  expect(input).toEqual({ type: "input", bytes: 9, as: "frames" })
  expect(row).toMatchObject({ type: "message", offset: 0, bytes: 9, transport: "lz4+tcp" })
  expect(row.messages[0].parts[0].base64).toBe(Buffer.from(noise).toString("base64"))
  const broken = block.slice(0, -1)
  const { status, lines, error } = await decode(frame(broken), "--json")
  expect(status).toBe(1)
  expect(JSON.parse(lines[1] as string).messages[0].parts[0].error.code).toMatch(/^ERR_LZ4_/)
  expect(error).toMatch(/^zeromq-lz4: byte 2: ERR_LZ4_/)
  expect((await json(Uint8Array.of(8))).at(-1)).toEqual({
    type: "error",
    message: "byte 0: 08 cannot begin a frame, a greeting or a part with its sentinel",
  })
})

describe("what is wrong, at which byte", () => {
  test.each<[says: string, bytes: Uint8Array]>([
    ["byte 0: 47 cannot begin a frame, a greeting or a part", Buffer.from("GET / HTTP/1.1")],
    ["byte 8: ff cannot begin a frame", concat(frame(plain), Uint8Array.of(0xff))],
    ["byte 0: the head of a long frame has 9 bytes; there are 3", Uint8Array.of(2, 0, 0)],
    ["byte 1: the frame declares 5 bytes; 2 follow", Uint8Array.of(0, 5, 1, 2)],
    [
      "byte 1: the length of the frame has its highest bit",
      Uint8Array.of(2, 128, 0, 0, 0, 0, 0, 0, 0),
    ],
    ["byte 0: a greeting has 64 bytes; there are 63", greeting().slice(0, 63)],
    ["byte 9: 00 where a greeting", new Uint8Array(64).fill(0xff, 0, 1)],
    ["byte 0: a command without a name", frame(Uint8Array.of(0), COMMAND)],
    ["byte 10: ERR_LZ4_TRUNCATED", message(plain, Buffer.from("LZ4B"))],
  ])("%s", async (says, bytes) => {
    const { status, lines, error } = await decode(bytes)
    expect(status).toBe(1)
    expect(error).toContain(`zeromq-lz4: ${says}`)
    expect(error.split("\n")).toHaveLength(1)
    expect(lines[0]).toContain("taken for")
  })

  test("without HEX, decode says what it expects", async () => {
    expect((await run([])).status).toBe(2)
  })
})
