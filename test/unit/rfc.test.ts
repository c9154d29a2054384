/** Checks RFC.md against the code: its examples, its tables, and references to its sections. */
import { readdirSync, readFileSync } from "node:fs"

import { describe, expect, test } from "vitest"
import { Codec } from "zeromq-lz4/codec"

import { Req } from "../../src/patterns/req.js"
import type { SocketTypeEvents, TypeOptions } from "../../src/patterns/socket-type.js"
import { PlainPeerReceiver } from "../../src/zmtp/plain-peer-receiver.js"
import { Session } from "../../src/zmtp/session.js"
import { bytesOf, type Example, examples, named, readTable, rfc } from "../support/rfc.js"
import { concat, dictionaryPart, formOf, SENTINELS } from "../support/wire.js"
import { greeting as greetingOf, ready } from "../support/zmtp.js"

const root = new URL("../../", import.meta.url)

// -- Peers -----------------------------------------------------------------------------

/** Creates the receiver of an example. */
function receiver({ budget, dictionary }: Pick<Example, "budget" | "dictionary">): Codec {
  const codec = Codec.createSync({ maxMessageSize: budget })
  if (dictionary) codec.decodePart(dictionaryPart(dictionary))
  return codec
}

/** Returns a new receiver's error for a part; undefined if it accepts the part. */
function refusal(wire: Uint8Array): string | undefined {
  return codeOf(() => Codec.createSync().decodePart(wire))
}

function codeOf(work: () => unknown): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

class Refused extends Error {
  constructor(readonly code: string) {
    super(code)
  }
}

/** Reads the mechanism of a greeting (RFC.md section 3.1). */
function readGreeting(bytes: Uint8Array): string {
  expect(bytes).toHaveLength(64)
  const mechanism = new TextDecoder().decode(bytes.subarray(12, 32)).replace(/\0+$/, "")
  const known = bytes[0] === 0xff && bytes[9] === 0x7f && bytes[10]! >= 3
  if (!known || !["NULL", "PLAIN"].includes(mechanism)) throw new Refused("ERR_ZMTP_GREETING")
  return mechanism
}

interface Frame {
  readonly flags: number
  readonly body: Uint8Array
  /** The offset of the next frame. */
  readonly end: number
}

const MORE = 1
const LONG = 2
const COMMAND = 4

/** Reads the frame at an offset (RFC.md section 3.3). */
function readFrame(bytes: Uint8Array, at: number, allowed: number, code: string): Frame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const flags = view.getUint8(at)
  if (flags & ~allowed || (flags & MORE && flags & COMMAND)) throw new Refused(code)
  const long = (flags & LONG) !== 0
  const length = long ? view.getBigUint64(at + 1) : BigInt(view.getUint8(at + 1))
  const start = at + (long ? 9 : 2)
  if (length > BigInt(bytes.length - start)) throw new Refused(code)
  const end = start + Number(length)
  return { flags, body: bytes.slice(start, end), end }
}

/** A receiver's session, which accepts frames after the greetings, or after the handshake. */
class Receiver {
  /** The error with which it closes. */
  error: string | undefined
  readonly #session: Session

  static readonly settings = {
    socketType: "PULL",
    mechanism: "NULL",
    plainServer: false,
    authenticate: false,
    formats: ["lz4"],
    revision: 2,
    username: new Uint8Array(),
    password: new Uint8Array(),
    routingId: new Uint8Array(),
  } as const

  static readonly ignoring = {
    send: () => {},
    onEvent: () => {},
    message: () => true,
    command: () => true,
  }

