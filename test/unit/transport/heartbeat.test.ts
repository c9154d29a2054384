/** PINGs and timeouts of heartbeats (RFC 37). */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"

import { Heartbeat, type HeartbeatOptions } from "../../../src/transport/heartbeat.js"
import { pingTimeToLiveMs, writePing, writePong } from "../../../src/zmtp/commands.js"
import { concat } from "../../support/wire.js"
import { COMMAND, frame } from "../../support/zmtp.js"

beforeEach(() => {
  vi.useFakeTimers()
  // Takes no time, as nothing is read in the turn before a deadline expires.
  vi.stubGlobal("setImmediate", (callback: (...args: unknown[]) => void, ...args: unknown[]) =>
    callback(...args),
  )
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

/** The data of a PING with a time to live in milliseconds. */
const pingWithin = (ms: number) => Uint8Array.of(0, ms / 100)

/** The calls to a connection, each with its time. */
function beating(options: HeartbeatOptions) {
  const told: string[] = []
  const start = Date.now()
  const tell = (what: string) => told.push(`${Date.now() - start} ${what}`)
  const connection = {
    blocked: false,
    send: (bytes: Uint8Array) => {
      const name = String.fromCharCode(...bytes.subarray(3, 7))
      tell(name === "PING" ? `PING ${pingTimeToLiveMs(bytes.subarray(7))}` : name)
    },
    timedOut: () => tell("timed out"),
  }
  const heartbeat = new Heartbeat(connection, options)
  return { heartbeat, connection, told }
}

describe("commands", () => {
  const ping = (...data: number[]) =>
    frame(concat(Buffer.from("\x04PING"), Uint8Array.from(data)), COMMAND)

  test.each([
    [0, [0, 0]],
    [7, [0, 7]],
    [65535, [255, 255]],
  ])("a PING with a time to live of %i tenths of a second", (timeToLive, data) => {
    expect(writePing(timeToLive)).toEqual(ping(...data))
    expect(pingTimeToLiveMs(Uint8Array.from(data))).toBe(timeToLive * 100)
  })

  test.each([
    ["nothing", [0, 1], ""],
    ["a context", [0, 1, 65, 66], "AB"],
    [
      "the first 16 bytes of a context",
      [0, 0, ...Buffer.from("0123456789abcdefg")],
      "0123456789abcdef",
    ],
    ["nothing, to a PING that is cut", [], ""],
  ])("a PONG returns %s", (_, data, context) => {
    expect(writePong(Uint8Array.from(data))).toEqual(
      frame(Buffer.from(`\x04PONG${context}`), COMMAND),
    )
  })
})

test("PINGs are sent at the interval, with the time to live", () => {
  const { told } = beating({ intervalMs: 100, timeoutMs: 0, timeToLive: 30 })
  vi.advanceTimersByTime(350)
  expect(told).toEqual(["100 PING 3000", "200 PING 3000", "300 PING 3000"])
})

test("a silent peer is disconnected after the timeout, which starts with the first PING", () => {
  const { told } = beating({ intervalMs: 100, timeoutMs: 250, timeToLive: 0 })
  vi.advanceTimersByTime(360)
  expect(told).toEqual(["100 PING 0", "200 PING 0", "300 PING 0", "350 timed out"])
})

test("a single PING is sent when there is room again, however many were due", () => {
  const { heartbeat, connection, told } = beating({ intervalMs: 100, timeoutMs: 0, timeToLive: 0 })
  connection.blocked = true
  vi.advanceTimersByTime(550)
  expect(told).toEqual([])
  heartbeat.drained()
  expect(told).toEqual([])
  connection.blocked = false
  heartbeat.drained()
  heartbeat.drained()
  vi.advanceTimersByTime(100)
  expect(told).toEqual(["550 PING 0", "600 PING 0"])
})

test("a peer's time to answer starts when the PING is sent", () => {
  const { heartbeat, connection, told } = beating({
    intervalMs: 100,
    timeoutMs: 250,
    timeToLive: 0,
  })
  connection.blocked = true
  vi.advanceTimersByTime(510)
  connection.blocked = false
  heartbeat.drained()
  connection.blocked = true
  vi.advanceTimersByTime(1000)
  expect(told).toEqual(["510 PING 0", "760 timed out"])
})

test("any received data counts, until the next PING", () => {
  const { heartbeat, told } = beating({ intervalMs: 100, timeoutMs: 150, timeToLive: 0 })
  for (let i = 0; i < 4; i++) {
    vi.advanceTimersByTime(120)
    heartbeat.heard()
  }
  vi.advanceTimersByTime(100)
  expect(told.filter((one) => one.includes("timed"))).toEqual([])
  vi.advanceTimersByTime(150)
  expect(told.filter((one) => one.includes("timed"))).toEqual(["650 timed out"])
})

test("a peer has to send data within the time to live of its first PING", () => {
  const { heartbeat, told } = beating({ intervalMs: 0, timeoutMs: 0, timeToLive: 0 })
  heartbeat.answer(pingWithin(300))
  vi.advanceTimersByTime(100)
  heartbeat.answer(pingWithin(300)) // the first one counts until data arrives
  vi.advanceTimersByTime(250)
  expect(told).toEqual(["0 PONG", "100 PONG", "300 timed out"])
})

test("data within the time to live ends it", () => {
  const { heartbeat, told } = beating({ intervalMs: 0, timeoutMs: 0, timeToLive: 0 })
  heartbeat.answer(pingWithin(300))
  vi.advanceTimersByTime(299)
  heartbeat.heard()
  vi.advanceTimersByTime(1000)
  expect(told).toEqual(["0 PONG"])
})

test("a peer that does not read gets one PONG for all of its PINGs, before a PING", () => {
  const { heartbeat, connection, told } = beating({ intervalMs: 100, timeoutMs: 0, timeToLive: 0 })
  connection.blocked = true
  for (let i = 0; i < 3; i++) heartbeat.answer(pingWithin(0))
  vi.advanceTimersByTime(150)
  connection.blocked = false
  heartbeat.drained()
  expect(told).toEqual(["150 PONG", "150 PING 0"])
})

test("nothing is sent after stop()", () => {
  const { heartbeat, told } = beating({ intervalMs: 100, timeoutMs: 50, timeToLive: 0 })
  heartbeat.answer(pingWithin(500))
  vi.advanceTimersByTime(110)
  heartbeat.stop()
  vi.advanceTimersByTime(1000)
  expect(told).toEqual(["0 PONG", "100 PING 0"])
  expect(vi.getTimerCount()).toBe(0)
})
