/** Parts of one block and of several (RFC.md sections 4.3 and 4.4), around the limit between them. */
import { afterAll, describe, expect, test } from "vitest"
import { Codec, type CodecOptions } from "zeromq-lz4/codec"

import { payload } from "../../../bench/payloads.mjs"
import { type Child, inChild } from "../../support/child.js"
import { expectSameBytes } from "../../support/same-bytes.js"
import { smallBlockSize, smallBlocks } from "../../support/small-blocks.js"
import { concat, declaredSize, dictionaryPart, formOf, SENTINELS } from "../../support/wire.js"

const GIB = 2 ** 30
const MIB = 2 ** 20

// -- With blocks of 1 GiB --------------------------------------------------------------------

interface Large {
  size: number
  /** A mebibyte that is repeated in place of text. */
  noise?: Uint8Array
}

/** Encodes and decodes one part, and describes the wire part. */
async function roundTrip({ Codec, memory }: Child, { size, noise }: Large) {
  const start = await memory()
  const fill = () => {
    const mib = 2 ** 20
    const plain = new Uint8Array(size)
    const piece = Buffer.alloc(mib, "a message of many words, and some that were said before; ")
    if (noise) piece.set(noise)
    for (let at = 0; at < size; at += mib) {
      // All pieces differ, so that none can be mistaken for another.
      for (let i = 0; i < mib; i += 4096) piece.writeUInt32LE(at + i, i)
      plain.set(piece.subarray(0, size - at), at)
    }
    return plain
  }
  const pass = () => {
    const codec = Codec.createSync({ maxMessageSize: size })
    const plain = fill()
    const [[wire]] = codec.encode([plain]) as [[Uint8Array]]
    const view = new DataView(wire.buffer, wire.byteOffset)
    const blocks: number[] = []
    if (wire[3] === 0x4d)
      for (let at = 12; at < wire.length; at += 4 + (blocks.at(-1) as number))
        blocks.push(view.getUint32(at, true))
    const [[decoded]] = codec.decode([wire]) as [[Uint8Array]]
    return {
      form: wire[0] === 0 ? "plain" : String.fromCharCode(...wire.subarray(0, 4)),
      wireBytes: wire.length,
      blocks,
      same: decoded.length === size && Buffer.compare(decoded, plain) === 0,
    }
  }
  const result = pass()
  const end = await memory()
  return { ...result, kept: end.rss - start.rss, sharedBytes: end.wasm - start.wasm }
}

describe("a part of up to 1 GiB is one block, a larger one several", () => {
  const rows: (Large & { what: string; form: string; blocks: number })[] = [
    { what: "1 GiB", size: GIB, form: "LZ4B", blocks: 0 },
    {
      what: "1 GiB + 1 that does not compress",
      size: GIB + 1,
      noise: payload("random", MIB),
      form: "LZ4M",
      blocks: 2,
    },
  ]
  for (const { what, size, noise, form, blocks } of rows)
    test(`${what}: ${form}`, async () => {
      const result = await inChild(roundTrip, { size, ...(noise && { noise }) })
      expect(result).toMatchObject({ form, same: true })
      expect(result.blocks.length).toBe(blocks)
      if (blocks > 0) {
        // The last block holds one byte: a token and the byte.
        expect(result.blocks.at(-1)).toBe(2)
        expect(result.wireBytes).toBe(
          12 + result.blocks.reduce((sum, length) => sum + 4 + length, 0),
        )
      }
      if (!noise) expect(result.wireBytes).toBeLessThan(size / 10)
      // Its memory is freed, and was never part of the memory that all codecs share.
      expect(result.kept).toBeLessThan(200 * MIB)
      expect(result.sharedBytes).toBe(0)
    })
})

// -- With blocks of 64 KiB -------------------------------------------------------------------

describe("a part of several small blocks", () => {
  const dictionary = payload("json", 2048)
  const senders: Record<string, CodecOptions> = {
    "without a dictionary": { wasm: smallBlocks },
    "with a dictionary": { wasm: smallBlocks, dictionary },
  }
  const codecs: Codec[] = []
  const open = (options: CodecOptions) => {
    const codec = Codec.createSync(options)
    codecs.push(codec)
    return codec
  }
  afterAll(() => {
    for (const codec of codecs) codec.close()
  })

  const sizes = [1, 2, 3, 17].flatMap((blocks) =>
    [-1, 0, 1].map((more) => ({
      size: blocks * smallBlockSize + more,
      what: `${blocks} x 64 KiB${[" - 1", "", " + 1"][more + 1]}`,
    })),
  )
  for (const [how, options] of Object.entries(senders)) {
    const sender = open(options)
    const receiver = open({ wasm: smallBlocks })
    if (options.dictionary) receiver.decodePart(dictionaryPart(options.dictionary))

    for (const { size, what } of sizes)
      for (const kind of ["json", "random", "zeros"] as const)
        test(`${what} of ${kind}, ${how}`, () => {
          const plain = payload(kind, size)
          const wire = sender.encodePart(plain)
          expect(formOf(wire)).toBe(
            size > smallBlockSize ? "LZ4M" : kind === "random" ? "plain" : "LZ4B",
          )
          expect(declaredSize(wire)).toBe(BigInt(size))
          expectSameBytes(receiver.decodePart(wire), plain)
          expectSameBytes(receiver.decode([wire, wire.slice(), wire]).flat()[2]!, plain)
          if (formOf(wire) === "LZ4M") expectBlocks(receiver, wire, plain)
        })
  }

  test("does not depend on minCompressSize", () => {
    const codec = open({ wasm: smallBlocks, minCompressSize: Number.MAX_SAFE_INTEGER })
    expect(formOf(codec.encodePart(new Uint8Array(smallBlockSize)))).toBe("plain")
    expect(formOf(codec.encodePart(new Uint8Array(smallBlockSize + 1)))).toBe("LZ4M")
  })

  test("may be among others, within the total budget", () => {
    const parts = [100, 3 * smallBlockSize, 0, smallBlockSize, smallBlockSize + 1].map((size) =>
      payload("lorem", size),
    )
    const total = parts.reduce((sum, part) => sum + part.length, 0)
    const wire = open({ wasm: smallBlocks }).encode(parts)[0]!
    expect(wire.map(formOf)).toEqual(["plain", "LZ4M", "plain", "LZ4B", "LZ4M"])
    for (let message = 0; message < 3; message++) {
      const [decoded] = open({ wasm: smallBlocks, maxMessageSize: total }).decode(wire)
      for (const [i, part] of parts.entries()) expectSameBytes(decoded![i]!, part)
    }
    const short = open({ wasm: smallBlocks, maxMessageSize: total - 1 })
    expect(() => short.decode(wire)).toThrow(
      `part 4 declares ${smallBlockSize + 1} bytes; ${smallBlockSize} left`,
    )
  })
})

/** Expects that each block decodes separately to its plaintext. */
function expectBlocks(receiver: Codec, wire: Uint8Array, plain: Uint8Array): void {
  const view = new DataView(wire.buffer, wire.byteOffset, wire.byteLength)
  let at = 12
  for (let done = 0; done < plain.length; done += smallBlockSize) {
    const share = plain.subarray(done, done + smallBlockSize)
    const block = wire.subarray(at + 4, at + 4 + view.getUint32(at, true))
    const size = new Uint8Array(BigUint64Array.of(BigInt(share.length)).buffer)
    expectSameBytes(receiver.decodePart(concat(SENTINELS.LZ4B, size, block)), share)
    at += 4 + block.length
  }
  expect(at).toBe(wire.length)
}