  constructor(
    afterHandshake: boolean,
    refuses: (message: readonly Buffer[]) => boolean,
    budget?: number,
  ) {
    this.#session = new Session(Receiver.settings, {
      ...Receiver.ignoring,
      onEvent: (event) => {
        if (event.type === "failed") this.error = event.error.code
      },
      message: (parts) => {
        if (refuses(parts as Buffer[])) this.error = "ERR_ZMTP_MESSAGE"
        return true
      },
    })
    this.#session.headCheck = new PlainPeerReceiver(budget ?? -1)
    this.#session.start()
    this.#session.greet(greetingOf())
    if (afterHandshake) this.#session.receive(ready("PUSH"))
  }

  /** The revision that the peer announced. */
  get announced(): number | "nothing" {
    expect(this.#session.isReady).toBe(true)
    return this.#session.agreed?.revision ?? "nothing"
  }

  take(frames: Uint8Array): void {
    try {
      for (let at = 0; at < frames.length; ) at = this.#session.receive(frames, at)
    } catch (error) {
      this.error = (error as { code: string }).code
    }
  }
}

/** Returns the error of a receiver of plaintext frames for an example. */
function sessionError({ handshake, frames, socket, budget }: Example): string | undefined {
  if (socket !== undefined) expect(socket).toBe("REQ")
  const { violation } = new Req({} as SocketTypeEvents, {} as TypeOptions)
  const withoutSentinel = (message: readonly Buffer[]): Buffer[] =>
    message.map((part) => part.subarray(limit("SENTINEL_BYTES")))
  const receiver = new Receiver(
    handshake === undefined,
    (message) => socket !== undefined && violation(withoutSentinel(message)) !== undefined,
    budget,
  )
  receiver.take((handshake ?? frames)!)
  return receiver.error
}

function readFrames(bytes: Uint8Array): { commands: string[]; messages: Uint8Array[][] } {
  const commands: string[] = []
  const messages: Uint8Array[][] = []
  let message: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    const { flags, body, end } = readFrame(bytes, at, MORE | LONG | COMMAND, "ERR_ZMTP_FRAME")
    at = end
    if (flags & COMMAND) {
      commands.push(new TextDecoder().decode(body.subarray(1, 1 + body[0]!)))
      continue
    }
    message.push(body)
    if (flags & MORE) continue
    messages.push(message)
    message = []
  }
  expect(message).toHaveLength(0)
  return { commands, messages }
}

/** Returns the wire message of an example that is one message in frames. */
function framedMessage({ frames, error }: Example): Uint8Array[] | undefined {
  return frames && !error ? readFrames(frames).messages[0] : undefined
}

function isArena({ wire }: { wire: Uint8Array[] | undefined }): boolean {
  return wire?.some((part) => formOf(part) === "LZ4A") ?? false
}

/** Reads the messages of an arena (RFC.md section A.3). */
function readArena(
  wire: Uint8Array[],
  { budget = Number.POSITIVE_INFINITY, dictionary }: Pick<Example, "budget" | "dictionary">,
): Uint8Array[][] {
  const refuse = (bad: boolean, code = "ERR_LZ4_ARENA"): void => {
    if (bad) throw new Refused(code)
  }
  const [part, ...others] = wire as [Uint8Array, ...Uint8Array[]]
  refuse(others.length > 0)
  const head = limit("ARENA_HEAD_BYTES")
  refuse(part.length < head || part.length > head + limit("ARENA_BYTES_MAX"))
  const view = new DataView(part.buffer, part.byteOffset, part.byteLength)
  refuse(part[4]! > 1 || part.subarray(5, 8).some((byte) => byte !== 0))
  const size = view.getUint32(8, true)
  refuse(size < 1 || size > limit("ARENA_BYTES_MAX"))
  const count = view.getUint32(12, true)
  refuse(count < 1 || count > limit("ARENA_MESSAGES_MAX"))
  const body = part.slice(head)
  refuse(part[4] === 0 && body.length !== size)
  // The codec decodes the block as that of an LZ4B part.
  const run =
    part[4] === 0
      ? body
      : receiver({ budget: undefined, dictionary }).decodePart(
          concat(SENTINELS.LZ4B, u64(size), body),
        )!

  const messages: Uint8Array[][] = [[]]
  let parts = 0
  for (let at = 0; at < run.length; ) {
    const frame = readFrame(run, at, MORE | LONG, "ERR_LZ4_ARENA")
    at = frame.end
    refuse(++parts > limit("ARENA_PARTS_MAX"))
    refuse(parts > limit("ARENA_PARTS_FREE") + limit("ARENA_PARTS_PER_BYTE") * body.length)
    messages.at(-1)!.push(frame.body)
    const plainBytes = messages.at(-1)!.reduce((sum, { length }) => sum + length, 0)
    refuse(plainBytes > budget, "ERR_LZ4_BUDGET_EXCEEDED")
    if (!(frame.flags & MORE)) messages.push([])
  }
  refuse(messages.pop()!.length > 0 || messages.length !== count)
  return messages
}

