/** Memory that the system gives to a process that is attacked, with its threads. */
import { describe } from "vitest"

import { expectAtMost } from "../support/measured.js"
import { testAttacksOnMemory } from "../support/memory-attacks.js"

const MIB = 2 ** 20
/** The limits of test/sockets are for what is in use. The system has given more. */
const LOOSE = 3

describe.each([{ thread: false }, { thread: true }])("with %o", (settings) => {
  testAttacksOnMemory(({ rss }, after, maxBytes) => {
    expectAtMost((LOOSE * maxBytes) / MIB, "growth of memory", (after.rss - rss) / MIB, "MiB")
  }, settings)
})
