/** Ids that sockets draw at random. */
import { expect, onTestFinished, test, vi } from "vitest"

import { randomId } from "../../../src/patterns/random-id.js"

test("ids are random in a program that has no global crypto, or another one", () => {
  onTestFinished(() => {
    vi.unstubAllGlobals()
  })
  for (const crypto of [undefined, { getRandomValues: () => [7] }]) {
    vi.stubGlobal("crypto", crypto)
    const ids = Array.from({ length: 10 }, randomId)
    expect(new Set(ids).size).toBe(10)
    for (const id of ids) expect(id >>> 0).toBe(id)
  }
})