function u64(value: number): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true)
  return bytes
}

const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ")

/** Formats messages so that failures are readable. */
const texts = (messages: readonly (readonly Uint8Array[])[]): string[][] =>
  messages.map((message) => message.map(hex))

// -- Tests -----------------------------------------------------------------------------

const constants = new Map(
  readTable("## 9.").map(([name, value]) => [name!, Number(value)] as const),
)
const codes = readTable("### 5.3").map(([code]) => code!)

const limit = (name: string): number => {
  const value = constants.get(name)
  if (value === undefined) throw new Error(`RFC.md section 9 lacks ${name}`)
  return value
}

describe("examples of parts", () => {
  const whole = named(({ wire, error }) => wire.length > 0 && !error)

  test.each(whole)("%s decodes", (_, example) => {
    const codec = receiver(example)
    const expected = example.installs ? [] : [example.plain]
    expect(texts(codec.decode(example.wire))).toEqual(texts(expected))
    codec.close()
  })

  const sent = whole.filter(([, { receiverOnly, installs }]) => !receiverOnly && !installs)

  test.each(sent)("%s is the form that a sender chooses", (_, example) => {
    using sender = Codec.createSync({ dictionary: example.dictionary })
    const encoded = example.plain.map((plain) => sender.encodePart(plain))
    expect(encoded.map(formOf)).toEqual(example.wire.map(formOf))
    expect(texts(receiver(example).decode(encoded))).toEqual(texts([example.plain]))
    for (const [i, wire] of encoded.entries())
      if (formOf(wire) === "plain") expect(hex(wire)).toBe(hex(example.wire[i]!))
  })

  test.each(whole.filter(([, { installs }]) => installs))("%s is shipped", (_, example) => {
    using sender = Codec.createSync({ dictionary: example.installs })
    const [first, second] = sender.encode([new Uint8Array(1)])
    expect(texts([first!])).toEqual(texts([example.wire]))
    expect(second).toHaveLength(1)
  })
})

describe("examples of refused input", () => {
  const refused = named(({ error }) => error !== undefined)
  const parts = refused.filter(([, { wire }]) => wire.length > 0)

  test.each(parts.filter(([, example]) => !isArena(example)))("%s", (_, example) => {
    expect(codeOf(() => receiver(example).decode(example.wire))).toBe(example.error)
  })

  test.each(parts.filter(([, example]) => isArena(example)))("%s", (_, example) => {
    expect(codeOf(() => readArena(example.wire, example))).toBe(example.error)
    expect(codeOf(() => receiver(example).decode(example.wire))).toBe(example.error)
  })

  test.each(refused.filter(([, { greeting }]) => greeting))("%s", (_, { greeting, error }) => {
    expect(codeOf(() => readGreeting(greeting!))).toBe(error)
  })

  const ofFrames = refused.filter(([, { frames }]) => frames)

  test.each(ofFrames.filter(([, { error }]) => error === "ERR_ZMTP_FRAME"))(
    "%s",
    (_, { frames, error }) => {
      expect(codeOf(() => readFrames(frames!))).toBe(error)
    },
  )

  test.each(
    refused.filter(
      ([, { frames, handshake, error }]) => handshake || (frames && error !== "ERR_ZMTP_FRAME"),
    ),
  )("%s", (_, example) => {
    expect(sessionError(example)).toBe(example.error)
  })

  test("every error has an example", () => {
    const shown = new Set(refused.map(([, { error }]) => error!))
    // Frames that are refused with CURVE depend on keys: curve.test.ts has them.
    expect([...shown, "ERR_ZMTP_CURVE"].sort()).toEqual([...codes].sort())
  })
})

