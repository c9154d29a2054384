/** What `level: "adaptive"` makes of what limits a connection. */
import { expect, test } from "vitest"
import { Codec } from "zeromq-lz4/codec"
import { nextEffort } from "../../src/transport/adaptive-level.js"

test.each([
  { what: "the network is slow and the thread idle", waited: 0.9, busy: 0.05, from: 1, to: 2 },
  { what: "the same, at the top", waited: 0.9, busy: 0.05, from: 4, to: 4 },
  { what: "the network is slow, the thread not idle", waited: 0.6, busy: 0.4, from: 2, to: 2 },
  { what: "both are at work", waited: 0.3, busy: 0.7, from: 3, to: 3 },
  { what: "the network keeps up", waited: 0.05, busy: 0.3, from: 3, to: 2 },
  { what: "the thread does not keep up", waited: 0.6, busy: 0.95, from: 4, to: 3 },
  { what: "the same, as usual", waited: 0, busy: 0.95, from: 1, to: 0 },
  { what: "the same, at the bottom", waited: 0, busy: 0.95, from: 0, to: 0 },
  { what: "the thread keeps up again", waited: 0, busy: 0.7, from: 0, to: 0 },
  { what: "the thread has time again", waited: 0, busy: 0.3, from: 0, to: 1 },
  { what: "nothing is limited", waited: 0, busy: 0, from: 1, to: 1 },
])("$what: from $from to $to", ({ waited, busy, from, to }) => {
  expect(nextEffort(from, { waited, busy })).toBe(to)
})

test("a codec refuses it", () => {
  const adaptive = { level: "adaptive" } as object
  expect(() => Codec.createSync(adaptive)).toThrow(
    'level "adaptive" is for sockets: a codec has no network to adapt to',
  )
})
