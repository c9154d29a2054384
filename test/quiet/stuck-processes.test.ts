/** Memory that the system gives to a process whose reader or whose peer has stopped, with its threads. */
import { describe } from "vitest"

import { expectAtMost } from "../support/measured.js"
import { testStuckProcesses } from "../support/stuck-processes.js"

const MIB = 2 ** 20

describe.each([{ thread: false }, { thread: true }])("with %o", (settings) => {
  testStuckProcesses(({ rss }, after, maxBytes) => {
    expectAtMost(maxBytes / MIB, "growth of memory", (after.rss - rss) / MIB, "MiB")
  }, settings)
})