describe("examples of frames", () => {
  const streams = named(({ frames, error }) => frames !== undefined && !error)

  test("the greeting of the example is read", () => {
    const greetings = examples.filter(({ greeting, error }) => greeting && !error)
    expect(greetings.length).toBeGreaterThan(0)
    for (const { greeting } of greetings) expect(readGreeting(greeting!)).toBe("NULL")
  })

  test.each(streams)("%s has the given content", (_, example) => {
    const codec = receiver(example)
    const { commands, messages } = readFrames(example.frames!)
    const delivered = messages.flatMap((wire) => codec.decode(wire))
    expect(commands).toEqual(example.commands)
    expect(texts(delivered)).toEqual(texts(example.messages))
  })

  test.each(
    streams.filter(([, { frames }]) => !isArena({ wire: readFrames(frames!).messages[0] })),
  )("%s is what a sender sends", (_, example) => {
    const { messages } = readFrames(example.frames!)
    const shipped = messages.find(([part]) => formOf(part!) === "LZ4D")?.[0]
    using sender = Codec.createSync({ dictionary: shipped?.slice(limit("SENTINEL_BYTES")) })
    const encoded = example.messages.flatMap((message) => sender.encode(message))
    expect(encoded.map((wire) => wire.map(formOf))).toEqual(
      messages.map((wire) => wire.map(formOf)),
    )
    const codec = receiver(example)
    expect(texts(encoded.flatMap((wire) => codec.decode(wire)))).toEqual(texts(example.messages))
  })

  test.each(named((example) => isArena({ wire: framedMessage(example) })))(
    "%s has the layout of appendix A",
    (_, example) => {
      expect(texts(readArena(framedMessage(example)!, example))).toEqual(texts(example.messages))
    },
  )

  test("the offsets of the LZ4M part beyond 1 GiB add up", () => {
    const rows = readTable("### 11.3").map((row) => row.map((cell) => cell.replaceAll("`", "")))
    let at = 0
    for (const [offset, length] of rows) {
      expect(Number(offset)).toBe(at)
      at += Number(length)
    }
    const field = (row: number): number => {
      const bytes = rows[row]![2]!.split(",")[0]!.split(" ").reverse()
      return Number(`0x${bytes.join("")}`)
    }
    expect(field(1)).toBe(limit("BLOCK_PLAIN_MAX") + 1)
    expect(field(2)).toBe(Number(rows[3]![1]))
    expect(field(4)).toBe(Number(rows[5]![1]))
  })
})

describe("examples of announcements", () => {
  const announcing = named(({ announces }) => announces !== undefined)

  test.each(announcing)("%s", (_, { handshake, announces }) => {
    const receiver = new Receiver(false, () => false)
    receiver.take(handshake!)
    expect(receiver.error).toBeUndefined()
    expect(String(receiver.announced)).toBe(announces)
  })

  test("one of them is what this project sends", () => {
    const { handshake } = examples.find(({ name }) => name === "announces-2")!
    const sent: Uint8Array[] = []
    const session = new Session(
      { ...Receiver.settings, socketType: "PUSH" },
      { ...Receiver.ignoring, send: (bytes) => sent.push(bytes) },
    )
    session.start()
    session.greet(greetingOf())
    expect(hex(sent.at(-1)!)).toBe(hex(handshake!))
  })
})

