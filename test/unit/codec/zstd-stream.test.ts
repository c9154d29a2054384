/** Large parts of zstd+tcp within a stream: what follows them is read as well, and all of them is checked. */
import { expect, test } from "vitest"
import { payload } from "../../../bench/payloads.mjs"
import { Codec } from "../../../src/codec/codec.js"
import { loadFormat } from "../../../src/codec/formats.js"
import { writeFrameHead } from "../../../src/codec/frames.js"
import { loadInstance } from "../../../src/codec/module.js"
import { Transcoder } from "../../../src/codec/transcoder.js"
import { concat } from "../../support/wire.js"

const MIB = 2 ** 20
const instance = await loadInstance(await loadFormat("zstd"))
const settings = { budgetBytes: -1, revision: 2 }

function frame(body: Uint8Array): Uint8Array {
  const head = new Uint8Array(9)
  return concat(head.subarray(0, writeFrameHead(head, 0, 0, body.length)), body)
}

/** Returns what a transcoder makes of a stream of frames. */
function received(stream: Uint8Array): Uint8Array {
  const pieces: Uint8Array[] = []
  const transcoder = Transcoder.receiving(instance, settings, true)
  try {
    transcoder.transcode(stream, {
      take: (piece) => {
        pieces.push(new Uint8Array(piece))
        return true
      },
    })
    expect(transcoder.keepsBytes).toBe(false)
  } finally {
    transcoder.close()
  }
  return concat(...pieces)
}

const sizes = [MIB + 1, 1.5 * MIB, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 5 * MIB]

test.each(sizes)("a part of %i bytes, and a message after it", async (size) => {
  using codec = await Codec.create({ format: "zstd" })
  const [plain, next] = [payload("json", size), payload("json", 700)]
  const stream = concat(frame(codec.encodePart(plain)), frame(codec.encodePart(next)))
  expect(Buffer.compare(received(stream), concat(frame(plain), frame(next)))).toBe(0)
})

test.each(sizes)("a wrong checksum of a part of %i bytes is noticed", async (size) => {
  using codec = await Codec.create({ format: "zstd" })
  const part = codec.encodePart(payload("json", size))
  const wrong = concat(part, Uint8Array.of(1, 2, 3, 4))
  wrong[4]! |= 4 // a checksum follows
  expect(() => received(frame(wrong))).toThrow("ERR_ZSTD_CORRUPT_BLOCK")
  expect(() => received(frame(concat(part, Uint8Array.of(0))))).toThrow("ERR_ZSTD_TRAILING_BYTES")
})

// A frame whose content ends where a slice of the input does, and what ends the frame comes with the next.
const BLOCK = 131_072
const HEADER_BYTES = 14
const BLOCKS = 16
const REST = 17 * BLOCK - HEADER_BYTES - BLOCKS * (3 + BLOCK) - 3
const content = payload("random", BLOCKS * BLOCK + REST)

const blockHead = (size: number, isLast: boolean) => {
  const word = (size << 3) | (isLast ? 1 : 0)
  return Uint8Array.of(word & 255, (word >> 8) & 255, word >> 16)
}

function stored(descriptor: number, isLast: boolean, ...end: Uint8Array[]): Uint8Array {
  const header = new Uint8Array(HEADER_BYTES)
  header.set([0x28, 0xb5, 0x2f, 0xfd, 0xc0 | descriptor, (23 - 10) << 3])
  new DataView(header.buffer).setBigUint64(6, BigInt(content.length), true)
  const blocks = Array.from({ length: BLOCKS }, (_, i) =>
    concat(blockHead(BLOCK, false), content.subarray(i * BLOCK, (i + 1) * BLOCK)),
  )
  const last = concat(blockHead(REST, isLast), content.subarray(BLOCKS * BLOCK))
  return concat(header, ...blocks, last, ...end)
}

test("what ends a frame may follow all of its content", () => {
  const next = frame(new Uint8Array(4))
  const stream = concat(frame(stored(0, false, blockHead(0, true))), next)
  expect(Buffer.compare(received(stream), concat(frame(content), Uint8Array.of(0, 0)))).toBe(0)
  const wrong = stored(4, true, Uint8Array.of(1, 2, 3, 4))
  expect(() => received(concat(frame(wrong), next))).toThrow("ERR_ZSTD_CORRUPT_BLOCK")
})
