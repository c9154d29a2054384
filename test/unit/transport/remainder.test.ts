/** Writing to a socket after its event loop has stopped. */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import type { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"

import { Remainder, untakenBytes } from "../../../src/transport/remainder.js"

/** A file instead of a connection, which accepts all bytes at once. */
function target(): { descriptor: number; text(): string } {
  const folder = mkdtempSync(join(tmpdir(), "remainder-"))
  const file = join(folder, "written")
  const descriptor = openSync(file, "w+")
  onTestFinished(() => {
    closeSync(descriptor)
    rmSync(folder, { recursive: true })
  })
  return { descriptor, text: () => readFileSync(file, "latin1") }
}

const pieces = ["abc", "", "defg", "h"]
const all = pieces.join("")

test.each(Array.from({ length: all.length + 1 }, (_, left) => left))(
  "only the last %i bytes of all pieces are written",
  (left) => {
    const { descriptor, text } = target()
    const remainder = new Remainder(
      descriptor,
      pieces.map((piece) => Buffer.from(piece)),
      left,
    )
    expect(remainder.write()).toBe(0)
    expect(text()).toBe(all.slice(all.length - left))
    expect(remainder.write()).toBe(0)
    expect(text()).toBe(all.slice(all.length - left))
  },
)

test("nothing remains for a peer that has disconnected", () => {
  const closed = -1
  expect(new Remainder(closed, [Buffer.from("abc")], 3).write()).toBe(0)
})

const socket = (fields: object) => fields as unknown as Socket

test("the remainder is the rest of the pending write, and the writes queued after it", () => {
  const state = { _writableState: { writelen: 100 }, _handle: { writeQueueSize: 30 } }
  expect(untakenBytes(socket({ ...state, writableLength: 150 }))).toBe(80)
  expect(untakenBytes(socket({ ...state, writableLength: 0 }))).toBe(0)
  expect(untakenBytes(socket({ ...state, writableLength: 150, destroyed: true }))).toBe(0)
})
