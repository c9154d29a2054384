/** An endpoint's encoder when memory runs out. */
import { afterEach, expect, test, vi } from "vitest"

import { payload } from "../../../bench/payloads.mjs"
import { Codec } from "../../../src/codec/codec.js"
import { checkLz4Options } from "../../../src/codec/options.js"
import { Sender } from "../../../src/codec/sender.js"
import { bytesOfChunk } from "../../support/chunks.js"
import { concat } from "../../support/wire.js"
import { greeting, message, messagesOf, parseStream } from "../../support/zmtp.js"

const NO_FRAMES = new Uint8Array()
const small = payload("json", 2000)
const large = payload("json", 2 << 20)
/** A part that is sent plain. */
const random = payload("random", 6000)

class NoMemory {
  constructor() {
    throw new RangeError("no memory")
  }
}

afterEach(() => {
  vi.restoreAllMocks()
})

const allocateNothing = () =>
  vi.spyOn(Buffer, "allocUnsafeSlow").mockImplementation(() => {
    throw new RangeError("no memory")
  })

const messages = (bytes: Uint8Array) => messagesOf(parseStream(concat(greeting(), bytes)).frames)

test("after running out of memory for a large part, others are encoded as before", () => {
  const senders = [[large], [small, large], [large, small]].map((message) => {
    const sender = new Sender(checkLz4Options({}, -1))
    sender.encode(NO_FRAMES, [small]).release()
    const instance = vi.spyOn(WebAssembly, "Instance").mockImplementation(NoMemory as never)
    const outOfMemory = expect.objectContaining({ code: "ERR_LZ4_OUT_OF_MEMORY" })
    expect(() => sender.encode(NO_FRAMES, message)).toThrow(outOfMemory)
    instance.mockRestore()
    return sender
  })
  using codec = Codec.createSync()
  for (const sender of senders) {
    for (const next of [[small], [small, large, small]]) {
      const chunk = sender.encode(NO_FRAMES, next)
      const [parts = []] = messages(bytesOfChunk(chunk))
      expect(chunk.messages).toBe(1)
      expect(parts).toHaveLength(next.length)
      for (const [i, part] of parts.entries())
        expect(Buffer.compare(codec.decodePart(part) as Uint8Array, next[i] as Buffer)).toBe(0)
      chunk.release()
    }
    sender.close()
  }
})

test("after running out of memory for a plain part, others are encoded as before", () => {
  const sender = new Sender(checkLz4Options({}, -1))
  sender.encode(NO_FRAMES, [small])
  const many = new Array<Uint8Array>(60).fill(random) // more than fits into a slab
  const allocate = allocateNothing()
  const outOfMemory = expect.objectContaining({ code: "ERR_LZ4_OUT_OF_MEMORY" })
  // Nothing is released, so the spare ones are soon used up.
  const encodeMany = () => {
    for (let i = 0; i < 100; i++) sender.encode(NO_FRAMES, many)
  }
  expect(encodeMany).toThrow(outOfMemory)
  allocate.mockRestore()
  using codec = Codec.createSync()
  const chunk = sender.encode(NO_FRAMES, [small])
  expect(chunk.messages).toBe(1)
  const [[part] = []] = messages(bytesOfChunk(chunk))
  expect(Buffer.compare(codec.decodePart(part as Uint8Array) as Uint8Array, small)).toBe(0)
  sender.close()
})

test("a lack of memory for the dictionary is reported when a message is encoded, not when it is written", () => {
  const sender = new Sender(checkLz4Options({ dictionary: large.subarray(0, 8192) }, -1))
  const allocate = allocateNothing()
  const outOfMemory = expect.objectContaining({ code: "ERR_LZ4_OUT_OF_MEMORY" })
  expect(() => sender.encode(NO_FRAMES, [small])).toThrow(outOfMemory)
  allocate.mockRestore()
  const chunk = sender.encode(NO_FRAMES, [small])
  expect(chunk.dictionary?.length).toBeGreaterThan(8192)
  sender.close()
})

test("a message in frames that is encoded again refers to the caller's memory, not to that of the chunk", () => {
  const sender = new Sender(checkLz4Options({ level: "none" }, -1))
  const part = payload("random", 100_000)
  // As a copy in a batch, which a pipe that conflates makes, and where it lies.
  const forms = [
    () => sender.encode(message(part), undefined, { packing: "frames" }),
    () => sender.encode(NO_FRAMES, [small, part], { packing: "frames" }),
  ]
  for (const [i, make] of forms.entries()) {
    const chunk = sender.repack(make(), "parts")
    // Memory that was released is used again.
    for (let j = 0; j < 40; j++)
      sender.encode(message(large.subarray(0, 90_000)), undefined, { packing: "frames" }).release()
    const [parts = []] = messages(bytesOfChunk(chunk))
    expect(Buffer.compare(parts.at(-1)?.subarray(4) as Uint8Array, part)).toBe(0)
    expect(chunk.references.map((reference) => reference.part.buffer)).toEqual(
      i === 0 ? [] : [part.buffer],
    )
    chunk.release()
  }
  sender.close()
})
