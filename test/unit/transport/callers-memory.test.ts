/** libuv never has parts in the caller's memory: they are read during calls, or copied. */
import { Socket } from "node:net"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { COPIED_BYTES } from "../../../src/base/limits.js"
import type { Reference } from "../../../src/codec/chunk.js"
import { writeNow } from "../../../src/transport/by-descriptor.js"
import {
  isWatched,
  laterBytes,
  type Write,
  watched,
  writeWatched,
} from "../../../src/transport/callers-memory.js"

vi.mock("../../../src/transport/by-descriptor.js", () => ({ writeNow: vi.fn() }))

const BYTES = "buffer" as BufferEncoding

/** All bytes that the system was given, and the lengths of the buffers that libuv was. */
let written: Buffer[]
let copies: number[]
/** Tells that the system has taken what libuv was given; undefined if it has nothing. */
let take: ((error?: Error) => void) | undefined
/** Bytes that the system takes at once, call by call; undefined if it has no descriptor. */
let room: (number | undefined)[]
/** Whether the system takes at once all that libuv is given. */
let isFree: boolean
const socket = new Socket()

beforeEach(() => {
  written = []
  copies = []
  take = undefined
  room = []
  isFree = false
  vi.mocked(writeNow).mockImplementation((_, buffers) => {
    const bytes = Buffer.concat(buffers)
    const taken = room.length > 0 ? room.shift() : 0
    written.push(Buffer.from(bytes.subarray(0, taken ?? 0)))
    return taken === undefined ? undefined : Math.min(taken, bytes.length)
  })
  vi.spyOn(Socket.prototype, "_write").mockImplementation((chunk, _, done) => {
    expect(take).toBe(undefined)
    copies.push(chunk.length)
    take = (error) => {
      take = undefined
      // As libuv does, it reads them late.
      written.push(Buffer.from(chunk))
      done(error)
    }
    if (isFree) take()
  })
})
afterEach(() => void vi.restoreAllMocks())

const part = (length: number, fill: number) => new Uint8Array(length).fill(fill)
const reference = (bytes: Uint8Array): Reference => ({ part: bytes, length: bytes.length, at: 0 })
const write = (chunk: Uint8Array): Write => ({ chunk, encoding: BYTES })
const lose = ({ buffer }: Uint8Array) =>
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })

function start(...chunks: readonly Uint8Array[]) {
  const done = vi.fn()
  writeWatched(socket, chunks.map(write), done)
  return done
}

test("only the views of watched() are watched", () => {
  expect(isWatched(watched(reference(part(10, 1))))).toBe(true)
  expect(isWatched(Buffer.alloc(10))).toBe(false)
})

test.each([
  { what: "all", gives: [1e9], copied: [] },
  { what: "all but five bytes", gives: [300_013], copied: [5] },
  { what: "the head only", gives: [9], copied: [65_536, 65_536, 65_536, 65_536, 37_865] },
  { what: "nothing", gives: [], copied: [65_536, 65_536, 65_536, 65_536, 37_874] },
  { what: "some each time", gives: [70_000, 10, 100_000], copied: [65_536, 65_536] },
  { what: "nothing by a descriptor", gives: [undefined, undefined], copied: [262_144, 37_874] },
])("libuv gets copies of what the system does not take at once: of $what", ({ gives, copied }) => {
  room = gives
  const [first, second] = [part(200_000, 1), part(100_000, 2)]
  const head = part(9, 8)
  const all = Buffer.concat([head, first, head, second])
  const done = start(head, watched(reference(first)), head, watched(reference(second)))
  while (take) {
    const before = Buffer.concat(written).length
    expect(before + (copies.at(-1) as number) + laterBytes(socket)).toBe(all.length)
    expect(done).not.toHaveBeenCalled()
    take()
  }
  expect(done).toHaveBeenCalledExactlyOnceWith(undefined)
  expect(Buffer.concat(written).equals(all)).toBe(true)
  expect(copies).toEqual(copied)
  expect(laterBytes(socket)).toBe(0)
})

test("a part that changes while libuv waits changes from there on", () => {
  const bytes = part(COPIED_BYTES + 100, 1)
  room = [50]
  start(watched(reference(bytes)))
  bytes.fill(2)
  take?.()
  take?.()
  const [first, second] = [Buffer.alloc(50 + COPIED_BYTES, 1), Buffer.alloc(50, 2)]
  expect(Buffer.concat(written).equals(Buffer.concat([first, second]))).toBe(true)
})

const LENGTH = 2 * COPIED_BYTES

test.each([
  { what: "before it is written", taken: undefined, isLost: true },
  { what: "when some of it was taken", taken: 50, isLost: true },
  { what: "when all but the last byte was taken or copied", taken: COPIED_BYTES - 1, isLost: true },
  { what: "when all was taken or copied", taken: COPIED_BYTES, isLost: false },
])("no byte is written of a part that goes $what", ({ taken, isLost }) => {
  const bytes = part(LENGTH, 1)
  const view = watched(reference(bytes))
  room = taken === undefined ? [] : [taken]
  if (taken === undefined) lose(bytes)
  const done = start(view, part(9, 8))
  const copied = copies.length
  if (taken !== undefined) {
    lose(bytes)
    take?.()
  }
  while (take) take()
  if (isLost) {
    const message = expect.stringContaining(`${LENGTH} bytes`)
    expect(done.mock.calls).toMatchObject([[{ code: "ERR_LZ4_PART_DETACHED", message }]])
    expect(copies).toHaveLength(copied)
    expect(Buffer.concat(written).every((byte) => byte === 1)).toBe(true)
  } else {
    expect(done).toHaveBeenCalledExactlyOnceWith(undefined)
    const all = Buffer.concat([part(LENGTH, 1), part(9, 8)])
    expect(Buffer.concat(written).equals(all)).toBe(true)
  }
  expect(laterBytes(socket)).toBe(0)
})

test("parts before one that has gone are written", () => {
  const [first, second] = [part(1000, 1), part(1000, 2)]
  const views = [first, second].map((bytes) => watched(reference(bytes)))
  lose(second)
  room = [1e9]
  const done = start(...views)
  expect(done.mock.calls).toMatchObject([[{ code: "ERR_LZ4_PART_DETACHED" }]])
  expect(Buffer.concat(written).equals(Buffer.from(first))).toBe(true)
})

test("an error of the system is passed on", () => {
  const done = start(watched(reference(part(2000, 1))))
  const error = new Error()
  take?.(error)
  expect(done).toHaveBeenCalledExactlyOnceWith(error)
  expect(copies).toHaveLength(1)
})

test("copies have memory of their own as long as the system has not taken them", () => {
  const done = [1, 2].map((fill) => {
    start(watched(reference(part(2000, fill))))
    const taken = take
    take = undefined
    return taken
  })
  for (const taken of done) taken?.()
  expect(Buffer.concat(written).equals(Buffer.concat([part(2000, 1), part(2000, 2)]))).toBe(true)
})

test("a system that takes every copy at once is asked again without recursion", () => {
  isFree = true
  const pieces = 20_000
  room = new Array(pieces).fill(1)
  const bytes = part(1000, 1)
  const parts = Array.from({ length: pieces }, () => watched(reference(bytes)))
  const done = start(...parts)
  expect(done).toHaveBeenCalledExactlyOnceWith(undefined)
  expect(Buffer.concat(written)).toHaveLength(pieces * bytes.length)
})
