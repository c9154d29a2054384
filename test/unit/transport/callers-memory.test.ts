/** Parts in the caller's memory are written in two steps, so that no peer takes one for complete that has gone. */
import { Socket } from "node:net"
import { afterEach, beforeEach, expect, test, vi } from "vitest"

import type { Reference } from "../../../src/codec/chunk.js"
import {
  isWatched,
  laterBytes,
  type Write,
  watched,
  writeWatched,
} from "../../../src/transport/callers-memory.js"

const TAIL_BYTES = 1024
const BYTES = "buffer" as BufferEncoding

/** The groups of buffers that were passed to the system, and what it calls when each is written. */
let groups: { bytes: Buffer; done: (error?: Error) => void }[]
const socket = new Socket()

beforeEach(() => {
  groups = []
  vi.spyOn(Socket.prototype, "_writev").mockImplementation((writes, done) => {
    groups.push({ bytes: Buffer.concat(writes.map(({ chunk }) => chunk)), done })
  })
})
afterEach(() => void vi.restoreAllMocks())

const part = (length: number, fill: number) => new Uint8Array(length).fill(fill)
const reference = (bytes: Uint8Array): Reference => ({ part: bytes, length: bytes.length, at: 0 })
const write = (chunk: Uint8Array): Write => ({ chunk, encoding: BYTES })

function start(...chunks: readonly Uint8Array[]) {
  const done = vi.fn()
  writeWatched(socket, chunks.map(write), done)
  return done
}

/** Tells that the system has taken the latest group, and returns its bytes. */
function take(error?: Error): Buffer {
  const { bytes, done } = groups.at(-1) as (typeof groups)[0]
  done(error)
  return bytes
}

test("only the views of watched() are watched", () => {
  expect(isWatched(watched(reference(part(10, 1))))).toBe(true)
  expect(isWatched(Buffer.alloc(10))).toBe(false)
})

test("the end of a part follows once the rest is written, with what comes after it", () => {
  const [first, second] = [part(5000, 1), part(3000, 2)]
  const head = part(9, 8)
  const done = start(head, watched(reference(first)), head, watched(reference(second)), head)
  const total = 3 * 9 + 8000
  expect(laterBytes(socket)).toBe(total - 9 - 5000 + TAIL_BYTES)
  const written = [take()]
  expect(laterBytes(socket)).toBe(9 + TAIL_BYTES)
  written.push(take())
  expect(laterBytes(socket)).toBe(0)
  expect(done).not.toHaveBeenCalled()
  written.push(take())
  expect(done).toHaveBeenCalledExactlyOnceWith(undefined)
  expect(Buffer.concat(written)).toEqual(Buffer.concat([head, first, head, second, head]))
  expect(written.map(({ length }) => length)).toEqual([
    9 + 5000 - TAIL_BYTES,
    TAIL_BYTES + 9 + 3000 - TAIL_BYTES,
    TAIL_BYTES + 9,
  ])
})

test("the last bytes of a part are as they are when the rest has been written", () => {
  const bytes = part(2000, 1)
  start(watched(reference(bytes)))
  bytes.fill(2)
  take()
  expect(groups[1]?.bytes).toEqual(Buffer.alloc(TAIL_BYTES, 2))
})

test.each([
  { what: "is gone before it is written", at: 0 },
  { what: "goes while it is written", at: 1 },
])("a part that $what is an error, and its end is not written", ({ at }) => {
  const bytes = part(2000, 1)
  const view = watched(reference(bytes))
  const lose = () => structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
  if (at === 0) lose()
  const done = start(view)
  if (at === 1) {
    lose()
    // The system may not have been able to read it.
    take(Object.assign(new Error(), { code: "EFAULT" }))
  }
  expect(done.mock.calls).toMatchObject([[{ code: "ERR_LZ4_PART_DETACHED" }]])
  expect(groups).toHaveLength(at)
  expect(laterBytes(socket)).toBe(0)
})

test("an error of the system is passed on", () => {
  const done = start(watched(reference(part(2000, 1))))
  const error = new Error()
  take(error)
  expect(done).toHaveBeenCalledExactlyOnceWith(error)
  expect(groups).toHaveLength(1)
})
