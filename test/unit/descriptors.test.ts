/** What the process may still open, as it is counted and as it is tried. */
import { closeSync, openSync } from "node:fs"
import { afterEach, expect, test } from "vitest"

import { canOpen, countFree, descriptorsLeft } from "../../src/transport/descriptors.js"

const opened: number[] = []
const open = (count: number) => {
  for (let i = 0; i < count; i++) opened.push(openSync("/dev/null", "r"))
}

afterEach(() => {
  for (const descriptor of opened.splice(0)) closeSync(descriptor)
})

test("what is open is counted", () => {
  const before = countFree()
  open(50)
  // Only where the system counts them.
  if (before !== undefined) expect(before - (countFree() as number)).toBeGreaterThanOrEqual(50)
})

test.each([
  ["counted", descriptorsLeft],
  ["tried", canOpen],
])("it is known when they run out, where they are %s", (_, left) => {
  const free = countFree() ?? 1000
  expect(left(32)).toBe(true)
  try {
    open(free)
  } catch {} // others may open some at the same time
  expect(left(32)).toBe(false)
})
