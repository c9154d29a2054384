/** Memory of a process that is attacked, and what the system gives to it, with its threads. */
import { describe, expect } from "vitest"

import { expectAtMost } from "../support/measured.js"
import { testAttacksOnMemory } from "../support/memory-attacks.js"

const MIB = 2 ** 20
/** The limits are for what is in use. The system has given more. */
const LOOSE = 3

describe.each([{ thread: false }, { thread: true }])("with %o", (settings) => {
  testAttacksOnMemory(({ live, rss }, after, maxBytes) => {
    expect(after.live - live).toBeLessThan(maxBytes)
    expectAtMost((LOOSE * maxBytes) / MIB, "growth of memory", (after.rss - rss) / MIB, "MiB")
  }, settings)
})
