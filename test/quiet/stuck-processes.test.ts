/** Memory of a process whose reader or whose peer has stopped, and what the system gives to it, with its threads. */
import { describe, expect } from "vitest"

import { expectAtMost } from "../support/measured.js"
import { testStuckProcesses } from "../support/stuck-processes.js"

const MIB = 2 ** 20

describe.each([{ thread: false }, { thread: true }])("with %o", (settings) => {
  testStuckProcesses(({ live, rss }, after, maxBytes) => {
    expect(after.live - live).toBeLessThan(maxBytes)
    expectAtMost(maxBytes / MIB, "growth of memory", (after.rss - rss) / MIB, "MiB")
  }, settings)
})