describe("tables", () => {
  test("the errors are those of the codec", () => {
    const source = readFileSync(new URL("src/codec/errors.ts", root), "utf8")
    const union = /type ProtocolErrorCode =([^/]*?)\n\n/.exec(source)![1]!
    // RFC.md has lz4+tcp; the rules of zstd+tcp are those of RFC 8878.
    const known = [...union.matchAll(/"(ERR_(?!ZSTD)\w+)"/g)].map(([, code]) => code!)
    expect(known.length).toBeGreaterThan(10)
    expect(codes).toEqual(expect.arrayContaining(known))
  })

  test("every check gives a listed error", () => {
    const rows = [...readTable("### 5.2"), ...readTable("### A.3")]
    for (const row of rows) expect(codes).toContain(row.at(-1))
  })

  test("the checks are numbered from 1 on", () => {
    const steps = readTable("### 5.2").map(([step]) => Number(step))
    expect(steps).toEqual(steps.map((_, i) => i + 1))
    const arena = readTable("### A.3").map(([step]) => step)
    expect(arena).toEqual(arena.map((_, i) => `A${i + 1}`))
  })

  test("sentinels are those of the text", () => {
    const register = readTable("## 10.").map(
      ([bytes, name]) => [name!, bytes!.replaceAll("`", "").toLowerCase()] as const,
    )
    const used = Object.entries(SENTINELS).map(([name, bytes]) => [name, hex(bytes)] as const)
    expect(new Map(register)).toEqual(new Map(used))
    for (const [name, bytes] of register)
      if (name !== "plain") expect(hex(new TextEncoder().encode(name))).toBe(bytes)
    const forms = readTable("### 4.1").map(([bytes, name]) => [name, bytes!.toLowerCase()])
    expect(forms).toEqual(
      register.filter(([name]) => name !== "LZ4A").map(([name, bytes]) => [name, `\`${bytes}\``]),
    )
  })

  test("SENTINEL_BYTES and HEAD_BYTES are those of the text", () => {
    const short = (form: Uint8Array, bytes: number): string | undefined =>
      refusal(concat(form, new Uint8Array(12)).subarray(0, bytes))
    expect(short(SENTINELS.plain, limit("SENTINEL_BYTES") - 1)).toBe("ERR_LZ4_PART_TOO_SHORT")
    expect(short(SENTINELS.plain, limit("SENTINEL_BYTES"))).toBeUndefined()
    expect(short(SENTINELS.LZ4M, limit("HEAD_BYTES") - 1)).toBe("ERR_LZ4_TRUNCATED")
    expect(short(SENTINELS.LZ4M, limit("HEAD_BYTES"))).toBeUndefined()
  })

  test("BLOCK_LENGTH_BYTES is that of the text", () => {
    const block = bytesOf("50 'hello'")
    const length = concat(
      new Uint8Array([block.length]),
      new Uint8Array(limit("BLOCK_LENGTH_BYTES") - 1),
    )
    expect(refusal(concat(SENTINELS.LZ4M, u64(5), length, block))).toBeUndefined()
  })

  test("BLOCK_PLAIN_MAX is that of the text", () => {
    const declare = (plain: number) =>
      refusal(concat(SENTINELS.LZ4B, u64(plain), new Uint8Array(1)))
    expect(declare(limit("BLOCK_PLAIN_MAX"))).toBe("ERR_LZ4_IMPLAUSIBLE_SIZE")
    expect(declare(limit("BLOCK_PLAIN_MAX") + 1)).toBe("ERR_LZ4_BLOCK_TOO_LARGE")
  })

  test("EXPANSION_MAX is that of the text", () => {
    const declare = (plain: number) =>
      refusal(concat(SENTINELS.LZ4B, u64(plain), new Uint8Array(9)))
    expect(declare(9 * limit("EXPANSION_MAX"))).toBe("ERR_LZ4_CORRUPT_BLOCK")
    expect(declare(9 * limit("EXPANSION_MAX") + 1)).toBe("ERR_LZ4_IMPLAUSIBLE_SIZE")
  })

  test("DICTIONARY_MIN and DICTIONARY_MAX are those of the text", () => {
    const install = (bytes: number) => refusal(dictionaryPart(new Uint8Array(bytes)))
    expect(install(limit("DICTIONARY_MIN") - 1)).toBe("ERR_LZ4_DICTIONARY_SIZE")
    expect(install(limit("DICTIONARY_MIN"))).toBeUndefined()
    expect(install(limit("DICTIONARY_MAX"))).toBeUndefined()
    expect(install(limit("DICTIONARY_MAX") + 1)).toBe("ERR_LZ4_DICTIONARY_SIZE")
  })

  test.each([
    { name: "THRESHOLD", dictionary: undefined },
    { name: "THRESHOLD_DICTIONARY", dictionary: new Uint8Array(64) },
  ])("$name", ({ name, dictionary }) => {
    using sender = Codec.createSync({ dictionary })
    const form = (bytes: number) => formOf(sender.encodePart(new Uint8Array(bytes)))
    expect(form(limit(name) - 1)).toBe("plain")
    expect(form(limit(name))).toBe("LZ4B")
  })

  test.each([
    ["COMMAND_MAX", true],
    ["HANDSHAKE_COMMAND_MAX", false],
  ] as const)("%s", (name, afterHandshake) => {
    const error = (bytes: number) => {
      const receiver = new Receiver(afterHandshake, () => false)
      receiver.take(concat(Uint8Array.of(COMMAND | LONG), u64(bytes).reverse()))
      return receiver.error
    }
    expect(error(limit(name))).toBeUndefined()
    expect(error(limit(name) + 1)).toBe("ERR_ZMTP_COMMAND")
  })

  test("PARTS_MAX is that of the text", () => {
    const error = (parts: number) => {
      const receiver = new Receiver(true, () => false)
      const frames = new Uint8Array(2 * parts)
      for (let part = 0; part < parts - 1; part++) frames[2 * part] = MORE
      receiver.take(frames)
      return receiver.error
    }
    expect(error(limit("PARTS_MAX"))).toBeUndefined()
    expect(error(limit("PARTS_MAX") + 1)).toBe("ERR_ZMTP_PARTS")
  })

  test("TRAINING_SAMPLE_MAX is twice TRAINING_CAPACITY", () => {
    expect(limit("TRAINING_SAMPLE_MAX")).toBe(2 * limit("TRAINING_CAPACITY"))
  })
})

