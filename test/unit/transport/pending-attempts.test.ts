/** Pending attempts are interrupted if nothing else keeps the event loop alive, and repeated if something does. */
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import {
  type Attempt,
  attemptBegan,
  attemptEnded,
} from "../../../src/transport/pending-attempts.js"

let resources: string[] = []
/** Whether the process listens to messages of a parent. */
let isListening = false
const log: string[] = []

const attempt: Attempt = {
  interrupt: () => log.push("interrupted"),
  dial: () => {
    log.push("repeated")
    attemptBegan(attempt)
  },
}

beforeEach(() => {
  vi.useFakeTimers()
  vi.spyOn(process, "getActiveResourcesInfo").mockImplementation(() => resources)
  isListening = false
  vi.spyOn(process, "listenerCount").mockImplementation(() => (isListening ? 1 : 0))
  log.length = 0
})

afterEach(() => {
  attemptEnded(attempt)
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test.each([
  [["ConnectWrap", "Timeout"]],
  [["ConnectWrap", "TCPSocketWrap"]],
  [["ConnectWrap", "PipeWrap", "PipeWrap", "PipeWrap"]],
  [["ConnectWrap", "ConnectWrap"]],
  [["GetAddrInfoReqWrap"]],
  [[]],
])("one attempt goes on beside %j", (found) => {
  resources = found
  attemptBegan(attempt)
  vi.advanceTimersByTime(60_000)
  expect(log).toEqual([])
})

test.each([
  [["ConnectWrap"]],
  [["TTYWrap", "ConnectWrap", "TTYWrap"]],
  [["PipeWrap", "ConnectWrap"]],
])(
  "one attempt is interrupted if there is only %j, and repeated if the loop goes on, after pauses that grow",
  (found) => {
    resources = found
    attemptBegan(attempt)
    vi.advanceTimersByTime(60_000)
    expect(log.slice(0, 4)).toEqual(["interrupted", "repeated", "interrupted", "repeated"])
    expect(log.length).toBeLessThan(40)
  },
)

test("an attempt that ends while it is interrupted is not repeated", () => {
  resources = ["ConnectWrap"]
  attemptBegan(attempt)
  while (log.length === 0) vi.advanceTimersByTime(1)
  attemptEnded(attempt)
  vi.advanceTimersByTime(60_000)
  expect(log).toEqual(["interrupted"])
})

test("an attempt goes on in a process that listens to its parent", () => {
  expect(process.connected).toBe(true)
  isListening = true
  resources = ["ConnectWrap", "PipeWrap"]
  attemptBegan(attempt)
  vi.advanceTimersByTime(60_000)
  expect(log).toEqual([])
})

test("an attempt that has succeeded while the loop was busy is not interrupted", () => {
  resources = ["ConnectWrap"]
  attemptBegan(attempt)
  // The loop learns of the connection right after its timers.
  setTimeout(() => attemptEnded(attempt), 50)
  vi.advanceTimersByTime(60_000)
  expect(log).toEqual([])
})
