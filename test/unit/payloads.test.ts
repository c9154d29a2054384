import { expect, test } from "vitest"

import { logEvents, type PayloadKind, payload } from "../../bench/payloads.mjs"
import { sha256 } from "../support/hash.js"

// Stored benchmark results are only comparable while these bytes do not change.
test.each<[PayloadKind, string]>([
  ["lorem", "bae4670fe39772bd6664dcae445aa9afc2eaecb0ffb315f5c8d1362c9efcf84c"],
  ["json", "eb77463140bc8f6e94d79ea0ffcc5825d7a14412072fcf952a14b53d91da1f30"],
  ["random", "b845873cccec67656f0a55ab760d146957d4febe6fd6f9507e0692d8177149b6"],
])("%s is the same on every machine", (kind, hash) => {
  expect(sha256(payload(kind, 65_536, 1))).toBe(hash)
})

test("log events have 200 to 2000 bytes", () => {
  const events = logEvents(7)
  for (let i = 0; i < 10_000; i++) {
    const event = events.next().value
    expect(event.length).toBeGreaterThanOrEqual(200)
    expect(event.length).toBeLessThanOrEqual(2000)
    JSON.parse(event)
  }
})