describe("sections", () => {
  const headings = [...rfc.matchAll(/^#+ (?:Appendix )?([\dA-C][\d.]*)(?= )/gm)].map(([, number]) =>
    number!.replace(/\.$/, ""),
  )

  test("have unique numbers", () => {
    expect(headings.length).toBeGreaterThan(30)
    expect(new Set(headings).size).toBe(headings.length)
  })

  test("sections that the text refers to exist", () => {
    const cited = [...rfc.matchAll(/[Ss]ection\s+([\dA-C][\d.]*)/g)].map(([, number]) => number!)
    expect(cited.length).toBeGreaterThan(20)
    for (const number of cited) expect(headings).toContain(number.replace(/\.$/, ""))
  })

  test("sections that code and tests cite exist", () => {
    const files = ["src", "wasm", "test"].flatMap((directory) =>
      readdirSync(new URL(directory, root), { recursive: true, encoding: "utf8" })
        .filter((file) => /\.(ts|c|h|mjs|py)$/.test(file) && !file.includes("node_modules"))
        .map((file) => `${directory}/${file}`),
    )
    let cited = 0
    for (const file of files) {
      const text = readFileSync(new URL(file, root), "utf8")
      for (const [, list] of text.matchAll(
        /RFC\.md,? sections? ([\dA-C.]+(?:(?:,| and| to) [\dA-C.]+)*)/g,
      ))
        for (const number of list!.split(/,? (?:and |to )?/)) {
          expect(headings, `${file} cites section ${number}`).toContain(number.replace(/\.$/, ""))
          cited++
        }
    }
    expect(cited).toBeGreaterThan(5)
  })
})
